#!/bin/bash
# tutti-cifar --engines timed on the fake device: engines are chosen by timing, told and kept in checkpoints; a run that goes on takes
# the same; all ranks take those of rank 0, or of the first rank that needs them, and say so where one of them cannot.
set -u
program=${TUTTI_BUILDDIR:?}/tests/device/tutti-cifar
[ -x "$program" ] && [ -e "$TUTTI_BUILDDIR/tests/device/fake/libcudnn.so.9" ] || exit 77
scratch=$(mktemp -d) failed=0
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$TUTTI_BUILDDIR/tests/device/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export STARPU_HOME=${STARPU_HOME:-$scratch} STARPU_SILENT=1 TUTTI_FAKE_MEMORY_MB=1024
ulimit -c 0
with=(--data synthetic --model resnet8 --batch 4 --epochs 1 --eval-every never --algorithm direct --engines timed --device cuda)

wrong() {
    echo "$*"
    cat "$scratch/log"
    failed=1
}

# train RANKS OPTION...: what it says in $scratch/log, and its events in $scratch/json.
train() {
    rm -f "$scratch/json"
    "${MPIRUN:-mpirun}" -np "$1" "$program" "${with[@]}" --json "$scratch/json" "${@:2}" > "$scratch/log" 2>&1 || wrong "train $*: status $?"
}

# engines: those of the run before, "what: engine" line by line.
engines() {
    grep -o '"engines":{[^}]*}' "$scratch/json" | tr '{},' '\n' | grep ' stride ' | tr -d '"'
}

weights() {
    grep -o 'weights [0-9a-f]*' "$scratch/log"
}

# Every convolution has its fastest engine, and the weights are those of the engines that are offered first, which add alike on the fake.
train 1 --steps 2 --checkpoint "$scratch/two.safetensors"
two=$(weights)
[ "$(engines | grep -c ':cuDNN 9\.[0-9.]* e14 2=2$')" = "$(engines | wc -l)" ] && [ "$(engines | wc -l)" -ge 15 ] || wrong "engines: $(engines)"
train 1 --steps 2 --engines heuristic
[ "$(weights)" = "$two" ] && ! grep -q '"engines":{' "$scratch/json" || wrong "without timing: $(weights), not $two"

# A run that goes on takes the engines of its checkpoint, also where it would choose others.
sed -i 's/e14 2=2/e14 2=1/g' "$scratch/two.safetensors"
train 1 --steps 3 --resume "$scratch/two.safetensors"
[ "$(engines | grep -c 'e14 2=1$')" = "$(engines | wc -l)" ] && [ -n "$(engines)" ] || wrong "engines after --resume: $(engines)"
train 1 --steps 3 --resume "$scratch/two.safetensors" --engines heuristic
grep -q 'use --engines timed to continue with the same' "$scratch/log" || wrong "--resume without timing does not warn"
train 1 --steps 3 --resume "$scratch/two.safetensors" --device cpu
# Of another version of cuDNN it takes none.
TUTTI_FAKE_CUDNN_VERSION=91800 train 1 --steps 3 --resume "$scratch/two.safetensors"
grep -q 'its engines are those of cuDNN 9[0-9.]*, and this is cuDNN 9.18.0: this run chooses others' "$scratch/log" &&
    [ "$(engines | grep -c ':cuDNN 9.18.0 e14 2=2$')" = "$(engines | wc -l)" ] || wrong "engines of another cuDNN: $(engines)"
gpu=$(grep -ao 'GPU = [^\\]*' "$scratch/two.safetensors" | head -n 1)
gpu=${gpu#GPU = }
sed -i "s/GPU = $gpu/GPU = ${gpu//?/x}/" "$scratch/two.safetensors"
train 1 --steps 3 --resume "$scratch/two.safetensors"
grep -q "its engines were chosen on xx*, and this is $gpu" "$scratch/log" && [ "$(engines | grep -c 'e14 2=2$')" = "$(engines | wc -l)" ] ||
    wrong "engines of another GPU: $(engines)"

# Two ranks, of which one lacks the engine that is the fastest of the other: rank 0 chooses.
lacks=TUTTI_FAKE_CUDNN_LACKS=14:2
pair() { # RANK VARIABLE=VALUE OPTION...: that rank has this
    local zero=() one=()
    if [ "$1" = 0 ]; then zero=(-x "$2"); else one=(-x "$2"); fi
    rm -f "$scratch/json"
    "${MPIRUN:-mpirun}" -np 1 "${zero[@]}" "$program" "${with[@]}" --json "$scratch/json" "${@:3}" : \
        -np 1 "${one[@]}" "$program" "${with[@]}" --json "$scratch/json" "${@:3}" > "$scratch/log" 2>&1
}
pair 0 $lacks --steps 2 || wrong "rank 0 lacks an engine: status $?"
[ "$(engines | grep -c 'e14 2=1$')" = "$(engines | wc -l)" ] && [ -n "$(engines)" ] || wrong "engines of two ranks: $(engines)"
pair 1 $lacks --steps 2
status=$?
[ $status = 1 ] && grep -q 'cannot open the engine that was chosen for it, cuDNN 9[0-9.]* e14 2=2: use GPUs of one kind' "$scratch/log" ||
    wrong "rank 1 lacks an engine: status $status"
pair 1 TUTTI_FAKE_CUDNN_VERSION=91800 --steps 2
status=$?
[ $status = 1 ] && grep -q 'cuDNN 9[0-9.]* e14 2=2 was chosen for it, and is not an engine of cuDNN 9.18.0, which this rank has: use one' "$scratch/log" ||
    wrong "rank 1 has another cuDNN: status $status"

# Three ranks, of which each has convolutions that those before it do not have.
"${MPIRUN:-mpirun}" -np 3 "$TUTTI_BUILDDIR/tests/device/engine_ranks" > "$scratch/log" 2>&1 || wrong "three ranks: status $?"

# Two stages: each has convolutions that the other one does not have.
train 2 --steps 2 --layout stages=2 --micro-batches 2
all=$(engines)
train 1 --steps 2 --micro-batches 2
[ -n "$all" ] && [ "$(sort <<< "$all")" = "$(engines | sort)" ] || wrong "engines of two stages: $all"
exit $failed
