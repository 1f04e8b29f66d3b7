#!/bin/bash
# How long a training stands still when a rank is killed: seconds from SIGKILL to the next step of the ranks that are left, and to
# one with the new rank, beside torchelastic, in turns. Not a test: quiet processors are needed.
#   recovery.sh BUILD [ROUNDS: 5]     TUTTI_PEER: a Python with PyTorch; without it there is no peer
set -u
apps=$(cd "${1:?the build folder}/apps" && pwd) here=$(dirname "$(readlink -f "$0")")
dir=$(mktemp -d) run=''
trap '[ -z "$run" ] || kill "$run"; rm -rf "$dir"' EXIT

# soon COMMAND...: waits, at most 60 s, until it succeeds.
soon() {
    local i
    for ((i = 0; i < 3000; i++)); do "$@" && return; sleep 0.02; done
    echo "not within 60 s: $*" && exit 1
}
count() { grep -c "\"event\":\"$1\"" "$dir/json" 2> /dev/null; } # EVENT
has() { [ "$(count "$1")" -ge "$2" ]; }                         # EVENT N
since() { awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN { printf "%.2f s ", to - from }'; }

# With its third start all three ranks train again.
again() { awk '/"event":"start"/ { n++ } n >= 3 && /"event":"step"/ { found = 1 } END { exit !found }' "$dir/json"; }
lost() { grep -q "is lost: 2 ranks go on" "$dir/out"; }

own_round() {
    rm -f "$dir/json"
    "$apps/tutti-run" --elastic 1:3 -n 3 --pause 0 "$apps/tutti-cifar" --data synthetic --model resnet20 --batch 32 --steps 400 \
        --eval-every never --quiet --json "$dir/json" > "$dir/out" 2>&1 &
    local began steps
    run=$!
    soon has step 15
    began=$(date +%s.%N)
    kill -9 "$(pgrep -P $run -f tutti-cifar | tail -n 1)"
    soon lost
    steps=$(count step)
    soon has step $((steps + 1))
    printf 'two ranks: %s' "$(since "$began")"
    soon again
    printf 'three: %s\n' "$(since "$began")"
    kill $run
    wait $run
    run=''
}

lines() { [ "$(wc -l < "$dir/log")" -ge "$1" ]; }
renewed() { [ "$(tail -n 1 "$dir/log")" != "$1" ]; }

# Without TORCH_DISABLE_SHARE_RDZV_TCP_STORE new workers of PyTorch 2.15 look for each other where the old ones were.
peer_round() {
    : > "$dir/log"
    TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 "$TUTTI_PEER" -m torch.distributed.run --standalone \
        --nnodes 1 --nproc-per-node 3 --max-restarts 3 --monitor-interval 0.1 "$here/recovery_peer.py" "$dir/log" > "$dir/out" 2>&1 &
    local began worker
    run=$!
    soon lines 15
    began=$(date +%s.%N)
    kill -9 "$(pgrep -P $run -f recovery_peer.py | tail -n 1)"
    worker=$(tail -n 1 "$dir/log")
    soon renewed "$worker"
    printf 'torchelastic: %s\n' "$(since "$began")"
    kill $run
    wait $run
    run=''
}

for ((round = 0; round < ${2:-5}; round++)); do
    own_round
    [ -z "${TUTTI_PEER:-}" ] || peer_round
done 2> /dev/null
