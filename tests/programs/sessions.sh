#!/bin/bash
# Several sessions in one process: their sums are right, and no two threads are inside MPI at once.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/sessions
measure_machine

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

# An algorithm that blocks inside MPI could deadlock between sessions: refused on every rank.
runs 2 funneled mpi 1
[ $status = 2 ] || { fail "algorithm mpi: status $status"; cat "$dir/out"; }
grep -q "algorithm 'mpi' blocks inside MPI" "$dir/out" || { fail "algorithm mpi: not said why"; cat "$dir/out"; }
[ "$(grep -c ': unsupported' "$dir/out")" = 2 ] || { fail "algorithm mpi: not refused everywhere"; cat "$dir/out"; }
finish
