#!/bin/bash
# How long a step of a pipeline of 4 stages on one host takes over shared memory, as a share of what it takes over Open MPI, with and
# without single copies by the kernel (CMA), in turns; the weights are compared. Not a test: quiet processors are needed.
#   stage_turns.sh BUILD [ROUNDS: 5] [STEPS: 8] [MODEL:BATCH...: vgg16:32 resnet1001:8]
set -u
apps=$(cd "${1:?the build folder}/apps" && pwd) rounds=${2:-5} steps=${3:-8}
models=("${@:4}")
[ ${#models[@]} != 0 ] || models=(vgg16:32 resnet1001:8)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# run_way WAY MODEL BATCH: prints the median of its steps, in ms
run_way() {
    local way=$1 transport=${1%-*} copies=cma
    [ "$way" != mpi-copies ] || copies=none
    OMPI_MCA_btl_vader_single_copy_mechanism=$copies "$apps/tutti-run" -n 4 "$apps/tutti-cifar" --data synthetic --model "$2" --batch "$3" \
        --layout stages=4 --steps "$steps" --eval-every never --transport "$transport" --json "$dir/json" > "$dir/out" 2>&1 ||
        { echo "$way, $2: status $?" >&2; tail -n 5 "$dir/out" >&2; exit 1; }
    grep -o 'weights [0-9a-f]*' "$dir/out" >> "$dir/weights"
    sed -n 's/.*"event":"summary".*"step_ms_median":\([0-9.]*\).*/\1/p' "$dir/json"
}
median() { sort -n | awk '{ x[NR] = $1 } END { printf "%.2f (%.2f to %.2f)", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2, x[1], x[NR] }'; }

for model in "${models[@]}"; do
    : > "$dir/weights" > "$dir/mpi" > "$dir/mpi-copies"
    for ((round = 1; round <= rounds; round++)); do
        ways=(shm mpi mpi-copies)
        ((round % 2)) || ways=(mpi-copies mpi shm)
        declare -A took=()
        for way in "${ways[@]}"; do
            rm -f "$dir/json"
            took[$way]=$(run_way "$way" "${model%:*}" "${model#*:}") || exit 1
        done
        echo "$model, round $round: shm ${took[shm]} ms, mpi ${took[mpi]} ms, mpi without CMA ${took[mpi-copies]} ms"
        for way in mpi mpi-copies; do
            awk -v a="${took[shm]}" -v b="${took[$way]}" 'BEGIN { print a / b }' >> "$dir/$way"
        done
    done
    [ "$(sort -u "$dir/weights" | wc -l)" = 1 ] || { echo "$model: the weights differ"; exit 1; }
    echo "$model: a step over shm, of that over mpi: $(median < "$dir/mpi"), without CMA: $(median < "$dir/mpi-copies"); the same weights"
done
