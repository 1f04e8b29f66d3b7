#!/bin/bash
# --init-from, --evaluate, --keep-best, --patience: weights go from run to run; the best are kept; a run that no longer gets
# better ends, on all ranks, and stays ended.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
run=(--data "$dir/data" --model cifar-quick --batch 5 --lr 0.02)
says() { grep -qF -e "$1" "$dir/out" || { fail "nobody says: $1"; cat "$dir/out"; }; }

# ---- the weights are those of the file: evaluated, and trained on from there with momentum of zero
trains 2 "${run[@]}" --steps 12 --ema 0.5 --checkpoint "$dir/weights"
hash=$(field weights_hash) accuracy=$(field test_accuracy)
for ranks in 1 2 3; do
    trains "$ranks" "${run[@]}" --evaluate --init-from "$dir/weights"
    [ "$(field weights_hash) $(field test_accuracy) $(field steps)" = "$hash $accuracy 0" ] ||
        fail "evaluated on $ranks ranks: $(field weights_hash) $(field test_accuracy) $(field steps), not $hash $accuracy 0"
done
trains 2 "${run[@]}" --evaluate --ema 0.5 --resume "$dir/weights"
[ "$(field weights_hash) $(field test_accuracy)" = "$hash $accuracy" ] ||
    fail "--evaluate --resume: $(field weights_hash) $(field test_accuracy), not $hash $accuracy"
grep -q '"event":"step"' <(sed '1,/"event":"summary"/d' "$dir/json") && fail "--evaluate trains"
trains 2 "${run[@]}" --steps 3 --lr 0 --init-from "$dir/weights" --ema 0.5
is "a rate of 0" "$hash"
[ "$(field average_test_accuracy)" = "$accuracy" ] || fail "averages do not begin as the weights"
trains 2 "${run[@]}" --steps 3 --init-from "$dir/weights" --checkpoint "$dir/more"
[ "$(field weights_hash)" != "$hash" ] || fail "nothing is trained"
hash3=$(field weights_hash)
# A restart adds --resume, which counts more.
trains 2 "${run[@]}" --steps 3 --init-from "$dir/weights" --checkpoint "$dir/more" --resume "$dir/more"
is "--resume with --init-from" "$hash3"

# ---- another number of classes: a new head; another model: refused
cifar 2 "${run[@]}" --data synthetic:32x32x3:4 --steps 2 --eval-every never --init-from "$dir/weights" || { fail "status $?"; cat "$dir/out"; }
says "--init-from $dir/weights: a new head for 4 classes: ip2.weight, ip2.bias begin anew"
refuses 1 'tensor "ip2.weight" is F32' cifar 2 "${run[@]}" --data synthetic:32x32x3:4 --evaluate --init-from "$dir/weights"
refuses 1 "its model is cifar-quick, but this run's is mlp: add --model cifar-quick" cifar 2 "${run[@]}" --model mlp --init-from "$dir/weights"
refuses 1 "$dir/none: cannot open" cifar 2 "${run[@]}" --init-from "$dir/none"
head -c 9000 "$dir/weights" > "$dir/torn"
refuses 1 "$dir/torn: truncated" cifar 2 "${run[@]}" --init-from "$dir/torn"

# ---- what does not go together
refuses 2 '--evaluate: name the weights with --init-from FILE' cifar 2 "${run[@]}" --evaluate
refuses 2 'leave out --checkpoint' cifar 2 "${run[@]}" --evaluate --init-from "$dir/weights" --checkpoint "$dir/x"
refuses 2 'leave out --eval-every never' cifar 2 "${run[@]}" --evaluate --init-from "$dir/weights" --eval-every never
refuses 2 '--keep-best: it needs --checkpoint FILE' cifar 2 "${run[@]}" --keep-best
for every in never end; do
    refuses 2 '--patience 2: it needs evaluations during the run' cifar 2 "${run[@]}" --patience 2 --eval-every $every
done
refuses 2 '--patience 0: must be an integer from 1' cifar 2 "${run[@]}" --patience 0

# ---- the best is kept, whether or not the run is interrupted
best() { sed -n 's/.*"event":"eval".*"test_accuracy":\([0-9.]*\).*/\1/p' "$dir/json" | sort -g | tail -n 1; }
rm -f "$dir/json"
trains 2 "${run[@]}" --epochs 6 --checkpoint "$dir/run" --keep-best
wanted=$(best)
trains 2 "${run[@]}" --evaluate --init-from "$dir/run.best"
[ "$(field test_accuracy)" = "$wanted" ] || fail "FILE.best has $(field test_accuracy), the best was $wanted"
for step in 20 67 110; do
    rm -f "$dir"/half*
    trains 2 "${run[@]}" --epochs 6 --checkpoint "$dir/half" --keep-best --stop-after $step
    trains 2 "${run[@]}" --epochs 6 --checkpoint "$dir/half" --keep-best --resume "$dir/half"
    cmp "$dir/run" "$dir/half" || fail "interrupted after step $step: another checkpoint"
    cmp "$dir/run.best" "$dir/half.best" || fail "interrupted after step $step: another best one"
done
# The evaluation at such a stop is none of those that count, also where not every epoch has one. With a rate of 0 the first that
# counts stays the best.
every=("${run[@]}" --epochs 8 --lr 0 --eval-every 2 --patience 2 --keep-best)
rm -f "$dir"/run*
trains 2 "${every[@]}" --checkpoint "$dir/run"
[ "$(field steps)" = 120 ] || fail "every second epoch is evaluated: ended after step $(field steps)"
for step in 20 60; do
    rm -f "$dir"/half*
    trains 2 "${every[@]}" --checkpoint "$dir/half" --stop-after $step
    trains 2 "${every[@]}" --checkpoint "$dir/half" --resume "$dir/half"
    cmp "$dir/run" "$dir/half" || fail "every second epoch is evaluated, interrupted after step $step: another checkpoint"
    cmp "$dir/run.best" "$dir/half.best" || fail "every second epoch is evaluated, interrupted after step $step: another best one"
done
rm "$dir"/half "$dir"/half.1
refuses 2 "half.best already exists, and this run does not continue from it: add --overwrite to replace it, or choose another name" \
    cifar 2 "${run[@]}" --checkpoint "$dir/half" --keep-best
# FILE is saved before FILE.best: a run that ends between the two goes on, and saves what was lost. With a rate of 0 the first
# evaluation stays the best.
rm -f "$dir"/run* "$dir"/half*
trains 2 "${run[@]}" --epochs 3 --lr 0 --checkpoint "$dir/run" --keep-best
mkdir "$dir/half.best"
cifar 2 "${run[@]}" --epochs 3 --lr 0 --checkpoint "$dir/half" --keep-best --overwrite && fail "a folder is replaced by FILE.best"
rmdir "$dir/half.best" || ls "$dir"
[ -s "$dir/half" ] || fail "FILE.best is saved before FILE"
cp "$dir/half" "$dir/first"
trains 2 "${run[@]}" --epochs 3 --lr 0 --checkpoint "$dir/half" --keep-best --resume "$dir/half"
cmp "$dir/run" "$dir/half" || fail "ended before FILE.best: another checkpoint"
cmp "$dir/run.best" "$dir/half.best" || fail "ended before FILE.best: another best one"
for change in '$m{step} = "10"' '$m{step} = "21"'; do # older, newer
    cp "$dir/first" "$dir/half"
    remake "$dir/run.best" "$dir/half.best" "$change" || fail "remake $change"
    cp "$dir/half.best" "$dir/odd"
    trains 1 "${run[@]}" --batch 10 --epochs 3 --lr 0 --checkpoint "$dir/half" --keep-best --resume "$dir/half"
    [[ $change = *21* ]] && kept=yes || kept=no
    cmp -s "$dir/odd" "$dir/half.best" && is=yes || is=no
    [ $is = $kept ] || fail "FILE.best with $change: kept: $is, not $kept"
done

# ---- no patience: with a rate of 0 the first evaluation stays the best
rm -f "$dir/json"
cifar 2 "${run[@]}" --epochs 9 --lr 0 --patience 2 --checkpoint "$dir/still" --trace "$dir/spans" --trace-first 25 --trace-steps 90 \
    --json "$dir/json" || { fail "status $?"; cat "$dir/out"; }
says 'the run ends after step 60: no better test accuracy in 2 evaluations since step 20'
[ "$(field steps)" = 60 ] && [ "$(grep -c '"event":"eval"' "$dir/json")" = 3 ] || fail "ended after $(field steps) steps"
[ -s "$dir/spans" ] || fail "no trace"
cifar 1 "${run[@]}" --batch 10 --epochs 9 --lr 0 --patience 1 --trace "$dir/spans" --trace-first 5 --trace-steps 34
says 'the run ends after step 40'
[ "$(grep -c 'steps 5 to 38 are traced' "$dir/out")" = 1 ] || { fail "a trace that is due where the run ends"; cat "$dir/out"; }
cifar 1 "${run[@]}" --epochs 9 --lr 0 --patience 2 --batch 10 --resume "$dir/still" || { fail "status $?"; cat "$dir/out"; }
says 'nothing is left to train'
finish
