#!/bin/bash
# Groups of replicas that share the weights of dense layers: every design, with stages, too, ends with one hash, and with
# the accuracy of whole layers; checkpoints that another layout resumes; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
model=(--data "$dir/data" --model mlp --batch 8 --micro-batches 2 --lr 0.02)

# same HASH P OPTION...: a run of 4 steps ends with these weights.
same() {
    local hash=$1 ranks=$2
    shift 2
    trains "$ranks" "${model[@]}" --steps 4 "$@"
    [ "$(field weights_hash)" = "$hash" ] || fail "$(field weights_hash) instead of $hash: $ranks ranks, $*"
}

# ---- the same training ----
trains 2 "${model[@]}" --steps 4 --layout replicas=2
whole=$(field weights_hash) loss=$(field train_loss)
trains 2 "${model[@]}" --steps 4 --layout split=2
two=$(field weights_hash)
[ "$two" != "$whole" ] || fail "sums of divided layers are rounded as those of whole ones: are they divided?"
awk -v a="$loss" -v b="$(field train_loss)" 'BEGIN { exit !(a + 0 > 0 && a - b < 1e-4 && b - a < 1e-4) }' ||
    fail "loss $(field train_loss) instead of $loss"
grep -q '"layout":"stages=1,replicas=2,split=2","micro_batches":2,"divided":"fc1, fc2"' "$dir/json" ||
    { fail "the start does not name the divided layers"; head -n 1 "$dir/json"; }
for design in $(names designs); do
    [ "$design" = naive ] || same "$two" 2 --layout split=2 --design "$design"
done
same "$two" 4 --layout stages=2,split=2
same "$two" 2 --layout split=2 --strategy sharded
trains 4 "${model[@]}" --steps 4 --layout split=2 --optimizer adam --ema 0.9 --replica-check 1
four=$(field weights_hash)
same "$four" 4 --layout split=2 --optimizer adam --ema 0.9 --strategy sharded

# ---- checkpoints ----
run=("${model[@]}" --steps 4 --ema 0.9 --optimizer adam)
trains 4 "${run[@]}" --layout split=2 --checkpoint "$dir/split"
hash=$(field weights_hash)
trains 4 "${run[@]}" --layout split=2 --strategy sharded --checkpoint "$dir/sharded"
cmp "$dir/split" "$dir/sharded" || fail "the checkpoints differ"
trains 4 "${run[@]}" --layout split=2 --checkpoint "$dir/part" --stop-after 2
cp "$dir/part" "$dir/half"
trains 4 "${run[@]}" --layout split=2 --checkpoint "$dir/part" --resume "$dir/part"
[ "$(field weights_hash)" = "$hash" ] || fail "resumed: $(field weights_hash) instead of $hash"
cmp "$dir/split" "$dir/part" || fail "resumed: the checkpoints differ"
# A run that goes no further only takes the weights from one layout to another and writes them again.
trains 1 "${model[@]}" --init-from "$dir/half" --evaluate
half=$(field weights_hash)
trains 2 "${model[@]}" --init-from "$dir/half" --evaluate --layout stages=2
[ "$(field weights_hash)" = "$half" ] || fail "read by two stages: $(field weights_hash) instead of $half"
trains 3 "${model[@]}" --init-from "$dir/half" --evaluate --layout split=1
[ "$(field weights_hash)" = "$half" ] || fail "read by whole layers: $(field weights_hash) instead of $half"
trains 4 "${model[@]}" --init-from "$dir/half" --evaluate --layout split=4
[ "$(field weights_hash)" = "$half" ] || fail "read by four blocks: $(field weights_hash) instead of $half"
trains 4 "${run[@]}" --layout replicas=4 --checkpoint "$dir/half" --resume "$dir/half"

# ---- what is refused ----
refused "groups of 2, which do not make up 3 replicas" 3 --layout split=2
refused "needs 4 ranks, but there are 2" 2 --layout replicas=4,split=2
refused "split=G" 2 --layout split=0
refused "resnet20 has no layer to divide" 2 --layout split=2 --model resnet20
refused "needs whole gradients" 2 --layout split=2 --clip-norm 1
refused "needs whole gradients" 2 --layout split=2 --optimizer lars
refused "needs whole layers on every replica" 2 --layout split=2 --strategy local:period=2
refused "needs whole layers on every replica" 2 --layout split=2 --strategy rooted:ob
refused "need equally many images" 2 --layout split=2 --shards local
refused "cannot agree on an order" 2 --layout split=2 --priority on
finish
