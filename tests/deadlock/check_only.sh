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
# Sums of what is computed from other sums; in buckets, and each alone.
for design in $(names designs); do
    says 0 'ordering law holds' --design $design --compress powersgd:2
    says 0 'ordering law holds' --design $design --compress powersgd:2 --bucket-mb 0
done
# Whatever else a step exchanges, with the design that starts nothing before the collective before it has ended: gathers, groups,
# messages, the nodes of a round.
for how in '--compress onebit' '--compress topk:0.01' '--strategy sharded' '--strategy rooted:obr' \
    '--strategy local' '--strategy gossip' '--strategy adpsgd' '--layout stages=2' '--layout split=2'; do
    says 0 'ordering law holds' --design sequential --bucket-mb 0.02 $how
done
# Each gradient alone, so that there are as many as the bound needs.
says 1 "broken: order: nothing orders 'd.fc3" --design naive --unsafe --lanes 1 --bucket-mb 0
says 1 "broken: workers: all workers .* rank 0 waits in 'd.fc3" --design naive --unsafe --lanes 6 --bucket-mb 0
finish
