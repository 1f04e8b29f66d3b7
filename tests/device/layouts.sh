#!/bin/bash
# Layouts, strategies and codes of tutti-cifar on fake GPUs, over NCCL and over MPI: the weights must be those of the CPU, and
# more steps may not allocate memory, of a GPU or pinned, nor give some back, wait for a GPU, make streams, or copy what is not
# pinned.  layouts.sh
set -u
program=${TUTTI_BUILDDIR:?}/tests/device/tutti-cifar fake=$TUTTI_BUILDDIR/tests/device/fake
[ -x "$program" ] || exit 77
scratch=$(mktemp -d) failed=0
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export STARPU_HOME=${STARPU_HOME:-$scratch} STARPU_SILENT=1 TUTTI_FAKE_MEMORY_MB=2048 TUTTI_FAKE_DEVICES=4 TUTTI_FAKE_ORDER=random
ulimit -c 0
still='^(allocations|allocated_bytes|frees|host_allocations|host_frees|on_device|between_devices|pageable|synchronisations|streams) '

# train STEPS RANKS OPTION...: its hash; what it said in $scratch/log. On the CPU, too, sums are added in the order of ranks.
train() {
    "${MPIRUN:-mpirun}" -np "$2" "$program" --data synthetic --batch 8 --steps "$1" --eval-every never --model mlp \
        --algorithm direct "${@:3}" > "$scratch/log" 2>&1 || cat "$scratch/log" >&2
    grep -o 'weights [0-9a-f]*' "$scratch/log"
}

# counted STEPS RANKS OPTION...: the hash; in $scratch/counts what all ranks did on their GPUs, as lines "name number".
counted() {
    rm -f "$scratch"/report.*
    TUTTI_FAKE_REPORT=$scratch/report.%p train "$@" --device cuda
    awk '{n[$1] += $2} END{for (name in n) print name, n[name]}' "$scratch"/report.* | sort > "$scratch/counts"
}

# check TRANSPORT RANKS OPTION...
check() {
    local transport=$1 short=3 long=7 got wanted
    [ "$transport" = mpi ] || [ -e "$fake/libnccl.so.2" ] || return
    wanted=$(train $long "${@:2}")
    counted $short "${@:2}" --transport "$transport" > "$scratch/first"
    grep -E "$still" "$scratch/counts" > "$scratch/before"
    got=$(counted $long "${@:2}" --transport "$transport")
    grep -E "$still" "$scratch/counts" > "$scratch/after"
    [ -n "$got" ] && [ "$got" = "$wanted" ] && grep -q "collectives by transport $transport\$" "$scratch/log" ||
        { echo "FAILED: $got, not $wanted: transport, ranks and options $*"; cat "$scratch/log"; failed=1; }
    [ "$(wc -l < "$scratch/after")" = 10 ] && diff "$scratch/before" "$scratch/after" ||
        { echo "FAILED: $short steps, then $long: transport, ranks and options $*"; failed=1; }
}

check nccl 4 --layout replicas=4,split=2 --design concurrent
check nccl 4 --layout stages=2,replicas=2,split=2 --micro-batches 2 --design funneled
check nccl 2 --layout stages=2 --micro-batches 2 --pipeline eager
check nccl 4 --layout servers=2,clients=1 --design chained
check nccl 4 --layout servers=all,clients=2 --design concurrent
check nccl 3 --layout servers=1 --strategy elastic:period=2
check nccl 2 --strategy sharded
check nccl 2 --strategy rooted:obr
check nccl 2 --strategy local:period=2,outer=0.7,momentum=0.9
check nccl 2 --strategy gossip:ring,period=2
check nccl 2 --strategy gossip:push-sum,period=2
check nccl 2 --strategy adpsgd:round=2
check nccl 2 --compress onebit
check mpi 4 --layout stages=2,split=2 --micro-batches 2
check mpi 3 --layout servers=1
check mpi 3 --layout servers=all
check mpi 2 --strategy gossip:exponential

# A GPU that auto has found is not timed.
train 3 2 --device auto --layout stages=2 --stage-layers timed 2> "$scratch/err" > /dev/null
grep -q -- '--stage-layers timed: --device auto has found GPUs' "$scratch/err" ||
    { echo "FAILED: layers were timed on the CPU for GPUs"; cat "$scratch/err"; failed=1; }
exit $failed
