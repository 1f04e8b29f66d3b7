#!/bin/bash
# All designs end with the same weights, bit for bit, at 1 to 4 ranks, with 1 and 2 workers, run after run.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"

hash_of() { # P WORKERS DESIGN OPTION...
    local ranks=$1 workers=$2 design=$3
    shift 3
    trains "$ranks" --data "$dir/data" --steps 4 --eval-every never --batch 6 --lr 0.02 --workers "$workers" --design "$design" "$@"
    field weights_hash
}

same() { # P WORKERS OPTION...
    local ranks=$1 workers=$2 design hash first=
    shift 2
    for design in sequential $(names overlapping); do
        hash=$(hash_of "$ranks" "$workers" $design "$@")
        first=${first:-$hash}
        [ -n "$hash" ] && [ "$hash" = "$first" ] || fail "$ranks ranks, $workers workers, $*: $design ended with $hash, sequential with $first"
    done
    echo "$ranks ranks, $workers workers, $*: $first"
}

same 1 1 --model cifar-quick --eval-every 1
same 2 1 --model resnet8 --augment crop --eval-every 1
same 2 2 --model cifar-quick --no-nesterov
same 2 2 --model cifar-quick --optimizer adamw --lr 0.001 --clip-norm 0.5
same 3 1 --model resnet8 --accumulate 3
same 2 2 --model cifar-quick --accumulate 2 --clip-norm 0.5 --wire bf16
same 3 1 --model mlp --algorithm ring
same 4 1 --model cifar-quick --algorithm recursive-doubling
same 4 2 --model resnet8
same 2 2 --model cifar-quick --wire bf16
same 3 1 --model resnet8 --wire bf16 --bucket-mb 0.05
same 4 1 --model mlp --wire bf16
same 4 1 --model mlp --wire bf16 --algorithm ring
if computes_bf16; then
    same 2 2 --model cifar-quick --precision bf16
    same 3 1 --model resnet8 --precision bf16 --wire bf16 --bucket-mb 0.05
fi

# Batches of a step are further micro-batches.
whole=$(hash_of 1 2 funneled --model resnet8 --augment crop)
parts=$(hash_of 1 1 funneled --model resnet8 --augment crop --batch 3 --accumulate 2)
[ "$parts" = "$whole" ] || fail "two batches gave $parts, two micro-batches $whole"
for options in "--optimizer adam --clip-norm 0.5" "--optimizer lars --wire bf16"; do
    whole=$(hash_of 1 2 funneled --model cifar-quick --ema 0.9 $options)
    parts=$(hash_of 1 1 funneled --model cifar-quick --ema 0.9 $options --batch 3 --accumulate 2)
    [ "$parts" = "$whole" ] || fail "$options: two batches gave $parts, two micro-batches $whole"
done

# Again, with what must not matter: lanes, reading threads, depth.
first=$(hash_of 2 1 sequential --model cifar-quick --augment crop --jitter 0.4,0.4,0.4 --mixup 0.5)
again=$(hash_of 2 1 concurrent --model cifar-quick --augment crop --jitter 0.4,0.4,0.4 --mixup 0.5 --lanes 3 --threads 3 --depth 7)
[ "$again" = "$first" ] || fail "with jitter and mixup, lanes and threads changed the weights: $first, $again"
other=$(hash_of 2 1 sequential --model cifar-quick --augment crop --jitter 0.4,0.4,0.4)
[ "$other" != "$first" ] || fail "--mixup changed nothing"
first=$(hash_of 2 1 sequential --model cifar-quick --augment crop)
[ "$other" != "$first" ] || fail "--jitter changed nothing"
first=$(hash_of 2 1 sequential --model resnet8 --augment crop)
again=$(hash_of 2 1 concurrent --model resnet8 --augment crop --lanes 3 --threads 3 --depth 7)
[ "$again" = "$first" ] || fail "lanes and threads changed the weights: $first, $again"
other=$(hash_of 2 1 funneled --model resnet8 --augment crop --seed 2)
[ "$other" != "$first" ] || fail "another seed gave the same weights"
half=$(hash_of 2 1 sequential --model resnet8 --augment crop --wire bf16)
[ "$half" != "$first" ] || fail "gradients of bf16 gave the weights of f32"
if computes_bf16; then
    values=$(hash_of 2 1 sequential --model resnet8 --augment crop --precision bf16)
    [ "$values" != "$first" ] && [ "$values" != "$half" ] || fail "values of bf16 gave the weights of f32"
fi
finish
