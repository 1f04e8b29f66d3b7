#!/bin/bash
# The example program: at most ten changed lines; one rank gives what the sequential program gives; 1 to 4 ranks converge to
# the same weights on every rank, with every design; a rank that stands still is named, and every rank ends.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
set -o pipefail
programs=$apps source=$TUTTI_SRCDIR/apps/example

# A line of code that the parallel program adds or changes counts; comments do not.
code() { sed -e '/^\/\*/,/\*\/$/d' -e 's,/\*.*\*/,,' "$1"; }
changed=$(diff <(code "$source/sgd_sequential.c") <(code "$source/sgd_parallel.c") | grep -c '^>')
if [ "$changed" -lt 1 ] || [ "$changed" -gt 10 ]; then fail "$changed changed lines"; fi

# Idle workers of StarPU sleep (tests/support/nap.c). Not with sanitizers, which must be loaded first.
grep -q 'fsanitize=' "$TUTTI_BUILDDIR/Makefile" || export LD_PRELOAD=$TUTTI_BUILDDIR/tests/support/.libs/nap.so
export STARPU_NCPU=1 STARPU_WORKERS_NOBIND=1
sequential=$("$programs/sgd_sequential") || fail "sgd_sequential exits with $?"
one=$("$mpirun" -np 1 "$programs/sgd_parallel") || fail "one rank exits with $?"
[ "$one" = "$sequential" ] || fail "one rank: '$one', sequential program: '$sequential'"

for ranks in 2 3 4; do
    expected=
    mapfile -t designs < <(names designs)
    [ $ranks = 2 ] || designs=("${designs[@]:ranks - 3:2}") # every design runs; not all of them at every size
    for design in "${designs[@]}"; do
        out=$(TUTTI_DESIGN=$design "$mpirun" -np $ranks "$programs/sgd_parallel") || fail "$ranks ranks, $design: exit $?: $out"
        [ "$(wc -l <<< "$out")" = $ranks ] || fail "$ranks ranks, $design: $out"
        different=$(sort -u <<< "$out")
        [ "$(wc -l <<< "$different")" = 1 ] || fail "$ranks ranks, $design: ranks differ: $out"
        : "${expected:=$different}"
        [ "$different" = "$expected" ] || fail "$ranks ranks: $design gives '$different', another design '$expected'"
    done
done

# sample_sort: the ranks' numbers stand one after the other, and there are as many as there were.
for ranks in 1 3; do
    out=$("$mpirun" -np $ranks "$programs/sample_sort" | sort) || fail "sample_sort on $ranks ranks: $out"
    awk -v n=$((20000 * ranks)) -v ranks=$ranks '{ gsub(/[,;:]/, "") }
        $4 != at || ($2 > 0 && $10 < last) { exit 1 }
        { at = $6; last = $12 }
        END { exit !(NR == ranks && at == n) }' <<< "$out" || fail "sample_sort on $ranks ranks: $out"
done

# groups and ring: sums along rows and columns, and a block that visits all ranks.
for design in $(names designs); do
    out=$(TUTTI_DESIGN=$design "$mpirun" -np 6 "$programs/groups" 2) || fail "groups, $design: exit $?: $out"
    [ "$(grep -c 'all 15' <<< "$out")" = 6 ] || fail "groups, $design: $out"
    out=$(TUTTI_DESIGN=$design "$mpirun" -np 3 "$programs/ring") || fail "ring, $design: exit $?: $out"
    [ "$out" = "3 ranks: 0 wrong sums of 100000" ] || fail "ring, $design: $out"
done

# halo: the same plate on any number of ranks, whatever carries the borders.
one=$("$mpirun" -np 1 "$programs/halo") || fail "halo on one rank: $one"
for transport in mpi shm mesh; do
    out=$(TUTTI_TRANSPORT=$transport "$mpirun" -np 3 "$programs/halo") || fail "halo, $transport: exit $?: $out"
    [ "$out" = "$one" ] && [ -n "$one" ] || fail "halo, $transport: '$out' instead of '$one'"
done

# pipeline: two stages on two ranks end with the weights and the loss of one rank, and it learns.
one=$("$mpirun" -np 1 "$programs/pipeline" | sort) || fail "pipeline on one rank: $one"
awk '/loss/ { ok = $NF < 0.05 } END { exit !ok }' <<< "$one" || fail "pipeline does not learn: $one"
for design in $(names designs); do
    out=$(TUTTI_DESIGN=$design "$mpirun" -np 2 "$programs/pipeline" | sort) || fail "pipeline, $design: exit $?: $out"
    [ "$out" = "$one" ] || fail "pipeline, $design: '$out' instead of '$one'"
done

# layers: the same weights with priorities and without, with every design that keeps the law.
for design in $(names overlapping); do
    out=$(TUTTI_DESIGN=$design "$mpirun" -np 2 "$programs/layers" 100 1 2 2>/dev/null) || fail "layers, $design: $out"
    grep -q 'ms per step in the order of the calls, .* ms with priorities' <<< "$out" || fail "layers, $design: $out"
done

message=$(TUTTI_DESIGN=careless "$mpirun" -np 2 "$programs/sgd_parallel" 2>&1) && fail "an unknown design is accepted"
grep -q "tutti_attach: TUTTI_DESIGN='careless': unknown design; known: $(names designs | paste -sd ,| sed 's/,/, /g')" <<< "$message" ||
    fail "an unknown design: $message"

# Stalls, in a program that is attached.
needs_faults "a rank that stands still"
slow=${TUTTI_TEST_SLOWDOWN:-1}
export TUTTI_STALL_DIR=$dir TUTTI_STALL_WARN=$slow TUTTI_STALL_DUMP=$((2 * slow)) TUTTI_STALL_ABORT=$((3 * slow))
for design in $(names overlapping); do
    number=17
    [ $design != concurrent ] || number='1[4-7]' # those before it may not have ended
    message=$(TUTTI_DESIGN=$design TUTTI_FAULT=rank=1,collective=17,do=stop "$mpirun" -np 3 "$programs/sgd_parallel" 2>&1) &&
        fail "$design: a rank that is stopped: status 0"
    for wanted in "warning: has waited .* for collective #$number \"allreduce\": rank 1 does not answer" \
        'stall report: rank 1 does not answer' "error: no rank has been able to continue.* collective #$number \"allreduce\": rank 1 does not answer"; do
        grep -q "$wanted" <<< "$message" || fail "$design: a rank that is stopped: no '$wanted' in: $message"
    done
    [ -s "$dir/tutti-stall.0.json" ] || fail "$design: no dump"
    lanes=$(grep -o '"lane":[0-9]*' "$dir/tutti-stall.0.json" | sort -u | wc -l)
    [ $design = concurrent ] && wanted=4 || wanted=1
    [ "$lanes" = $wanted ] || fail "$design: collectives on $lanes lanes instead of $wanted"
    rm -f "$dir"/*
done
finish
