#!/bin/bash
# tutti-cifar --cuda-aware over a fake of a CUDA-aware MPI, on the fake device: the weights must be those of the CPU, and of sums
# through main memory, on 2 to 4 ranks, which may share a GPU, alike or in stages, with every design that keeps the law, several
# algorithms and orders of streams. Nothing of a sum is copied to main memory. What cannot be is said once.
set -u
program=${TUTTI_BUILDDIR:?}/tests/device/tutti-cifar aware=$TUTTI_BUILDDIR/tests/device/fake/libaware.so
[ -x "$program" ] && [ -e "$aware" ] || exit 77
"$TUTTI_BUILDDIR/apps/tutti-info" | grep -q 'Open MPI' || { echo "skipped: the fake is one of Open MPI"; exit 77; }
scratch=$(mktemp -d) failed=0
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$TUTTI_BUILDDIR/tests/device/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export STARPU_HOME=${STARPU_HOME:-$scratch} STARPU_SILENT=1 TUTTI_FAKE_MEMORY_MB=1024
ulimit -c 0

# train RANKS OPTION...: its output in $scratch/log.
train() {
    "${MPIRUN:-mpirun}" -np "$1" env ${preload:+LD_PRELOAD="$preload"} "$program" --data synthetic --batch 8 --steps 3 --eval-every never \
        --model mlp "${@:2}" > "$scratch/log" 2>&1
}

weights() { # RANKS OPTION...: their hash
    train "$@" || { cat "$scratch/log" >&2; return 1; }
    grep -o 'weights [0-9a-f]*' "$scratch/log"
}

# same WANTED RANKS OPTION...
same() {
    local got
    got=$(preload=$aware weights "${@:2}" --device cuda --cuda-aware)
    [ -n "$got" ] && [ "$got" = "$1" ] && grep -q 'collectives by transport mpi, CUDA-aware$' "$scratch/log" &&
        grep -q 'GPU 0: collectives take .* for partial sums$' "$scratch/log" && ! grep -q 'come with their first use' "$scratch/log" && return
    echo "$got, not $1: ranks and options ${*:2}"
    cat "$scratch/log"
    failed=1
}

# refuses TEXT RANKS OPTION...: exit status 2, and only one rank says why.
refuses() {
    local status=0
    train "${@:2}" --cuda-aware || status=$?
    [ $status = 2 ] && [ "$(grep -c 'error: ' "$scratch/log")" = 1 ] && grep -F 'error: ' "$scratch/log" | grep -qF -e "$1" && return
    echo "status $status, not 2 with '$1' and nothing else:"
    cat "$scratch/log"
    failed=1
}

# In each algorithm and kind, the bits are those of main memory.
orders=(eager late random)
for i in 0 1 2; do
    TUTTI_FAKE_ORDER=${orders[i]} "${MPIRUN:-mpirun}" -np $((i + 1)) env LD_PRELOAD="$aware" "$TUTTI_BUILDDIR/tests/device/aware_ranks" \
        > "$scratch/log" 2>&1 && continue
    echo "aware_ranks on $((i + 1)) ranks, ${orders[i]}:"
    tail -n 20 "$scratch/log"
    failed=1
done

preload=
mapfile -t designs < <("$TUTTI_BUILDDIR/apps/tutti-info" --list designs | grep -vx naive)
wanted=$(weights 2 --algorithm direct)
for i in "${!designs[@]}"; do
    TUTTI_FAKE_DEVICES=2 TUTTI_FAKE_ORDER=${orders[i % 3]} same "$wanted" 2 --algorithm direct --design "${designs[i]}"
done
TUTTI_FAKE_ORDER=late TUTTI_FAKE_DEVICES=3 same "$(weights 3 --algorithm ring --device cuda --transport mpi)" 3 --algorithm ring
# Gradients in bf16, which are added in float32.
TUTTI_FAKE_ORDER=random same "$(weights 3 --wire bf16 --algorithm direct)" 3 --wire bf16 --algorithm direct
TUTTI_FAKE_ORDER=late same "$(weights 3 --strategy sharded)" 3 --strategy sharded --design concurrent --lanes 3
layout=(--layout stages=2,replicas=2 --micro-batches 2)
TUTTI_FAKE_ORDER=random same "$(weights 4 "${layout[@]}")" 4 "${layout[@]}"

refuses 'on rank 0, MPI does not say that it takes the memory of GPUs' 2 --device cuda
refuses 'use it with --device cuda' 2
preload=$aware
TUTTI_FAKE_AWARE=0 refuses 'on rank 0, MPI does not say' 2 --device cuda
refuses 'use it with --transport mpi' 2 --device cuda --transport nccl
refuses "--algorithm mpi is MPI's own" 2 --device cuda --algorithm mpi

# Too little memory for partial sums is told before the first step, and ends all ranks.
status=0
TUTTI_FAKE_MEMORY_MB=1 train 2 --device cuda --cuda-aware --algorithm direct || status=$?
[ $status = 1 ] && grep -q "no memory for the partial sums of collectives, of which '.*' needs [1-9][0-9]* bytes" "$scratch/log" || {
    echo "status $status, not 1 for too little memory:"
    cat "$scratch/log"
    failed=1
}
exit $failed
