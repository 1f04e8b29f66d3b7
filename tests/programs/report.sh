#!/bin/bash
# --report and --csv: the confusion matrix has every test image once, on any number of ranks, and agrees with the accuracy,
# with precision, recall and F1; the weights are those of a run without them; the page says how the run is; a resumed run
# adds to the table; each file has one writer.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
printf '%s\n' airplane automobile bird cat deer dog frog horse '<ship>' truck > "$dir/data/batches.meta.txt"
run=(--data "$dir/data" --model cifar-quick --batch 7 --lr 0.02 --augment crop)

# Precision, recall and F1 in the JSON of the last evaluation are those of the page's matrix; so is the summary's mean of F1.
check_classes() { # PAGE JSON
    perl -0777 -e 'use JSON::PP; my ($page, $json) = map { open my $f, "<", $_ or die; scalar <$f> } @ARGV;
        $page =~ /id=.confusion.>\n(.*?)<\/script>/s or die "no matrix"; my $m = decode_json($1);
        my ($e) = reverse grep { $_->{event} eq "eval" } map { decode_json($_) } split /\n/, $json;
        my ($s) = reverse grep { $_->{event} eq "summary" } map { decode_json($_) } split /\n/, $json;
        my ($occur, @sum) = (0, 0, 0, 0);
        my $near = sub { my ($x, $y, $what) = @_;
            die "$what: ", $x // "null", ", not ", $y // "null", "\n" if defined $x != defined $y || defined $x && abs($x - $y) > 1e-9 };
        for my $k (0 .. $#$m) { my ($label, $said) = (0, 0); $label += $_ for @{$m->[$k]}; $said += $_->[$k] for @$m;
            my $right = $m->[$k][$k];
            my @want = ($said ? $right / $said : undef, $label ? $right / $label : undef, $label + $said ? 2 * $right / ($label + $said) : undef);
            my @name = ("class_precision", "class_recall", "class_f1");
            $near->($e->{$name[$_]}[$k], $want[$_], "$name[$_] $k") for 0 .. 2;
            $occur++ if $label + $said; $sum[$_] += $want[$_] // 0 for 0 .. 2 }
        $near->($e->{(qw(test_macro_precision test_macro_recall test_macro_f1))[$_]}, $sum[$_] / $occur, "mean $_") for 0 .. 2;
        $near->($s->{test_macro_f1}, $sum[2] / $occur, "the summary")' "$1" "$2"
}

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
        check_classes "$dir/page" "$dir/json" || fail "$ranks ranks, $views views: precision, recall, F1"
        tail -n 1 "$dir/csv" | grep -q "^eval,.*,$(field test_accuracy),$(field test_top5_accuracy)$" || fail "the table: $(tail -n 1 "$dir/csv")"
        awk -v a="$(field test_accuracy)" -v b="$(field test_top5_accuracy)" 'BEGIN { exit !(b >= a && b <= 1) }' ||
            fail "top-5 $(field test_top5_accuracy), top-1 $(field test_accuracy)"
        for text in '&lt;ship&gt;' 'Accuracy by class' 'Confusion matrix' '<svg'; do
            grep -qF "$text" "$dir/page" || fail "the page has no $text"
        done
    done
done
trains 1 "${run[@]}" --steps 6 --eval-views 1 --report "$dir/page" --csv "$dir/csv"
is "--report" "$hash"
[ -e "$dir/page.1" ] && [ -e "$dir/csv.1" ] && [ ! -e "$dir/page.2" ] || fail "earlier files: $(ls "$dir")"

# A run that is resumed adds to the table.
curves() { # FILE: of each curve its points, place and value
    perl -0777 -ne 'use JSON::PP; /id=.curves.>\n(.*?)<\/script>/s or die "no curves"; my $c = decode_json($1);
        for my $k (sort keys %$c) { printf "%s %.6g %.6g\n", $k, $c->{$k}[0][$_], $c->{$k}[1][$_] for 0 .. $#{$c->{$k}[0]} }' "$1"
}
# The events of a folder, oldest file first: "step tag value", from a reader that knows the format alone, and takes START as TensorBoard does.
events() { # FOLDER
    perl -e 'use strict; my @table = map { my $c = $_; $c = $c & 1 ? $c >> 1 ^ 0x82f63b78 : $c >> 1 for 1 .. 8; $c } 0 .. 255;
        sub crc { my $c = 0xffffffff; $c = $table[($c ^ $_) & 255] ^ $c >> 8 for unpack "C*", $_[0]; $c ^= 0xffffffff;
            return ((($c >> 15 | $c << 17) & 0xffffffff) + 0xa282ead8) & 0xffffffff }
        sub fields { my ($text, @all) = @_; my $at = 0; # [number, value] in order
            my $varint = sub { my ($x, $shift) = (0, 0);
                while (1) { my $byte = ord substr $text, $at++, 1; $x |= ($byte & 127) << $shift; $shift += 7; return $x if $byte < 128 } };
            while ($at < length $text) { my $tag = $varint->(); my ($kind, $value, $size) = $tag & 7;
                if ($kind == 0) { $value = $varint->() } elsif ($kind == 1) { ($value, $size) = (unpack("d<", substr $text, $at, 8), 8) }
                elsif ($kind == 5) { ($value, $size) = (unpack("f<", substr $text, $at, 4), 4) }
                elsif ($kind == 2) { $size = $varint->(); $value = substr $text, $at, $size } else { die "wire type $kind" }
                $at += $size // 0; push @all, [$tag >> 3, $value] }
            die "a message ends early" if $at > length $text; return @all }
        my @points;
        for my $path (@ARGV) { open my $file, "<:raw", $path or die; local $/; my $text = <$file>; my ($at, $first) = (0, 1);
            while ($at < length $text) { my ($size, $of_size) = unpack "Q<L<", substr $text, $at, 12;
                die "CRC of a length" unless crc(substr $text, $at, 8) == $of_size; my $data = substr $text, $at + 12, $size;
                die "CRC of a record" unless crc($data) == unpack "L<", substr $text, $at + 12 + $size, 4; $at += $size + 16;
                my %event = map { @$_ } fields($data); my $step = $event{2};
                die "the time" unless abs($event{1} - time) < 600; die "the version" if $first != (($event{3} // "") eq "brain.Event:2"); $first = 0;
                if (defined $event{7}) { die "the session" unless {map { @$_ } fields($event{7})}->{1} == 1; @points = grep { $_->[0] < $step } @points }
                for (fields($event{5} // "")) { die "a summary" unless $_->[0] == 1; my %value = map { @$_ } fields($_->[1]); push @points, [$step, $value{1}, $value{2}] } }
            die "$path ends early" if $at > length $text }
        printf "%d %s %.6g\n", @$_ for @points' "$1"/events.out.tfevents.*
}
# The same from what --json says; what differs between runs is left out.
json_events() { # JSON
    perl -e 'use JSON::PP; while (<STDIN>) { my $e = decode_json($_); my $of = {step => {"train/loss" => "loss", "train/rate" => "rate"},
            eval => {map { ("eval/$_" => $_) } qw(train_loss test_loss test_accuracy test_top5_accuracy test_macro_f1)}}->{$e->{event}} or next;
        for (sort keys %$of) { printf "%d %s %.6g\n", $e->{step}, $_, unpack "f", pack "f", $e->{$of->{$_}} } }' < "$1"
}
same_events() { # FOLDER JSON
    diff <(events "$1" | grep -v 'images_per_s\|hidden_share' | sort) <(json_events "$2" | sort) || fail "--tensorboard $1 is not --json"
    [ "$(events "$1" | grep -c '^[1-6] train/images_per_s [1-9]\|^[1-6] train/hidden_share [01]')" = 12 ] || fail "--tensorboard: $(events "$1")"
}
trains 2 "${run[@]}" --steps 6 --report "$dir/one.html" --metrics "$dir/one.prom" --tensorboard "$dir/boards/one"
same_events "$dir/boards/one" "$dir/json"
cp "$dir/json" "$dir/one.json"
# Each family of metrics has a type before its one sample, names are theirs, and the end is marked; numbers are those of the JSON.
# A type that the text format of Prometheus does not know (info) would make node_exporter refuse the file.
perl -e 'my ($family, $type, %v); while (<STDIN>) { chomp;
    if (/^# TYPE (\w+) (\w+)$/) { die "no sample of $family" if $type; ($family, $type) = ($1, $2) }
    elsif (/^# (HELP|UNIT) (\w+) ./) { die $_ unless $2 eq $family; die $_ if $1 eq "UNIT" && $family !~ /_(seconds|ratio)$/ }
    elsif (/^# EOF$/) { die "no sample" if $type; die "more" unless eof STDIN; $v{end} = 1 }
    elsif (/^(\w+)(\{(\w+="([^"\\]|\\.)*",?)+\})? ([-+.e0-9]+)$/) { my ($name, $value) = ($1, $5);
        my %suffix = (counter => "_total", gauge => ""); die "the type $type" unless exists $suffix{$type}; die $_ unless $name eq $family . $suffix{$type}; $v{$name} = $value; $type = "" }
    else { die "not OpenMetrics: $_" } }
    die "no end" unless $v{end}; die "steps" unless $v{tutti_steps_total} == 6; die "the run" unless $v{tutti_run_info} == 1; die "accuracy" unless abs($v{tutti_test_accuracy_ratio} - $ARGV[0]) < 1e-9' \
    "$(field test_accuracy)" < "$dir/one.prom" || { fail "--metrics"; cat "$dir/one.prom"; }
refuses 1 '--tensorboard .*one.html/board: cannot be created: Not a directory' cifar 1 "${run[@]}" --steps 1 --tensorboard "$dir/one.html/board"
refuses 1 'no/where' cifar 1 "${run[@]}" --steps 1 --metrics "$dir/no/where"
trains 2 "${run[@]}" --steps 6 --stop-after 3 --checkpoint "$dir/part" --csv "$dir/whole" --report "$dir/two.html" --tensorboard "$dir/boards/two"
cp "$dir/two.html" "$dir/foreign.html"
trains 2 "${run[@]}" --steps 6 --resume "$dir/part" --csv "$dir/whole" --report "$dir/two.html" --tensorboard "$dir/boards/two"
[ -n "$(curves "$dir/one.html")" ] && [ "$(curves "$dir/one.html" | grep -c '^loss ')" = 6 ] || fail "the curves: $(curves "$dir/one.html")"
diff <(curves "$dir/one.html" | grep -v '^t') <(curves "$dir/two.html" | grep -v '^t') || fail "the curves of a resumed run"
[ -e "$dir/two.html.1" ] && fail "the page that is continued was kept, too"
# A page that goes beyond the checkpoint loses that part; one without curves is kept.
trains 2 "${run[@]}" --steps 6 --resume "$dir/part" --report "$dir/two.html" --tensorboard "$dir/boards/two"
diff <(curves "$dir/one.html" | grep -v '^t') <(curves "$dir/two.html" | grep -v '^t') || fail "the curves of a run that is resumed twice"
echo "<p>Something else</p>" > "$dir/foreign.html"
cifar 2 "${run[@]}" --steps 6 --resume "$dir/part" --report "$dir/foreign.html"
[ "$(curves "$dir/foreign.html" | grep -c '^loss ')" = 3 ] && grep -q 'Something else' "$dir/foreign.html.1" || fail "a page without curves"
grep -q 'no curves of the earlier run are there' "$dir/out" || { fail "no word about a page without curves"; cat "$dir/out"; }
[ "$(grep -c '^step,' "$dir/whole")" = 6 ] && [ "$(grep -c '^event,' "$dir/whole")" = 1 ] || { fail "the table of two runs"; cat "$dir/whole"; }

# The last page says how the run has ended, and loads itself no more: at its last step, early, and with an error.
ends() { grep -q "id='progress'><b>$2" "$1" && ! grep -q refresh "$1" || fail "$1: $(grep "id='progress'" "$1")"; }
ends "$dir/one.html" 'The run has ended</b> after step 6 of 6.'
trains 1 "${run[@]}" --steps 6 --stop-after 2 --report "$dir/early"
ends "$dir/early" 'The run has ended</b> after step 2 of 6.'
# The images of a step are those of its replicas, however many ranks compute them.
trains 2 "${run[@]}" --steps 1 --layout stages=2 --report "$dir/stages"
grep -q '<th>steps</th><td>1 x 7 images, 1 steps' "$dir/stages" || fail "stages: $(grep '<th>steps' "$dir/stages")"
cifar 2 "${run[@]}" --lr 1000 --momentum 0.99 --steps 60 --report "$dir/lost"
ends "$dir/lost" 'The run has failed</b> after step [0-9]* of 60: its output says why.'

diff <(events "$dir/boards/one" | grep 'train/loss\|train/rate' | sort) <(events "$dir/boards/two" | grep 'train/loss\|train/rate' | sort) || fail "--tensorboard of a resumed run"
# What TensorBoard itself reads, where it is: three files, of which the last two hide what is older and later.
python=${TUTTI_TEST_PYTHON:-python3}
ls "$dir/boards/two" | grep -c . | grep -qx 3 || fail "files of three runs: $(ls "$dir/boards/two")"
if "$python" -c 'import tensorboard' 2> /dev/null; then
    for board in one two; do
        "$python" -c 'import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
board = EventAccumulator(sys.argv[1], {"scalars": 0}).Reload()
for tag in board.Tags()["scalars"]:
    for point in board.Scalars(tag): print("%d %s %.6g" % (point.step, tag, point.value))' "$dir/boards/$board" > "$dir/board" 2> "$dir/out" || cat "$dir/out"
        diff <(sort "$dir/board") <(events "$dir/boards/$board" | sort) || fail "TensorBoard reads $board otherwise"
    done
else
    echo "left out: TensorBoard as the reader: $python lacks tensorboard"
fi

for option in csv report; do
    cifar 1 "${run[@]}" --steps 1 --$option "$dir/nowhere/file"
    [ $? = 1 ] && grep -q "$dir/nowhere" "$dir/out" || { fail "--$option to no folder"; cat "$dir/out"; }
done
[ "$(ls "$dir" | grep -c '\.part$\|\.lock$')" = 0 ] || fail "a temporary file or a lock was left"
finish
