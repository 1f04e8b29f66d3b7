#!/bin/bash
# Replicas that train on while they average their weights with a partner's (--strategy adpsgd): one hash in every design; what is saved
# and resumed; for how long a replica goes on without a partner that stands still; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 7 --augment crop --ema 0.9)

# ---- ranks, delays, designs: one hash each ----
for how in 4,period=1,delay=1,round=4 3,period=3,delay=2,round=5; do
    ranks=${how%%,*} strategy=adpsgd:${how#*,} round=${how##*=}
    trains "$ranks" "${model[@]}" --strategy "$strategy" --checkpoint "$dir/whole$ranks$round" --replica-check 1
    hash=$(field weights_hash)
    for design in $(names designs); do
        [ "$design" = naive ] && continue
        trains "$ranks" "${model[@]}" --strategy "$strategy" --design "$design" --bucket-mb 0.02 --eval-every never
        is "$ranks ranks, $strategy, $design" "$hash"
    done
    trains "$ranks" "${model[@]}" --strategy "$strategy" --checkpoint "$dir/part$ranks$round" --stop-after 3
    [ "$(field steps)" -lt 7 ] || fail "$strategy: a run that is to stop after 3 steps ends with step $(field steps)"
    trains "$ranks" "${model[@]}" --strategy "$strategy" --checkpoint "$dir/part$ranks$round" --resume "$dir/part$ranks$round"
    is "$ranks ranks, $strategy, resumed" "$hash"
    cmp "$dir/whole$ranks$round" "$dir/part$ranks$round" || fail "$strategy, resumed: the checkpoints differ"
    hashes+=("$hash")
done
[ "$(printf '%s\n' "${hashes[@]}" | sort -u | wc -l)" = 2 ] || fail "two ways to mix leave the same weights"
cifar 3 "${model[@]}" --strategy adpsgd --checkpoint "$dir/other" --resume "$dir/whole35"
[ $? != 0 ] && grep -q "its strategy is adpsgd:period=3,delay=2,round=5, but this run's is adpsgd:period=1,delay=1,round=1000" "$dir/out" ||
    { fail "resumed with another delay"; cat "$dir/out"; }
trains 3 "${model[@]}" --resume "$dir/whole35"
trains 4 "${model[@]}" --strategy local:period=4 --eval-every never
! [ "$(field weights_hash)" = "${hashes[0]}" ] || fail "mixing changes nothing"
trains 1 "${model[@]}"
alone=$(field weights_hash)
trains 1 "${model[@]}" --strategy adpsgd:period=2
is "one rank, which mixes with nobody" "$alone"
computes_bf16 && trains 2 --data synthetic --model mlp --batch 8 --steps 6 --precision bf16 --lr 0.01 --strategy adpsgd
trains 4 --data synthetic --model mlp --batch 8 --steps 3 --accumulate 2 --eval-every never --strategy adpsgd --check-only
grep -q "ordering law holds" "$dir/out" || { fail "--check-only does not say that the law is kept"; cat "$dir/out"; }

# ---- a partner that stands still ----
cat > "$dir/rank" << 'END'
#!/bin/bash
echo $$ > "$dir/pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
exec "$@"
END
chmod +x "$dir/rank"
export dir
reported() { cat "$dir/json" 2> /dev/null | grep -c '"event":"step"'; }
# await STEPS: until rank 0 has reported more than so many.
await() {
    for _ in {1..600}; do
        [ "$(reported)" -gt "$1" ] && return
        sleep 0.1
    done
    fail "$(reported) steps, and no more"
    cat "$dir/out"
}
rm -f "$dir/json"
"$mpirun" -np 2 "$dir/rank" "$apps/tutti-cifar" --data synthetic --model mlp --batch 4 --lr 0.001 --steps 1000000 --eval-every never \
    --quiet --json "$dir/json" --strategy adpsgd:period=50,delay=20,round=1000000 > "$dir/out" 2>&1 &
run=$!
await 5
kill -STOP "$(cat "$dir/pid.1")"
now=-1
while [ "$now" != "$(reported)" ]; do
    now=$(reported)
    sleep 2
done
[ $((now % 50)) = 20 ] || fail "without its partner a replica goes on for $now steps, but mixing steps end after 20, 70, 120, ..."
kill -CONT "$(cat "$dir/pid.1")"
await "$((now + 50))"
kill -TERM "$run"
wait "$run"

# ---- what is refused ----
refused "with delay=3 and period=2 a mixing step would begin before the last one has ended: use delay=2 or less, or a longer period" 2 \
    --strategy adpsgd:period=2,delay=3
refused "adpsgd takes period=, delay= and round=, separated by commas, such as adpsgd:period=1" 2 --strategy adpsgd:ring
refused "period must be a whole number from 1" 2 --strategy adpsgd:period=0
refused "delay must be a whole number from 1" 2 --strategy adpsgd:delay=0
refused "round must be a whole number from 1" 2 --strategy adpsgd:round=1.5
refused "meet as wholes.*leave out stages of --layout" 2 --strategy adpsgd --layout stages=2
refused "leave out split of --layout" 2 --strategy adpsgd --layout split=2
refused "wire.*of which --strategy adpsgd has none" 2 --strategy adpsgd --wire bf16
refused "priority.*of which --strategy adpsgd has none" 2 --strategy adpsgd --priority on
finish
