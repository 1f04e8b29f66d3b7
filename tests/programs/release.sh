#!/bin/bash
# When tutti_wait has returned with a failure, the data are the program's: nothing that was in flight is read from or written to
# them any more. Where that cannot be, because a rank stands still, the status and a sentence say so.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/release
export TUTTI_STALL_DIR=$dir

# released P CASE [ALGORITHM]: with the design of TUTTI_DESIGN.
released() {
    local ranks=$1
    shift
    "$mpirun" -np "$ranks" "$program" "$@" > "$dir/out" 2> "$dir/err" || fail "status $?: $* with $TUTTI_DESIGN"
    [ "$(grep -c ': mismatch$' "$dir/out")" = "$ranks" ] || { fail "not every rank is told: $* with $TUTTI_DESIGN"; cat "$dir/out" "$dir/err"; }
    [ "$(grep -c ': 0 elements written' "$dir/out")" = "$ranks" ] || { fail "written after the end: $* with $TUTTI_DESIGN"; cat "$dir/out"; }
}

export TUTTI_DESIGN
TUTTI_DESIGN=funneled
released 2 broadcast
released 3 allreduce ring
released 2 allreduce mpi
TUTTI_DESIGN=chained
released 2 allreduce recursive-doubling
TUTTI_DESIGN=concurrent
released 3 broadcast
TUTTI_DESIGN=sequential
released 2 allreduce

TUTTI_DESIGN=funneled
"$mpirun" -np 3 "$program" stopped ring > "$dir/out" 2> "$dir/err" && fail "a rank that stands still is not told of"
grep -q '^rank 1: timeout' "$dir/out" || { fail "data that are being sent are said to be free"; cat "$dir/out" "$dir/err"; }
grep -q 'rank 1: .*must not be freed' "$dir/err" || { fail "nobody says that the data are in use"; cat "$dir/err"; }
finish
