#!/bin/bash
# Parameter servers in the same mpirun: the weights of sync where each worker is a client, and of a tree of sums where clients have two;
# for any number of servers, and where all ranks are servers; checkpoints; what is refused. In every design: served_designs.sh.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
model=(--data "$dir/data" --model resnet8 --batch 4 --lr 0.02 --steps 6 --augment crop --eval-every never)

# ---- a worker is a client: the bits and the checkpoints of sync ----
recipe=("${model[@]}" --eval-every 1 --optimizer adam --ema 0.9 --accumulate 2 --replica-check 2)
trains 2 "${recipe[@]}" --layout replicas=2 --checkpoint "$dir/sync"
two=$(field weights_hash)
trains 2 "${recipe[@]}" --layout servers=0,clients=1
is "no server" "$two"
for servers in 1 2; do
    trains $((2 + servers)) "${recipe[@]}" --layout servers=$servers --checkpoint "$dir/served$servers"
    is "$servers servers" "$two"
    cmp "$dir/sync" "$dir/served$servers" || fail "$servers servers: another checkpoint than of sync"
    [ "$(field replica_checks)" -ge 3 ] || fail "$servers servers: the workers were not compared"
done
grep -q '"layout":"servers=2,clients=2"' "$dir/json" || fail "the start does not name the layout"
trains 2 "${recipe[@]}" --layout servers=all --checkpoint "$dir/everywhere"
is "all are servers" "$two"
cmp "$dir/sync" "$dir/everywhere" || fail "all are servers: another checkpoint than of sync"
[ "$(field replica_checks)" -ge 3 ] || fail "all are servers: the workers were not compared"
grep -q '"layout":"servers=all,clients=2"' "$dir/json" || fail "the start does not name the layout"
trains 3 "${recipe[@]}" --layout servers=1,clients=1
is "a client of both" "$two"
trains 2 "${recipe[@]}" --layout servers=all,clients=1
is "a client of all, who are servers" "$two"
trains 2 "${recipe[@]}" --layout replicas=2 --checkpoint "$dir/a" --stop-after 3
trains 4 "${recipe[@]}" --layout servers=2,clients=2 --checkpoint "$dir/a" --resume "$dir/a"
is "sync, then servers" "$two"
cmp "$dir/sync" "$dir/a" || fail "sync, then servers: the checkpoints differ"
trains 3 "${recipe[@]}" --layout servers=1,clients=2 --checkpoint "$dir/b" --stop-after 3
trains 2 "${recipe[@]}" --layout servers=all --checkpoint "$dir/b" --resume "$dir/b" --stop-after 2
trains 2 "${recipe[@]}" --layout replicas=2 --checkpoint "$dir/b" --resume "$dir/b"
is "a server, then all, then sync" "$two"
cmp "$dir/sync" "$dir/b" || fail "a server, then all, then sync: the checkpoints differ"

# ---- scales and shifts so many that each server has a part of them: each begins as a worker's
cat > "$dir/wide.json" << 'END'
{"input": {"height": 32, "width": 32, "classes": 10}, "layers": [{"is": "conv", "name": "c", "filters": 4096, "window": 1, "stride": 16},
 {"is": "norm", "name": "n"}, {"is": "global-avg-pool", "name": "p"}, {"is": "dense", "name": "d", "features": "classes"}]}
END
wide=(--data "$dir/data" --model "$dir/wide.json" --batch 4 --lr 0.02 --steps 3 --eval-every never)
trains 2 "${wide[@]}" --layout replicas=2
hash=$(field weights_hash)
for servers in 2 3; do
    trains $((2 + servers)) "${wide[@]}" --layout servers=$servers
    is "$servers servers with parts of scales" "$hash"
done

# ---- workers in stages: the same bits and checkpoints; of clients of two, the same tree ----
trains 3 "${recipe[@]}" --micro-batches 2 --layout servers=1,clients=2 --checkpoint "$dir/whole"
cut=$(field weights_hash)
trains 6 "${recipe[@]}" --micro-batches 2 --layout servers=2,clients=2,stages=2 --checkpoint "$dir/stages"
is "stages" "$cut"
cmp "$dir/whole" "$dir/stages" || fail "stages: another checkpoint than without"
[ "$(field replica_checks)" -ge 3 ] || fail "stages: the workers were not compared"
grep -q '"layout":"servers=2,clients=2,stages=2"' "$dir/json" || fail "the start does not name the stages"
trains 5 "${recipe[@]}" --micro-batches 2 --layout servers=1,clients=2,stages=2 --checkpoint "$dir/c" --stop-after 3 --trace "$dir/trace"
"$apps/tutti-trace" "$dir/trace" > "$dir/out" && grep -q "^pipeline of 2 stages, 2 micro-batches" "$dir/out" ||
    { fail "tutti-trace does not tell of two stages, behind which is a server"; cat "$dir/out"; }
trains 4 "${recipe[@]}" --micro-batches 2 --layout stages=2,replicas=2 --checkpoint "$dir/c" --resume "$dir/c"
is "a server for stages, then stages alone" "$cut"
cmp "$dir/whole" "$dir/c" || fail "a server for stages, then stages alone: the checkpoints differ"

# ---- clients of two: each adds its own, and servers add those in the order of clients, as a tree of four does ----
trains 4 "${model[@]}" --optimizer lars --strategy sync --layout replicas=4
four=$(field weights_hash)
trains 5 "${model[@]}" --optimizer lars --layout servers=1,clients=4
is "lars, four clients" "$four"
trains 4 "${model[@]}" --optimizer lars --layout servers=all
is "lars, four clients who are servers" "$four"
trains 4 "${model[@]}" --strategy rooted:b
tree=$(field weights_hash)
trains 6 "${model[@]}" --layout servers=2,clients=2 --bucket-mb 0.02
is "two clients of two" "$tree"

# ---- the law; the least ----
for layout in servers=1,clients=2 servers=1,clients=3,stages=2 servers=all,clients=1; do
    cifar 7 "${model[@]}" --layout $layout --check-only
    grep -q "ordering law holds" "$dir/out" || { fail "--check-only of $layout does not say that the law is kept"; cat "$dir/out"; }
done
# one rank that is all; fewer keys than ranks, none of which is left without work
trains 1 "${model[@]}" --layout replicas=1
one=$(field weights_hash)
trains 1 "${model[@]}" --layout servers=all
is "one rank that is its server" "$one"
mlp=(--data "$dir/data" --model mlp --batch 4 --lr 0.02 --steps 2 --optimizer lars)
trains 7 "${mlp[@]}" --layout replicas=7
seven=$(field weights_hash)
trains 7 "${mlp[@]}" --layout servers=all
is "six keys on seven ranks" "$seven"

# ---- what is refused, on all ranks ----
refused "4 clients of equal size cannot be formed of 6 workers.*use a divisor of 6, or start 9" 7 --layout servers=1,clients=4
refused "leaves none of 2 ranks to train: start at least 3" 2 --layout servers=2
refused "has clients, but not how many servers" 2 --layout clients=2
refused "no server that joins them: use servers=1, or clients=1" 2 --layout servers=0,clients=2
refused "whose replicas are counted by clients= and share no layers: leave out replicas= and split=" 3 --layout servers=1,replicas=2
refused "leave out replicas= and split=" 3 --layout servers=1,split=2
refused "each server of servers=all would have one: use servers=1, or more" 2 --layout servers=all,stages=2
refused "workers of 2 stages cannot be formed of 3 ranks (4 ranks without 1 server): start 3 ranks, or 5" 4 --layout servers=1,stages=2
refused "must be stages=S.*or servers=S,clients=C,stages=Q, such as servers=1,clients=2 or servers=all" 3 --layout servers=some
refused "3 clients of equal size cannot be formed of 4 workers (all ranks): use a divisor of 4, or start 6" 4 --layout servers=all,clients=3
for strategy in elastic elastic:alpha=0.2; do
    refused "elastic.*needs servers that train nothing: use --layout servers=1, or more, not all" 2 --layout servers=all --strategy $strategy
done
for strategy in async bounded:1; do
    refused "servers of a store of keys .*train nothing: use servers=1, or more" 2 --layout servers=all --strategy $strategy
done
refused "gossip.*has no part for servers: use" 2 --layout servers=all --strategy gossip
refused "clip-norm.*each server of --layout has a part" 2 --layout servers=all --clip-norm 1
refused "shards.*not with servers of --layout: use shared" 2 --layout servers=all --shards local
refuses 2 "servers all: a job of servers trains nothing: say how many" "$apps/tutti-run" --servers all --clients 2 -n 4 "$apps/tutti-cifar"
for strategy in sharded rooted:b local:period=2 gossip adpsgd; do
    refused "${strategy%:*}.*has no part for servers: use" 3 --layout servers=1 --strategy $strategy
done
refused "clip-norm.*each server of --layout has a part" 3 --layout servers=1 --clip-norm 1
refused "compress.*each server of --layout has a part" 3 --layout servers=1 --compress onebit
refused "wire.*servers add gradients as f32" 3 --layout servers=1 --wire bf16
refused "shards.*servers of --layout read no images" 3 --layout servers=1 --shards local
refused "leaves servers without keys, since mlp has 6: use at most 6" 8 --model mlp --optimizer lars --layout servers=7
finish
