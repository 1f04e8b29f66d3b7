#!/bin/bash
# Rooted updates: three schedules of one result, that of whole updates on two and three ranks, in every design and with stages;
# checkpoints; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 6 --augment crop --eval-every never)

# ---- one hash, and equal files ----
recipe=("${model[@]}" --eval-every 1 --optimizer adam --ema 0.9 --clip-norm 1 --replica-check 2)
trains 3 "${recipe[@]}" --strategy sync --checkpoint "$dir/sync"
three=$(field weights_hash)
for schedule in b ob obr; do
    trains 3 "${recipe[@]}" --strategy rooted:$schedule --checkpoint "$dir/$schedule"
    is "$schedule, 3 ranks" "$three"
    cmp "$dir/sync" "$dir/$schedule" || fail "$schedule: another checkpoint than of sync"
    grep -q '"strategy":"rooted:'$schedule'"' "$dir/json" || fail "the start does not name the strategy"
done
trains 3 "${recipe[@]}" --strategy rooted:ob --checkpoint "$dir/a" --stop-after 3
trains 3 "${recipe[@]}" --strategy sync --checkpoint "$dir/a" --resume "$dir/a"
is "rooted, then sync" "$three"
trains 3 "${recipe[@]}" --strategy sync --checkpoint "$dir/c" --stop-after 3
trains 3 "${recipe[@]}" --strategy rooted --checkpoint "$dir/c" --resume "$dir/c"
is "sync, then rooted" "$three"
cmp "$dir/sync" "$dir/c" || fail "sync, then rooted: the checkpoints differ"

# ---- four ranks: sums in the order of a tree, the same in every schedule ----
trains 4 "${model[@]}" --strategy rooted:b
four=$(field weights_hash)
trains 4 "${model[@]}" --strategy rooted:obr --bucket-mb 0.02
is "4 ranks" "$four"

# ---- designs, buckets, stages ----
trains 2 "${model[@]}"
two=$(field weights_hash)
bucket=(--bucket-mb 0 --bucket-mb 0.02 --bucket-mb auto)
schedule=(b ob obr obr)
i=0
for design in $(names designs); do
    [ "$design" = naive ] && continue
    trains 2 "${model[@]}" --strategy rooted:${schedule[i % 4]} --design "$design" "${bucket[@]:i % 3 * 2:2}"
    is "$design, ${schedule[i % 4]}" "$two"
    i=$((i + 1))
done
trains 2 "${model[@]}" --layout replicas=2 --micro-batches 2
parts=$(field weights_hash)
trains 4 "${model[@]}" --layout stages=2,replicas=2 --micro-batches 2 --strategy rooted
is "two stages" "$parts"

# ---- what is refused ----
refused "must be rooted:b, rooted:ob or rooted:obr" 2 --strategy rooted:bo
refused "must be rooted:b, rooted:ob or rooted:obr" 2 --strategy rooted:b,ob
refused "optimizer.*lars.*use sync" 2 --optimizer lars --strategy rooted
finish
