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
images=$dir/cifar
for model in resnet20 cifar-quick mlp; do
    trains 2 --data $images --model $model --batch 4 --steps 3 --lr 0.01 --optimizer adam --checkpoint "$dir/$model"
    hash=$(field weights_hash) accuracy=$(field test_accuracy)
    exports --checkpoint "$dir/$model" --to "$dir/$model.torch" --format torch
    for ranks in 1 2; do
        trains $ranks --data $images --model $model --evaluate --init-from "$dir/$model.torch"
        [ "$(field weights_hash) $(field test_accuracy)" = "$hash $accuracy" ] ||
            fail "$model on $ranks ranks: $(field weights_hash) $(field test_accuracy), not $hash $accuracy"
    done
    exports --checkpoint "$dir/$model" --to "$dir/$model.onnx" --format onnx
    cp "$dir/$model.onnx" "$dir/first"
    exports --checkpoint "$dir/$model" --to "$dir/$model.onnx" --format onnx
    cmp "$dir/first" "$dir/$model.onnx" || fail "$model: another ONNX file"
done
header "$dir/resnet20.torch" > "$dir/header"
for text in '"format":"pt"' '"model":"resnet20"' '"conv1.weight":{"dtype":"F32","shape":[16,3,3,3]' '"layer1.0.bn2.weight"' \
    '"layer1.0.bn2.bias"' '"layer1.0.bn2.running_mean"' '"layer1.0.bn2.running_var":{"dtype":"F32","shape":[16]' '"fc.bias"'; do
    grep -qF "$text" "$dir/header" || fail "resnet20.torch has no $text"
done
grep -qE 'scaleshift|running"|"(mean|square)\.' "$dir/header" && fail "resnet20.torch has names that PyTorch does not know"

# ---- another number of classes, and what is wrong with a file
cifar 1 --data synthetic:32x32x3:7 --model cifar-quick --batch 4 --steps 1 --init-from "$dir/cifar-quick.torch" || { fail "status $?"; cat "$dir/out"; }
grep -qF 'a new head for 7 classes: ip2.weight, ip2.bias begin anew' "$dir/out" || { fail "a new head"; cat "$dir/out"; }
sed 's/"layer1.0.bn2.running_var"/"layer1.0.bn2.running_vas"/' "$dir/resnet20.torch" > "$dir/lacks"
cifar 2 --data $images --batch 4 --steps 1 --init-from "$dir/lacks" && fail "a tensor that is missing"
grep -qF 'tensor "layer1.0.bn2.running_var": missing' "$dir/out" || { fail "the missing tensor's name"; cat "$dir/out"; }
cifar 1 --data synthetic:16x16x3:4 --model mlp --batch 4 --steps 1 --init-from "$dir/mlp.torch" && fail "other images"
grep -qF 'tensor "fc1.weight" is F32 (512,3072), but F32 (512,768) is needed' "$dir/out" || { fail "the tensor's shape"; cat "$dir/out"; }

# ---- ONNX: the operators, the input, the normalisation (a text search)
for text in Conv BatchNormalization Relu MaxPool Pad Add GlobalAveragePool Flatten Gemm images logits layer3.2.bn2.running_var deviation; do
    grep -aq "$text" "$dir/resnet20.onnx" || fail "resnet20.onnx has no $text"
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
