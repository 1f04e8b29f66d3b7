#!/bin/bash
# A program that is started with another build of StarPU than Tutti was compiled with says so, instead of computing on memory that
# is overwritten: every struct, larger and smaller, in a training program and in one that attaches.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
other=$TUTTI_BUILDDIR/tests/programs/.libs/other_starpu.so
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0"

# meets STRUCT BYTES COMMAND...: the command with a StarPU whose struct has so many bytes more.
meets() {
    local struct=$1 bytes=$2
    shift 2
    "$mpirun" -np 1 env LD_PRELOAD="$other" OTHER_STARPU="$struct" OTHER_BYTES="$bytes" "$@"
}
says() { # STRUCT
    echo "is not the build that Tutti was compiled with .*: its struct starpu_$1 has [0-9]* bytes instead of [0-9]*; take"
}

train=("$apps/tutti-cifar" --data synthetic --model mlp --batch 4 --steps 2 --quiet)
meets conf 0 "${train[@]}" > "$dir/out" 2>&1 || { fail "the same StarPU: status $?"; cat "$dir/out"; }
for struct in conf codelet task; do
    refuses 1 "$(says $struct)" meets $struct 8 "${train[@]}"
    refuses 1 "$(says $struct)" meets $struct -8 "${train[@]}"
done
refuses 77 "$(says codelet)" meets codelet 64 "$apps/sgd_parallel"
finish
