#!/bin/bash
# --freeze and --lr-scale: frozen layers keep their weights, bit for bit, the others move, whatever sums the gradients; the running
# statistics of a frozen batch normalisation go on; what is frozen is not summed; names that no layer has are refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
data=(--data synthetic:16x16x3:10 --model resnet8 --batch 6)
model=("${data[@]}" --eval-every never)
head=(--freeze 'all-but:fc,layer3*')

# tensors FILE: "NAME HASH" of each parameter and running statistic.
tensors() {
    perl -MJSON::PP -MDigest::MD5=md5_hex -e 'open F, "<:raw", $ARGV[0]; local $/; my $all = <F>; my $n = unpack "Q<", $all;
        my $h = decode_json(substr $all, 8, $n);
        for (sort grep { !/^(__metadata__$|(m|mean|square|average)\.)/ } keys %$h) {
            my ($from, $to) = @{$h->{$_}{data_offsets}};
            print "$_ ", md5_hex(substr $all, 8 + $n + $from, $to - $from), "\n";
        }' "$1"
}

# moved FILE: the tensors that are others than in $dir/base.
moved() { comm -13 <(tensors "$dir/base") <(tensors "$1") | cut -d ' ' -f 1; }

collectives() { sed -n 's/.*"collectives":\([0-9]*\).*/\1/p' "$dir/json" | head -n 1; }

trains 2 "${model[@]}" --steps 2 --checkpoint "$dir/base"
all=$(collectives)

# ---- whatever sums: only these weights move, and every running statistic
wanted=$(tensors "$dir/base" | cut -d ' ' -f 1 | grep -e '^fc' -e '^layer3' -e 'running$')
for how in "" "--layout stages=2" "--accumulate 2 --clip-norm 0.1 --ema 0.5" "--precision bf16" "--strategy sharded" \
    "--strategy local" "--layout servers=1" "--wire bf16 --optimizer adam"; do
    rm -f "$dir/after" "$dir/json"
    # shellcheck disable=SC2086
    trains 2 "${model[@]}" --steps 3 --init-from "$dir/base" "${head[@]}" --checkpoint "$dir/after" $how
    got=$(moved "$dir/after")
    [ "$got" = "$wanted" ] || { fail "$how: other tensors move:"; diff <(echo "$wanted") <(echo "$got"); }
    [ -n "$how" ] || few=$(collectives)
done
[ "$few" -lt "$all" ] || fail "$few collectives with --freeze, $all without"

# ---- tasks run several kernels, as without frozen layers: these leave no gradient that goes to a store
kernels_a_task() { awk -v k="$(field kernels)" -v t="$(field tasks)" 'BEGIN { print int(10 * k / t) }'; }
trains 1 "${model[@]}" --steps 1
whole=$(kernels_a_task)
trains 1 "${model[@]}" --steps 1 --freeze 'all-but:fc'
[ "$(kernels_a_task)" -ge "$whole" ] || fail "$(field kernels) kernels in $(field tasks) tasks with --freeze; without, $whole kernels in ten tasks"

# ---- a frozen layer is the same in another order of options; a factor of 1 changes nothing, another one does
weights() { trains 2 "${model[@]}" --steps 3 --init-from "$dir/base" "$@"; field weights_hash; }
free=$(weights)
same=$(weights --lr-scale '*=1')
[ "$same" = "$free" ] || fail "a factor of 1: $same, not $free"
[ "$(weights --lr-scale 'layer*=0.5,fc=10')" != "$free" ] || fail "factors change nothing"
[ "$(weights --lr-scale 'fc=10,*=1')" = "$free" ] || fail "the later factor does not count"
[ "$(weights --freeze 'conv1,bn1,layer1*,layer2*')" = "$(weights "${head[@]}")" ] || fail "all-but: names others than the rest"

# ---- interrupted, and continued: the same; with other layers, a warning
trains 2 "${model[@]}" --steps 4 --init-from "$dir/base" "${head[@]}" --checkpoint "$dir/whole"
trains 2 "${model[@]}" --steps 4 --stop-after 2 --init-from "$dir/base" "${head[@]}" --checkpoint "$dir/half"
trains 2 "${model[@]}" --steps 4 "${head[@]}" --checkpoint "$dir/half" --resume "$dir/half"
cmp "$dir/whole" "$dir/half" || fail "a resumed run has another checkpoint"
cifar 2 "${model[@]}" --steps 5 --resume "$dir/whole" || { fail "status $?"; cat "$dir/out"; }
grep -qF 'freeze was all-but:fc,layer3* and is none' "$dir/out" || { fail "no warning of other frozen layers"; cat "$dir/out"; }

# ---- what is refused, on every rank
said_by_each=yes refused '--freeze conv7: the model has no layer conv7 with weights; did you mean conv1?' 2 --freeze conv7
refused '--freeze layer1: the model has no layer layer1 with weights; 4 begin so: layer1\*' 1 --freeze layer1
refused '--freeze \*: leaves no layer to train' 1 --freeze '*'
for text in 'conv1,' ',conv1' 'all-but:' "$(printf '%0200d' 0)"; do refused 'must be layers, such as' 1 --freeze "$text"; done
for text in fc fc= =2 fc=0 fc=-1 fc=1001 fc=x fc=2, fc=2,,bn1=2; do refused 'must be layers with factors from 1e-6 to 1000' 1 --lr-scale "$text"; done
refused '--lr-scale fd=2: the model has no layer fd with weights' 1 --lr-scale fd=2
refused 'update all layers alike' 1 --freeze conv1 --strategy async --layout servers=1
finish
