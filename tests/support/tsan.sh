#!/bin/bash
# ThreadSanitizer over all that has threads: make check-tsan. Builds in the folder tsan of the build folder, and with the
# argument "build" does no more than that (make tsan).
#
# StarPU, Open MPI and oneDNN are not instrumented, but their locks, threads and copies of memory go through the functions
# that ThreadSanitizer watches, so that it sees the order that they make. What it checks is this project's code:
#   ranks as threads over the loop transport, on the inline runner, and one of them on StarPU with 1 to 4 workers;
#   connections in shared memory, and a mesh of them, between threads;
#   elastic runs, with ranks as threads, and as processes;
#   the runners, the trace, the control lane, the stall inspector, the readers' prefetch threads;
#   ranks under mpirun, each with StarPU: every design, layouts, strategies, codecs, a store of keys.
# Only reports of third-party libraries are suppressed (tsan.supp says why). At the end two mutants that leave a lock out have to be reported: silence means something.
set -u
source=${TUTTI_SRCDIR:?}
build=${TUTTI_BUILDDIR:?}/tsan
guard=$source/tests/support/guard
tests='tests/designs/test_designs tests/designs/test_elastic tests/designs/test_elastic_ranks tests/collectives/test_control tests/collectives/test_shm tests/collectives/test_mesh tests/designs/test_watch tests/designs/test_clocks
    tests/designs/test_placed tests/run/test_run tests/run/test_trace tests/data/test_prefetch'
# ThreadSanitizer maps memory at fixed places, which a randomised address space may have taken.
fixed=
setarch -R true 2> /dev/null && fixed='setarch -R'
export TUTTI_BUILDDIR=$build TUTTI_TEST_FEWER=1
# oneDNN tells profilers (ITT) of each primitive; the first two threads that do so set a lock up by atomics in its own code, which
# ThreadSanitizer does not see, and were reported as racing on that lock. Level 0 tells profilers nothing.
export ONEDNN_ITT_TASK_LEVEL=0
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 suppressions=$source/tests/support/tsan.supp ${TSAN_OPTIONS:-}"
failed=0

mkdir -p "$build"
cd "$build" || exit 1
[ -e Makefile ] || "$source/configure" --quiet --enable-sanitize=thread CFLAGS='-O1 -g1' || exit 1
# shellcheck disable=SC2086
make -s -j"$(nproc)" $tests apps/tutti-cifar apps/tutti-info tests/kv/kv tests/deadlock/libexplore.la tests/deadlock/mutants/flags \
    tests/deadlock/test_explore-test_explore.o > build.log 2>&1 || { tail -n 20 build.log; exit 1; }
[ "${1:-}" != build ] || exit 0

# passes NAME SECONDS COMMAND...
passes() {
    local name=$1 seconds=$2 began=$SECONDS
    shift 2
    # shellcheck disable=SC2086
    if bash "$guard" -t "$seconds" $fixed "$@" > tsan.log 2>&1 && ! grep -q 'WARNING: ThreadSanitizer' tsan.log; then
        echo "no race: $name ($((SECONDS - began)) s)"
    else
        echo "FAILED: $name"
        grep -A 25 'WARNING: ThreadSanitizer' tsan.log | head -n 60
        tail -n 5 tsan.log
        failed=1
    fi
}

for test in $tests; do passes "$test" 360 "./$test"; done
passes 'ranks under mpirun' 360 "$source/tests/support/tsan_ranks.sh"
# The first report is enough, and nothing else is: not a test that hangs or fails without that lock.
# shellcheck disable=SC2086
MUST_SAY='WARNING: ThreadSanitizer' TSAN_OPTIONS="$TSAN_OPTIONS halt_on_error=1" TUTTI_TEST_SLOWDOWN=6 $fixed bash "$source/tests/deadlock/mutants/mutants.sh" "$source"/tests/deadlock/mutants/races/*.patch || failed=1
exit $failed
