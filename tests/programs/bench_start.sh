#!/bin/bash
# A rank of tutti-bench whose session cannot start ends all of them at once: none waits for it until the deadline, and only that
# rank says why.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
options=(--model mlp --batch 4 --blocks 1 --steps 2 --peer none --workers 2 --timeout $((60 * ${TUTTI_TEST_SLOWDOWN:-1})))

# ends BENCH OPTION...: rank 1 has one worker, not two.
ends() {
    local begun=$SECONDS
    refuses 1 'rank 1: error: StarPU started 1 CPU workers, not 2' \
        "$mpirun" -np 1 "$apps/tutti-bench" "$@" "${options[@]}" : -np 1 env STARPU_NCPU=1 "$apps/tutti-bench" "$@" "${options[@]}"
    [ $((SECONDS - begun)) -lt $((30 * ${TUTTI_TEST_SLOWDOWN:-1})) ] || fail "$1: it took $((SECONDS - begun)) s"
    [ "$(grep -c 'error: ' "$dir/out")" = 1 ] || { fail "$1: not one error"; cat "$dir/out"; }
}

unset STARPU_NCPU STARPU_NCPUS
launch_several_programs "$mpi"
ends step --design funneled
grep -qi 'mpi_abort' "$dir/out" && fail "the ranks of step did not leave together"
ends pipeline --micro-batches 2
finish
