#!/bin/bash
# tutti-sim as a program: a table and JSON, numbers that repeat, designs that do not differ where they should not, what is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
sim=$apps/tutti-sim
few=(--times cpu --steps 3 --warm 1)
value() { sed -n 's/.*"'"$1"'":\([^,}]*\).*/\1/p' "$dir/json"; }

"$sim" mlp --topology star:4,1Gbit/s --ranks 1,2,4 "${few[@]}" > "$dir/out" 2>&1 || fail "status $?: $(cat "$dir/out")"
[ "$(grep -cE '^ +[124] +[0-9.]+ +[0-9.]+ +-?[0-9.]+ +[0-9.]+ % +[0-9]+ +[0-9.]+ % +[0-9]+$' "$dir/out")" = 3 ] ||
    fail "no line for each number of ranks: $(cat "$dir/out")"
"$sim" mlp --topology star:4,1Gbit/s --ranks 1,2,4 "${few[@]}" | cmp -s - "$dir/out" || fail "numbers do not repeat"

# A step over links that cost little is its kernels, in every design; over slow ones it takes what its gradients (7.4 MB) take.
for design in $(names overlapping); do
    "$sim" mlp --topology star:4,1000Gbit/s "${few[@]}" --design "$design" --json > "$dir/json" || fail "$design: status $?"
    awk -v e="$(value efficiency)" 'BEGIN { exit !(e > 0.9 && e <= 1) }' || fail "$design: $(cat "$dir/json")"
    "$sim" mlp --topology star:4,100Mbit/s "${few[@]}" --design "$design" --json > "$dir/json" || fail "$design: status $?"
    awk -v ms="$(value step_ms)" 'BEGIN { exit !(ms > 883 && ms < 950) }' || fail "$design: $(cat "$dir/json")"
done

# As fast as a device of which images a second are known; and with fewer bytes of gradients.
"$sim" mlp --topology star:4,1000Gbit/s "${few[@]}" --batch 64 --images-per-s 500 --json > "$dir/json" || fail "--images-per-s: status $?"
awk -v r="$(value images_per_s)" -v c="$(value compute_ms)" 'BEGIN { exit !(r > 1990 && r < 2001 && c > 127.9 && c < 128.1) }' ||
    fail "--images-per-s: $(cat "$dir/json")"
for codec in none bf16 powersgd:4; do
    "$sim" mlp --topology star:4,1Gbit/s "${few[@]}" --compress $codec --json > "$dir/json" || fail "$codec: status $?"
    value sent_mb
done | awk '{ mb[NR] = $1 } END { exit !(mb[2] > 0.5 * mb[1] && mb[2] < 0.51 * mb[1] && mb[3] < 0.1 * mb[1]) }' ||
    fail "--compress sends too much"

# A trace of all ranks, which tutti-trace reads: what is hidden.
"$sim" mlp --topology star:4,10Gbit/s --ranks 2,4 "${few[@]}" --trace "$dir/trace" > "$dir/out" 2>&1 || fail "--trace: $(cat "$dir/out")"
"$apps/tutti-trace" "$dir/trace" > "$dir/told" 2>&1 || fail "tutti-trace: status $?: $(cat "$dir/told")"
grep -q '4 ranks' "$dir/told" || fail "tutti-trace does not tell four ranks: $(cat "$dir/told")"
refuses 1 'nowhere/trace' "$sim" mlp --topology star:2 "${few[@]}" --trace "$dir/nowhere/trace"

"$sim" mlp --topology star:4,1Gbit/s "${few[@]}" --algorithm priced > "$dir/out" 2>&1 || fail "priced: $(cat "$dir/out")"
# The same collectives and messages as in a real run of the layout: of each rank and step their names, kinds and bytes.
starts() { # TRACE
    sed -n 's/.*"pid":\([0-9]*\).*"cat":"collective","name":"\([^"]*\)".*"step":\([1-9]\).*"bytes":\([0-9]*\),"what":"\([a-z]*\)".*/\1 \3 \2 \5 \4/p' \
        "$1" | sort
}
# On each rank and lane collectives start in the order of a real run, which is program order before ranks agree on another.
order() { # TRACE STEP
    sed -n 's/.*"pid":\([0-9]*\).*"cat":"collective","name":"\([^"]*\)","ts":\([0-9.]*\).*"step":'"$2"',"sequence":\([0-9]*\),"lane":\([0-9]*\),"bytes":\([0-9]*\).*/\1 \5 \3 \4 \2/p' \
        "$1" | sort -k1,1n -k2,2n -k3,3n -k4,4n |
        awk '{ if (key != $1 " " $2) first = $4; key = $1 " " $2; print $1, $2, $4 - first, $5 }'
}
cifar 4 --data synthetic --model mlp --batch 8 --steps 2 --workers 1 --trace "$dir/real" || fail "tutti-cifar: $(tail -5 "$dir/out")"
"$sim" mlp --topology star:4,1Gbit/s --batch 8 --times cpu --steps 2 --warm 1 --trace "$dir/trace" > "$dir/out" 2>&1 || fail "starts: $(cat "$dir/out")"
order "$dir/real" 2 > "$dir/wanted"
order "$dir/trace" 2 | cmp - "$dir/wanted" || fail "collectives start in another order than in a real run"
[ "$(wc -l < "$dir/wanted")" -gt 30 ] || fail "a real run of few collectives: $(cat "$dir/wanted")"

# Then all ranks follow the same one, in which what the next step needs first overtakes. It pays if links are the limit, and
# on many ranks, where a chunk takes long, only if enough of them are under way.
"$sim" alexnet --topology star:4,10Gbit/s --times gpu --steps 5 --trace "$dir/trace" > "$dir/out" 2>&1 || fail "order: $(cat "$dir/out")"
numbers() { order "$dir/trace" "$1" | awk -v r="$2" '$1 == r { print $3 }'; }
numbers 1 0 | sort -nc || fail "the first step is not in program order"
numbers 5 0 > "$dir/wanted"
sort -nc "$dir/wanted" 2> /dev/null && fail "nothing overtakes in the agreed order"
for r in 1 2 3; do numbers 5 "$r" | cmp - "$dir/wanted" || fail "rank $r has another order than rank 0"; done
wide=(vgg16 --topology star:32,100Gbit/s --times gpu --batch 512 --json)
"$sim" "${wide[@]}" --priority off > "$dir/json" && off=$(value step_ms) && "$sim" "${wide[@]}" > "$dir/json" || fail "many ranks: status $?"
awk -v on="$(value step_ms)" -v off="$off" 'BEGIN { exit !(on < 0.97 * off) }' || fail "the order gains nothing: $off ms, then $(cat "$dir/json")"
refuses 2 'cannot agree on an order' "$sim" mlp --topology star:4 --layout stages=2 --priority on

layout=(--layout stages=2,split=2 --batch 32 --steps 2 --topology star:4,1Gbit/s)
cifar 4 --data synthetic --model mlp "${layout[@]}" --workers 1 --trace "$dir/real" || fail "tutti-cifar: $(tail -5 "$dir/out")"
"$sim" mlp "${layout[@]}" --warm 1 --times cpu --trace "$dir/trace" > "$dir/out" 2>&1 || fail "layout: $(cat "$dir/out")"
starts "$dir/real" > "$dir/wanted"
starts "$dir/trace" | cmp - "$dir/wanted" || fail "other collectives than in a real run"
[ "$(wc -l < "$dir/wanted")" -gt 200 ] || fail "a real run of few collectives: $(wc -l < "$dir/wanted")"
"$sim" mlp --topology star:4,1Gbit/s --layout stages=2 "${few[@]}" --times gpu --trace "$dir/trace" > "$dir/wanted" || fail "times of gpu: status $?"
"$sim" mlp --topology star:4,1Gbit/s --layout stages=2 "${few[@]}" --times "$dir/trace" > "$dir/told" || fail "times of a trace: status $?"
cmp "$dir/wanted" "$dir/told" || fail "times of a trace are not those that the trace was made with: $(cat "$dir/wanted" "$dir/told")"
"$sim" mlp "${layout[@]}" --warm 1 --times "$dir/real" > "$dir/out" 2>&1 || fail "times of a real run: $(cat "$dir/out")"
refuses 2 'times of mlp, not of resnet8' "$sim" resnet8 --topology star:4 --times "$dir/real"
refuses 2 'of 4 images, but this run.s have 2' "$sim" mlp "${layout[@]}" --batch 16 --warm 1 --times "$dir/real"
refuses 2 'split=2, but --layout has split=1' "$sim" mlp --topology star:4 --batch 4 --times "$dir/real"
sed 's/fc3.bias.sgd/fc3.bias.adam/' "$dir/real" > "$dir/other"
refuses 2 'has no kernel fc3.bias.sgd' "$sim" mlp "${layout[@]}" --warm 1 --times "$dir/other"
sed 's/"images":4,//' "$dir/real" > "$dir/other"
refuses 2 'does not say of how many images' "$sim" mlp "${layout[@]}" --warm 1 --times "$dir/other"
grep -q '"height":32,"width":32,"channels":3,"classes":10,' "$dir/real" || fail "a trace without images and classes: $(head -c 400 "$dir/real")"
sed 's/"classes":10,//' "$dir/real" > "$dir/other"
refuses 2 'and which, its kernels are' "$sim" mlp "${layout[@]}" --warm 1 --times "$dir/other"
refuses 2 'not a trace of Tutti' "$sim" mlp --topology star:4 --times "$0"
refuses 2 'says what kernels take' "$sim" mlp "${layout[@]}" --warm 1 --times "$dir/real" --images-per-s 100
refuses 1 'nowhere' "$sim" mlp --topology star:4 --times nowhere

# A trace of other images and classes: of the net for these. Its update of the last layer has 513 weights more for each class.
"$sim" mlp --topology star:2,1Gbit/s --batch 8 "${few[@]}" --trace "$dir/trace" --json > "$dir/json" || fail "a trace: status $?"
before=$(value sent_mb)
sed 's/"classes":10,/"classes":1010,/' "$dir/trace" > "$dir/other"
"$sim" mlp --topology star:2,1Gbit/s --batch 8 --steps 3 --warm 1 --times "$dir/other" --trace "$dir/trace" --json > "$dir/json" ||
    fail "other classes: status $?"
awk -v a="$before" -v b="$(value sent_mb)" 'BEGIN { more = 3 * 2 * 4 * 513 * 1000 / 1e6; exit !(b - a > 0.999 * more && b - a < 1.001 * more) }' ||
    fail "a trace of 1010 classes is not of a net of 1010: $before, then $(cat "$dir/json")"
grep -q '"height":32,"width":32,"channels":3,"classes":1010,' "$dir/trace" || fail "its trace has other classes: $(head -c 400 "$dir/trace")"

# A network of one's own: the trace names it as a real run does.
"$apps/tutti-info" --network mlp > "$dir/own.json" || fail "tutti-info --network: status $?"
own=("$sim" "$dir/own.json" --topology star:2,1Gbit/s --steps 3 --warm 1)
"${own[@]}" --times cpu --trace "$dir/trace" > "$dir/wanted" || fail "a network of one's own: status $?"
"${own[@]}" --times "$dir/trace" > "$dir/told" || fail "the trace of a network of one's own: status $?"
cmp "$dir/wanted" "$dir/told" || fail "other times of a network of one's own: $(cat "$dir/wanted" "$dir/told")"

# What a strategy divides takes its part of a whole update; of parts it is not known what the whole takes.
sharded=("$sim" mlp --topology star:4,1Gbit/s --steps 3 --warm 1 --batch 8 --json)
for how in 'sync sharded' 'sync rooted' 'sharded sharded' 'sharded sync'; do
    "${sharded[@]}" --strategy "${how#* }" --times cpu > "$dir/json" || fail "$how: status $?"
    wanted=$(value compute_ms)
    "${sharded[@]}" --strategy "${how% *}" --times cpu --trace "$dir/trace" > "$dir/out" || fail "$how, traced: status $?"
    "${sharded[@]}" --strategy "${how#* }" --times "$dir/trace" > "$dir/json" || fail "$how, times of a trace: status $?"
    awk -v a="$wanted" -v b="$(value compute_ms)" 'BEGIN { exit !(b > 0.99 * a && b < 1.01 * a) }' ||
        fail "a trace with --strategy ${how% *}, simulated with ${how#* }: kernels take $wanted ms, but $(cat "$dir/json")"
done

# Of a run on GPUs: layers write what the ReLU behind them would, and one span may be of several updates.
"${sharded[@]}" --times gpu --trace "$dir/trace" > "$dir/out" 2>&1 || fail "times of gpu, traced: $(cat "$dir/out")"
sed -e '1s/"height"/"kernels":9,"tasks":9,"launches":9,"graphs":0,"graph_bytes":0,"height"/' -e '/"cat":"forward","name":"relu/d' \
    -e 's/"name":"[^"]*[.]sgd"/"name":"sgd x6"/' "$dir/trace" > "$dir/other"
grep -q '"name":"sgd x6"' "$dir/other" || fail "not what a run on GPUs writes"
"${sharded[@]}" --times "$dir/other" --trace "$dir/trace" > "$dir/out" 2>&1 || fail "times of a run on GPUs: $(cat "$dir/out")"
grep -q '"cat":"forward","name":"fc1' "$dir/trace" || fail "a trace without forward kernels"
grep -q '"cat":"forward","name":"relu' "$dir/trace" && fail "a ReLU that GPUs do not have"

for how in '--layout servers=1,clients=3' '--layout servers=all' '--strategy sharded' '--layout stages=2 --strategy rooted:ob --pipeline gpipe'; do
    "$sim" mlp --topology star:4,1Gbit/s "${few[@]}" $how > "$dir/out" 2>&1 || fail "$how: status $?: $(cat "$dir/out")"
done
"$sim" mlp --topology star:4,1Gbit/s "${few[@]}" --algorithm direct > "$dir/wanted" || fail "--algorithm direct: status $?"
"$sim" mlp --topology star:4,1Gbit/s "${few[@]}" --layout replicas=4 > "$dir/told" || fail "--layout replicas=4: status $?"
cmp <(tail -1 "$dir/wanted") <(tail -1 "$dir/told") || fail "a layout whose sums are not direct"
# The cut into stages is for what links leave to the ranks that take part: two of a host, whatever there is between hosts.
cut=("$sim" resnet8 --layout stages=2 "${few[@]}")
"${cut[@]}" --topology two-level:1x2 > "$dir/wanted" || fail "two ranks of a host: status $?"
"${cut[@]}" --topology two-level:4x2,1Mbit/s --ranks 2 > "$dir/told" || fail "--ranks 2: status $?"
cmp <(tail -1 "$dir/wanted") <(tail -1 "$dir/told") || fail "ranks that do not take part change the stages: $(cat "$dir/wanted" "$dir/told")"
refuses 2 'needs 4 ranks, but there are 6' "$sim" mlp --topology star:6 --layout stages=2,replicas=2
refuses 2 'needs 4 ranks, but there are 2' "$sim" mlp --topology star:4 --ranks 4,2 --layout stages=2,replicas=2
refuses 2 'has 4 stages, but mlp only 3 layers' "$sim" mlp --topology star:4 --layout stages=4
refuses 2 'which do not make up 4 replicas' "$sim" mlp --topology star:4 --layout split=3
refuses 2 'has no layer to divide' "$sim" resnet8 --topology star:4 --layout split=2
refuses 2 'must be stages=S' "$sim" mlp --topology star:4 --layout wide=2
refuses 2 'has 6 layers in 2 stages, but mlp has 5 layers' "$sim" mlp --topology star:4 --layout stages=2 --stage-layers 4,2
refuses 2 'needs --layout with two or more stages' "$sim" mlp --topology star:4 --stage-layers 4,2
refuses 2 'must divide the batch' "$sim" mlp --topology star:4 --layout stages=2 --micro-batches 3
refuses 2 'must be none, bf16' "$sim" mlp --topology star:4 --compress twice
refuses 2 'divide no layers' "$sim" mlp --topology star:4 --layout split=2 --compress onebit
refuses 2 'only strategies that sum gradients in every step' "$sim" mlp --topology star:4 --strategy local

refuses 2 'has 4 ranks, but the run has 2' "$sim" mlp --topology star:4 --ranks 2 "${few[@]}" --algorithm priced
refuses 2 'no model' "$sim" nothing --topology star:4
refuses 2 'topology' "$sim" mlp
refuses 2 'neither known nor a file' "$sim" mlp --topology nowhere:4
refuses 2 'must be numbers from 1 to 4' "$sim" mlp --topology star:4 --ranks 2,5
refuses 2 'must be numbers from 1 to 4' "$sim" mlp --topology star:4 --ranks 2,
refuses 2 'at least one of --steps 3' "$sim" mlp --topology star:4 --steps 3 --warm 3
finish
