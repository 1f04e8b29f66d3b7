#!/bin/bash
# Ranks of a whole program (apps/example/survivors.c) are killed at random moments, often two within milliseconds, new ones too: each run
# ends, with the right count on the ranks that live, and leaves no process behind. A rank of the first three is spared in each run: with
# none left there would be nobody to go on.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
rounds=${TUTTI_TEST_ROUNDS:-1} kills=0
RANDOM=${TUTTI_TEST_SEED:=$RANDOM}
echo "seed $TUTTI_TEST_SEED (replay with TUTTI_TEST_SEED)"

# Idle workers of StarPU sleep (tests/support/nap.c). Not with sanitizers, which must be loaded first.
grep -q 'fsanitize=' "$TUTTI_BUILDDIR/Makefile" || export LD_PRELOAD=$TUTTI_BUILDDIR/tests/support/.libs/nap.so
export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1
steps=2000 primes=148933
ranks() { ps -o pid= --ppid "$run" --sort start_time,pid; }
begun() { grep -q "from step 0 on" "$dir/out" 2> /dev/null; }

one_round() {
    local spared=$((RANDOM % 3)) left=1500 status=0 victim old killed=0
    "$apps/tutti-run" --elastic 1:4 -n 3 --pause 0 --max-restarts 12 "$apps/survivors" $steps > "$dir/out" 2>&1 &
    run=$!
    until begun || [ $((left--)) = 0 ]; do sleep 0.02; done
    begun || fail "the run does not begin"
    old=$(ranks | awk -v at=$spared 'NR == at + 1 { print $1 }')
    while [ $killed -lt 5 ] && kill -0 "$run" 2> /dev/null; do
        victim=$(ranks | grep -vw "$old" | shuf -n 1 --random-source=<(yes $RANDOM))
        [ -z "$victim" ] || { kill -9 "$victim" 2> /dev/null && killed=$((killed + 1)); }
        sleep "0.$(printf '%03d' $((RANDOM % 2 ? RANDOM % 20 : RANDOM % 500)))"
    done
    wait "$run" || status=$?
    kills=$((kills + killed))
    [ $killed -gt 0 ] || fail "nobody was killed"
    [ $status = 0 ] && grep -q "^$primes primes below $((1000 * steps))$" "$dir/out" || { fail "status $status"; cat "$dir/out"; }
    left=250
    while pgrep -f "^$apps/(\.libs/)?survivors $steps" > "$dir/left"; do
        [ $((left--)) -gt 0 ] || { fail "processes are left: $(cat "$dir/left")"; break; }
        sleep 0.02
    done
}
for ((round = 0; round < rounds; round++)); do one_round; done
echo "$kills kills in $rounds runs"
finish
