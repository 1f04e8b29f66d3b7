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
rounds=${TUTTI_TEST_ROUNDS:-60} first=${TUTTI_TEST_SEED:-17} most=60 schedules=0
for order in eager late random; do
    for ((done = 0; done < rounds; done += most)); do
        left=$((rounds - done))
        TUTTI_TEST_ROUNDS=$((left < most ? left : most)) TUTTI_TEST_SEED=$((first + done)) \
            TUTTI_FAKE_ORDER=$order TUTTI_FAKE_SEED=$((first + done)) "$program" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
        said=$(grep ' schedules of ' "$scratch/log")
        schedules=$((schedules + ${said%% *}))
        echo "$order, seeds from $((first + done)): $said ($((SECONDS / 60)) min)"
    done
done
echo "$schedules schedules in ${SECONDS} s: $((3 * rounds)) of each design, $rounds of them in each order of streams; all have ended with the bits of the CPU"
