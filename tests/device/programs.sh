#!/bin/bash
# Programs need no driver for GPUs, whatever this build has: tutti-info tells what there is, and nothing is linked with libcuda.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

"$mpirun" -np 1 "$apps/tutti-info" > "$dir/out" 2>&1 || fail "tutti-info: status $?"
says() { grep -qE -e "$1" "$dir/out" || { fail "tutti-info does not say: $1"; sed -n '/^GPUs/,/^designs/p' "$dir/out"; }; }
if grep -q '^NVCC = .' "$TUTTI_BUILDDIR/Makefile"; then
    says '^  CUDA +[0-9]+\.[0-9]$'
    says "^  CUDA's run time +[0-9]+\.[0-9]$"
    says '^  (GPU 0 +.* GiB, compute capability|devices +there is (no|a) driver|devices +the driver is older)'
else
    says '^  devices +this build is for processors alone: \./quickstart cuda '
    grep -q '^  CUDA  ' "$dir/out" && fail "tutti-info tells of CUDA"
fi
says '^  NCCL +([0-9]+\.[0-9]+\.[0-9]+|not in this build .configure --with-nccl.)'
says '^  cuDNN +([0-9]+\.[0-9]+\.[0-9]+|not in this build .configure --with-cudnn.)'
says '^  a real GPU +on one: .*never NCCL between GPUs'

seen=0
for program in "$TUTTI_BUILDDIR"/.libs/libtutti.so "$apps"/tutti-* "$apps"/.libs/tutti-*; do
    readelf -d "$program" > "$dir/needed" 2> /dev/null && grep -q NEEDED "$dir/needed" || continue
    seen=$((seen + 1))
    grep -q 'NEEDED.*libcuda\.so' "$dir/needed" && fail "$program is linked with the driver's library"
done
[ $seen -ge 8 ] || fail "only $seen programs were looked at"
finish
