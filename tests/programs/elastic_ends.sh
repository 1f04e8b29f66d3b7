#!/bin/bash
# How ranks end in an elastic run (tutti-run --elastic): one that fails in the middle of a step ends alone, and the others go on; a
# run that ends between two epochs, because too few ranks are left or because of a signal, saves the snapshot of the next one; what a
# rank does after the end of the run counts; a rank may be a script.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
. "$TUTTI_SRCDIR/tests/programs/elastic_lib.sh"
make_cifar "$dir/data" 400
all=(--data "$dir/data" --model mlp --batch 4 --lr 0.001)
rank() { ps -o stat=,pid= --ppid "$run" --sort start_time,pid | awk -v at="$1" '!/^Z/ && n++ == at { print $2 }'; }

# ---- one of 3 cannot read an image ----
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0" # what reads is loaded before it
# fails_alone NUMBER N: at its N-th image.
fails_alone() {
    rm -f "$dir/json"
    LD_PRELOAD=$TUTTI_BUILDDIR/tests/programs/.libs/slow_read.so SLOW_READ_RANK=$1 SLOW_READ_BYTES=3073 SLOW_READ_AT=$2 SLOW_READ_FAILS=1 \
        elastic 3 1:3 "${all[@]}" --steps 120 --eval-every never --snapshot-steps 5 ||
        { fail "number $1 fails: status $?"; cat "$dir/out"; }
    grep -q "rank number $1 has ended with status 1" "$dir/out" && grep -q "rank $1 (number $1) is lost: 2 ranks go on" "$dir/out" &&
        ! grep -q 'collectives differ\|all ranks end' "$dir/out" || { fail "number $1 did not fail alone"; cat "$dir/out"; }
}
fails_alone 2 150
fails_alone 0 2150 # it looks at all of them first

# A program of tutti_membership_run that fails in a step; a rank writes its result later than --grace after the others.
STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1 "$apps/tutti-run" --elastic 1:3 -n 3 --grace 1 --max-restarts 0 "$TUTTI_BUILDDIR/tests/programs/gives_up" 3 > "$dir/out" 2>&1 ||
    { fail "gives_up: status $?"; cat "$dir/out"; }
grep -q 'rank number 1 has ended with status 1' "$dir/out" && grep -q '^60 of 60 steps with 2 ranks at last' "$dir/out" ||
    { fail 'gives_up did not fail alone'; cat "$dir/out"; }

# ---- too few are left: what they have is saved ----
# saves STATUS: the run ends with it, and can be continued from the step that it names.
saves() {
    local status=0 step
    wait "$run" || status=$?
    [ $status = "$1" ] || { fail "status $status instead of $1"; cat "$dir/out"; }
    step=$(sed -n 's/.*interrupted by SIG[A-Z]* after step \([0-9]*\) of .*, which is saved in .*To continue: .*/\1/p' "$dir/out")
    [ -n "$step" ] && [ "$step" -ge 5 ] || { fail "nothing is saved"; cat "$dir/out"; return; }
    trains 1 "${all[@]}" --steps 20000 --resume "$dir/saved" --stop-after $((step + 1))
    [ "$(field steps)" = $((step + 1)) ] || fail "not continued from step $step"
    trains 2 "${all[@]}" --steps 20000 --stop-after "$step"
    hash=$(field weights_hash)
    trains 1 "${all[@]}" --steps 20000 --resume "$dir/saved" --stop-after "$step"
    is "saved after step $step" "$hash"
    rm -f "$dir/saved" "$dir/json"
}
rm "$dir/json"
begin_elastic 2 2:2 "${all[@]}" --steps 20000 --snapshot-steps 5 --checkpoint "$dir/saved" --eval-every never
await 20 has_trained 12 && kill -9 "$(rank 1)"
saves 137
# Others wait for a new one, which is not started yet.
launching=(--pause 60) restarts=1
begin_elastic 2 2:2 "${all[@]}" --steps 20000 --snapshot-steps 5 --checkpoint "$dir/saved" --eval-every never
await 20 has_trained 12 && kill -9 "$(rank 0)"
await 20 grep -q 'waiting for others' "$dir/out" && kill -TERM "$run"
saves 143
# The one that waits is asked to leave.
begin_elastic 2 2:2 "${all[@]}" --steps 20000 --snapshot-steps 5 --checkpoint "$dir/saved" --eval-every never
await 20 has_trained 12 && kill -9 "$(rank 0)"
await 20 grep -q 'waiting for others' "$dir/out" && kill -TERM "$(rank 0)"
saves 143

# ---- a script that starts a rank: signals reach both; how it ends after the end of the run counts ----
# begin_script COMMAND OPTION...: with $@ as tutti-cifar in the command of a shell; grace: seconds.
begin_script() {
    "$apps/tutti-run" --elastic 2:2 -n 2 --grace "$grace" --max-restarts 1 bash -c "$1" - \
        "$apps/tutti-cifar" "${all[@]}" --quiet --json "$dir/json" "${@:2}" > "$dir/out" 2>&1 &
    run=$!
}
grace=10 begin_script '"$@"; exit $?' --steps 20000 --snapshot-steps 5 --checkpoint "$dir/saved" --eval-every never
await 20 has_trained 12 && kill -TERM "$run"
saves 143
leaves_none "$dir/data" "a script"
"$apps/tutti-run" --elastic 1:1 -n 1 --grace 1 bash -c 'trap "" INT; sleep "$1"; true' - "6$$" > "$dir/out" 2>&1 &
run=$!
sleeps() { pgrep -f "^sleep 6$$" > /dev/null; }
await 20 sleeps && kill -TERM "$run"
wait "$run"
leaves_none "^sleep 6$$" "a script that ignores signals"
grace=3 begin_script '"$@" || exit; read -r _ _ _ number _ <<< "$TUTTI_ELASTIC"; [ "$number" = 0 ] || exit 0; sleep 4; exit 5' --steps 3
status=0
wait "$run" || status=$?
[ $status = 5 ] && ! grep -q joins "$dir/out" || { fail "a script that fails after the end of the run: status $status"; cat "$dir/out"; }
finish
