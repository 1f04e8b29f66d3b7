#!/bin/bash
# Ranks that come and go (tutti-run --elastic): with the same ranks all the time a run gives the weights of mpirun's; when
# ranks are killed and others come, the checkpoint is, byte for byte, that of runs which resume from the steps that
# tutti-run names, with so many ranks.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 400
all=(--data "$dir/data" --batch 4 --lr 0.02 --augment crop)

# elastic N LEAST:MOST OPTION...: runs tutti-cifar so; output in $dir/out, status returned.
elastic() {
    local ranks=$1 bounds=$2
    shift 2
    "$apps/tutti-run" --elastic "$bounds" -n "$ranks" --pause 0 --max-restarts "${restarts:-0}" \
        "$apps/tutti-cifar" "$@" --quiet --json "$dir/json" > "$dir/out" 2>&1
}

# await SECONDS COMMAND...: until the command succeeds.
await() {
    local left=$(($1 * 50))
    shift
    until "$@" 2> /dev/null; do
        [ $((left--)) -gt 0 ] || { fail "not within time: $*"; cat "$dir/out"; kill -9 "$run"; return 1; }
        sleep 0.02
    done
}
# Whether an epoch of the membership has trained on; whether its rank 0 has trained N steps more.
has_begun() { [ "$(grep -c '"event":"start"' "$dir/json")" = "$1" ]; }
has_trained() { [ "$(tac "$dir/json" | sed '/"event":"start"/q' | grep -c '"event":"step"')" -ge "$1" ]; }
# The process of the rank with this number among those that run, the oldest first.
rank() { ps -o pid= --ppid "$run" --sort start_time,pid | awk -v at="$1" 'NR == at + 1 { print $1 }'; }
# Pairs of a number of ranks and the step from which they went on.
changes() { sed -n 's/.*: \([0-9]*\) ranks\{0,1\} go\(es\)\{0,1\} on from step \([0-9]*\);.*/\1 \3/p' "$dir/out"; }

# ---- always the same ranks ----
same=("${all[@]}" --model resnet8 --steps 12 --eval-every never --ema 0.9)
trains 3 "${same[@]}"
hash=$(field weights_hash)
elastic 3 1:3 "${same[@]}" --snapshot-steps 5 || { fail "status $?"; cat "$dir/out"; }
[ "$(field weights_hash)" = "$hash" ] || fail "elastic: $(field weights_hash), mpirun: $hash"
elastic 1 1:1 "${same[@]}" --steps 3 || fail "one rank: status $?"

# ---- killed, replaced, killed, until a signal ends the run ----
# The first to die is rank $1 of 3; $2: for --snapshot-steps; $3: what the second one gets (TERM asks it alone to leave).
changes_exactly() {
    local victim=$1 snapshots=$2 signal=$3 status=0 last from=0 ranks=3 part=()
    shift 3
    rm -f "$dir"/{json,out,whole,part}*
    restarts=1 elastic 3 1:3 "${all[@]}" --steps 20000 --checkpoint "$dir/whole" --snapshot-steps "$snapshots" "$@" &
    local shell=$!
    await 20 pgrep -P $shell > "$dir/pid"
    run=$(cat "$dir/pid")
    await 20 has_begun 1 || return
    await 20 has_trained 20 || return
    kill -9 "$(rank "$victim")"
    await 20 has_begun 3 || return # the second without the rank, the third with another
    await 20 has_trained 12 || return
    kill "-$signal" "$(rank 1)"
    await 20 has_begun 4 || return
    await 20 has_trained 12 || return
    kill -TERM "$run"
    wait $shell || status=$?
    [ $status = 143 ] || fail "status $status instead of 143"
    told=$(grep "go on" "$dir/out" | tail -n 1)
    [ "$(changes | cut -d' ' -f1 | tr '\n' ' ')" = "2 3 2 " ] || { fail "changes: $(changes)"; cat "$dir/out"; }
    last=$(sed -n 's/.*"event":"interrupted".*"step":\([0-9]*\).*/\1/p' "$dir/json")
    while read -r next step; do
        [ "$step" = "$from" ] || trains "$ranks" "${all[@]}" --steps 20000 --checkpoint "$dir/part" --overwrite "${part[@]}" --stop-after "$step" "$@" < /dev/null
        [ "$step" = 0 ] || part=(--resume "$dir/part")
        from=$step ranks=$next
    done <<< "$(changes; echo "0 $last")"
    cmp "$dir/whole" "$dir/part" || { fail "not the checkpoint of runs that resume ($*)"; cat "$dir/out"; }
}
changes_exactly 2 7 KILL --model mlp --strategy sharded --optimizer adam --lr 0.001
changes_exactly 0 auto TERM --model resnet8 --ema 0.9
grep -q "go on from step [0-9]*; 0 steps" <<< "$told" || fail "a rank that was asked to leave: $told"

# ---- refused ----
refuses 2 "elastic run" elastic 2 1:2 "${all[@]}" --model mlp --layout stages=2
refuses 2 "tutti-run --elastic" cifar 1 "${all[@]}" --model mlp --snapshot-steps 5
refuses 2 "must be LEAST:MOST" elastic 2 2 "${all[@]}"
refuses 2 "say with -n" elastic 2 3:4 "${all[@]}"
TUTTI_ELASTIC="1 2" refuses 2 "fewer than nine words" "$apps/tutti-cifar" "${all[@]}" --model mlp
finish
