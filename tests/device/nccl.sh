#!/bin/bash
# tutti-cifar over the fake NCCL, each rank with a fake GPU: the weights must be those of the CPU, on 2 and 4 ranks, alike or in
# stages, with every design that keeps the law and in several orders of streams. auto takes NCCL where it can, and what cannot be is said once.
set -u
program=${TUTTI_BUILDDIR:?}/tests/device/tutti-cifar
[ -x "$program" ] && [ -e "$TUTTI_BUILDDIR/tests/device/fake/libnccl.so.2" ] || exit 77
scratch=$(mktemp -d) failed=0
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$TUTTI_BUILDDIR/tests/device/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export STARPU_HOME=${STARPU_HOME:-$scratch} STARPU_SILENT=1 TUTTI_FAKE_MEMORY_MB=1024 TUTTI_FAKE_DEVICES=4
ulimit -c 0
arguments=(--data synthetic --batch 8 --steps 3 --eval-every never --model mlp)

# train RANKS OPTION...: its output in $scratch/log. On the CPU, too, sums are added in the order of ranks.
train() {
    "${MPIRUN:-mpirun}" -np "$1" "$program" "${arguments[@]}" --algorithm direct "${@:2}" > "$scratch/log" 2>&1
}

weights() { # RANKS OPTION...: their hash
    train "$@" || { cat "$scratch/log" >&2; return 1; }
    grep -o 'weights [0-9a-f]*' "$scratch/log"
}

# same WANTED TRANSPORT RANKS OPTION...
same() {
    local got
    got=$(weights "${@:3}" --device cuda)
    [ -n "$got" ] && [ "$got" = "$1" ] && grep -q "collectives by transport $2\$" "$scratch/log" && return
    echo "$got, not $1 by transport $2: ranks and options ${*:3}"
    cat "$scratch/log"
    failed=1
}

# said STATUS TEXT: that the last run ended so, and only one rank said why.
said() {
    [ "$1" = 2 ] && [ "$(grep -c 'error: ' "$scratch/log")" = 1 ] && grep -F 'error: ' "$scratch/log" | grep -qF -e "$2" && return
    echo "status $1, not 2 with '$2' and nothing else:"
    cat "$scratch/log"
    failed=1
}

orders=(eager late random)
mapfile -t designs < <("$TUTTI_BUILDDIR/apps/tutti-info" --list designs | grep -vx naive)
for ranks in 2 4; do
    wanted=$(weights $ranks)
    for i in "${!designs[@]}"; do
        TUTTI_FAKE_ORDER=${orders[(i + ranks / 2) % 3]} same "$wanted" nccl $ranks --transport nccl --design "${designs[i]}"
    done
    [ $ranks = 4 ] || TUTTI_FAKE_DEVICES=1 same "$wanted" mpi $ranks --transport auto
done
same "$wanted" nccl 4 --transport auto --lanes 3 --design concurrent
# Ranks that see different GPUs, as a launcher may bind them: each has one of its own, and none says that GPUs are shared.
sees() { # GPUS...: those of each rank
    local visible command=()
    for visible in "$@"; do
        command+=(${command:+:} -np 1 -x "CUDA_VISIBLE_DEVICES=$visible" "$program" "${arguments[@]}" --algorithm direct --device cuda --transport nccl)
    done
    "${MPIRUN:-mpirun}" "${command[@]}" > "$scratch/log" 2>&1 && [ "$(grep -o 'weights [0-9a-f]*' "$scratch/log")" = "$wanted" ] &&
        ! grep -q 'of this host share' "$scratch/log" && return
    echo "ranks that see the GPUs $*:"
    cat "$scratch/log"
    failed=1
}
sees 0,1 2,3 0,1 2,3
sees 0 1 2 3
# Groups have communicators of their own, also groups of two, and messages go through main memory.
layout=(--layout stages=2,replicas=2 --micro-batches 2)
wanted=$(weights 4 "${layout[@]}")
for i in "${!designs[@]}"; do
    TUTTI_FAKE_ORDER=${orders[(i + 1) % 3]} same "$wanted" nccl 4 "${layout[@]}" --design "${designs[i]}"
done
# A step with sums copies what a step without copies: nothing beside what it is fed, and what is fetched.
copied() { # STEPS RANKS OPTION...: how often a rank copies to a GPU or back
    rm -f "$scratch"/moved.*
    TUTTI_FAKE_REPORT=$scratch/moved.%p "${MPIRUN:-mpirun}" -np "$2" "$program" --data synthetic --batch 8 --steps "$1" \
        --eval-every never --model mlp --device cuda "${@:3}" > "$scratch/log" 2>&1 || cat "$scratch/log" >&2
    awk -v ranks="$2" '/^to_(device|host) /{n += $2} END{print n / ranks}' "$scratch"/moved.*
}
alone=$(($(copied 6 1) - $(copied 2 1))) summed=$(($(copied 6 2 --transport nccl) - $(copied 2 2 --transport nccl)))
[ "$alone" -gt 0 ] && [ "$summed" = "$alone" ] || { echo "4 steps copy $summed times with sums, $alone times without"; failed=1; }

# Other collectives: blocks of a sum that differ in length, and gathered.
TUTTI_FAKE_ORDER=random same "$(weights 3 --strategy sharded)" nccl 3 --strategy sharded

# The other programs that choose a transport.
runs() { # TEXT PROGRAM OPTION...: it ends well on 2 ranks, and says this
    TUTTI_FAKE_ORDER=random "${MPIRUN:-mpirun}" -np 2 "$TUTTI_BUILDDIR/tests/device/$2" "${@:3}" --device cuda --transport nccl \
        > "$scratch/log" 2>&1 && grep -q -e "$1" "$scratch/log" && return
    echo "$2 does not run over NCCL:"
    cat "$scratch/log"
    failed=1
}
runs 'collectives by transport nccl$' tutti-imagenet --data synthetic --model mobilenet-v1 --size 32 --batch 2 --steps 2 --eval-every never
runs 'mlp' tutti-bench step --model mlp --batch 2 --steps 1 --blocks 1 --design concurrent --peer none

TUTTI_FAKE_DEVICES=1 train 2 --device cuda --transport nccl
said $? '--transport nccl: ranks 0 and 1 have the same GPU'
train 2 --transport nccl
said $? 'use it with --device cuda'
"${MPIRUN:-mpirun}" -np 1 -x TUTTI_FAKE_DEVICES=1 "$program" "${arguments[@]}" --device cuda --transport nccl : \
    -np 1 -x TUTTI_FAKE_DEVICES=0 "$program" "${arguments[@]}" --device cuda --transport nccl > "$scratch/log" 2>&1
said $? 'rank 1 has no GPU, but 1 of 2 ranks have one'
exit $failed
