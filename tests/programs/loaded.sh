#!/bin/bash
# A program that is started with another build of StarPU than Tutti was compiled with says so, instead of computing on memory that
# is overwritten: every struct, larger and smaller, in a training program and in one that attaches.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
other=$TUTTI_BUILDDIR/tests/programs/.libs/other_starpu.so
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0"

# refused STRUCT BYTES STATUS PROGRAM...
refused() {
    local struct=$1 bytes=$2 wanted=$3 status=0
    shift 3
    "$mpirun" -np 1 env LD_PRELOAD="$other" OTHER_STARPU="$struct" OTHER_BYTES="$bytes" "$@" > "$dir/out" 2>&1 || status=$?
    [ $status = "$wanted" ] || { fail "$struct, $bytes bytes: status $status, not $wanted: $1"; cat "$dir/out"; }
    [ "$wanted" = 0 ] || grep -q "is not the build that Tutti was compiled with .*: its struct starpu_$struct has [0-9]* bytes instead of [0-9]*; take" \
        "$dir/out" || { fail "$struct, $bytes bytes: no sentence"; cat "$dir/out"; }
}

train=("$apps/tutti-cifar" --data synthetic --model mlp --batch 4 --steps 2 --quiet)
refused conf 0 0 "${train[@]}"
for struct in conf codelet task; do
    refused $struct 8 1 "${train[@]}"
    refused $struct -8 1 "${train[@]}"
done
refused codelet 64 77 "$apps/sgd_parallel"
finish
