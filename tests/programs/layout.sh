#!/bin/bash
# Ranks that divide a net into stages, and replicas of it: one hash for every number of stages, each design and order;
# checkpoints that another layout resumes, in the middle of an epoch, too; evaluation, averages, clipping; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
model=(--data "$dir/data" --model resnet8 --batch 8 --micro-batches 4 --lr 0.02 --augment crop)

# same HASH P OPTION...: a run of 4 steps ends with these weights.
same() {
    local hash=$1 ranks=$2
    shift 2
    trains "$ranks" "${model[@]}" --steps 4 "$@"
    [ "$(field weights_hash)" = "$hash" ] || fail "$(field weights_hash) instead of $hash: $ranks ranks, $*"
}

# stage_layers: of each stage of the last run.
stage_layers() { sed -n 's/.*"stage_layers":"\([0-9,]*\)".*/\1/p' "$dir/json" | tail -n 1; }

# ---- one hash ----
recipe=(--clip-norm 0.5 --ema 0.9 --optimizer adam)
trains 1 "${model[@]}" --steps 4 "${recipe[@]}"
one=$(field weights_hash) loss=$(field train_loss) accuracy=$(field test_accuracy) average=$(field average_test_accuracy)
for design in $(names designs); do
    [ "$design" = naive ] || same "$one" 2 "${recipe[@]}" --layout stages=2 --design "$design"
done
[ "$(field train_loss) $(field test_accuracy) $(field average_test_accuracy)" = "$loss $accuracy $average" ] ||
    fail "$(field train_loss) $(field test_accuracy) $(field average_test_accuracy) instead of $loss $accuracy $average"
same "$one" 3 "${recipe[@]}" --layout stages=3 --pipeline gpipe
same "$one" 3 "${recipe[@]}" --layout stages=3 --pipeline eager --stage-layers timed --device auto
# Micro-batches of images that are mixed have as many pairs each: 11 and 4, of 22 and 8 images.
for batch in 22 8; do
    trains 2 "${model[@]}" --steps 1 --layout stages=2 --micro-batches auto --batch $batch --mixup 0.2
    grep -q "\"micro_batches\":$((batch == 22 ? 1 : 4))[,}]" "$dir/json" || fail "not as many pairs in each micro-batch of $batch images"
done
cifar 2 "${model[@]}" --steps 1 --layout stages=2 --batch 12 --mixup 0.2
[ $? = 2 ] && grep -q 'must divide the batch (--batch 12, in pairs) into equal parts' "$dir/out" || { fail "micro-batches of one pair and of two"; cat "$dir/out"; }
cifar 2 "${model[@]}" --steps 1 --layout stages=2 --stage-layers 1,1
layers=$(sed -n 's/.*but resnet8 has \([0-9]*\) layers.*/\1/p' "$dir/out" | head -n 1)
same "$one" 3 "${recipe[@]}" --layout stages=3 --stage-layers 2,12,$((layers - 14))
[ "$(stage_layers)" = 2,12,$((layers - 14)) ] || fail "the start does not name the stages' layers"
trains 2 "${model[@]}" --steps 4 --layout replicas=2
two=$(field weights_hash)
same "$two" 4 --layout stages=2,replicas=2
fast=$(stage_layers)
same "$two" 4 --layout stages=2,replicas=2 --link-mbit 1
slow=$(stage_layers)
[ "${fast%,*}" -lt "${slow%,*}" ] || fail "a slow link leaves the last stage, which has most parameters, $slow layers, without it $fast"
grep -q '"layout":"stages=2,replicas=2","micro_batches":4' "$dir/json" || fail "the start does not name the layout"
# --design auto: what it chooses does not change the weights, and is remembered for this layout alone.
auto=(--design auto --tuning "$dir/tuning" --tuning-time 0.5)
same "$two" 4 --layout stages=2,replicas=2 "${auto[@]}"
grep -q '"auto":true' "$dir/json" || fail "--design auto with a layout: $(tail -n 1 "$dir/json")"
cifar 2 "${model[@]}" --steps 1 --layout stages=2 "${auto[@]}" --tuning-time 60
grep -q 'remembered in' "$dir/out" || { fail "a choice for stages=2 is not remembered"; cat "$dir/out"; }
cifar 2 "${model[@]}" --steps 1 --layout stages=2 "${auto[@]}"
grep -q "as tried on" "$dir/out" || { fail "the choice for stages=2 is not used"; cat "$dir/out"; }
cifar 2 "${model[@]}" --steps 1 --layout replicas=2 "${auto[@]}" --tuning-time 0
! grep -q "as tried on" "$dir/out" || { fail "the choice of stages=2 is used for replicas=2"; cat "$dir/out"; }
for other in "--stage-layers $fast" '--topology star:2,1Mbit/s'; do
    cifar 2 "${model[@]}" --steps 1 --layout stages=2 $other "${auto[@]}" --tuning-time 0 || { fail "$other: status $?"; cat "$dir/out"; }
    ! grep -q "as tried on" "$dir/out" || { fail "the choice of stages=2 is used for $other"; cat "$dir/out"; }
done
trains 3 "${model[@]}" --steps 3 --layout replicas=3 --wire bf16
three=$(field weights_hash)
trains 6 "${model[@]}" --steps 3 --layout replicas=3,stages=2 --wire bf16
[ "$(field weights_hash)" = "$three" ] || fail "three replicas of two stages: $(field weights_hash) instead of $three"

# ---- checkpoints ----
# An epoch has 12 steps of two replicas: the run stops within it.
whole=("${model[@]}" --steps 6 --ema 0.9)
trains 2 "${whole[@]}" --layout replicas=2 --checkpoint "$dir/whole"
hash=$(field weights_hash)
trains 4 "${whole[@]}" --layout stages=2,replicas=2 --checkpoint "$dir/part" --stop-after 3
trains 2 "${whole[@]}" --layout replicas=2 --checkpoint "$dir/part" --resume "$dir/part"
[ "$(field weights_hash)" = "$hash" ] || fail "saved by two stages, resumed by one: $(field weights_hash) instead of $hash"
cmp "$dir/whole" "$dir/part" || fail "the checkpoints differ"
trains 2 "${whole[@]}" --layout replicas=2 --checkpoint "$dir/other" --stop-after 3
trains 4 "${whole[@]}" --layout replicas=2,stages=2 --checkpoint "$dir/other" --resume "$dir/other"
[ "$(field weights_hash)" = "$hash" ] || fail "saved by one stage, resumed by two: $(field weights_hash) instead of $hash"
cmp "$dir/whole" "$dir/other" || fail "the checkpoints differ"
! grep -q "not the run that was interrupted" "$dir/out" || fail "another layout is said to be another run"
trains 1 "${model[@]}" --steps 2 --init-from "$dir/whole"
first=$(field weights_hash)
trains 2 "${model[@]}" --steps 2 --init-from "$dir/whole" --layout stages=2
is "--init-from, two stages" "$first"

# ---- what is refused ----
refused "needs 3 ranks, but there are 2" 2 --layout stages=3
refused "needs 4 ranks, but there are 2" 2 --layout stages=2,replicas=2
refused "must be stages=S, replicas=R, split=G" 2 --layout stages=two
refused "must be stages=S, replicas=R, split=G" 2 --layout stages=-1
refused "must be stages=S, replicas=R, split=G" 2 --layout stages=2,
refused "must divide the batch" 2 --layout stages=2 --micro-batches 3
refused "--stage-layers has 6 layers in 2 stages, but resnet8 has" 2 --layout stages=2 --stage-layers 3,3
refused "must be auto, timed, or the number of layers" 2 --layout stages=2 --stage-layers 0,3
few=(--model mlp --setup-timeout 200)
refused "has 9 stages, but mlp only 3 layers with parameters" 9 "${few[@]}" --layout stages=9
refused "leaves stage 1 of 3 (relu1 to relu1 of mlp) without parameters" 3 "${few[@]}" --layout stages=3 --stage-layers 1,1,3
refused "needs --layout with two or more stages" 2 --stage-layers timed
refused "cannot agree on an order" 2 --layout stages=2 --priority on
refused "only the first stage" 2 --layout stages=2 --shards local
refused "more micro-batches than images" 1 --micro-batches 16
finish
