#!/bin/bash
# collectives over MPI: every algorithm on 1 to 9 ranks; late ranks; starting, attaching to and aborting MPI.
set -u
ranks=${TUTTI_BUILDDIR:-.}/tests/collectives/mpi_ranks
failures=0

# expect STATUS COMMAND...: runs it; `any` stands for any failure.
expect() {
    local wanted=$1
    shift
    local output status
    output=$("$@" 2>&1)
    status=$?
    if [ "$wanted" = any ]; then
        [ $status -ne 0 ] && return
    else
        [ $status -eq "$wanted" ] && return
    fi
    echo "status $status, not $wanted: $*"
    echo "$output" | tail -20
    failures=$((failures + 1))
}

# Some: alone, two, no power of two, and more than a power of two. The transport loop has each (test_loop).
numbers='1 2 3 5 9'
[ -z "${TUTTI_TEST_FEWER:-}" ] || numbers='1 2 3 5'
for p in $numbers; do
    expect 0 "$MPIRUN" -np $p "$ranks" cases
done
for p in 1 2 5; do
    expect 0 "$MPIRUN" -np $p "$ranks" groups
done
expect 0 "$MPIRUN" -np 5 "$ranks" attach
expect 0 "$MPIRUN" -np 1 "$ranks" low-level
expect 0 "$MPIRUN" -np 2 "$ranks" mismatch
for p in 2 3; do
    expect 0 "$MPIRUN" -np $p "$ranks" late
    expect 0 "$MPIRUN" -np $p "$ranks" gone
done
expect 0 "$MPIRUN" -np 2 "$ranks" lent
expect 0 "$MPIRUN" -np 2 "$ranks" large
expect 3 "$ranks" abort-early
started=$SECONDS
expect any "$MPIRUN" -np 3 "$ranks" abort-thread
if [ $((SECONDS - started)) -ge 20 ]; then
    echo "an abort left ranks behind"
    failures=$((failures + 1))
fi
[ $failures -eq 0 ]
