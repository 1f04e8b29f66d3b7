#!/bin/bash
# tutti-run: what it repeats and what not, from which checkpoint, and how it is stopped.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
cd "$dir" || exit 1
restart=(timeout 60 "$apps/tutti-run" --pause 0)

# A launcher that goes on after a rank's error is ended 30 s later; of -n without restarts the program may have handled the error.
# Both run beside the other cases, until the end.
printf '#!/bin/bash\necho "tutti: rank 0: error: it was handled" >&2\nexec sleep "$1"\n' > erring
chmod +x erring
timeout 60 "$apps/tutti-run" --max-restarts 0 ./erring 50 > erring.ended 2>&1 &
ended=$!
timeout 60 "$apps/tutti-run" -n 1 ./erring 33 > erring.whole 2>&1 &
whole=$!

# A program that notes how it was called, saves its checkpoint from the Nth call on, and ends with the status whose turn it is.
cat > program << 'END'
#!/bin/bash
echo "$*" >> calls
call=$(wc -l < calls)
[ -n "${SAVES:-}" ] && [ "$call" -ge "$SAVES" ] && echo "$call" > file.new && mv file.new file
statuses=(${STATUSES:-0})
exit "${statuses[call - 1]:-${statuses[-1]}}"
END
chmod +x program

# gives STATUS CALLS COMMAND...: tutti-run must end with the status after so many calls.
gives() {
    local status=0 wanted=$1 calls=$2
    shift 2
    : > calls
    "$@" > out 2>&1 || status=$?
    [ $status = "$wanted" ] || { fail "status $status instead of $wanted: $*"; cat out; }
    [ "$(wc -l < calls)" = "$calls" ] || { fail "$(wc -l < calls) calls instead of $calls: $*"; cat out calls; }
    [ "$calls" = 0 ] || [ "$(grep -c "exit status $wanted\$" out)" = 1 ] || { fail "no summary: $*"; cat out; }
}
called() { # CALL WORDS
    [ "$(sed -n "$1p" calls)" = "$2" ] || { fail "call $1 was not: $2"; cat calls; }
}

gives 0 1 "${restart[@]}" ./program --checkpoint file
called 1 '--checkpoint file'
STATUSES='1 137 0' gives 0 3 "${restart[@]}" ./program --checkpoint file
called 3 '--checkpoint file'
STATUSES=1 gives 1 4 "${restart[@]}" ./program --checkpoint file
STATUSES=137 gives 137 3 "${restart[@]}" --max-restarts 2 ./program --checkpoint=file
STATUSES=1 gives 1 1 "${restart[@]}" --max-restarts=0 ./program
STATUSES=2 gives 2 1 "${restart[@]}" ./program --checkpoint file
gives 127 0 "${restart[@]}" ./nothing --checkpoint file
grep -q 'cannot be run' out || fail "nothing to run is not told"
gives 2 0 "${restart[@]}" ./program
gives 2 0 "${restart[@]}" --max-restarts x ./program --checkpoint file
gives 2 0 "${restart[@]}" --nothing ./program --checkpoint file
gives 2 0 "${restart[@]}"

# It resumes from what this command has saved.
SAVES=2 STATUSES='1 1 1 0' gives 0 4 "${restart[@]}" ./program --checkpoint=file --quiet
called 2 '--checkpoint=file --quiet'
called 3 '--checkpoint=file --quiet --resume file'
called 4 '--checkpoint=file --quiet --resume file'
# Now file is there from the start: another run's, unless --continue says otherwise.
STATUSES='1 0' gives 0 2 "${restart[@]}" ./program --checkpoint file
called 2 '--checkpoint file'
SAVES=1 STATUSES='1 0' gives 0 2 "${restart[@]}" ./program --checkpoint file
called 2 '--checkpoint file --resume file'
gives 0 1 "${restart[@]}" --continue ./program --checkpoint file
called 1 '--checkpoint file --resume file'
rm file
gives 0 1 "${restart[@]}" --continue ./program --checkpoint file
called 1 '--checkpoint file'
# The last --checkpoint counts, --resume goes to each of several programs, and words are kept whole.
SAVES=1 STATUSES='1 0' gives 0 2 "${restart[@]}" ./program --checkpoint x : 'a b' --checkpoint file
called 2 '--checkpoint x --resume file : a b --checkpoint file --resume file'

# Pauses grow: 1 + 2 s.
started=$SECONDS
STATUSES='1 1 0' gives 0 3 "$apps/tutti-run" ./program --checkpoint file
[ $((SECONDS - started)) -ge 3 ] || fail "pauses of 1 and 2 s took $((SECONDS - started)) s"

# ---- signals

# A launcher with a rank, which do what they are told, or not.
cat > launcher << 'END'
#!/bin/bash
trap 'echo USR1 >> heard' USR1
trap 'echo TERM >> heard; [ -n "${DEAF:-}" ] || { kill -KILL $(jobs -p); exit 1; }' TERM
for rank in 0 1; do
    bash -c 'trap "" TERM; while :; do sleep 0.2; done' "rank of $PWD" &
done
echo $$ > pid
[ -z "${SAY:-}" ] || echo "$SAY" >&2
while :; do wait $!; done
END
chmod +x launcher
left() { pgrep -f "rank of $dir"; pgrep -f "^/bin/bash ./launcher --checkpoint $dir"; }

start_launcher() { # OPTION...
    rm -f pid heard
    "$apps/tutti-run" "$@" ./launcher --checkpoint "$dir/file" > out 2>&1 &
    run=$!
    for _ in {1..100}; do
        [ -s pid ] && break
        sleep 0.05
    done
    launcher=$(cat pid)
}
ends() { # STATUS WHAT
    local status=0
    wait $run || status=$?
    [ $status = "$1" ] || { fail "$2: status $status instead of $1"; cat out; }
    for _ in {1..20}; do
        [ -z "$(left)" ] && break
        sleep 0.1
    done
    [ -z "$(left)" ] || { fail "$2: left behind: $(left)"; kill -KILL $(left); }
}

start_launcher
kill -USR1 $run
sleep 0.5
kill -TERM $run
ends 143 "told to end"
[ "$(head -n 1 heard)" = USR1 ] || fail "USR1 was not passed on"
grep -q TERM heard || fail "TERM was not passed on"

if [ -z "$(trap -p HUP)" ]; then # where it is ignored from the start on (nohup), no script can hear it
    start_launcher
    kill -HUP $run
    ends 129 "hung up"
fi

DEAF=1 start_launcher --grace 1
kill -TERM $run
ends 143 "a launcher that does not listen"
grep -q 'killing it' out || fail "a launcher that does not listen: not told"

DEAF=1 start_launcher --grace 3 # a second signal is passed on, too: ranks end at once
kill -TERM $run
sleep 1
kill -TERM $run
ends 143 "told twice"
[ "$(grep -c TERM heard)" = 2 ] || { fail "a second signal is not passed on"; cat heard; }

start_launcher --max-restarts 0
kill -KILL "$launcher"
ends 137 "a launcher that is killed"

# A launcher that goes on although a rank has told an error, and one that does not.
export SAY='tutti: rank 1: error: a deadline passed'
start_launcher --max-restarts 0 --linger 1
ends 1 "a launcher that lingers"
grep -q 'still runs 1 s after a rank reported an error' out || { fail "a launcher that lingers: not told"; cat out; }
grep -q "^$SAY\$" out || { fail "errors are not passed on"; cat out; }
start_launcher --linger 20
sleep 0.5
started=$SECONDS
kill -TERM $run
ends 143 "told to end while it lingers"
[ $((SECONDS - started)) -lt 10 ] || fail "told to end while it lingers: took $((SECONDS - started)) s"
unset SAY

# A launcher that stands still when its last process has ended, and one that has something to do then.
mkfifo never
cat > mpirun << 'END'
#!/bin/bash
sleep 1.5 &
wait
[ "$1" = busy ] && while [ $SECONDS -lt 5 ]; do :; done
if [ "$1" = idle ] && [ ! -e stood ]; then
    touch stood
    read -r <> never
fi
END
chmod +x mpirun
started=$SECONDS
"${restart[@]}" --linger 1 ./mpirun idle --checkpoint file > out 2>&1 || { fail "a launcher that is left alone: status $?"; cat out; }
grep -q 'mpirun still runs 1 s after its last process ended: killing it' out || { fail "a launcher that is left alone: not told"; cat out; }
grep -q 'ended with status 137' out || { fail "a launcher that is left alone: not killed"; cat out; }
[ $((SECONDS - started)) -lt 30 ] || fail "a launcher that is left alone: took $((SECONDS - started)) s"
"${restart[@]}" --linger 1 ./mpirun busy --checkpoint file > out 2>&1 || { fail "a launcher that works on: status $?"; cat out; }
grep -q 'still runs' out && { fail "a launcher that works on is ended"; cat out; }
"${restart[@]}" --linger 0 ./mpirun busy --checkpoint file > out 2>&1 || { fail "no patience, and no need of any: status $?"; cat out; }
grep -q 'still runs' out && { fail "a launcher that has processes is ended"; cat out; }
setsid "$apps/tutti-run" ./mpirun once --checkpoint file > out 2>&1 &
run=$!
wait $run || { fail "a session of its own: status $?"; cat out; }
for _ in {1..20}; do # what watched sleeps for 5 s
    left=$(ps -o args= -s $run)
    [ -n "$left" ] || break
    sleep 0.1
done
[ -z "$left" ] || fail "tutti-run has ended and left: $left"

STATUSES=1 "$apps/tutti-run" --pause 30 ./program --checkpoint file > out 2>&1 & # in its pause
run=$!
sleep 1
kill -TERM $run
started=$SECONDS
ends 143 "told to end in its pause"
[ $((SECONDS - started)) -lt 5 ] || fail "a pause is not interrupted"

if setpriv --pdeathsig TERM true 2> /dev/null; then
    start_launcher
    kill -KILL $run
    ends 137 "killed" 2> /dev/null
fi
wait $ended
[ $? = 143 ] && grep -q 'still runs 30 s after a rank reported an error' erring.ended || { fail "a launcher that lingers by itself"; cat erring.ended; }
wait $whole
[ $? = 0 ] && ! grep -q 'still runs' erring.whole || { fail "a program that goes on after an error is ended"; cat erring.whole; }
finish
