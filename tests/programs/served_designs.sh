#!/bin/bash
# Parameter servers in the same mpirun, in every design: weights as without servers, for one server and two, with clients of two, in stages, and
# where all ranks are servers.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 6 --augment crop --eval-every never)

trains 4 "${model[@]}" --strategy rooted:b
tree=$(field weights_hash)
trains 3 "${model[@]}" --layout replicas=3
three=$(field weights_hash)
trains 9 "${model[@]}" --micro-batches 2 --layout servers=1,clients=2,stages=2
staged=$(field weights_hash)
trains 5 "${model[@]}" --micro-batches 2 --layout servers=1,clients=2
is "two clients of two, in stages, and not" "$staged"
i=0
for design in $(names designs); do
    [ "$design" = naive ] && continue
    i=$((i % 2 + 1))
    trains $((8 + i)) "${model[@]}" --micro-batches 2 --layout servers=$i,clients=2,stages=2 --design "$design"
    is "$design, $i servers, clients of two in stages" "$staged"
    trains $((3 + i)) "${model[@]}" --layout servers=$i,clients=3 --design "$design"
    is "$design, $i servers" "$three"
    trains $((4 + i)) "${model[@]}" --layout servers=$i,clients=2 --design "$design" --bucket-mb 0.02
    is "$design, $i servers, clients of two" "$tree"
    trains 3 "${model[@]}" --layout servers=all --design "$design"
    is "$design, all are servers" "$three"
    trains 4 "${model[@]}" --layout servers=all,clients=2 --design "$design" --bucket-mb 0.02
    is "$design, all are servers, clients of two" "$tree"
done
finish
