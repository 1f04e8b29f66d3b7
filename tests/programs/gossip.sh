#!/bin/bash
# Replicas that mix their weights with their neighbours' in every step: one hash in every design, on rings, on exponential graphs and
# with shares (push-sum);
# what is saved and resumed; what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 7 --augment crop --ema 0.9)

# ---- graphs, designs: one hash each ----
for graph in ring exponential push-sum; do
    trains 4 "${model[@]}" --strategy gossip:$graph,period=4 --checkpoint "$dir/$graph" --replica-check 1
    hash=$(field weights_hash)
    [ "$(field replica_checks)" = 3 ] || fail "$graph: $(field replica_checks) checks of replicas, not one after each of 3 rounds (one ends with an epoch)"
    for design in $(names designs); do
        [ "$design" = naive ] && continue
        trains 4 "${model[@]}" --strategy gossip:$graph,period=4 --design "$design" --bucket-mb 0.02 --eval-every never
        is "$graph, $design" "$hash"
    done
    trains 4 "${model[@]}" --strategy gossip:$graph,period=4 --checkpoint "$dir/$graph.a" --stop-after 3
    [ "$(field steps)" = 4 ] || fail "$graph: a run that is to stop within a round stops after step $(field steps), not 4"
    trains 4 "${model[@]}" --strategy gossip:$graph,period=4 --checkpoint "$dir/$graph.a" --resume "$dir/$graph.a"
    is "$graph, resumed" "$hash"
    cmp "$dir/$graph" "$dir/$graph.a" || fail "$graph, resumed: the checkpoints differ"
    hashes+=("$hash")
done
# Shares are 1 where a run is resumed, as where a round begins, also if the first mixing step leaves them uneven.
uneven=("${model[@]}" --data "$dir/data" --steps 6 --strategy gossip:push-sum,period=4)
trains 3 "${uneven[@]}" --checkpoint "$dir/shares"
hash=$(field weights_hash)
trains 3 "${uneven[@]}" --checkpoint "$dir/shares.a" --stop-after 4
trains 3 "${uneven[@]}" --checkpoint "$dir/shares.a" --resume "$dir/shares.a"
is "push-sum on three ranks, resumed" "$hash"
[ "$(printf '%s\n' "${hashes[@]}" | sort -u | wc -l)" = 3 ] || fail "two graphs leave the same weights"
cmp -s "$dir/ring" "$dir/exponential" && fail "both graphs leave the same checkpoint"
# A run of one graph does not go on with the other, nor does one that has ended; with sums in every step it does.
for from in "$dir/ring" "$dir/ring.a"; do
    cifar 4 "${model[@]}" --strategy gossip:exponential,period=4 --checkpoint "$dir/ring.b" --resume "$from"
    [ $? != 0 ] && grep -q "its strategy is gossip:ring,period=4, but this run's is gossip:exponential,period=4" "$dir/out" ||
        { fail "resumed with another graph"; cat "$dir/out"; }
done
trains 4 "${model[@]}" --resume "$dir/ring"
grep -q "strategy was gossip:ring,period=4 and is sync" "$dir/out" || { fail "resumed without a strategy"; cat "$dir/out"; }
trains 4 "${model[@]}" --strategy local:period=4 --eval-every never
[ "$(field weights_hash)" != "${hashes[0]}" ] || fail "mixing changes nothing"
trains 1 "${model[@]}"
alone=$(field weights_hash)
trains 1 "${model[@]}" --strategy gossip
is "one rank, which mixes with nobody" "$alone"
trains 4 --data synthetic --model mlp --batch 8 --steps 3 --accumulate 2 --eval-every never --strategy gossip --check-only
grep -q "ordering law holds" "$dir/out" || { fail "--check-only does not say that the law is kept"; cat "$dir/out"; }

# ---- what is refused ----
refused "must be gossip:ring, gossip:exponential or gossip:push-sum, which period= may follow, such as gossip:ring,period=1000" 2 --strategy gossip:star
refused "must be gossip:ring, gossip:exponential or gossip:push-sum" 2 --strategy gossip:push-sum,period
refused "period must be a whole number from 1" 2 --strategy gossip:ring,period=0
refused "meet as wholes.*leave out stages of --layout" 2 --strategy gossip --layout stages=2
refused "meet as wholes" 2 --strategy gossip:push-sum --layout stages=2
refused "leave out split of --layout" 2 --strategy gossip --layout split=2
refused "wire.*of which --strategy gossip has none" 2 --strategy gossip --wire bf16
refused "priority.*of which --strategy gossip has none" 2 --strategy gossip --priority on
finish
