#!/bin/bash
# A bit that turns on one rank is found before it reaches a checkpoint, with the rank and the tensor.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
rounds=${TUTTI_TEST_ROUNDS:-4}
seed=${TUTTI_TEST_SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed (replay with TUTTI_TEST_SEED)"
mapfile -t designs < <(names designs)

# Gradients one by one, so that a collective is a parameter; 5 steps an epoch on 2 ranks.
run=(--data "$dir/data" --model mlp --batch 20 --lr 0.02 --epochs 3 --timeout 30 --bucket-mb 0)

trains 2 "${run[@]}"
[ "$(field replica_checks)" = 3 ] || fail "$(field replica_checks) checks in 3 epochs"
trains 2 "${run[@]}" --replica-check 4
[ "$(field replica_checks)" = 4 ] || fail "$(field replica_checks) checks in 15 steps, one every 4 and one at the end"
hash=$(field weights_hash)
needs_faults "damaged weights"

# What sets the run up comes before the first gradient; 3 x 6 of them are in an epoch on 3 ranks.
trains 3 "${run[@]}" --trace "$dir/trace" --trace-first 1
first=$(grep -oE '"name":"d\.[^{]*\{"step":[0-9]*,"sequence":[0-9]*' "$dir/trace" | sed 's/.*://' | sort -n | head -n 1)
[ -n "$first" ] || { fail "no gradient is in the trace"; finish; }

# damaged NAME OPTION...: the run must end with status 1 and name rank 1 and the parameter whose gradient was damaged.
damaged() {
    local name=$1 status=0 tensor
    shift
    TUTTI_FAULT=rank=1,collective=$number,do=flip cifar 3 "$@" --json "$dir/json" --checkpoint "$dir/bad" || status=$?
    tensor=$(sed -n 's/.*flip at collective [0-9]* "d\.\(.*\)\.sum".*/\1/p' "$dir/out")
    tensor=${tensor:-$(sed -n 's/.*flip at collective [0-9]* "d\.\(.*\)".*/\1/p' "$dir/out")}
    [ $status = 1 ] || { fail "$name: status $status instead of 1"; cat "$dir/out"; }
    [ -n "$tensor" ] || { fail "$name: the fault did not happen"; cat "$dir/out"; }
    grep -q "\"$tensor\" is the first of .*ranks 0 and 2 have [0-9a-f]*, rank 1 has [0-9a-f]*\." "$dir/out" ||
        { fail "$name: not named: $tensor"; cat "$dir/out"; }
    [ "$(grep -c 'no longer hold the same weights' "$dir/out")" = 1 ] || fail "$name: told more than once"
    [ ! -e "$dir/bad" ] || { fail "$name: a damaged checkpoint was saved"; rm -f "$dir/bad"; }
}

for ((round = 0; round < rounds; round++)); do
    number=$((first + RANDOM % 10))
    damaged "round $round, ${designs[round % ${#designs[@]}]}, collective $number" "${run[@]}" --design "${designs[round % ${#designs[@]}]}"
done

# A checkpoint within an epoch has been checked, too. It is saved after the first step, whose gradients are numbered as above.
number=$((first + RANDOM % 6))
damaged "checkpoints within an epoch, collective $number" "${run[@]}" --checkpoint-every 1

# Nobody looks: the run ends well, with weights that are not those of a right run.
number=$((first + 9))
TUTTI_FAULT=rank=0,collective=$number,do=flip trains 2 "${run[@]}" --replica-check never
[ "$(field replica_checks)" = 0 ] || fail "checks although switched off"
[ "$(field weights_hash)" != "$hash" ] || fail "the damage did no harm, so that the test shows nothing"
finish
