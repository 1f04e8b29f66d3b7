#!/bin/bash
# Sharded updates: the weights, checkpoints and evaluations of whole ones, in every design and with stages; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 6 --augment crop)

# ---- one hash, and equal files ----
recipe=("${model[@]}" --optimizer adam --ema 0.9 --wire bf16 --replica-check 2)
trains 3 "${recipe[@]}" --strategy sync --checkpoint "$dir/sync"
three=$(field weights_hash) accuracy=$(field test_accuracy) average=$(field average_test_accuracy)
trains 3 "${recipe[@]}" --strategy sharded --checkpoint "$dir/sharded"
is "3 ranks" "$three"
[ "$(field test_accuracy) $(field average_test_accuracy)" = "$accuracy $average" ] || fail "other evaluations"
cmp "$dir/sync" "$dir/sharded" || fail "the checkpoints differ"
grep -q '"strategy":"sharded"' "$dir/json" || fail "the start does not name the strategy"

# ---- each resumes the other ----
trains 3 "${recipe[@]}" --strategy sharded --checkpoint "$dir/a" --stop-after 3
trains 3 "${recipe[@]}" --strategy sync --checkpoint "$dir/a" --resume "$dir/a"
is "sharded, then sync" "$three"
cmp "$dir/sync" "$dir/a" || fail "sharded, then sync: the checkpoints differ"
trains 3 "${recipe[@]}" --strategy sync --checkpoint "$dir/b" --stop-after 3
trains 3 "${recipe[@]}" --strategy sharded --checkpoint "$dir/b" --resume "$dir/b"
is "sync, then sharded" "$three"
cmp "$dir/sync" "$dir/b" || fail "sync, then sharded: the checkpoints differ"
! grep -q "not the run that was interrupted" "$dir/out" || fail "another strategy is said to be another run"

# ---- designs, buckets, stages ----
trains 2 "${model[@]}"
two=$(field weights_hash) # two numbers have one sum, in any order
bucket=(--bucket-mb 0 --bucket-mb 0.02 --bucket-mb auto)
i=0
for design in $(names designs); do
    [ "$design" = naive ] && continue
    trains 2 "${model[@]}" --strategy sharded --design "$design" "${bucket[@]:i % 3 * 2:2}"
    is "$design" "$two"
    i=$((i + 1))
done
trains 2 "${model[@]}" --layout replicas=2 --micro-batches 2
parts=$(field weights_hash)
trains 4 "${model[@]}" --layout stages=2,replicas=2 --micro-batches 2 --strategy sharded --checkpoint "$dir/staged"
is "two stages" "$parts"
trains 1 "${model[@]}" --strategy sharded
alone=$(field weights_hash)
trains 1 "${model[@]}"
is "one rank" "$alone"

# ---- what is refused ----
refused "optimizer.*lars.*needs whole gradients" 2 --strategy sharded --optimizer lars
refused "clip-norm.*needs whole gradients" 2 --strategy sharded --clip-norm 1
finish
