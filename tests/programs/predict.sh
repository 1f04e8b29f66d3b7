#!/bin/bash
# tutti-predict: its probabilities are those that the test loss of a training comes from; names, JSON, several images; refusals.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_jpeg "$dir/jpeg"
mv "$dir/jpeg/train/a" "$dir/jpeg/train/a \"cat\"" && mv "$dir/jpeg/test/a" "$dir/jpeg/test/a \"cat\""
image="$dir/jpeg/test/b/1.jpg"
predict() { "$apps/tutti-predict" "$@" > "$dir/out" 2> "$dir/err"; }

# The test set is the same grey image in both classes, so its loss is the mean of both classes' -log(probability).
# TUTTI_TEST_FEWER: not the network that tutti-imagenet takes by itself, but a smaller one.
photo=()
[ -z "${TUTTI_TEST_FEWER:-}" ] || photo=(--model resnet18 --size 64)
"$mpirun" -np 2 "$apps/tutti-imagenet" --data "$dir/jpeg" "${photo[@]}" --batch 2 --steps 3 --lr 0.01 --checkpoint "$dir/photo" --json "$dir/photo.json" \
    --quiet > "$dir/out" 2>&1 || { fail "tutti-imagenet: status $?"; cat "$dir/out"; }
for model in mlp resnet8; do
    trains 2 --data "$dir/jpeg" --model $model --batch 2 --steps 3 --lr 0.01 --checkpoint "$dir/$model"
    mv "$dir/json" "$dir/$model.json"
done
for model in mlp resnet8 photo; do
    predict --checkpoint "$dir/$model" --json "$image" || { fail "$model: status $?"; cat "$dir/err"; }
    perl -MJSON::PP -e 'my ($said, $events) = @ARGV; open my $f, "<", $said; my $p = decode_json(<$f>)->{predictions};
        my ($loss, $sum, %name) = (0, 0);
        for (@$p) { $loss -= log($_->{probability}) / 2; $sum += $_->{probability}; $name{$_->{class}} = $_->{label} }
        open my $e, "<", $events; my $test;
        while (<$e>) { my $event = decode_json($_); $test = $event->{test_loss} if $event->{event} eq "eval" }
        die "sum $sum" if abs($sum - 1) > 1e-6; die "loss $loss, test loss $test" if abs($loss - $test) > 1e-5 * (1 + $test);
        die "names" if $name{"a \"cat\""} != 0 || $name{b} != 1; die "order" if $p->[0]{probability} < $p->[1]{probability}' \
        "$dir/out" "$dir/$model.json" || { fail "$model"; cat "$dir/out"; }
done

# For people; several images, of which one is none.
predict --checkpoint "$dir/mlp" --top 1 "$image" "$dir/jpeg/train/b/2.jpg" || fail "status $?"
[ "$(grep -c '^  *[0-9.]* %  \(a "cat"\|b\)$' "$dir/out")" = 2 ] && grep -qx "$image" "$dir/out" || { fail "text"; cat "$dir/out"; }
refuses 1 "$dir/none.jpg" "$apps/tutti-predict" --checkpoint "$dir/mlp" "$dir/none.jpg" "$image"
grep -qx "$image" "$dir/out" || fail "an image that is missing keeps others from being looked at"
head -c 100 "$image" > "$dir/torn.jpg"
refuses 1 "$dir/torn.jpg" "$apps/tutti-predict" --checkpoint "$dir/mlp" "$dir/torn.jpg"

# A folder; a table and a page, whose names are quoted.
predict --checkpoint "$dir/mlp" --top 2 --csv "$dir/table" --page "$dir/page" "$dir/jpeg/test" || { fail "a folder: status $?"; cat "$dir/err"; }
images=$(find "$dir/jpeg/test" -name '*.jpg' | wc -l)
[ "$(grep -c '\.jpg$' "$dir/out")" = "$images" ] || { fail "not $images images"; cat "$dir/out"; }
[ "$(tr -d '\r' < "$dir/table" | grep -cE '^"[^"]*(""[^"]*)*",[12],[01],"(a ""cat""|b)",[0-9.e-]+$')" = $((2 * images)) ] &&
    [ "$(head -n 1 "$dir/table")" = $'image,rank,label,class,probability\r' ] || { fail "the table"; cat "$dir/table"; }
[ "$(grep -c '<figure>' "$dir/page")" = "$images" ] && grep -q '>a &quot;cat&quot;</div>' "$dir/page" || fail "the page"
sed -n "s/.*base64,\([^']*\)'.*/\1/p" "$dir/page" | head -n 1 | base64 -d > "$dir/thumbnail.jpg"
predict --checkpoint "$dir/mlp" "$dir/thumbnail.jpg" || { fail "a thumbnail is no JPEG"; cat "$dir/err"; }
predict --checkpoint "$dir/mlp" --top 1 "$dir/jpeg/tes?/*/[0-9].jpg" "$dir/jpeg/tes?" && [ "$(grep -c '\.jpg$' "$dir/out")" = $((2 * images)) ] ||
    { fail "patterns"; cat "$dir/out" "$dir/err"; }
cp "$image" "$dir/[1].jpg"
predict --checkpoint "$dir/mlp" "$dir/[1].jpg" && grep -qxF "$dir/[1].jpg" "$dir/out" || { fail "a name like a pattern"; cat "$dir/err"; }
refuses 1 "$dir/x\*.jpg: no file has such a name" "$apps/tutti-predict" --checkpoint "$dir/mlp" "$dir/x*.jpg" "$image"
grep -qx "$image" "$dir/out" || fail "a pattern without files keeps others from being looked at"
mkdir "$dir/empty"
refuses 1 "$dir/empty: holds no .jpg, .jpeg.* file" "$apps/tutti-predict" --checkpoint "$dir/mlp" "$dir/empty"
for option in --csv --page; do
    refuses 1 "$dir/none/file: cannot " "$apps/tutti-predict" --checkpoint "$dir/mlp" $option "$dir/none/file" "$image"
    grep -qx "$image" "$dir/out" && fail "$option: images are looked at before the file is"
done
echo mine > "$dir/mine"
refuses 1 "$dir/none/page: cannot " "$apps/tutti-predict" --checkpoint "$dir/mlp" --csv "$dir/mine" --page "$dir/none/page" "$image"
[ "$(cat "$dir/mine")" = mine ] || fail "a page that cannot be written replaces the table"
for same in "$dir/both" "$dir/./both" "$dir/empty/../both"; do
    refuses 2 "another option names this file" "$apps/tutti-predict" --checkpoint "$dir/mlp" --csv "$dir/both" --page "$same" "$image"
done
(cd "$dir" && refuses 2 "another option names this file" "$apps/tutti-predict" --checkpoint mlp --csv both --page ./both "$image")
[ -z "$(find "$dir" -name 'both*' -o -name '*.part')" ] || { fail "refusals leave files"; ls "$dir"; }

# A network for grey images gets the brightness of a photograph: its test set is one such image, as both classes, so the
# loss is the mean of both, and the photograph has the colour. All of it is seen, whatever the shape.
perl_grey='my ($folder, $photograph, $h, $w) = @ARGV; srand 3;
    sub in_corner { my ($x, $y) = @_; $x < $w / 4 && $y < $h / 4 }
    sub put { my ($name, @bytes) = @_; open my $f, ">:raw", $name or die; print $f @bytes; close $f or die }
    sub chunk { my $body = join "", @_; pack("N", length($body) - 4), $body, pack("N", crc32($body)) }
    for ([train => 8, sub { int rand 256 }], [t10k => 2, sub { in_corner($_[0] % $w, int($_[0] / $w) % $h) ? 124 : 10 }]) {
        my ($name, $n, $pixel) = @$_;
        put("$folder/$name-images-idx3-ubyte", pack("N4", 0x803, $n, $h, $w), map { chr $pixel->($_) } 0 .. $h * $w * $n - 1);
        put("$folder/$name-labels-idx1-ubyte", pack("N2", 0x801, $n), map { chr $_ % 2 } 1 .. $n);
    }
    put($photograph, "\x89PNG\r\n\x1a\n", chunk("IHDR", pack("N2C5", $w, $h, 8, 2, 0, 0, 0)), chunk("IDAT", compress(join "", map { my $y = $_;
        "\0" . join "", map { in_corner($_, $y) ? "\xc8\x64\x32" : "\x0a" x 3 } 0 .. $w - 1 } 0 .. $h - 1)), chunk("IEND"))' # 200 100 50
for shape in "8 8" "4 16" "16 4"; do
    rm -rf "$dir/grey" "$dir/brightness"*
    mkdir "$dir/grey"
    # shellcheck disable=SC2086
    perl -MCompress::Zlib -e "$perl_grey" "$dir/grey" "$dir/orange.png" $shape
    trains 1 --data "$dir/grey" --model mlp --batch 2 --steps 3 --lr 0.01 --checkpoint "$dir/brightness"
    predict --checkpoint "$dir/brightness" --json "$dir/orange.png" || { fail "a grey network: status $?"; cat "$dir/err"; }
    perl -MJSON::PP -e 'my ($said, $events) = @ARGV; open my $f, "<", $said; my $p = decode_json(<$f>)->{predictions};
        my ($loss, $test) = 0;
        for (@$p) { $loss -= log($_->{probability}) / 2 if $_->{label} < 2 }
        open my $e, "<", $events;
        while (<$e>) { my $event = decode_json($_); $test = $event->{test_loss} if $event->{event} eq "eval" }
        die "loss $loss, test loss $test" if abs($loss - $test) > 1e-5 * (1 + $test)' "$dir/out" "$dir/json" ||
        { fail "a grey network of $shape"; cat "$dir/out"; }
done

# A data set without names has numbers.
make_cifar "$dir/cifar"
trains 1 --data "$dir/cifar" --model mlp --batch 8 --steps 1 --lr 0.01 --checkpoint "$dir/numbers"
predict --checkpoint "$dir/numbers" "$image" && [ "$(grep -c '%  [0-9]$' "$dir/out")" = 5 ] || { fail "five numbers"; cat "$dir/out" "$dir/err"; }

# Weights for PyTorch predict the same, whatever the layers: names and axes are those of the file. A dense layer behind an image,
# depthwise convolutions, groups of layers side by side; evaluations at another size.
predicts_as() { # CHECKPOINT FILE
    predict --checkpoint "$1" --json "$image" && mv "$dir/out" "$dir/wanted"
    predict --checkpoint "$2" --json "$image" || fail "status $?: $(cat "$dir/err")"
    cmp -s "$dir/wanted" "$dir/out" || fail "$2 predicts $(cut -c1-200 "$dir/out"), not $(cut -c1-200 "$dir/wanted")"
}
exports() { "$apps/tutti-export" --checkpoint "$1" --to "$2" --format torch > "$dir/out" 2>&1 || { fail "status $?: $1"; cat "$dir/out"; }; }
# TUTTI_TEST_FEWER: without photo and quick.
exported=(mlp resnet8 mobile)
if [ -z "${TUTTI_TEST_FEWER:-}" ]; then
    exported+=(quick photo)
    trains 1 --data "$dir/jpeg" --model cifar-quick --size 16 --batch 2 --steps 2 --lr 0.01 --checkpoint "$dir/quick"
fi
trains 1 --data "$dir/jpeg" --model mobilenet-v1 --size 32 --eval-size 40 --eval-resize 44 --batch 2 --steps 2 --lr 0.01 --checkpoint "$dir/mobile"
for model in "${exported[@]}"; do
    exports "$dir/$model" "$dir/$model.torch"
    predicts_as "$dir/$model" "$dir/$model.torch"
    exports "$dir/$model.torch" "$dir/$model.again"
    cmp "$dir/$model.torch" "$dir/$model.again" || fail "$model: an export of an export differs"
    "$apps/tutti-export" --checkpoint "$dir/$model.torch" --to "$dir/$model.onnx" --format onnx && "$apps/tutti-export" --checkpoint "$dir/$model" \
        --to "$dir/$model.onnx2" --format onnx && cmp "$dir/$model.onnx" "$dir/$model.onnx2" || fail "$model: other ONNX files"
done
for text in eval-size deviation norm-epsilon class-names; do
    grep -aq "$text" "$dir/mobile.torch" && grep -aq "$text" "$dir/mobile.onnx" || fail "an export lacks $text"
done
# Which axes a file has: by its names; by axes; by format.
for code in '%m = (%m, format => "pt")' 'delete $m{$_} for qw(axes program step)'; do
    remake "$dir/mlp" "$dir/odd" "$code" && predicts_as "$dir/mlp" "$dir/odd"
done
for code in 'delete $m{$_} for qw(axes producer)' '$m{step} = "7"; $m{program} = "x"; delete $m{axes}' 'delete $m{format}' \
    '%t = map { ("module._orig_mod.$_" => $t{$_}) } keys %t' '$t{n} = {dtype => "F4", shape => [1,1,1,1,1], data => "x"}'; do
    remake "$dir/mlp.torch" "$dir/odd" "$code" && predicts_as "$dir/mlp" "$dir/odd"
done
refused_file() { # FILE CODE TEXT
    remake "$dir/$1" "$dir/odd" "$2" || fail "remake $2"
    refuses 1 "checkpoint $dir/odd: .*$3" "$apps/tutti-predict" --checkpoint "$dir/odd" "$image"
}
refused_file mlp.torch '$m{axes} = "whatever"' 'axes: "whatever" are unknown'
refused_file mlp.torch 'delete $m{axes}; $m{format} = "flax"' 'format flax'
# Every number of a file is checked, and named. TUTTI_TEST_FEWER: with the first value of each.
numbers=(deviation=0.2,0.2,0.2,0.2 deviation=0,0.2,0.2 deviation=nan,0.2,0.2 deviation=inf,1,1 deviation=-0.1,0.2,0.2 deviation=0.2,0.2
    deviation=1e-9,1,1 mean=0.1,,0.1 mean=nan,0,0 mean=123.6,116.7,103.9 'mean=0.1 ,0.1,0.1' classes=99999999999 classes=0 classes=-2 classes=2.0
    shape=8x4294967304x3 shape=8x8 shape=0x8x3 shape=8x8x3x1 shape=8x8x2 resize=0 resize=7 resize=1e3 eval-size=0 eval-size=x norm-epsilon=nan
    norm-epsilon=0)
[ -z "${TUTTI_TEST_FEWER:-}" ] || mapfile -t numbers < <(printf '%s\n' "${numbers[@]}" | awk -F = '!seen[$1]++')
for number in "${numbers[@]}"; do
    refused_file mlp "\$m{q(${number%%=*})} = q(${number#*=})" "${number%%=*} is \"${number#*=}\": it must be"
done
refused_file mlp '$m{"class-names"} = q(["a"])' 'its class-names are not a list of as many texts as it has classes, 2'
refused_file mlp '$m{model} = "mlp2"' 'its model is "mlp2"'
refused_file resnet8 'substr($t{"bn1.running"}{data}, -4) = pack("f<", -1)' 'tensor "bn1.running" has the value -1, which is not a variance'
refused_file mlp 'substr($t{"fc1.weight"}{data}, 8, 4) = pack("f<", 9**9**9)' 'tensor "fc1.weight" has the value inf'

# Names of classes and files do not reach the terminal's controls.
remake "$dir/mlp" "$dir/odd" '$m{"class-names"} = encode_json(["\x1b]0;x\x07\n  99.99 %  b", "\x{202e}\x{9b}2J"]); utf8::decode($m{"class-names"})' || fail remake
cp "$image" "$dir/"$'odd\e[2J\n.jpg'
predict --checkpoint "$dir/odd" "$dir/"$'odd\e[2J\n.jpg' || fail "status $?"
[ "$(wc -l < "$dir/out")" = 3 ] && grep -qF '\x1b]0;x\x07\n  99.99 %  b' "$dir/out" && grep -qF '\u202e\u009b2J' "$dir/out" &&
    grep -qF 'odd\x1b[2J\n.jpg' "$dir/out" || { fail "odd names"; cat "$dir/out"; }
predict --checkpoint "$dir/odd" --json "$image" || fail "status $?"
cat "$dir/out" | LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f-\xff]' && fail "control characters come through"

refuses 2 '--checkpoint FILE is missing' "$apps/tutti-predict" "$image"
refuses 2 'IMAGE... is missing' "$apps/tutti-predict" --checkpoint "$dir/mlp"
refuses 2 '--top 0: must be an integer from 1' "$apps/tutti-predict" --checkpoint "$dir/mlp" --top 0 "$image"
refuses 1 "$dir/none: cannot open" "$apps/tutti-predict" --checkpoint "$dir/none" "$image"
refuses 1 'not a safetensors file' "$apps/tutti-predict" --checkpoint "$dir/cifar/data_batch_1.bin" "$image"
# Of a version that did not say how images were normalised.
sed 's/"deviation":/"deviatiom":/' "$dir/mlp" > "$dir/old"
refuses 1 'it does not say the mean and the deviation of its images' "$apps/tutti-predict" --checkpoint "$dir/old" "$image"
predict --checkpoint "$dir/mlp" $(yes "$image" | head -n 4097) && fail "4097 images are accepted"
grep -qF 'more than 4096 times IMAGE...' "$dir/err" || { fail "4097 images"; head -c 500 "$dir/err"; }

# doc/checkpoint.md loads a checkpoint into PyTorch, which then says the same of the picture. TUTTI_TEST_PYTHON: one that has
# PyTorch and Pillow.
python=${TUTTI_TEST_PYTHON:-python3}
"$python" -c 'import torch, numpy, PIL.Image' 2> /dev/null || { echo "left out: $python lacks PyTorch or Pillow"; finish; }
predict --checkpoint "$dir/resnet8" --json "$image" || fail "status $?"
sed -n '/^```python$/,/^```$/p' "$TUTTI_SRCDIR/doc/checkpoint.md" | grep -v '^```' > "$dir/doc_load.py"
cat > "$dir/compare.py" << 'END'
import json, re, sys
sys.path[:0] = [sys.argv[1], sys.argv[2] + "/apps/bench"]
import doc_load, numpy, PIL.Image, torch, torch_compute
words, weights = doc_load.load(sys.argv[1] + "/resnet8")
net = torch_compute.ResNet(3, 2).eval()
assert net.bn1.eps == float(words["norm-epsilon"]) and json.loads(words["class-names"])[1] == "b"
weights = {re.sub(r"^layer(\d)\.(\d)\.", lambda m: f"layers.{3 * int(m[1]) - 3 + int(m[2])}.", n): w for n, w in weights.items()}
missing, unexpected = net.load_state_dict(weights, strict=False)
assert not unexpected and all(n.endswith("num_batches_tracked") for n in missing), (missing, unexpected)
mean, deviation = (torch.tensor([float(x) for x in words[k].split(",")]).view(3, 1, 1) for k in ("mean", "deviation"))
pixels = torch.from_numpy(numpy.array(PIL.Image.open(sys.argv[3]).convert("L"))[None]).expand(3, 8, 8)
theirs = torch.softmax(net(((pixels / 255 - mean) / deviation)[None])[0].double(), 0)
ours = {p["label"]: p["probability"] for p in json.load(open(sys.argv[1] + "/out"))["predictions"]}
assert len(ours) == 2 and abs(ours[0] - ours[1]) > 1e-4, ours
for label, p in ours.items():
    assert abs(p - theirs[label].item()) < 1e-5, (label, p, theirs[label].item())
print("PyTorch says the same", ours)
END
"$python" "$dir/compare.py" "$dir" "$TUTTI_SRCDIR" "$image" || { fail "PyTorch says something else"; cat "$dir/out"; }
finish
