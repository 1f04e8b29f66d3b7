#!/bin/bash
# Every collective of the public header, in place and out of place, in every design; and what a difference in the lengths of an
# alltoallv's parts or in an operator's name ends with.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
program=$TUTTI_BUILDDIR/tests/programs/verbs

runs() { # RANKS DESIGN ALGORITHM
    local status=0
    "$mpirun" -np "$1" "$program" "${@:2}" > "$dir/out" 2> "$dir/err" || status=$?
    [ $status = 0 ] || { fail "$*: status $status"; head -20 "$dir/out"; head -20 "$dir/err"; }
}

export STARPU_NCPU=2 STARPU_WORKERS_NOBIND=1
runs 1 funneled # first: StarPU measures the machine once; two at a time meet in its files
for design in $(names designs); do runs 3 "$design"; done
runs 2 funneled mpi
# In chunks of a few elements, which the concurrent design spreads over its lanes.
for design in $(names overlapping); do TUTTI_CHUNK_MB=0.000024 runs 3 "$design"; done
runs 4 concurrent ring
grep -q 'tutti_allreduce: the operator minloc does not go with U16' "$dir/err" || fail "who refuses an operator?"
grep -q "tutti_alltoallv: counts is NULL" "$dir/err" || fail "who refuses counts?"
grep -q "tutti_gatherv: counts is NULL" "$dir/err" || fail "who refuses counts?"
grep -q 'unfinished after 0 s' "$dir/err" && fail 'looking at a handle is no error'
grep -q 'after 0.01 s; the first: allreduce' "$dir/err" || fail 'what has not ended is not told'
finish
