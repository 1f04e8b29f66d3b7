#!/bin/bash
# --report and --csv: the confusion matrix has every test image once, on any number of ranks, and agrees with the accuracy; the
# weights are those of a run without them; a resumed run adds to the table; each file has one writer.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
printf '%s\n' airplane automobile bird cat deer dog frog horse '<ship>' truck > "$dir/data/batches.meta.txt"
run=(--data "$dir/data" --model cifar-quick --batch 7 --lr 0.02 --augment crop)

# The matrix of a page: images, those on the diagonal.
matrix() { # FILE
    perl -0777 -ne 'use JSON::PP; /id=.confusion.>\n(.*?)<\/script>/s or die "no matrix"; my $m = decode_json($1);
        my ($all, $right) = (0, 0);
        for my $i (0 .. $#$m) { for my $j (0 .. $#$m) { $all += $m->[$i][$j]; $right += $m->[$i][$j] if $i == $j } }
        printf "%d %d %.12g\n", scalar @$m, $all, $right / $all' "$1"
}

trains 1 "${run[@]}" --steps 6 --eval-views 1
hash=$(field weights_hash)
for ranks in 1 2 3; do
    for views in 1 2; do
        trains "$ranks" "${run[@]}" --steps 6 --eval-views $views --workers 2 --report "$dir/page" --csv "$dir/csv"
        [ "$(matrix "$dir/page")" = "10 30 $(field test_accuracy)" ] ||
            fail "$ranks ranks, $views views: matrix $(matrix "$dir/page"), accuracy $(field test_accuracy)"
        tail -n 1 "$dir/csv" | grep -q "^eval,.*,$(field test_accuracy),$(field test_top5_accuracy)$" || fail "the table: $(tail -n 1 "$dir/csv")"
        awk -v a="$(field test_accuracy)" -v b="$(field test_top5_accuracy)" 'BEGIN { exit !(b >= a && b <= 1) }' ||
            fail "top-5 $(field test_top5_accuracy), top-1 $(field test_accuracy)"
        for text in '&lt;ship&gt;' 'Accuracy by class' 'Confusion matrix' '<svg'; do
            grep -qF "$text" "$dir/page" || fail "the page has no $text"
        done
    done
done
trains 1 "${run[@]}" --steps 6 --eval-views 1 --report "$dir/page" --csv "$dir/csv"
[ "$(field weights_hash)" = "$hash" ] || fail "--report changes the weights"
[ -e "$dir/page.1" ] && [ -e "$dir/csv.1" ] && [ ! -e "$dir/page.2" ] || fail "earlier files: $(ls "$dir")"

# A run that is resumed adds to the table.
trains 2 "${run[@]}" --steps 6 --stop-after 3 --checkpoint "$dir/part" --csv "$dir/whole"
trains 2 "${run[@]}" --steps 6 --resume "$dir/part" --csv "$dir/whole"
[ "$(grep -c '^step,' "$dir/whole")" = 6 ] && [ "$(grep -c '^event,' "$dir/whole")" = 1 ] || { fail "the table of two runs"; cat "$dir/whole"; }

for option in csv report; do
    cifar 1 "${run[@]}" --steps 1 --$option "$dir/nowhere/file"
    [ $? = 1 ] && grep -q "$dir/nowhere" "$dir/out" || { fail "--$option to no folder"; cat "$dir/out"; }
done
[ "$(ls "$dir" | grep -c '\.part$\|\.lock$')" = 0 ] || fail "a temporary file or a lock was left"
finish
