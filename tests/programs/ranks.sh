#!/bin/bash
# P ranks with batch b learn what one rank with batch P*b learns (models without batch norm).
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"

close() { # A B WHAT
    awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d < 1e-4 && d > -1e-4) }' || fail "$3: $1 and $2"
}

compares() { # P BATCH MODEL
    trains 1 --data "$dir/data" --steps 5 --lr 0.02 --model "$3" --batch $(($1 * $2))
    local loss accuracy; loss=$(field train_loss) accuracy=$(field test_accuracy)
    trains "$1" --data "$dir/data" --steps 5 --lr 0.02 --model "$3" --batch "$2"
    close "$loss" "$(field train_loss)" "loss of $3, 1 rank and $1 ranks"
    close "$accuracy" "$(field test_accuracy)" "accuracy of $3, 1 rank and $1 ranks"
}

compares 2 6 cifar-quick
compares 3 4 mlp
compares 4 3 cifar-quick

# Without --lr the model's own rate holds, in proportion to the images a step.
cifar 1 --data "$dir/data" --model mlp --steps 1 --batch 4
grep -q 'rate 0.00156 ' "$dir/out" || { fail "the default rate of mlp"; cat "$dir/out"; }

# The test set is left alone when it is told so.
trains 2 --data "$dir/data" --model mlp --steps 2 --batch 4 --eval-every never
[ "$(field test_accuracy)" = null ] && [ "$(field train_loss)" != null ] || fail "--eval-every never: $(field test_accuracy)"

# Two views are one and its mirror image; what one alone says is told as well.
same=(--data "$dir/data" --model cifar-quick --steps 6 --batch 8 --augment crop)
trains 2 "${same[@]}" --eval-views 1
one=$(field test_accuracy) loss=$(field train_loss)
[ "$one" = "$(field one_view_accuracy)" ] || fail "one view: $one and $(field one_view_accuracy)"
trains 2 "${same[@]}"
[ "$(field eval_views)" = 2 ] && [ "$one" = "$(field one_view_accuracy)" ] && [ "$loss" = "$(field train_loss)" ] ||
    fail "two views: one alone has $(field one_view_accuracy), not $one"
finish
