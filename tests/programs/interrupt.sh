#!/bin/bash
# SIGINT and SIGTERM, to mpirun and to one rank alone, in every design: the step ends, all ranks save, the command that goes on
# is printed and goes on with the same bits, and every rank ends with 128 plus the signal's number. Also while starting, tuning and evaluating.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
run=(--data "$dir/data" --model mlp --batch 4 --lr 0.01 --rate-schedule constant --eval-every never)

# A rank writes down who it is and how it ends. A trap, not an ignored signal: the program would inherit that.
cat > "$dir/rank" << 'END'
#!/bin/bash
trap : INT TERM
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
echo $$ > "$dir/wrapper.$rank"
"$@"
status=$?
echo $status > "$dir/status.$rank"
exit $status
END
chmod +x "$dir/rank"
export dir

# A launcher kills its ranks a second after it has asked them to end, which is short on a busy machine. (That of Open MPI 4
# waits so long in any case, twice.)
export OMPI_MCA_odls_base_sigkill_timeout=2 PRTE_MCA_odls_base_sigkill_timeout=10

# begin P [WRAPPER] OPTION...: in the background, its launcher in $launcher.
begin() {
    local ranks=$1
    shift
    rm -f "$dir"/wrapper.* "$dir"/status.* "$dir"/json*
    "$mpirun" -np "$ranks" "$@" > "$dir/out" 2>&1 &
    launcher=$!
}
await() { # TEXT: in the output or the events, at most 60 s
    local moment
    for ((moment = 0; moment < 600; moment++)); do
        grep -qs -e "$1" "$dir/out" "$dir/json" && return
        sleep 0.1
    done
    fail "\"$1\" does not come"
    cat "$dir/out"
}
rank_pid() { ps -o pid= --ppid "$(cat "$dir/wrapper.$1")" | tr -d ' '; }
# ends [WITHIN]: the launcher ends within so many seconds (times the slowdown); its status in $status.
ends() {
    local moment limit=$((10 * ${1:-20} * ${TUTTI_TEST_SLOWDOWN:-1}))
    for ((moment = 0; moment < limit; moment++)); do
        kill -0 $launcher 2> /dev/null || break
        sleep 0.1
    done
    kill -0 $launcher 2> /dev/null && { fail "it goes on"; cat "$dir/out"; kill -KILL $launcher; }
    status=0
    wait $launcher || status=$?
}
says() { # TEXT
    grep -q -e "$1" "$dir/out" || { fail "nobody says: $1"; cat "$dir/out"; }
}
# all_with STATUS P: every rank has ended with it.
all_with() {
    local rank
    for ((rank = 0; rank < $2; rank++)); do
        [ "$(cat "$dir/status.$rank")" = "$1" ] || fail "rank $rank ended with $(cat "$dir/status.$rank"), not $1"
    done
}
saved_step() { sed -n 's/^.*interrupted by [A-Z]* after step \([0-9]*\) of .*is saved in.*/\1/p' "$dir/out"; }

# One rank alone, or the launcher.
interrupts() { # DESIGN SIGNAL WHOM P
    local design=$1 signal=$2 whom=$3 ranks=$4
    rm -f "$dir"/part* "$dir"/json*
    begin "$ranks" "$dir/rank" "$apps/tutti-cifar" "${run[@]}" --steps 1000000 --design "$design" --checkpoint "$dir/part" --json "$dir/json" --report "$dir/page"
    await '"step":20,'
    if [ "$whom" = launcher ]; then kill -s "$signal" $launcher; else kill -s "$signal" "$(rank_pid "$whom")"; fi
    ends
    [ $status != 0 ] || fail "status 0 after $signal to $whom, $design"
    if [ "$whom" != launcher ]; then
        says "interrupted by SIG$signal after step [0-9]* of 1000000, which is saved in $dir/part. To continue: .* --resume $dir/part\$"
        wanted=$((128 + $(kill -l "$signal")))
        [ $status = $wanted ] || fail "status $status instead of $wanted: $signal to $whom, $design"
        all_with $wanted "$ranks"
    elif [ "$mpi" != openmpi5 ]; then # whose launcher passes nothing on after a signal: see tutti-run(1)
        says "interrupted by SIG[A-Z]* after step [0-9]* of 1000000, which is saved in $dir/part."
    fi
    grep -qi mpi_abort "$dir/out" && { fail "MPI_Abort: $signal to $whom, $design"; cat "$dir/out"; }
    tail -n 1 "$dir/json" | grep -q '"event":"interrupted","signal":"SIG[A-Z]*","step":[0-9]*,"resume":".*--resume' ||
        { fail "no event: $signal to $whom, $design"; tail -n 1 "$dir/json"; }
}
interrupts funneled TERM 1 2
grep -q '<b>The run was interrupted by SIGTERM</b> after step [0-9]* of 1000000. To continue: <code>.*--resume' "$dir/page" || fail "--report: $(grep "id='progress'" "$dir/page")"
# The printed command goes on, and ends with the weights of a run that never stopped.
step=$(saved_step)
command=$(sed -n 's/.*To continue: //p' "$dir/out")
[ "$(grep -o -- --resume <<< "$command" | wc -l)" = 1 ] || fail "the command: $command"
[[ $command == "$mpirun -np 2 "* ]] || fail "the command: $command"
eval "${command/ --json $dir\/json/ --json $dir/resumed} --stop-after $((step + 3))" > "$dir/out" 2>&1 || { fail "status $?: $command"; cat "$dir/out"; }
hash=$(sed -n 's/.*"event":"summary".*"weights_hash":"\([^"]*\).*/\1/p' "$dir/resumed")
trains 2 "${run[@]}" --steps 1000000 --stop-after $((step + 3))
[ -n "$hash" ] && [ "$(field weights_hash)" = "$hash" ] || fail "resumed: $hash, never stopped: $(field weights_hash)"

interrupts concurrent INT launcher 2
interrupts chained INT 0 3
interrupts sequential TERM 1 2
interrupts chained TERM launcher 2

# Without a launcher, and without a checkpoint.
rm -f "$dir"/json*
(exec "$apps/tutti-cifar" "${run[@]}" --steps 1000000 --json "$dir/json" --report "$dir/live") > "$dir/out" 2>&1 &
launcher=$!
await '"step":20,'
grep -q "http-equiv='refresh'.*<title>" "$dir/live" && grep -q '<b>Under way</b>: step [0-9]* of 1000000, epoch 1 of' "$dir/live" || fail "the page of a run under way"
kill -TERM $launcher
ends
[ $status = 143 ] || fail "alone: status $status"
says 'interrupted by SIGTERM after step [0-9]* of 1000000: nothing is saved, because there is no --checkpoint'
grep -q 'interrupted by SIGTERM</b> after step [0-9]* of 1000000; nothing is saved' "$dir/live" && ! grep -q refresh "$dir/live" || fail "the page of an interrupted run"

# While starting: rank 1 comes once rank 0, which waits for it, has got the signal.
late() { launch_several_programs "$mpi"; exec "$mpirun" -np 1 "$apps/tutti-cifar" "${run[@]}" : -np 1 sh -c 'until [ -e "$dir/go" ]; do sleep 0.1; done; exec "$@"' - "$apps/tutti-cifar" "${run[@]}" > "$dir/out" 2>&1; }
takes_term() { # PID: SIGTERM is blocked, for the thread that waits for it
    local blocked
    blocked=$(sed -n 's/^SigBlk:[[:space:]]*//p' "/proc/$1/status" 2> /dev/null)
    [ $((0x${blocked:-0} >> 14 & 1)) = 1 ]
}
late &
launcher=$!
first=
for ((moment = 0; moment < 600; moment++)); do
    for pid in $(pgrep -x tutti-cifar); do
        tr '\0' '\n' 2> /dev/null < "/proc/$pid/environ" | grep -qx "dir=$dir" && takes_term "$pid" && first=$pid
    done
    [ -z "$first" ] || break
    sleep 0.1
done
if [ -n "$first" ]; then kill -TERM "$first"; else fail "while starting: rank 0 does not come"; fi
touch "$dir/go"
ends 30
[ $status = 143 ] || { fail "while starting: status $status"; cat "$dir/out"; }
says 'interrupted by SIGTERM before the first step: nothing has changed'

# While evaluating: 10,000 images take long.
begin 2 "$dir/rank" "$apps/tutti-cifar" --data synthetic --model resnet20 --batch 32 --lr 0.01 --steps 1 --eval-views 2 --checkpoint "$dir/eval"
await 'step 1/1'
kill -TERM "$(rank_pid 0)" "$(rank_pid 1)"
ends
all_with 143 2
says 'after step 1 of 1, which is saved'

# While tuning.
begin 2 "$dir/rank" "$apps/tutti-cifar" --data synthetic --model mlp --batch 4 --steps 50 --design auto --tuning none --tuning-time 1000
await ' ms per step, '
kill -INT "$(rank_pid 1)"
ends
all_with 130 2
says 'interrupted by .* before the first step'

# A second one ends at once: rank 1 has been stopped, so that there is no agreement.
begin 2 "$dir/rank" "$apps/tutti-cifar" "${run[@]}" --steps 1000000 --json "$dir/json"
await '"step":20,'
stopped=$(rank_pid 1)
kill -STOP "$stopped"
kill -TERM "$(rank_pid 0)"
sleep 1.5
kill -TERM "$(rank_pid 0)"
for _ in {1..100}; do
    [ -s "$dir/status.0" ] && break
    sleep 0.1
done
[ -s "$dir/status.0" ] || fail "a second signal does not end rank 0"
kill -KILL "$stopped" 2> /dev/null # a launcher may wait for it
ends 10
says 'SIGTERM again: ending at once'
[ $status != 0 ] || fail "a second signal: status 0"

# tutti-run does not start again what was interrupted, whoever was, and gives the ranks time to save.
guarded() { # WHOM
    rm -f "$dir"/kept* "$dir"/json*
    timeout 120 "$apps/tutti-run" --pause 0 "$mpirun" -np 2 "$apps/tutti-cifar" "${run[@]}" --steps 1000000 --checkpoint "$dir/kept" \
        --json "$dir/json" > "$dir/out" 2>&1 &
    launcher=$!
    await '"step":20,'
    local whom=
    case $1 in
    run) whom=$(pgrep -P $launcher) ;;
    mpirun) whom=$(pgrep -P "$(pgrep -P $launcher)" '^(mpirun|prterun|mpiexec)') ;;
    esac
    if [ -z "$whom" ]; then fail "$1: no such process"; whom=$launcher; fi
    kill -TERM "$whom"
    ends
    says 'interrupted by SIGTERM after step [0-9]* of 1000000, which is saved'
    grep -q 'restart 1' "$dir/out" && fail "$1 was interrupted, and all is started again"
    [ -s "$dir/kept" ] || fail "$1 was interrupted, and nothing is saved"
}
guarded run
if [ "$mpi" = openmpi5 ]; then left_out "mpirun alone" "this one passes nothing on after a signal"; else guarded mpirun; fi
finish
