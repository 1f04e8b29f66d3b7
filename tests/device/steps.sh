#!/bin/bash
# Steps on the fake device (test_steps.c), in each order of streams: steps.sh
# TUTTI_TEST_ROUNDS: schedules of each design and order (60).
set -eu
program=$TUTTI_BUILDDIR/tests/device/test_steps
[ -x "$program" ] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LD_LIBRARY_PATH=$TUTTI_BUILDDIR/tests/device/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export STARPU_HOME=${STARPU_HOME:-$scratch} STARPU_SILENT=1 TUTTI_FAKE_MEMORY_MB=64
# The fake gives no address twice, so a process has room for so many schedules only.
rounds=${TUTTI_TEST_ROUNDS:-60} first=${TUTTI_TEST_SEED:-17} most=60
for order in eager late random; do
    for ((done = 0; done < rounds; done += most)); do
        left=$((rounds - done))
        echo "$order:"
        TUTTI_TEST_ROUNDS=$((left < most ? left : most)) TUTTI_TEST_SEED=$((first + done)) \
            TUTTI_FAKE_ORDER=$order TUTTI_FAKE_SEED=$((first + done)) "$program"
    done
done
