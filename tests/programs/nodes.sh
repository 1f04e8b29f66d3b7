#!/bin/bash
# StarPU with two memory nodes, which hwloc makes up: a program's collectives have what its tasks wrote, on whichever node, and
# tutti-cifar has the same weights as on one node, with every design.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
unset HWLOC_COMPONENTS # where it is set, hwloc makes nothing up
two_nodes=(env STARPU_HOSTNAME=two-nodes STARPU_USE_NUMA=1 "HWLOC_SYNTHETIC=numa:2 core:1 pu:1" HWLOC_THISSYSTEM=1 STARPU_WORKERS_NOBIND=1)

# runs P DESIGN: the program; output in $dir/out, exit status in $status.
runs() {
    status=0
    TUTTI_DESIGN=$2 "$mpirun" -np "$1" "${two_nodes[@]}" "$TUTTI_BUILDDIR/tests/programs/nodes" > "$dir/out" 2>&1 || status=$?
}

# Alone at first: StarPU measures the machine when it starts, and must not be met by another rank in that.
runs 1 funneled
if [ $status = 77 ]; then
    echo "SKIPPED: StarPU has one memory node only in HWLOC_SYNTHETIC='numa:2 core:1 pu:1'"
    exit 77
fi
[ $status = 0 ] || { fail "one rank: status $status"; cat "$dir/out"; }
for design in sequential $(names overlapping); do
    runs 2 $design
    [ $status = 0 ] || { fail "$design: status $status"; cat "$dir/out"; }
done

# The same weights and the same checkpoint as on one node, bit for bit, for every design; the ranks compare their replicas.
make_cifar "$dir/data"
trained() { # P DESIGN: hash and checksum of the checkpoint
    rm -f "$dir/saved"
    trains "$1" --data "$dir/data" --model cifar-quick --steps 4 --batch 6 --lr 0.02 --workers 2 --design "$2" --checkpoint "$dir/saved"
    echo "$(field weights_hash) $(cksum < "$dir/saved")"
}
for ranks in 1 2; do
    one=$(trained $ranks sequential)
    for design in $(names designs); do
        [ $ranks = 2 ] || [ $design = funneled ] || continue
        two=$(export "${two_nodes[@]:1}"; trained $ranks $design)
        [ "$two" = "$one" ] || fail "$ranks ranks, $design: $two on two nodes, $one on one"
    done
done
finish
