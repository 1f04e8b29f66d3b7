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

# A trace of all ranks, which tutti-trace reads: what is hidden.
"$sim" mlp --topology star:4,10Gbit/s --ranks 2,4 "${few[@]}" --trace "$dir/trace" > "$dir/out" 2>&1 || fail "--trace: $(cat "$dir/out")"
"$apps/tutti-trace" "$dir/trace" > "$dir/told" 2>&1 || fail "tutti-trace: status $?: $(cat "$dir/told")"
grep -q '4 ranks' "$dir/told" || fail "tutti-trace does not tell four ranks: $(cat "$dir/told")"
refuses 1 'nowhere/trace' "$sim" mlp --topology star:2 "${few[@]}" --trace "$dir/nowhere/trace"

"$sim" mlp --topology star:4,1Gbit/s "${few[@]}" --algorithm priced > "$dir/out" 2>&1 || fail "priced: $(cat "$dir/out")"
refuses 2 'has 4 ranks, but the run has 2' "$sim" mlp --topology star:4 --ranks 2 "${few[@]}" --algorithm priced
refuses 2 'no model' "$sim" nothing --topology star:4
refuses 2 'topology' "$sim" mlp
refuses 2 'neither known nor a file' "$sim" mlp --topology nowhere:4
refuses 2 'must be numbers from 1 to 4' "$sim" mlp --topology star:4 --ranks 2,5
refuses 2 'must be numbers from 1 to 4' "$sim" mlp --topology star:4 --ranks 2,
refuses 2 'at least one of --steps 3' "$sim" mlp --topology star:4 --steps 3 --warm 3
finish
