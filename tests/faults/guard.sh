#!/bin/bash
# The guard of the tests: statuses go through; a test that does not end, or that is interrupted, leaves no process behind, in
# whatever session that is.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
guard=$TUTTI_SRCDIR/tests/support/guard
export TUTTI_TEST_SLOWDOWN=1

"$guard" -t 20 sh -c 'exit 3'
[ $? = 3 ] || fail "the status of a test is lost"

# A process in the test's group, and one in a session of its own, as launchers make; each says its number.
cat > "$dir/endless" << 'END'
#!/bin/bash
setsid sh -c 'echo $$ >> "$1"; exec sleep 300' sh "$1" &
sh -c 'echo $$ >> "$1"; exec sleep 300' sh "$1" &
wait
END
chmod +x "$dir/endless"

left_behind() { # WHAT: the processes of $dir/pids have to be gone
    local pid
    [ "$(wc -l < "$dir/pids")" = 2 ] || fail "$1: the test did not start its processes"
    while read -r pid; do
        case $(ps -o stat= -p "$pid") in
        '' | Z*) ;; # gone, or about to be
        *) fail "$1: process $pid is left behind"; kill -KILL "$pid" ;;
        esac
    done < "$dir/pids"
}

: > "$dir/pids"
"$guard" -t 2 "$dir/endless" "$dir/pids" > "$dir/out" 2>&1
[ $? = 124 ] || fail "no end: not status 124"
grep -q 'no end after 2 s' "$dir/out" || fail "no end: not said"
left_behind "no end"

: > "$dir/pids"
"$guard" -t 60 "$dir/endless" "$dir/pids" > "$dir/out" 2>&1 &
pid=$!
for _ in {1..200}; do
    [ "$(wc -l < "$dir/pids")" = 2 ] && break
    sleep 0.1
done
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "interrupted: not status 143"
left_behind "interrupted"

# A launcher that stands still when its last process has ended: the test goes on.
mkfifo "$dir/never"
printf '%s\n' '#!/bin/bash' 'sleep 1' 'read -r <> "$1"' > "$dir/mpirun"
printf '%s\n' '#!/bin/bash' '"$1/mpirun" "$1/never"' 'echo "status $?"' > "$dir/waits"
chmod +x "$dir/mpirun" "$dir/waits"
"$guard" -t 60 -l 2 "$dir/waits" "$dir" > "$dir/out" 2>&1 || { fail "a launcher that stands still: status $?"; cat "$dir/out"; }
grep -q 'a launcher, stands still' "$dir/out" || fail "a launcher that stands still: not said"
grep -q 'status 137' "$dir/out" || fail "a launcher that stands still: not killed"
finish
