#!/bin/bash
# What deaths do to the accuracy: the same training with four ranks to the end, and with KILLS of a random rank at random moments,
# in whose place another comes each time. Not a test: it takes minutes, or hours.
#   elastic_accuracy.sh BUILD DATA [KILLS: 6] [OPTION of tutti-cifar]...     DATA: cifar-10-batches-bin
# TUTTI_TEST_SEED: of the moments. Fails if a run does, or if the accuracies differ by more than 0.3 points.
set -u
apps=$(cd "${1:?the build folder}/apps" && pwd) data=${2:?the folder of CIFAR-10} kills=${3:-6}
shift $(($# < 3 ? $# : 3))
RANDOM=${TUTTI_TEST_SEED:-1}
dir=$(mktemp -d) run=''
trap '[ -z "$run" ] || kill "$run"; rm -rf "$dir"' EXIT

count() { grep -c "\"event\":\"$1\"" "$dir/json" 2> /dev/null; }
accuracy() { grep -o '"test_accuracy":[0-9.]*' "$dir/json" | tail -n 1 | cut -d: -f2; }
all_steps() { sed -n 's/.*"event":"start".*"steps":\([0-9]*\).*/\1/p' "$dir/json" | head -n 1; }

train() { # OPTION...
    rm -f "$dir/json"
    "$apps/tutti-run" --elastic 3:4 -n 4 --pause 0 --max-restarts $((2 * kills + 1)) "$apps/tutti-cifar" --data "$data" \
        --model resnet20 --batch 30 --batch-rule global --epochs 5 --quiet --json "$dir/json" "$@" > "$dir/out" 2>&1 &
    run=$!
}
await_end() {
    local status=0
    wait "$run" || status=$?
    run=''
    [ $status = 0 ] || { cat "$dir/out"; echo "status $status"; exit 1; }
}

# Only members are killed: when a death has been said, and four ranks train again.
is_whole() { [ "$(grep -c 'has joined: 4 ranks\|have joined: 4 ranks' "$dir/out")" -ge "$1" ]; }

train "$@"
await_end
steps=$(count step) calm=$(accuracy)
echo "nobody dies: $calm after $steps steps"

train "$@"
killed=0
while [ $killed -lt "$kills" ]; do
    # In the middle of its share of the steps, give or take.
    at=$(((2 * killed + 1) * steps / (2 * kills + 1) + RANDOM % (steps / (2 * kills + 1) + 1)))
    until [ "$(tac "$dir/json" 2> /dev/null | sed -n 's/.*"event":"step".*"step":\([0-9]*\).*/\1/p' | head -n 1)" -ge "$at" ] 2> /dev/null &&
        is_whole $killed; do
        kill -0 "$run" || await_end
        sleep 0.05
    done
    kill -9 "$(pgrep -P "$run" -f tutti-cifar | sed -n "$((RANDOM % 4 + 1))p")"
    killed=$((killed + 1))
done
await_end
grep 'go on\|goes on' "$dir/out"
echo "$killed ranks die: $(accuracy) after $(count step) steps"
awk -v calm="$calm" -v other="$(accuracy)" 'BEGIN { d = 100 * (other - calm); printf "%+.2f points\n", d; exit d < -0.3 || d > 0.3 }'
