#!/bin/bash
# The table of weights: for every number of replicas and of micro-batches one hash, whatever the number of stages. Designs, orders of
# a pipeline and strategies go around, so that in the whole table each number of stages meets each of them several times.
#   hashes.sh [REPLICAS [MICRO_BATCHES [STAGES]]]     lists of numbers; make check: a corner; make check-hashes: the table
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
read -ra replicas <<< "${1:-2}"
read -ra micro_batches <<< "${2:-2}"
read -ra stages <<< "${3:-1 4}"
orders=(1f1b eager gpipe)
strategies=(sync sharded)
for design in $(names designs); do [ "$design" = naive ] || designs+=("$design"); done
make_cifar "$dir/data"
model=(--data "$dir/data" --model resnet20 --batch 8 --lr 0.02 --augment crop --steps 2 --eval-every never)
model+=(--setup-timeout 600 --timeout 600)

# hash_of RANKS OPTION...: of the weights that a training leaves, in $hash.
hash_of() {
    trains "$@" "${model[@]}"
    hash=$(field weights_hash)
}

turn=0 trainings=0
declare -A met
printf '%-9s %-14s %-17s %s\n' replicas micro-batches 'weights hash' "stages ${stages[*]}"
for R in "${replicas[@]}"; do
    for M in "${micro_batches[@]}"; do
        hash_of "$R" --layout "stages=1,replicas=$R" --micro-batches "$M"
        one=$hash marks=
        for S in "${stages[@]}"; do
            k=$((turn * 7 + S * 11)) # steps that share no factor with the number of combinations
            design=${designs[k % ${#designs[@]}]}
            order=${orders[k / ${#designs[@]} % ${#orders[@]}]}
            strategy=${strategies[k / ${#designs[@]} / ${#orders[@]} % ${#strategies[@]}]}
            hash_of $((R * S)) --layout "stages=$S,replicas=$R" --micro-batches "$M" --pipeline "$order" --design "$design" \
                --strategy "$strategy"
            marks+=" ="
            [ "$hash" = "$one" ] || {
                marks="${marks%=}!"
                fail "$hash instead of $one: $R replicas, $M micro-batches, $S stages, $order, $design, $strategy"
            }
            for what in "$design" "$order" "$strategy"; do met[$S $what]=1; done
            trainings=$((trainings + 1))
        done
        turn=$((turn + 1))
        printf '%-9s %-14s %-17s %s\n' "$R" "$M" "$one" "      $marks"
    done
done
echo "$trainings trainings; stages met with a design, an order, a strategy: ${#met[@]} of $((${#stages[@]} * (${#designs[@]} + ${#orders[@]} + ${#strategies[@]})))"
finish
