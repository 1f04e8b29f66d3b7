#!/bin/bash
# Ranks under mpirun with every design, traced, as the stages of a pipeline, with divided layers and sharded updates, with servers,
# with codes of gradients, with neighbours, and a store of keys: what tests/support/tsan.sh looks at.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
workers=1
for design in $(names designs); do
    cifar 2 --data "$dir/data" --steps 3 --batch 4 --lr 0.02 --model mlp --workers $workers --design $design \
        --trace "$dir/trace" ||
        fail "$design, $workers workers: status $?"
    cat "$dir/out"
    workers=$((workers + 1))
done
for design in funneled concurrent; do
    cifar 2 --data "$dir/data" --steps 3 --batch 4 --lr 0.02 --model mlp --workers 2 --design $design --layout stages=2 \
        --trace "$dir/trace" ||
        fail "$design, two stages: status $?"
    cat "$dir/out"
    cifar 2 --data "$dir/data" --steps 3 --batch 4 --lr 0.02 --model mlp --workers 2 --design $design --layout split=2 \
        --micro-batches 2 --strategy sharded ||
        fail "$design, divided layers: status $?"
    cat "$dir/out"
done
cifar 4 --data "$dir/data" --steps 3 --batch 4 --lr 0.02 --model mlp --workers 1 --design concurrent \
    --layout stages=2,split=2 --strategy sharded || fail "stages and divided layers: status $?"
cat "$dir/out"
# Each with another design that can have it.
mapfile -t designs < <(names overlapping)
turn=0
trains_with() { # RANKS OPTION...
    local ranks=$1 design=${designs[turn++ % ${#designs[@]}]}
    shift
    cifar "$ranks" --data "$dir/data" --steps 4 --batch 4 --lr 0.02 --model mlp --workers 2 --design "$design" "$@" ||
        fail "$*, $design: status $?"
    cat "$dir/out"
}
# One worker has regions everywhere; several have them where micro-batches do not take turns.
trains_with 2 --micro-batches 1
trains_with 3 --layout servers=1
trains_with 3 --layout servers=all
trains_with 3 --layout servers=1 --strategy elastic:period=2
trains_with 3 --layout servers=1 --strategy async
trains_with 2 --strategy rooted:obr
trains_with 3 --strategy gossip:exponential,period=3
trains_with 3 --strategy gossip:push-sum,period=3
trains_with 3 --strategy adpsgd:period=2,delay=2,round=4
for codec in onebit powersgd:2; do trains_with 2 --compress $codec; done
STARPU_NCPU=2 "$mpirun" -np 5 "$TUTTI_BUILDDIR/tests/kv/kv" counts 1 2 async > "$dir/out" 2>&1 || fail "a store of keys: status $?"
cat "$dir/out"
finish
