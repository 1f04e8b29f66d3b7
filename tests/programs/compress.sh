#!/bin/bash
# Gradients in fewer bytes: one hash for every design, bucket and number of stages; what was not sent is saved, and a run that is resumed ends
# as one that was not interrupted; --compress bf16 is --wire bf16; what is said of bytes; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 4 --augment crop --eval-every never)

trains 3 "${model[@]}"
plain=$(field weights_hash)
designs=($(names designs))
i=0
for codec in onebit topk:0.01 powersgd:2; do
    # sums of powersgd's factors depend on the order of ranks alone with "direct"
    rm -f "$dir/whole"* "$dir/a"*
    run=("${model[@]}" --compress $codec --algorithm direct)
    trains 3 "${run[@]}" --checkpoint "$dir/whole" --replica-check 1 --verify full
    hash=$(field weights_hash)
    [ "$hash" != "$plain" ] || fail "$codec: the weights are those of whole gradients"
    [ "$(field replica_checks)" -ge 4 ] || fail "$codec: $(field replica_checks) checks of replicas"
    grep -q '"compress":"'$codec'"' "$dir/json" || fail "the start does not name $codec"
    sent=$(sed -n 's/.*"gradient_bytes":\([0-9]*\).*/\1/p' "$dir/json")
    all=$(sed -n 's/.*"gradient_bytes_f32":\([0-9]*\).*/\1/p' "$dir/json")
    [ "${sent:-0}" -gt 0 ] && [ $((4 * sent)) -lt "${all:-0}" ] || fail "$codec: $sent bytes of $all"
    for design in "${designs[@]}"; do
        [ "$design" = naive ] || [ "$design" = funneled ] && continue
        i=$((i + 1))
        [ $((i % 2)) = 0 ] && [ $codec = topk:0.01 ] && continue
        trains 3 "${run[@]}" --design "$design" --bucket-mb $((i % 2))
        is "$codec, $design" "$hash"
    done
    trains 3 "${run[@]}" --checkpoint "$dir/a" --stop-after 2
    trains 3 "${run[@]}" --checkpoint "$dir/a" --resume "$dir/a" --design concurrent
    is "$codec, resumed" "$hash"
    cmp "$dir/whole" "$dir/a" || fail "$codec, resumed: the checkpoints differ"
done
cifar 2 "${run[@]}" --resume "$dir/a" && fail "residuals of 3 replicas are taken for those of 2"
grep -q "its compress is powersgd:2 of 3 replicas, but this run's is powersgd:2 of 2 replicas" "$dir/out" ||
    { fail "another number of replicas is not named"; cat "$dir/out"; }

# ---- stages; one rank alone; judged ----
trains 2 "${model[@]}" --compress onebit --layout replicas=2 --micro-batches 2
two=$(field weights_hash)
trains 4 "${model[@]}" --compress onebit --layout stages=2,replicas=2 --micro-batches 2
is "two stages" "$two"
trains 1 "${model[@]}" --compress topk:0.01
cifar 3 "${model[@]}" --compress powersgd:2 --check-only || { fail "--check-only"; cat "$dir/out"; }

# ---- bf16: one setting, two options ----
trains 2 "${model[@]}" --wire bf16
half=$(field weights_hash)
trains 2 "${model[@]}" --compress bf16
is "--compress bf16" "$half"
grep -q '"wire":"bf16"' "$dir/json" && grep -q '"compress":"bf16"' "$dir/json" || fail "bf16 is not named"

# ---- what is refused ----
refused "must be none, bf16, onebit, topk:p or powersgd:r" 2 --compress zip
refused "topk needs the share of the elements" 2 --compress topk
refused "powersgd needs the rank of the product, a whole number from 1 to 64" 2 --compress powersgd:0
refused "onebit takes no number" 2 --compress onebit:1
refused "wire bf16 both say how gradients travel: leave out --wire" 2 --compress onebit --wire bf16
refused "use --strategy sync" 2 --compress onebit --strategy sharded
refused "use --strategy sync" 2 --compress topk:0.01 --strategy rooted
refused "leave one of them out" 2 --compress onebit --strategy local
refused "compress.*of which --strategy local has none" 2 --compress bf16 --strategy local
refused "leave out split of --layout" 2 --compress onebit --layout split=2
finish
