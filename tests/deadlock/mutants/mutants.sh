#!/bin/bash
# Mutants of the code: the suite is seen to fail.  mutants.sh [all | PATCH...]; without arguments, a handful (and whether
# the others still apply)
#
# Each *.patch here breaks one rule of the designs, the checks, the order of a step's passes, the queue, schedules, the engine,
# the runner, connections or the file lock. It is applied to a copy of its source, the one object is compiled and linked before the library's, and the test that it names ("Caught by: TEST", or
# "TEST CASE" for one of its groups of tests, else test_explore) has to fail. MUST_SAY: a regular expression that its output has to
# match then. A patch that does not apply any more is a failure, too; one whose test cannot run on this machine is left out, by
# name. Objects, compiler and flags are the build's (TUTTI_BUILDDIR): make check-mutants.
set -u
here=$(cd "$(dirname "$0")" && pwd)
source=${TUTTI_SRCDIR:?}
build=${TUTTI_BUILDDIR:?}
# A mutant may loop for ever; the right program takes a few seconds.
limit=$((60 * ${TUTTI_TEST_SLOWDOWN:-1}))
export TUTTI_EXPLORE_SCHEDULES=3000 CK_FORK=no
few='queue_in_ready_order chain_misses_a_node tag_constant message_not_awaited worker_not_counted segments_halved grant_before_all_are_ready slot_freed_early'

scratch=$(mktemp -d) status=1
trap 'rm -rf "$scratch"' EXIT
flags=$build/tests/deadlock/mutants/flags
CC=$(sed -n 1p "$flags") compile=$(sed -n 2p "$flags") libraries=$(sed -n 3p "$flags")
cd "$build" || exit 1

# link TEST OBJECT...: the test's program with these objects before the library's.
link() {
    local test=$1 path more=''
    shift
    case $test in
    test_explore) path=tests/deadlock/test_explore-test_explore.o ;;
    test_designs) path=tests/designs/test_designs-test_designs.o ;;
    test_placed) path=tests/designs/test_placed-test_placed.o ;;
    test_marks) path=tests/designs/test_marks-test_marks.o ;;
    test_priority) path=tests/designs/test_priority-test_priority.o ;;
    test_release) path=tests/designs/test_release-test_release.o ;;
    test_loop) path='tests/collectives/test_loop-test_loop.o tests/collectives/test_loop-cases.o' ;;
    test_tcp) path=tests/collectives/test_tcp-test_tcp.o ;;
    test_shm) path=tests/collectives/test_shm-test_shm.o ;;
    test_mesh) path='tests/collectives/test_mesh-test_mesh.o tests/collectives/test_mesh-cases.o' more=.libs/libnet.a ;;
    test_fabric) path=tests/collectives/test_fabric-test_fabric.o more=.libs/libnet.a ;;
    test_sched) path=tests/collectives/test_sched-test_sched.o more=tests/collectives/.libs/libschedules.a ;;
    test_links) path=tests/collectives/test_links-test_links.o ;;
    test_virtual) path=tests/collectives/test_virtual-test_virtual.o more=.libs/libsim.a ;;
    test_sim) path=tests/sim/test_sim-test_sim.o more='.libs/libsim.a .libs/libnet.a' ;;
    test_trees) path=tests/collectives/test_trees-test_trees.o ;;
    test_elastic) path=tests/designs/test_elastic-test_elastic.o more=.libs/libnet.a ;;
    test_halt) path=tests/designs/test_halt-test_halt.o ;;
    test_membership) path='tests/designs/test_membership-test_membership.o tests/designs/test_membership-membership_world.o' ;;
    test_fingerprint) path=tests/designs/test_fingerprint-test_fingerprint.o ;;
    test_stall) path=tests/designs/test_stall-test_stall.o ;;
    test_watch) path=tests/designs/test_watch-test_watch.o ;;
    test_region) path=tests/graph/test_region-test_region.o ;;
    test_solve) path='tests/svm/test_solve-test_solve.o tests/svm/test_solve-fixture.o' more=.libs/libmachine.a ;;
    test_run) path=tests/run/test_run-test_run.o ;;
    test_nodes) path=tests/run/test_nodes-test_nodes.o ;;
    test_check) path=tests/deadlock/test_check-test_check.o more=tests/deadlock/.libs/libcases.a ;;
    test_traffic) path='tests/collectives/test_traffic-test_traffic.o apps/bench/tests_collectives_test_traffic-counting.o' ;;
    test_pipeline) path=tests/designs/test_pipeline-test_pipeline.o more='.libs/libsession.a .libs/libtrial.a' ;;
    test_division) path=tests/designs/test_division-test_division.o more='.libs/libsession.a .libs/libtrial.a' ;;
    test_placement) path=tests/net/test_placement-test_placement.o ;;
    test_units) path=tests/step/test_units-test_units.o more=.libs/libtrial.a ;;
    test_codecs) path=tests/kernels/test_codecs-test_codecs.o ;;
    test_codes) path=tests/step/test_codes-test_codes.o more=.libs/libtrial.a ;;
    test_rounds) path=tests/step/test_rounds-test_rounds.o more=.libs/libtrial.a ;;
    test_pairs) path=tests/step/test_pairs-test_pairs.o more=.libs/libtrial.a ;;
    test_shares) path=tests/step/test_shares-test_shares.o more=.libs/libtrial.a ;;
    test_servers) path=tests/designs/test_servers-test_servers.o more='.libs/libsession.a .libs/libtrial.a' ;;
    test_served) path=tests/step/test_served-test_served.o more=.libs/libtrial.a ;;
    test_buffer_world) path=tests/deadlock/test_buffer_world-test_buffer_world.o ;;
    test_kv_world)
        path=tests/deadlock/test_kv_world-test_kv_world.o
        more='tests/deadlock/.libs/libkvworld.a tests/deadlock/.libs/libexplore.a tests/deadlock/.libs/libcases.a'
        ;;
    test_push_ledger) path=tests/kv/test_push_ledger-test_push_ledger.o ;;
    test_client_list) path=tests/kv/test_client_list-test_client_list.o ;;
    test_portions) path=tests/base/test_portions-test_portions.o ;;
    test_file) path=tests/base/tests_base_test_file-test_file.o ;;
    buffers) path='tests/programs/buffers.o tests/support/nap.o' ;;
    mpi_ranks) path='tests/collectives/mpi_ranks.o tests/collectives/cases.o' more=.libs/libvalues.a ;;
    *) echo "no test is called $test"; return 1 ;;
    esac
    # shellcheck disable=SC2086
    $CC -o "$scratch/$test" $path "$@" $more tests/deadlock/.libs/libexplore.a .libs/libtesting.a .libs/libcore.a $libraries
}

# Whether it fails; its output in $scratch/log, its exit status in $status. mpi_ranks and buffers take their case as an argument, on
# two and three ranks.
fails() {
    local command=("$scratch/$1")
    if [ "$1" = mpi_ranks ]; then command=("${MPIRUN:-mpirun}" -np 2 "$scratch/$1" "$CK_RUN_CASE"); fi
    if [ "$1" = buffers ]; then
        command=(env TUTTI_TRANSPORT=shm STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1 "${MPIRUN:-mpirun}" -np 3 "$scratch/$1" "$CK_RUN_CASE")
    fi
    { timeout "$limit" "${command[@]}" > "$scratch/log" 2>&1; } 2> /dev/null
    status=$?
    [ $status != 0 ]
}

# baseline TEST: once for each test, and group of tests (CK_RUN_CASE), it has to pass without a mutant. Returns 1 if it skips
# itself on this machine.
baseline() {
    local key=$1.${CK_RUN_CASE:-}
    [ -e "$scratch/passes.$key" ] && return
    [ -e "$scratch/skips.$key" ] && return 1
    if link "$1" && fails "$1" && [ $status = 77 ]; then
        head -n 1 "$scratch/log" > "$scratch/skips.$key"
        return 1
    fi
    if [ ! -e "$scratch/$1" ] || [ $status != 0 ]; then
        echo "FAILED: $1 does not pass without a mutant"
        tail -n 20 "$scratch/log"
        exit 1
    fi
    : > "$scratch/passes.$key"
}

# judge PATCH: prints a line. Returns 0 if it was caught, 1 if it was not, 2 if its test cannot run here.
judge() {
    local patch=$1 name file test object=$scratch/mutant.o
    name=$(basename "$patch" .patch)
    file=$(sed -n 's#^+++ b/##p' "$patch")
    test=$(sed -n 's/^Caught by: //p' "$patch")
    unset CK_RUN_CASE
    [[ $test = *' '* ]] && export CK_RUN_CASE=${test#* }
    test=${test%% *} test=${test:-test_explore}
    if ! baseline "$test"; then
        echo "left out: mutant $name: $test cannot run here: $(cat "$scratch/skips.$test.${CK_RUN_CASE:-}")"
        return 2
    fi
    mkdir -p "$scratch/$(dirname "$file")"
    install -m 644 "$source/$file" "$scratch/$file"
    if ! patch --silent --fuzz=0 -d "$scratch" -p1 < "$patch" > "$scratch/log" 2>&1; then
        echo "FAILED: $name does not apply: $(head -n 3 "$scratch/log")"
        return 1
    fi
    # shellcheck disable=SC2086
    if ! $CC $compile -w -c -o "$object" "$scratch/$file" > "$scratch/log" 2>&1 ||
        ! link "$test" "$object" > "$scratch/log" 2>&1; then
        echo "FAILED: $name does not compile: $(head -n 3 "$scratch/log")"
        return 1
    fi
    if ! fails "$test"; then
        echo "FAILED: $name was not caught by $test: $(head -n 1 "$patch")"
    elif [ $status = 77 ]; then
        echo "FAILED: $name was not caught by $test, which skips itself: $(head -n 1 "$scratch/log")"
    elif [ -n "${MUST_SAY:-}" ] && ! grep -aqE -- "$MUST_SAY" "$scratch/log"; then
        echo "FAILED: $name was not caught by $test, which fails but does not say '$MUST_SAY': $(tail -n 1 "$scratch/log")"
    else
        echo "caught: $name: $(head -n 1 "$patch")"
        return 0
    fi
    return 1
}

patches=()
if [ $# -eq 0 ]; then
    for patch in "$here"/*.patch; do
        patch --silent --dry-run --force --fuzz=0 -d "$source" -p1 < "$patch" > "$scratch/log" 2>&1 ||
            { echo "FAILED: $(basename "$patch") does not apply: $(head -n 3 "$scratch/log")"; exit 1; }
    done
    for name in $few; do patches+=("$here/$name.patch"); done
elif [ "$1" = all ]; then
    patches=("$here"/*.patch)
else
    patches=("$@")
fi
caught=0 left=0
for patch in "${patches[@]}"; do
    judge "$patch"
    case $? in 0) caught=$((caught + 1)) ;; 2) left=$((left + 1)) ;; esac
done
echo "$caught of ${#patches[@]} mutants caught, $left left out"
[ $((caught + left)) = ${#patches[@]} ]
