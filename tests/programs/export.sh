#!/bin/bash
# tutti-export: weights with PyTorch's names go out and come back (--init-from) bit for bit; ONNX models have the nodes and names
# that they should; errors name the tensor. What others make of the files: export_others.sh.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_jpeg "$dir/jpeg"
make_cifar "$dir/cifar"
export_to() { "$apps/tutti-export" "$@" > "$dir/out" 2>&1; } # OPTION...
exports() { export_to "$@" || { fail "status $?: $*"; cat "$dir/out"; }; }
# header FILE: of a safetensors file.
header() { perl -e 'open my $f, "<:raw", $ARGV[0]; read $f, my $n, 8; read $f, my $t, unpack "Q<", $n; print $t' "$1"; }

# ---- there and back: the weights and running statistics of every kind of layer
# TUTTI_TEST_FEWER: on two ranks only; and, below, one case of those that read alike.
images=$dir/cifar evaluators=(1 2)
[ -z "${TUTTI_TEST_FEWER:-}" ] || evaluators=(2)
for model in resnet8 cifar-quick mlp; do
    trains 2 --data $images --model $model --batch 4 --steps 3 --lr 0.01 --optimizer adam --checkpoint "$dir/$model"
    hash=$(field weights_hash) accuracy=$(field test_accuracy)
    exports --checkpoint "$dir/$model" --to "$dir/$model.torch" --format torch
    for ranks in "${evaluators[@]}"; do
        trains $ranks --data $images --model $model --evaluate --init-from "$dir/$model.torch"
        [ "$(field weights_hash) $(field test_accuracy)" = "$hash $accuracy" ] ||
            fail "$model on $ranks ranks: $(field weights_hash) $(field test_accuracy), not $hash $accuracy"
    done
    exports --checkpoint "$dir/$model" --to "$dir/$model.onnx" --format onnx
    cp "$dir/$model.onnx" "$dir/first"
    exports --checkpoint "$dir/$model" --to "$dir/$model.onnx" --format onnx
    cmp "$dir/first" "$dir/$model.onnx" || fail "$model: another ONNX file"
done
header "$dir/resnet8.torch" > "$dir/header"
for text in '"format":"pt"' '"model":"resnet8"' '"conv1.weight":{"dtype":"F32","shape":[16,3,3,3]' '"layer1.0.bn2.weight"' \
    '"layer1.0.bn2.bias"' '"layer1.0.bn2.running_mean"' '"layer1.0.bn2.running_var":{"dtype":"F32","shape":[16]' '"fc.bias"'; do
    grep -qF "$text" "$dir/header" || fail "resnet8.torch has no $text"
done
grep -qE 'scaleshift|running"|"(mean|square)\.' "$dir/header" && fail "resnet8.torch has names that PyTorch does not know"

# ---- another number of classes, and what is wrong with a file
cifar 1 --data synthetic:32x32x3:7 --model cifar-quick --batch 4 --steps 1 --eval-every never --init-from "$dir/cifar-quick.torch" || { fail "status $?"; cat "$dir/out"; }
grep -qF 'a new head for 7 classes: ip2.weight, ip2.bias begin anew' "$dir/out" || { fail "a new head"; cat "$dir/out"; }
sed 's/"layer1.0.bn2.running_var"/"layer1.0.bn2.running_vas"/' "$dir/resnet8.torch" > "$dir/lacks"
cifar 2 --data $images --model resnet8 --batch 4 --steps 1 --init-from "$dir/lacks" && fail "a tensor that is missing"
grep -qF 'tensor "layer1.0.bn2.running_var": missing' "$dir/out" || { fail "the missing tensor's name"; cat "$dir/out"; }
cifar 1 --data synthetic:16x16x3:4 --model mlp --batch 4 --steps 1 --init-from "$dir/mlp.torch" && fail "other images"
grep -qF 'tensor "fc1.weight" is F32 (512,3072), but F32 (512,768) is needed' "$dir/out" || { fail "the tensor's shape"; cat "$dir/out"; }

# ---- weights from elsewhere: other types, names with prefixes, tensors that nobody wants, an index; resnet8's give the same numbers
hash=$(trains 1 --data $images --model resnet8 --evaluate --init-from "$dir/resnet8.torch"; field weights_hash)
starts_from() { # FILE: the same weights
    trains 1 --data $images --model resnet8 --evaluate --init-from "$1"
    [ "$(field weights_hash)" = "$hash" ] || fail "${2:-$1}: $(field weights_hash), not $hash"
}
plain='delete $m{$_} for keys %m;'
double='$_->{dtype} = "F64", $_->{data} = pack("d<*", unpack "f<*", $_->{data})'
codes=()
[ -n "${TUTTI_TEST_FEWER:-}" ] || codes=("$double for values %t"
    '%t = map { ("model.backbone.$_" => $t{$_}) } keys %t' '%t = map { (/^layer2/ ? s/^layer2/layer2._orig_mod/r : "module.$_") => $t{$_} } keys %t')
for code in "${codes[@]}" "$double for grep { \$_->{shape}[0] == 16 } values %t" \
    '%t = map { ((/^fc/ ? "" : "net.") . $_ => $t{$_}) } keys %t; $t{"net.queue"} = {dtype => "I64", shape => [1,1,1,1,1], data => "\0" x 8}' \
    '%t = (%t, map { ("ema.$_" => {%{$t{$_}}, data => "\x7f" x length $t{$_}{data}}) } keys %t)' \
    '$t{"bn1.num_batches_tracked"} = {dtype => "I64", shape => [], data => "\1" . "\0" x 7}; $t{q} = {dtype => "F8_E8M0", shape => [2], data => "xx"}'; do
    remake "$dir/resnet8.torch" "$dir/odd" "$plain $code" || fail "remake $code"
    starts_from "$dir/odd" "$code"
done
mkdir "$dir/shards"
remake "$dir/resnet8.torch" "$dir/shards/a.safetensors" 'delete $t{$_} for grep { /^layer3/ } keys %t'
remake "$dir/resnet8.torch" "$dir/shards/b.safetensors" 'delete $t{$_} for grep { !/^layer3/ } keys %t'
perl -MJSON::PP -e 'undef $/; my $h = decode_json(<STDIN>); delete $h->{__metadata__};
    print encode_json({metadata => {total_size => 1}, weight_map => {map { $_ => (/^layer3/ ? "b" : "a") . ".safetensors" } keys %$h}})' \
    < "$dir/header" > "$dir/shards/model.safetensors.index.json"
starts_from "$dir/shards"
(cd "$dir/shards" && starts_from model.safetensors.index.json)
rejects() { # CODE TEXT
    remake "$dir/resnet8.torch" "$dir/odd" "$1" || fail "remake $1"
    refuses 1 "$2" cifar 1 --data $images --model resnet8 --evaluate --init-from "$dir/odd"
}
rejects '%t = map { ("student.$_" => $t{$_}, "teacher.$_" => $t{$_}) } keys %t' 'more than one network is in it, "\(student\|teacher\)\." and'
rejects '%t = map { ("module.$_" => $t{$_}, "_orig_mod.$_" => $t{$_}) } keys %t' 'tensor "conv1.weight" is there twice'
rejects '%t = map { ("x$_" => $t{$_}) } keys %t' 'no tensor in it fits the model resnet8'
rejects '$t{"conv1.weight"}{dtype} = "I32"' 'tensor "conv1.weight" has the type "I32", but F32 is needed'
rejects '$m{deviation} = "0,0,0"' 'its deviation is "0,0,0": it must be'
refuses 1 'its tensors have PyTorch.s axes: begin a run with them by --init-from\|it has no [a-z]*: begin a run with its weights by --init-from' \
    cifar 1 --data $images --model resnet8 --batch 4 --steps 4 --resume "$dir/resnet8.torch"
numbers=()
[ -n "${TUTTI_TEST_FEWER:-}" ] || numbers=(step=-1 step=nan norm-epsilon=-1)
for number in "${numbers[@]}" step=3.0 'best=nan after step 1, 0 evaluations ago' mean=nan,0,0 'epoch-sums=25 2 nan 1 1 1 1 1'; do
    remake "$dir/resnet8" "$dir/odd" "\$m{q(${number%%=*})} = q(${number#*=})"
    refuses 1 "its ${number%%=*} \(is\|has\) " cifar 2 --data $images --model resnet8 --batch 4 --steps 4 --lr 0.01 --optimizer adam --resume "$dir/odd"
done
remake "$dir/resnet8" "$dir/odd" '$t{"extra"} = {dtype => "F4", shape => [2], data => "x"}; $m{deviation} = "0.3,0.3,0.3"'
cifar 2 --data $images --model resnet8 --batch 4 --steps 4 --lr 0.01 --optimizer adam --resume "$dir/odd" || { fail "a tensor that nobody wants"; cat "$dir/out"; }
grep -qF 'it has 1 tensor that this run does not have, which is left out: "extra"' "$dir/out" && grep -qF 'deviation was 0.3,0.3,0.3 and is ' "$dir/out" ||
    { fail "what differs is not told"; cat "$dir/out"; }
printf 'PK\3\4\0\0\10\10\0\0%030d' 0 > "$dir/odd.pth"
refuses 1 'torch.load' cifar 1 --data $images --model resnet8 --evaluate --init-from "$dir/odd.pth"

# ---- ONNX: the operators, the input, the normalisation (a text search)
for text in Conv BatchNormalization Relu MaxPool Pad Add GlobalAveragePool Flatten Gemm images logits layer3.0.bn2.running_var deviation; do
    grep -aq "$text" "$dir/resnet8.onnx" || fail "resnet8.onnx has no $text"
done
for text in MaxPool AveragePool ip1.weight; do
    grep -aq "$text" "$dir/cifar-quick.onnx" || fail "cifar-quick.onnx has no $text"
done

# ---- refusals
refuses 2 '--checkpoint FILE is missing' "$apps/tutti-export" --to "$dir/x" --format onnx
refuses 2 '--format NAME is missing' "$apps/tutti-export" --checkpoint "$dir/mlp" --to "$dir/x"
refuses 2 'unknown format; known: onnx, torch' "$apps/tutti-export" --checkpoint "$dir/mlp" --to "$dir/x" --format caffe
refuses 2 'it is the checkpoint itself' "$apps/tutti-export" --checkpoint "$dir/mlp" --to "$dir/mlp" --format torch
refuses 1 "$dir/none: cannot open" "$apps/tutti-export" --checkpoint "$dir/none" --to "$dir/x" --format torch
refuses 1 "$dir/none/x" "$apps/tutti-export" --checkpoint "$dir/mlp" --to "$dir/none/x" --format onnx
refuses 1 "$dir/none/x" "$apps/tutti-export" --checkpoint "$dir/mlp" --to "$dir/none/x" --format torch
[ -e "$dir/x" ] && fail "a refusal leaves a file"

# ---- photographs: local response normalisation, and no auxiliary classifiers
"$mpirun" -np 1 "$apps/tutti-imagenet" --data "$dir/jpeg" --model googlenet --size 99 --batch 4 --steps 1 --lr 0.0001 --checkpoint "$dir/googlenet" \
    --quiet > "$dir/out" 2>&1 || { fail "googlenet: status $?"; cat "$dir/out"; }
exports --checkpoint "$dir/googlenet" --to "$dir/googlenet.onnx" --format onnx
exports --checkpoint "$dir/googlenet" --to "$dir/googlenet.torch" --format torch
for text in LRN Concat resize; do
    grep -aq "$text" "$dir/googlenet.onnx" || fail "googlenet.onnx has no $text"
done
grep -aq 'aux1' "$dir/googlenet.onnx" && fail "googlenet.onnx has an auxiliary classifier"
finish
