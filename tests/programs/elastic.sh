#!/bin/bash
# Elastic averaging with parameter servers: one hash in every design and for any number of servers; rounds, what is saved and resumed; what
# is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 7 --augment crop --ema 0.9 --clip-norm 1)
elastic=(--strategy elastic:period=2,alpha=0.1,round=4)

# ---- designs, servers: one hash ----
trains 5 "${model[@]}" "${elastic[@]}" --layout servers=1,clients=2 --checkpoint "$dir/one" --replica-check 1
hash=$(field weights_hash)
[ "$(field replica_checks)" -ge 2 ] || fail "the workers were not compared after rounds"
i=0
for design in $(names designs); do
    [ "$design" = naive ] && continue
    i=$((i % 2 + 1))
    trains $((4 + i)) "${model[@]}" "${elastic[@]}" --layout servers=$i,clients=2 --design "$design" --bucket-mb 0.02 --eval-every never
    is "$design, $i servers" "$hash"
done
trains 6 "${model[@]}" "${elastic[@]}" --layout servers=2,clients=2 --checkpoint "$dir/two" --stop-after 3
[ "$(field steps)" = 4 ] || fail "a run that is to stop within a round stops after step $(field steps), not 4"
trains 5 "${model[@]}" "${elastic[@]}" --layout servers=1,clients=2 --checkpoint "$dir/two" --resume "$dir/two"
is resumed "$hash"
cmp "$dir/one" "$dir/two" || fail "resumed: the checkpoints differ"

# ---- clients in stages ----
trains 3 "${model[@]}" "${elastic[@]}" --micro-batches 2 --layout servers=1,clients=2 --checkpoint "$dir/whole"
hash_two=$(field weights_hash)
trains 6 "${model[@]}" "${elastic[@]}" --micro-batches 2 --layout servers=2,clients=2,stages=2 --checkpoint "$dir/stages" --replica-check 1
is "clients in stages" "$hash_two"
cmp "$dir/whole" "$dir/stages" || fail "clients in stages: another checkpoint than without"

# ---- it is not another strategy ----
trains 5 "${model[@]}" --strategy elastic:period=2,alpha=0.4,round=4 --layout servers=1,clients=2
[ "$(field weights_hash)" != "$hash" ] || fail "alpha changes nothing"
trains 5 "${model[@]}" --strategy elastic:period=3,alpha=0.1,round=4 --layout servers=1,clients=2
[ "$(field weights_hash)" != "$hash" ] || fail "the period changes nothing"
cifar 7 "${model[@]}" --strategy elastic:period=8,alpha=0.1 --layout servers=1,clients=2 --check-only
grep -q "ordering law holds" "$dir/out" || { fail "--check-only does not say that the law is kept"; cat "$dir/out"; }

# ---- what is refused ----
refused "needs parameter servers: add --layout servers=1" 2 --strategy elastic
refused "needs parameter servers" 2 --strategy elastic --layout servers=0,clients=1
refused "period must be a whole number from 1" 3 --strategy elastic:period=0 --layout servers=1
for alpha in 0 1.5; do
    refused "alpha must be a number from 1e-06 to 1" 3 --strategy elastic:alpha=$alpha --layout servers=1
done
refused "with alpha=0.6 2 clients would push the centre past their mean: use alpha=0.5 or less" 3 --strategy elastic:alpha=0.6 --layout servers=1
refused "wire.*servers add gradients as f32" 3 --strategy elastic --layout servers=1 --wire bf16
refused "compress.*--strategy" 3 --strategy elastic --layout servers=1 --compress onebit
finish
