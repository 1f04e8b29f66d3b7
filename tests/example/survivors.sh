#!/bin/bash
# The example of tutti_membership_run: the count is right on every rank that lives, although one is killed, another asked to leave, and new
# ones come; with every design.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

# Idle workers of StarPU sleep (tests/support/nap.c). Not with sanitizers, which must be loaded first.
grep -q 'fsanitize=' "$TUTTI_BUILDDIR/Makefile" || export LD_PRELOAD=$TUTTI_BUILDDIR/tests/support/.libs/nap.so
export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1

for design in $(names designs); do
    TUTTI_DESIGN=$design "$apps/tutti-run" --elastic 2:2 -n 2 "$apps/survivors" 25 > "$dir/out" 2>&1 &&
        grep -q "^2762 primes below 25000$" "$dir/out" || { fail "$design"; cat "$dir/out"; }
done

# says TEXT: within 20 s.
says() {
    local left=1000
    until grep -q "$1" "$dir/out"; do
        [ $((left--)) -gt 0 ] || { fail "nothing about: $1"; cat "$dir/out"; kill -9 "$run"; return 1; }
        sleep 0.02
    done
}
# The process of the rank with this number among those that run, the oldest first.
rank() { ps -o pid= --ppid "$run" --sort start_time,pid | awk -v at="$1" 'NR == at + 1 { print $1 }'; }
"$apps/tutti-run" --elastic 2:3 -n 3 --pause 0 --max-restarts 1 "$apps/survivors" 2000 > "$dir/out" 2>&1 &
run=$!
says "^number 0 is rank 0 of 3 from step 0 on" && kill -9 "$(rank 0)"
says "^number 1 is rank 0 of 2 from step [0-9]* on: 1 lost, 0 joined" && says "^number 3 is rank 2 of 3 from" && kill -TERM "$(rank 1)"
says "^number 1 is rank 0 of 2 from step [1-9][0-9]* on: 1 lost, 0 joined"
status=0
wait "$run" || status=$?
[ $status = 0 ] && grep -q "^148933 primes below 2000000$" "$dir/out" || { fail "status $status"; cat "$dir/out"; }
grep -q "this rank leaves after step" "$dir/out" || fail "nobody left"

# What is of MPI, or of one number of ranks.
for given in ALGORITHM=mpi 'ALGORITHM=rules:some' 'ALGORITHM=forest:some' TOPOLOGY=star:2; do
    env "TUTTI_$given" "$apps/tutti-run" --elastic 2:2 -n 2 --max-restarts 0 "$apps/survivors" 25 > "$dir/out" 2>&1 &&
        fail "$given is taken"
    grep -q "tutti_membership_run: .*${given#*=} .*: leave it out" "$dir/out" || { fail "$given: not told"; cat "$dir/out"; }
done

refuses 1 "start the program with tutti-run --elastic" "$apps/survivors"
finish
