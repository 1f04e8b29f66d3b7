#!/bin/bash
# The guard of the tests: statuses go through; a test that does not end, or that is interrupted, leaves no process behind, in
# whatever session that is. What .ci/run runs again: no test that tells of a race, bad memory or other weights.
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

# A build in which one test has failed, with this line in its log, and passes at the second try.
again() { # TEST LINE
    local build=$dir/build
    rm -rf "$build"
    mkdir -p "$build/$(dirname "$1")"
    echo ':test-result: FAIL (exit status: 1)' > "$build/$1.trs"
    printf '%s\n' 'FAILED: status 1' "$2" > "$build/$1.log"
    printf 'recheck list-programs:\n\t@:\n' > "$build/Makefile"
    "$TUTTI_SRCDIR/tests/support/again.sh" "$build" > "$dir/out" 2>&1
}
again tests/programs/a.sh 'the run took 9 s' && grep -q '^passed at the second try only: tests/programs/a.sh$' "$dir/out" ||
    { fail "a script that was late is not run again"; cat "$dir/out"; }
again tests/designs/test_a 'guard: process 7, a launcher, stands still after its last rank has ended: killing it' ||
    { fail "a test whose launcher stood still is not run again"; cat "$dir/out"; }
again tests/designs/test_a 'the run took 9 s' && fail "a test without ranks is run again"
again tests/programs/a.sh 'FAILED: 2 ranks: chained ended with , sequential with 93c1d2aa80b4e57f' ||
    { fail "a script with a run that did not end is not run again"; cat "$dir/out"; }
while read -r line; do
    again tests/programs/a.sh "$line" && fail "run again: $line"
    grep -qF "a.sh is not run again, as no delay explains this: $line" "$dir/out" || { fail "it does not say why: $line"; cat "$dir/out"; }
done << 'LINES'
==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x603000000040
WARNING: ThreadSanitizer: data race (pid=7)
a.c:7:3: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'
mpirun noticed that process rank 0 exited on signal 11 (Segmentation fault).
a.sh: line 7: 7 Segmentation fault
FAILED: 3b8f0c5d92a7e614 instead of 93c1d2aa80b4e57f: 2 ranks, --design chained
FAILED: the checkpoints differ
FAILED: 2 ranks, 1 workers, --model mlp: chained ended with 3b8f0c5d92a7e614, sequential with 93c1d2aa80b4e57f
FAILED: elastic: 3b8f0c5d92a7e614, mpirun: 93c1d2aa80b4e57f
FAILED: not the checkpoint of runs that resume
FAILED: 2 servers: another checkpoint than of sync
FAILED: ring, funneled: 3 ranks: 1 wrong sums of 100000
rank 1: ok, 0 wrong, 2 collisions
weights 3b8f0c5d92a7e614, not weights 93c1d2aa80b4e57f: order 7, ranks and options 2 --model mlp
LINES
finish
