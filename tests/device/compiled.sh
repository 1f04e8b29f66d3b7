#!/bin/bash
# What nvcc has made of the kernels: code for compute capability 8.0 and 9.0, and PTX, in each object; and that a warning is an
# error. For the GPUs that are compiled for by default.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
cd "$TUTTI_BUILDDIR" || exit 1
grep -q '^NVCC = .' Makefile || exit 77
source=$(sed -n 's/^srcdir = //p' Makefile)/dag/kernels/act_cuda.cu
compile=$(make -s -n V=1 -W "$source" dag/kernels/act_cuda.lo | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba}' -e '/--mode=compile/!d')
[ -n "$compile" ] || { fail "make does not say how it compiles kernels"; finish; }
case $compile in *arch=compute_80,code=sm_80*arch=compute_90,code=sm_90*) ;; *) exit 77 ;; esac

# parts OBJECT: what is in it, as lines "elf 80", "ptx 90". A container of nvcc begins with a magic number and its length; each part with
# its kind, the length of its header, its own, and at last the architecture.
parts() {
    objcopy -O binary --only-section=.nv_fatbin "$1" "$dir/fat" && od -An -v -t u4 -w4 "$dir/fat" | awk '{w[n++] = $1} END {
        for (i = 0; i < n; i = end) {
            end = i + 1
            if (w[i] != 3126193488) continue
            end = i + 4 + w[i + 2] / 4
            for (p = i + 4; p < end; p += (w[p + 1] + w[p + 2]) / 4)
                print w[p] % 65536 == 1 ? "ptx" : "elf", w[p + 7]
        } }'
}

seen=0
for source in "$TUTTI_SRCDIR"/dag/kernels/*_cuda.cu; do
    object=dag/kernels/.libs/$(basename "$source" .cu).o
    [ -e "$object" ] || object=dag/kernels/$(basename "$object")
    [ -e "$object" ] || continue # convolution without cuDNN
    seen=$((seen + 1))
    found=$(parts "$object" | sort | uniq | paste -sd,)
    [ "$found" = 'elf 80,elf 90,ptx 90' ] || fail "$object has $found"
done
[ $seen -ge 11 ] || fail "only $seen objects were looked at"

# The same command, of a kernel without a variable that nobody uses, and with one.
for unused in '' 'int unused;'; do
    echo "__global__ void nothing(int *x) { $unused *x = 1; }" > "$dir/kernel.cu"
    status=0
    bash -c "$(sed -e "s#-o [^ ]*#-o $dir/kernel.lo#" -e "s#[^ ]*act_cuda.cu#$dir/kernel.cu#" <<< "$compile")" > "$dir/log" 2>&1 || status=$?
    case $status,$unused in
    0,) ;;
    0,*) fail "a warning of nvcc is no error"; cat "$dir/log" ;;
    *,) fail "nvcc compiles nothing"; cat "$dir/log" ;;
    esac
done
finish
