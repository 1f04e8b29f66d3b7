#!/bin/bash
# Several sessions in one process: their sums are right, and no two threads are inside MPI at once.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/sessions

# runs P DESIGN ALGORITHM ROUNDS: output in $dir/out, exit status in $status.
runs() {
    local ranks=$1
    shift
    status=0
    "$mpirun" -np "$ranks" "$program" "$@" > "$dir/out" 2>&1 || status=$?
}

for design in $(names designs); do
    rounds=40
    [ $design = sequential ] && rounds=1 # a session's sums run in its own tutti_wait: those of another's cannot depend on them
    runs 3 "$design" auto $rounds
    [ $status = 0 ] || { fail "$design: status $status"; cat "$dir/out"; }
    [ "$(grep -c ': ok, 0 wrong, 0 collisions' "$dir/out")" = 3 ] || { fail "$design"; cat "$dir/out"; }
done

# MPI's own collectives do not hold up those of other sessions either.
runs 3 concurrent mpi 40
[ $status = 0 ] || { fail "algorithm mpi: status $status"; cat "$dir/out"; }
[ "$(grep -c ': ok, 0 wrong, 0 collisions' "$dir/out")" = 3 ] || { fail "algorithm mpi"; cat "$dir/out"; }
finish
