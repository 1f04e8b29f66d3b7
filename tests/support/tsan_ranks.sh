#!/bin/bash
# Two ranks under mpirun with every design, traced, as the stages of a pipeline, with divided layers and sharded updates: what tests/support/tsan.sh looks at.
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
finish
