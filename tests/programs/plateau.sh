#!/bin/bash
# --rate-schedule plateau: evaluations that get no better lower the rate, on all ranks alike; a run that is interrupted anywhere, and
# resumed, goes on counting; what it needs is asked for.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
model=(--data "$dir/data" --model cifar-quick --batch 5)
# With this rate no evaluation is better than the first one.
run=("${model[@]}" --lr 1e-20 --rate-schedule plateau --plateau-patience 2 --plateau-factor 0.5 --epochs 6)
rates() { sed -n 's/.*"event":"step".*"rate":\([0-9.e+-]*\).*/\1/p' "$dir/json" | xargs printf '%.3g\n' | uniq -c | tr -s ' \n' ' '; }

trains 2 "${run[@]}" --checkpoint "$dir/whole"
wanted=$(rates)
[ "$wanted" = " 60 1e-20 40 5e-21 20 2.5e-21 " ] || fail "rates: $wanted"
for ranks in 1 3; do
    rm "$dir/json"
    trains $ranks "${run[@]}" --batch $((10 / ranks)) --layout "stages=$ranks" --eval-every 1 --epochs 4
    rates | grep -q '1e-20 [0-9]* 5e-21 $' || fail "$ranks stages: $(rates)"
done

# ---- interrupted within an epoch, at its end, and where the rate was lowered: the same rates and the same checkpoint
for step in 30 60; do
    rm -f "$dir"/half* "$dir/json"
    trains 2 "${run[@]}" --checkpoint "$dir/half" --stop-after $step
    trains 2 "${run[@]}" --checkpoint "$dir/half" --resume "$dir/half"
    cmp "$dir/whole" "$dir/half" || fail "interrupted after step $step: another checkpoint"
    [ "$(rates)" = "$wanted" ] || fail "interrupted after step $step: $(rates)"
done
cifar 2 "${run[@]}" --epochs 8 --resume "$dir/whole" || { fail "status $?"; cat "$dir/out"; }
grep -q 'the learning rate is 1.25e-21 after step 140: the test loss was no better than 2.* in 2 evaluations' "$dir/out" || { fail "nobody says that the rate is lower"; cat "$dir/out"; }

# ---- a signal before or during an evaluation, which takes long: the run that goes on makes it first
mkdir "$dir/long"
cp "$dir/data"/data_batch_* "$dir/long"
for _ in {1..200}; do cat "$dir/data/test_batch.bin"; done > "$dir/long/test_batch.bin"
long=(--data "$dir/long" --model cifar-quick --batch 5 --lr 1e-20 --rate-schedule plateau --plateau-patience 1 --plateau-factor 0.5
    --epochs 3 --keep-best --patience 9)
rm -f "$dir/json"
trains 2 "${long[@]}" --checkpoint "$dir/long.whole"
wanted=$(rates)
[ "$wanted" = " 40 1e-20 20 5e-21 " ] || fail "rates: $wanted"
evaluations() { sed -n 's/.*"event":"eval"\(.*"step":[0-9]*\).*\("train_loss".*\)/\1 \2/p' "$dir/json"; }
made=$(evaluations)
# ends_in_evaluation STEP: whether SIGTERM came while the epoch's evaluation was made; a machine may run this script too late for that.
ends_in_evaluation() {
    rm -f "$dir/json" "$dir/long.$1"*
    "$mpirun" -np 2 "$apps/tutti-cifar" "${long[@]}" --checkpoint "$dir/long.$1" --quiet --json "$dir/json" > "$dir/out" 2>&1 &
    launcher=$!
    perl -MTime::HiRes=sleep -e '
        my ($file, $step, $match) = @ARGV;
        my ($rank, $json);
        for (1 .. 30000) {
            $rank ||= (split " ", `pgrep -f "$match"`)[0];
            last if $rank && open($json, "<", $file) && join("", <$json>) =~ /"event":"step".*"step":$step,/;
            sleep 0.002;
        }
        kill "TERM", $rank if $rank' "$dir/json" "$1" "^$apps/tutti-cifar .*--checkpoint $dir/long.$1 "
    status=0
    wait $launcher || status=$?
    [ $status = 143 ] && ! grep -q "\"event\":\"eval\".*\"step\":$1," "$dir/json"
}
for step in 20 40 60; do
    for try in {1..5}; do ends_in_evaluation "$step" && break; done || { fail "no signal in the evaluation after step $step: status $status"; cat "$dir/out"; }
    trains 2 "${long[@]}" --checkpoint "$dir/long.$step" --resume "$dir/long.$step"
    cmp "$dir/long.whole" "$dir/long.$step" && cmp "$dir/long.whole.best" "$dir/long.$step.best" || fail "no evaluation after step $step: another checkpoint"
    [ "$(rates)" = "$wanted" ] || fail "no evaluation after step $step: rates $(rates)"
    [ "$(evaluations)" = "$made" ] || { fail "other evaluations than those of a run that went on:"; diff <(echo "$made") <(evaluations); }
done

# ---- while the loss falls, the rate stays
rm "$dir/json"
trains 2 "${model[@]}" --lr 0.02 --rate-schedule plateau --plateau-patience 1 --epochs 2
[ "$(rates)" = " 40 0.02 " ] || fail "a falling loss: $(rates)"

perl -pe 's/(, 1 evaluations ago, lowered) 2/$1 -/' "$dir/whole" > "$dir/bad"
refuses 1 'its plateau is "2.*it must be a test loss' cifar 1 "${run[@]}" --batch 10 --resume "$dir/bad" --epochs 7
refused 'it needs evaluations during the run' 2 --rate-schedule plateau --eval-every end
refused 'it needs evaluations during the run' 1 --rate-schedule plateau --eval-every never
refused '--plateau-factor 1: must be' 1 --rate-schedule plateau --plateau-factor 1
refused 'would lower its own rate' 2 --rate-schedule plateau --strategy async --layout servers=1
finish
