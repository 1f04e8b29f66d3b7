#!/bin/bash
# tutti-cifar --check-only: the verdict of the static checker on whole networks.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

# says STATUS TEXT OPTION...: two ranks that are only checked.
says() {
    local wanted=$1 text=$2 status=0
    shift 2
    cifar 2 --data synthetic --model mlp --batch 4 --workers 2 --check-only "$@" || status=$?
    [ $status = "$wanted" ] || { fail "status $status instead of $wanted: $*"; cat "$dir/out"; }
    grep -q "$text" "$dir/out" || { fail "no \"$text\": $*"; cat "$dir/out"; }
}

for design in $(names designs); do says 0 'ordering law holds' --design $design; done
# Sums of what is computed from other sums, and gathers; in buckets, and each alone.
for design in $(names designs); do
    says 0 'ordering law holds' --design $design --compress powersgd:2
    says 0 'ordering law holds' --design $design --compress powersgd:2 --bucket-mb 0
done
says 0 'ordering law holds' --compress onebit
# Each gradient alone, so that there are as many as the bound needs.
says 1 "broken: order: nothing orders 'd.fc3" --design naive --unsafe --lanes 1 --bucket-mb 0
says 1 "broken: workers: all workers .* rank 0 waits in 'd.fc3" --design naive --unsafe --lanes 6 --bucket-mb 0
finish
