#!/bin/bash
# A run that is interrupted and resumed leaves the very checkpoint of a run that never stopped.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"

resumes() { # P STOP OPTION...
    local ranks=$1 stop=$2
    shift 2
    local all=(--data "$dir/data" --steps 7 --lr 0.02 --augment crop "$@")
    rm -f "$dir/whole"* "$dir/part"*
    trains "$ranks" "${all[@]}" --checkpoint "$dir/whole"
    local hash; hash=$(field weights_hash)
    trains "$ranks" "${all[@]}" --checkpoint "$dir/part" --stop-after "$stop"
    [ "$(field steps)" = "$stop" ] || fail "stopped after $(field steps) steps instead of $stop"
    [ "$(field weights_hash)" != "$hash" ] || fail "half of a run gave the weights of the whole"
    trains "$ranks" "${all[@]}" --checkpoint "$dir/part" --resume "$dir/part"
    [ "$(field steps)" = 7 ] || fail "a resumed run counts $(field steps) steps instead of 7"
    [ "$(field weights_hash)" = "$hash" ] || fail "resumed: $(field weights_hash), never stopped: $hash ($ranks ranks, $*)"
    cmp "$dir/whole" "$dir/part" || fail "the checkpoints differ ($ranks ranks, $*)"
    [ "$(ls "$dir" | grep -c '\.part$\|\.lock$')" = 0 ] || fail "a temporary file or a lock was left"
}

resumes 1 3 --model resnet8 --batch 8 --rate-schedule onecycle
resumes 2 4 --model cifar-quick --batch 8 --workers 2 --design chained
trains 2 --data "$dir/data" --steps 8 --lr 0.02 --augment crop --model cifar-quick --batch 8 --workers 1 --resume "$dir/part"
grep -q "micro-batches was 2 and is 1" "$dir/out" || { fail "no warning about other micro-batches"; cat "$dir/out"; }
# Checkpoints of earlier versions do not have them.
remake "$dir/part" "$dir/early" 'delete @m{"micro-batches", "split"}; $m{steps} = "8"' || fail "remake"
trains 2 --data "$dir/data" --steps 8 --lr 0.02 --augment crop --model cifar-quick --batch 8 --workers 1 --resume "$dir/early"
! grep -q "not the run that was interrupted" "$dir/out" || { fail "a warning about what is not known"; cat "$dir/out"; }
resumes 3 3 --model resnet8 --batch 10 --workers 2 --wire bf16
resumes 1 3 --model mlp --batch 30 --wire bf16
trains 1 --data "$dir/data" --steps 8 --model mlp --batch 30 --resume "$dir/part"
grep -q "wire was bf16 and is f32" "$dir/out" || fail "no warning about another wire"
resumes 2 3 --model mlp --batch 8 --optimizer adam --lr 0.001
resumes 2 4 --model resnet8 --batch 8 --ema 0.9
grep -q "average_test_accuracy" "$dir/json" || fail "averages are not evaluated"
grep -aq "average.fc.weight" "$dir/part" || fail "averages are not saved"
resumes 2 3 --model resnet8 --batch 3 --accumulate 4 --optimizer adamw --lr 0.001
resumes 2 3 --model cifar-quick --batch 4 --accumulate 2 --optimizer adam --lr 0.001 --clip-norm 0.5 --ema 0.9 --wire bf16 --cutmix 1
grep -q '"event":"start".*"cutmix":1' "$dir/json" || fail "cutmix is not told"
# In the middle of an epoch of 12 steps whose images come in runs of 64.
resumes 2 5 --model mlp --batch 8 --shuffle window:64 --rand-augment 2,9 --jitter 0.4,0.3,0.25 --erase 0.5 --mixup 0.4
windowed=$(field weights_hash)
trains 2 --data "$dir/data" --steps 7 --lr 0.02 --augment crop --model mlp --batch 8 --rand-augment 2,9 --jitter 0.4,0.3,0.25 --erase 0.5 --mixup 0.4
[ "$(field weights_hash)" != "$windowed" ] || fail "--shuffle window:64 is --shuffle full"
trains 1 --data "$dir/data" --steps 8 --model mlp --batch 16 --resume "$dir/part"
grep -q "rand-augment was 2,9 and is none; jitter was 0.4,0.3,0.25 and is none; erase was 0.5 and is none; mixup was 0.4 and is none; shuffle was window:64 and is full" "$dir/out" ||
    { fail "no warning about other colours, mixtures and another order"; cat "$dir/out"; }
resumes 1 4 --model cifar-quick --batch 8 --optimizer lars --lr 1 --decay-weights-only

# With another optimizer: refused, because what it keeps means something else.
cifar 1 --data "$dir/data" --steps 8 --model cifar-quick --batch 8 --resume "$dir/part" &&
    fail "a checkpoint of lars is resumed with sgd"
grep -q "its optimizer is lars, but this run.s is sgd" "$dir/out" || fail "no reason for another optimizer"

# With other numbers: allowed, with a warning.
trains 1 --data "$dir/data" --steps 8 --model cifar-quick --batch 8 --optimizer lars --lr 1 --clip-norm 3 --accumulate 2 \
    --resume "$dir/part"
for text in "decay was of weights only and is of all parameters" "clip-norm was none and is 3" "accumulate was 1 and is 2"; do
    grep -q "$text" "$dir/out" || fail "no warning: $text"
done
# Averages are there, or are not.
cifar 1 --data "$dir/data" --steps 8 --model cifar-quick --batch 8 --optimizer lars --ema 0.9 --resume "$dir/part" &&
    fail "a checkpoint without averages is resumed with them"
grep -q "average" "$dir/out" || fail "no reason for averages"

if computes_bf16; then
    resumes 2 3 --model resnet8 --batch 10 --workers 2 --precision bf16
    resumes 2 3 --model resnet8 --batch 4 --accumulate 2 --optimizer adam --lr 0.001 --ema 0.9 --clip-norm 0.5 --precision bf16
    resumes 2 4 --model cifar-quick --batch 8 --precision bf16 --wire bf16
    # auto goes on in the type of the checkpoint, which holds the weights in f32 and continues in f32, too.
    cifar 1 --data "$dir/data" --steps 8 --model cifar-quick --batch 8 --resume "$dir/part" --precision auto || fail "status $?"
    grep -q "auto: --precision bf16, as before" "$dir/out" || { fail "auto forgets the type"; cat "$dir/out"; }
    trains 1 --data "$dir/data" --steps 8 --model cifar-quick --batch 8 --checkpoint "$dir/full" --resume "$dir/part"
    grep -q "precision was bf16 and is f32" "$dir/out" || fail "no warning about another precision"
    trains 1 --data "$dir/data" --steps 9 --model cifar-quick --batch 8 --resume "$dir/full" --precision bf16
    grep -q "precision was f32 and is bf16" "$dir/out" || fail "no warning about another precision"
    grep '"event":"start"' "$dir/json" | tail -n 1 | grep -q '"precision":"bf16"' || { fail "the start event names no precision"; cat "$dir/json"; }
fi
resumes 3 2 --model mlp --batch 30 --rate-schedule step --warmup 3 # an epoch is 2 steps

# Resumed on other ranks: allowed, with a warning.
trains 1 --data "$dir/data" --steps 8 --model mlp --batch 30 --resume "$dir/part"
grep -q "ranks was 3 and is 1" "$dir/out" || fail "no warning about other ranks"
# Resumed behind its end: only evaluates.
hash=$(field weights_hash)
trains 3 --data "$dir/data" --steps 7 --model mlp --batch 30 --resume "$dir/part"
[ "$(field steps)" = 7 ] && [ "$(field weights_hash)" != "$hash" ] || fail "a finished run went on"

# In the middle of an epoch, also by --checkpoint-every: the epoch's loss is that of a run that never stopped, to the last bit.
# Every rank has its own sums; on other ranks they are added up.
middle=(--data "$dir/data" --model cifar-quick --batch 5 --lr 0.02 --augment crop --workers 2)
trains 2 "${middle[@]}" --steps 20 --checkpoint "$dir/whole" --overwrite
hash=$(field weights_hash) loss=$(field train_loss)
for stop in 1 13 19; do
    rm -f "$dir"/part*
    trains 2 "${middle[@]}" --steps 20 --checkpoint "$dir/part" --stop-after $stop --overwrite
    grep -aq '"epoch-sums":"20 2 0x' "$dir/part" || fail "stopped after $stop steps: no sums"
    trains 2 "${middle[@]}" --steps 20 --checkpoint "$dir/part" --resume "$dir/part"
    [ "$(field weights_hash) $(field train_loss)" = "$hash $loss" ] ||
        fail "stopped after $stop: $(field weights_hash) $(field train_loss), not $hash $loss"
    cmp "$dir/whole" "$dir/part" || fail "stopped after $stop steps: the checkpoints differ"
done
rm -f "$dir"/json "$dir"/part*
trains 2 "${middle[@]}" --steps 20 --stop-after 17 --checkpoint "$dir/part" --checkpoint-every 5 --keep 9 --eval-every never
[ "$(sed -n 's/.*"event":"checkpoint".*"step":\([0-9]*\)}.*/\1/p' "$dir/json" | paste -sd ' ')" = '5 10 15 17' ] || { fail "--checkpoint-every"; cat "$dir/json"; }
cp "$dir/part.2" "$dir/ten"
trains 2 "${middle[@]}" --steps 20 --checkpoint "$dir/ten" --resume "$dir/ten"
[ "$(field weights_hash) $(field train_loss)" = "$hash $loss" ] ||
    fail "from --checkpoint-every: $(field weights_hash) $(field train_loss), not $hash $loss"
grep -aq epoch-sums "$dir/ten" && fail "sums at the end of an epoch"
trains 1 "${middle[@]}" --batch 10 --steps 20 --resume "$dir/part.2"
awk -v a="$(field train_loss)" -v b="$loss" 'BEGIN { exit !(a + 0 > 0 && a - b < 1e-3 && b - a < 1e-3) }' || fail "on 1 rank: $(field train_loss), not $loss"
rm -f "$dir"/json "$dir"/part*
trains 2 "${middle[@]}" --batch 2 --lr 0.0005 --epochs 400 --stop-after 299 --checkpoint "$dir/part" --checkpoint-minutes 0.001 --eval-every never
[ "$(grep '"event":"checkpoint"' "$dir/json" | grep -vc '"step":[0-9]*[05]0}')" -gt 1 ] || { fail "--checkpoint-minutes"; grep checkpoint "$dir/json"; }
finish
