#!/bin/bash
# A rank that never comes to MPI_Init_thread or MPI_Finalize: the run ends within --setup-timeout, with a sentence and a status other
# than 0. MPI starts and ends on the comm thread (funneled), on the main thread (sequential), or on a thread of its own (auto).
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
never=$TUTTI_BUILDDIR/tests/faults/.libs/never_comes.so
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}:verify_asan_link_order=0" # it is loaded before the sanitizer
[ -e "$never" ] || fail "$never is not there"
export NEVER_COMES_RANK=1

for design in funneled sequential auto; do
    for call in MPI_Init_thread MPI_Finalize; do
        started=$SECONDS
        NEVER_COMES_TO=$call "$mpirun" -np 2 env LD_PRELOAD="$never" "$apps/tutti-cifar" --data synthetic --model mlp --batch 8 \
            --steps 2 --design "$design" --tuning-time 0.5 --setup-timeout 5 --quiet > "$dir/out" 2>&1
        status=$?
        what="$design, $call"
        [ $status != 0 ] || fail "$what: status 0"
        [ $((SECONDS - started)) -lt 60 ] || fail "$what: took $((SECONDS - started)) s"
        case $call in
        MPI_Init_thread) sentence='within 5 s: has another rank not started' ;;
        *) sentence='MPI_Finalize has not returned within 5 s: has another rank stopped' ;;
        esac
        grep -q "$sentence" "$dir/out" || { fail "$what: not said"; cat "$dir/out"; }
    done
done
finish
