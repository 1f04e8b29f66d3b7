#!/bin/bash
# Local steps: replicas that train alone within a round and are equal after it, in every design, with stages and outer steps; what is
# saved, and resumed, at the end of rounds; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 7 --augment crop --ema 0.9)
outer=local:period=2,outer=0.7,momentum=0.9

# ---- designs, buckets, stages: one hash ----
trains 3 "${model[@]}" --strategy $outer --checkpoint "$dir/whole" --replica-check 1
three=$(field weights_hash)
grep -q '"strategy":"local:period=2,outer=0.7,momentum=0.9"' "$dir/json" || fail "the start does not name the strategy"
[ "$(field replica_checks)" = 4 ] || fail "$(field replica_checks) checks of replicas, not one after each of 4 rounds"
bucket=(--bucket-mb 0 --bucket-mb 0.02 --bucket-mb auto)
i=0
for design in $(names designs); do
    [ "$design" = naive ] && continue
    trains 3 "${model[@]}" --strategy $outer --design "$design" "${bucket[@]:i % 3 * 2:2}" --eval-every never
    is "$design" "$three"
    i=$((i + 1))
done
trains 2 "${model[@]}" --strategy $outer --layout replicas=2 --micro-batches 2
two=$(field weights_hash)
trains 4 "${model[@]}" --strategy $outer --layout stages=2,replicas=2 --micro-batches 2
is "two stages" "$two"
trains 2 "${model[@]}" --strategy local:period=2
[ "$(field weights_hash)" != "$two" ] || fail "outer steps change nothing"
trains 1 "${model[@]}" --strategy local:period=3
alone=$(field weights_hash)
trains 1 "${model[@]}"
is "one rank, whose average is its own" "$alone"

# ---- within a round nothing is saved, and no run ends ----
trains 3 "${model[@]}" --strategy $outer --checkpoint "$dir/a" --stop-after 3 --checkpoint-every 3
[ "$(field steps)" = 4 ] || fail "a run that is to stop within a round stops after step $(field steps), not 4"
trains 3 "${model[@]}" --strategy $outer --checkpoint "$dir/a" --resume "$dir/a"
is "resumed" "$three"
cmp "$dir/whole" "$dir/a" || fail "resumed: the checkpoints differ"
! grep -q "not the run that was interrupted" "$dir/out" || fail "the same strategy is said to be another run"
cifar 3 "${model[@]}" --strategy local:period=2 --checkpoint "$dir/a" --resume "$dir/a"
[ $? != 0 ] && grep -q "its strategy is $outer, but this run's is local:period=2,outer=1,momentum=0" "$dir/out" ||
    fail "another strategy is not named"

# ---- a signal to one rank ends all with a round ----
cat > "$dir/rank" << 'END'
#!/bin/bash
echo $$ > "$dir/pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
exec "$@"
END
chmod +x "$dir/rank"
export dir
rm -f "$dir/json"*
"$mpirun" -np 2 "$dir/rank" "$apps/tutti-cifar" --data "$dir/data" --model mlp --batch 2 --steps 100000 --eval-every never \
    --strategy local:period=7 --checkpoint "$dir/signal" --quiet --json "$dir/json" > "$dir/out" 2>&1 &
launcher=$!
for ((moment = 0; moment < 600; moment++)); do
    grep -qs '"event":"step"' "$dir/json" && break
    sleep 0.1
done
kill -TERM "$(cat "$dir/pid.1")"
status=0
wait $launcher || status=$?
[ $status = 143 ] || { fail "status $status after SIGTERM, not 143"; cat "$dir/out"; }
step=$(sed -n 's/^.*"event":"interrupted".*"step":\([0-9]*\).*/\1/p' "$dir/json")
[ -n "$step" ] && { [ $((step % 7)) = 0 ] || [ $((step % 25)) = 0 ]; } || fail "SIGTERM ends the run after step $step, within a round"

# ---- what is refused ----
refused "must be sync, sharded.* or " 2 --strategy locale
refused "local takes period=, outer= and momentum=, separated by commas, such as local:period=8" 2 --strategy local:8
refused "local takes period=" 2 --strategy local:
refused "local takes period=" 2 --strategy local:period=2,
refused "period must be a whole number from 1 to 1000000" 2 --strategy local:period=0
refused "period must be a whole number" 2 --strategy local:period=1.5
refused "period must be a whole number" 2 --strategy local:period=2x
refused "outer must be a number from" 2 --strategy local:outer=0
refused "momentum must be a number from 0" 2 --strategy local:momentum=1
refused "has period= twice" 2 --strategy local:period=2,period=2
refused "sync takes no parameters: write just sync" 2 --strategy sync:period=2
refused "wire.*of which --strategy local has none" 2 --strategy local --wire bf16
refused "priority.*of which --strategy local has none" 2 --strategy local --priority on
finish
