#!/bin/bash
# tutti-cifar on the fake device: the weights must be those of the CPU, with one rank on the GPU and with several that share it
# or have one each, in several orders of streams and with every design; and it says what is missing.
set -u
program=${TUTTI_BUILDDIR:?}/tests/device/tutti-cifar
[ -x "$program" ] || exit 77
scratch=$(mktemp -d) failed=0
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$TUTTI_BUILDDIR/tests/device/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export STARPU_HOME=${STARPU_HOME:-$scratch} STARPU_SILENT=1 TUTTI_FAKE_MEMORY_MB=1024
ulimit -c 0

# train RANKS OPTION...: its output in $scratch/log; the algorithm adds in the order of ranks, whatever is summed together.
train() {
    local ranks=$1
    shift
    "${MPIRUN:-mpirun}" -np "$ranks" "$program" --data synthetic --batch 8 --steps 3 --eval-every never --algorithm direct "$@" \
        > "$scratch/log" 2>&1
}

# weights RANKS OPTION...: their hash.
weights() {
    train "$@" || { cat "$scratch/log" >&2; return 1; }
    grep -o 'weights [0-9a-f]*' "$scratch/log"
}

# same WANTED ORDER RANKS OPTION...
same() {
    local wanted=$1 got
    got=$(TUTTI_FAKE_ORDER=$2 weights "${@:3}" --device cuda)
    [ -n "$got" ] && [ "$got" = "$wanted" ] && return
    echo "$got, not $wanted: order $2, ranks and options ${*:3}"
    failed=1
}

# refuses STATUS TEXT RANKS OPTION...
refuses() {
    local status=0
    train "${@:3}" --device cuda || status=$?
    [ $status = "$1" ] && grep -qF -e "$2" "$scratch/log" && return
    echo "status $status, not $1 with '$2':"
    cat "$scratch/log"
    failed=1
}

# StarPU measures the machine first, and resets the GPUs: what a rank has there by then is gone.
first=$(STARPU_HOME=$scratch TUTTI_FAKE_ORDER=eager weights 1 --model mlp --device cuda)
one=$(weights 1 --model mlp) two=$(weights 2 --model mlp)
same "$(weights 1 --model resnet20)" random 1 --model resnet20
# Kernels of convolutions leave what the ReLU behind them would (test_relus), also where that is on the next stage. A pooling of this model adds
# in another order than the CPU's.
same "$(weights 1 --device cuda --model cifar-quick --micro-batches 2)" late 2 --model cifar-quick --layout stages=2 --micro-batches 2 \
    --stage-layers 4,7
[ "$first" = "$one" ] || { echo "the first start: $first, not $one"; failed=1; }
same "$one" late 1 --model mlp
# Four ranks that share a GPU, of which the first measures a machine that StarPU does not know yet.
mkdir "$scratch/new"
STARPU_HOME=$scratch/new same "$(weights 4 --model mlp)" eager 4 --model mlp --design funneled
same "$two" late 2 --model mlp --design concurrent
for codec in onebit topk:0.01 powersgd:2; do
    same "$(weights 2 --model mlp --compress $codec)" random 2 --model mlp --compress $codec --design concurrent
done
TUTTI_FAKE_DEVICES=2 same "$two" random 2 --model mlp --design chained
# Regions of one kernel, and of as many as may be one task. What cannot be recorded is named once, and runs all the same.
for us in off 1000000; do same "$two" random 2 --model mlp --region-us $us; done
TUTTI_FAKE_UNRECORDED=cublasGemmEx same "$one" random 1 --model mlp
[ "$(grep -c 'cannot be recorded as a CUDA graph' "$scratch/log")" = 1 ] || { echo "not said, or not once:"; cat "$scratch/log"; failed=1; }
TUTTI_FAKE_DEVICES=0 refuses 2 '--device cuda: ' 2 --model mlp
TUTTI_FAKE_CAPABILITY=75 refuses 2 'the first GPU is older than compute capability 8.0' 2 --model mlp
TUTTI_FAKE_DEVICES=2 TUTTI_FAKE_CAPABILITY=90,75 same "$two" random 2 --model mlp
grep -q '2 ranks of this host share 1 GPU$' "$scratch/log" || { echo "a GPU that is too old is not left out:"; cat "$scratch/log"; failed=1; }
TUTTI_FAKE_DRIVER=12040 refuses 2 'the driver is older than CUDA: install a newer one' 2 --model mlp
TUTTI_FAKE_MEMORY_MB=48 refuses 1 'but a step takes ' 2 --model mlp-1024x5 --batch 4096
# Too little on one rank: all end alike, and one says why.
large=(--data synthetic --model mlp-1024x5 --batch 4096 --steps 3 --device cuda)
"${MPIRUN:-mpirun}" -np 1 -x TUTTI_FAKE_MEMORY_MB=4096 "$program" "${large[@]}" : \
    -np 1 -x TUTTI_FAKE_MEMORY_MB=48 "$program" "${large[@]}" > "$scratch/log" 2>&1
status=$?
[ $status = 1 ] && [ "$(grep -c 'error: ' "$scratch/log")" = 1 ] && grep -q 'error: .*but a step takes ' "$scratch/log" || {
    echo "too little memory on one rank: status $status"
    cat "$scratch/log"
    failed=1
}
# The same in a bench: no rank waits for the one that cannot.
bench=(step --model mlp --batch 2 --blocks 1 --steps 2 --design funneled --peer none --device cuda)
SECONDS=0
"${MPIRUN:-mpirun}" -np 1 -x TUTTI_FAKE_MEMORY_MB=2048 "$TUTTI_BUILDDIR/tests/device/tutti-bench" "${bench[@]}" : \
    -np 1 -x TUTTI_FAKE_MEMORY_MB=48 "$TUTTI_BUILDDIR/tests/device/tutti-bench" "${bench[@]}" > "$scratch/log" 2>&1
status=$?
[ $status = 1 ] && [ "$(grep -c 'error: ' "$scratch/log")" = 1 ] && grep -q 'error: .*but a step takes ' "$scratch/log" &&
    ! grep -qi mpi_abort "$scratch/log" && [ $SECONDS -lt $((60 * ${TUTTI_TEST_SLOWDOWN:-1})) ] || {
    echo "too little memory on one rank of a bench: status $status after $SECONDS s"
    cat "$scratch/log"
    failed=1
}
# On one GPU a bench has PyTorch for a peer: the fastest variant. On several ranks it has none.
cat > "$scratch/peer" << 'END'
#!/bin/sh
echo "$*" >> "$0.calls"
echo '{"event": "ready", "about": "it"}'
while read -r line; do echo '{"event": "block", "step_ms": 1.0}'; done
END
chmod +x "$scratch/peer"
compares() { # RANKS OPTION...
    "${MPIRUN:-mpirun}" -np "$1" "$TUTTI_BUILDDIR/tests/device/tutti-bench" step --model mlp --batch 2 --blocks 1 --steps 1 --design funneled \
        --peer "$scratch/peer" --device cuda "${@:2}" > "$scratch/log" 2>&1
}
compares 1 --tf32 && grep -q '^it ' "$scratch/log" && compares 1 && [ "$(cat "$scratch/peer.calls")" = "\
--device cuda --model mlp --batch 2 --steps 1 --blocks 1 --variant best
--device cuda --model mlp --batch 2 --steps 1 --blocks 1 --variant best --no-tf32" ] || {
    echo "a peer on a GPU"
    cat "$scratch/log" "$scratch/peer.calls"
    failed=1
}
compares 2
status=$?
[ $status = 2 ] && grep -q 'runs on one GPU: use one rank, or --peer none' "$scratch/log" || {
    echo "a peer of two ranks with a GPU: status $status"
    cat "$scratch/log"
    failed=1
}
exit $failed
