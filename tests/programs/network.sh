#!/bin/bash
# --model FILE.json, FILE.onnx: a network of one's own trains as the same layers in C do, in stages, too; it goes on from its checkpoint, and is
# predicted and exported with that alone; another network is refused, on every rank.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_jpeg "$dir/jpeg"
run=(--data "$dir/jpeg" --batch 2 --steps 4 --lr 0.01 --seed 3)
cd "$dir" || exit 1

for model in resnet8 cifar-quick; do
    "$apps/tutti-info" --network $model > own.json || fail "tutti-info --network $model"
    trains 1 "${run[@]}" --model $model
    hash=$(field weights_hash)
    trains 1 "${run[@]}" --model own.json
    is "$model from a file" "$hash"
done
"$apps/tutti-info" --network resnet8 > own.json
trains 2 "${run[@]}" --model resnet8 --layout stages=2 --micro-batches 2
hash=$(field weights_hash)
trains 2 "${run[@]}" --model own.json --layout stages=2 --micro-batches 2
is "in stages" "$hash"

# What is saved has the network in it.
trains 2 "${run[@]}" --model own.json --checkpoint whole
trains 2 "${run[@]}" --model own.json --checkpoint part --stop-after 2
mkdir elsewhere && mv own.json elsewhere
trains 2 "${run[@]}" --model elsewhere/own.json --checkpoint part --resume part
cmp whole part || fail "resumed: another checkpoint"
mv elsewhere/own.json kept.json
image=jpeg/test/b/1.jpg
"$apps/tutti-predict" --checkpoint whole $image > out 2>&1 || { fail "tutti-predict"; cat out; }
"$apps/tutti-export" --checkpoint whole --to whole.torch --format torch > out 2>&1 || { fail "tutti-export"; cat out; }
"$apps/tutti-predict" --checkpoint whole --json $image > wanted && "$apps/tutti-predict" --checkpoint whole.torch --json $image > out &&
    cmp out wanted || { fail "exported, it predicts otherwise"; cat out wanted; }
"$apps/tutti-export" --checkpoint whole --to whole.onnx --format onnx > out 2>&1 || { fail "tutti-export to ONNX"; cat out; }

# Other programs.
"$apps/tutti-sim" kept.json --topology star:2 --steps 2 --warm 1 > out 2>&1 || { fail "tutti-sim"; cat out; }
"$apps/tutti-bench" compute --model kept.json --batch 2 --steps 1 --blocks 1 > out 2>&1 || { fail "tutti-bench compute"; cat out; }

# ---- from ONNX, which has neither the recipe nor how weights begin
flat=(--weight-decay 0.0005 --label-smoothing 0)
if "$apps/tutti-info" | grep -q 'ONNX  *--model FILE.onnx is possible'; then
    for model in resnet8 cifar-quick; do
        trains 1 "${run[@]}" --model $model --checkpoint $model.whole
        trained=$(field weights_hash)
        "$apps/tutti-export" --checkpoint $model.whole --to own.onnx --format onnx > out 2>&1 || { fail "tutti-export $model"; cat out; }
        "$apps/tutti-info" --network $model | sed 's/, "init": "[^"]*"//' > own.json
        trains 2 "${run[@]}" "${flat[@]}" --model own.json
        hash=$(field weights_hash)
        trains 2 "${run[@]}" "${flat[@]}" --model own.onnx --checkpoint onnx.$model
        is "$model from ONNX" "$hash"
        # its weights, for the network that is in it, and for the one that it was made of
        for of in own.onnx $model; do
            trains 1 "${run[@]}" --model $of --evaluate --init-from own.onnx
            is "weights from ONNX for $of" "$trained"
        done
        "$apps/tutti-predict" --checkpoint $model.whole --json $image > wanted && "$apps/tutti-predict" --checkpoint own.onnx --json $image > out &&
            cmp out wanted || { fail "tutti-predict of own.onnx"; cat out wanted; }
    done
    "$apps/tutti-export" --checkpoint own.onnx --to again.torch --format torch > out 2>&1 || { fail "tutti-export of own.onnx"; cat out; }
    trains 1 "${run[@]}" --model own.onnx --evaluate --init-from again.torch
    is "exported from ONNX" "$trained"
    "$apps/tutti-info" --network cifar-quick | sed 's/"name": "ip2"/"name": "other"/' > own.json
    refuses 1 'checkpoint own.onnx: tensor "other.weight": missing' "$apps/tutti-cifar" "${run[@]}" --model own.json --init-from own.onnx
    "$apps/tutti-info" --network cifar-quick | sed 's/"filters": 64/"filters": 48/' > own.json
    refuses 1 'checkpoint own.onnx: tensor "conv3.weight" is F32 (64,32,5,5), but F32 (48,32,5,5) is needed' "$apps/tutti-cifar" "${run[@]}" --model own.json --init-from own.onnx
    "$apps/tutti-info" --network cifar-quick | sed 's/"filters": 64\(.*\), "bias": true/"filters": 64\1/' > own.json
    cifar 1 "${run[@]}" --model own.json --init-from own.onnx && grep -q 'has 1 tensor that the model own.json#.* does not have, left out: "conv3.bias"' "$dir/out" ||
        { fail "a tensor more"; cat "$dir/out"; }
    cifar 1 "${run[@]}" --model own.onnx && grep -q 'model own.onnx#.*: only its layers are taken' "$dir/out" || { fail "whose weights"; cat "$dir/out"; }
    # ReLUs with a limit, alone and of norms: out and in again
    clips() {
        trains 1 "${run[@]}" --model "$1"
        plain=$(field weights_hash)
        rm -rf clipped clipped.*
        "$apps/tutti-info" --network "$1" | sed "$2" > clipped.json
        trains 1 "${run[@]}" --model clipped.json --checkpoint clipped
        trained=$(field weights_hash)
        [ "$trained" != "$plain" ] || fail "the limit of $1 does nothing"
        "$apps/tutti-export" --checkpoint clipped --to clipped.onnx --format onnx > out 2>&1 || { fail "tutti-export of a clipped $1"; cat out; }
        for of in clipped.json clipped.onnx; do
            "$apps/tutti-info" --network $of | sed 's/, "init": "[^"]*"//; s/, "last": true//' | grep '"is"' > $of.layers
        done
        [ "$(grep -c '"limit": 0.125' clipped.onnx.layers)" = "$3" ] && cmp clipped.{json,onnx}.layers || { fail "limits of $1"; cat clipped.onnx.layers; }
        trains 1 "${run[@]}" --model clipped.onnx --evaluate --init-from clipped.onnx
        is "weights of a clipped $1" "$trained"
        "$apps/tutti-predict" --checkpoint clipped --json $image > wanted && "$apps/tutti-predict" --checkpoint clipped.onnx --json $image > out &&
            cmp out wanted || { fail "tutti-predict with a clipped $1"; cat out wanted; }
    }
    clips cifar-quick 's/"is": "relu", /&"limit": 0.125, /' 3
    clips resnet8 '/"is": "norm"/s/"relu": true/&, "limit": 0.125/' 4
    # one that ends without a dense layer: its output is flat, too
    cat > pooled.json << 'END'
{"input": {"height": 8, "width": 8, "classes": 2}, "layers": [{"is": "conv", "name": "c", "filters": "classes", "window": 3, "bias": true},
 {"is": "global-avg-pool", "name": "p"}]}
END
    trains 1 "${run[@]}" --model pooled.json --checkpoint pooled
    trained=$(field weights_hash)
    "$apps/tutti-export" --checkpoint pooled --to pooled.onnx --format onnx > out 2>&1 || { fail "tutti-export of pooled"; cat out; }
    grep -aq 'logits/flat' pooled.onnx || fail "the output of pooled.onnx is an image"
    trains 1 "${run[@]}" --model pooled.onnx --evaluate --init-from pooled.onnx
    is "weights of pooled" "$trained"
    # images of one pixel that are added to features and joined with them become features, in either order; a layer may have the name
    # that the output has in the file
    cat > mixed.json << 'END'
{"input": {"height": 8, "width": 8, "classes": 2}, "layers": [{"is": "conv", "name": "c", "filters": 4, "window": 3},
 {"is": "global-avg-pool", "name": "p"}, {"is": "dense", "name": "logits", "features": 4}, {"is": "add", "name": "a", "of": ["p", "logits"], "relu": true},
 {"is": "add", "name": "b", "of": ["logits", "p"]}, {"is": "concat", "name": "j", "of": ["p", "a", "b"]},
 {"is": "dense", "name": "fc", "features": "classes"}]}
END
    trains 1 "${run[@]}" --model mixed.json --checkpoint mixed
    trained=$(field weights_hash)
    "$apps/tutti-export" --checkpoint mixed --to mixed.onnx --format onnx > out 2>&1 || { fail "tutti-export of mixed"; cat out; }
    trains 1 "${run[@]}" --model mixed.onnx --evaluate --init-from mixed.onnx
    is "weights of mixed" "$trained"
    "$apps/tutti-predict" --checkpoint mixed --json $image > wanted && "$apps/tutti-predict" --checkpoint mixed.onnx --json $image > out &&
        cmp out wanted || { fail "tutti-predict of mixed.onnx"; cat out wanted; }
    if "${TUTTI_TEST_PYTHON:-python3}" -c 'import numpy, onnxruntime' 2> /dev/null; then
        for name in pooled mixed; do
            "${TUTTI_TEST_PYTHON:-python3}" -c 'import numpy, onnxruntime, sys
print(onnxruntime.InferenceSession(sys.argv[1]).run(None, {"images": numpy.zeros((3, 3, 8, 8), "f")})[0].shape)' $name.onnx > out 2>&1
            grep -qx '(3, 2)' out || { fail "what ONNX Runtime makes of $name.onnx"; cat out; }
        done
    fi
    rm own.onnx
    "$apps/tutti-predict" --checkpoint onnx.resnet8 $image > out 2>&1 || { fail "tutti-predict, from ONNX"; cat out; }
    head -c 300 whole.onnx > own.onnx
    said_by_each=yes refuses 2 'own.onnx: is no ONNX model, or damaged' "$mpirun" -np 2 "$apps/tutti-cifar" "${run[@]}" --model own.onnx
    sed 's/MaxPool/MinPool/' whole.onnx > own.onnx
    refuses 2 'own.onnx: node layer2.0.shortcut/pixels (MinPool): there is no layer of this operator (there are of Add, ' \
        "$apps/tutti-cifar" "${run[@]}" --model own.onnx
else
    refuses 2 'whole.onnx: .*install libprotobuf-c-dev' "$apps/tutti-cifar" "${run[@]}" --model whole.onnx
fi

# ---- a file's name that is not UTF-8, and one that is cut within a character
for name in $'n\xe9t' "$(printf '%047d' 0)ébc"; do
    cp kept.json "$name.json"
    trains 1 "${run[@]}" --model "$name.json" --checkpoint named --overwrite
    trains 1 "${run[@]}" --model "$name.json" --checkpoint named --resume named
done

# ---- refused
sed 's/"filters": 16/"filters": 24/' kept.json > own.json
refuses 1 "its model is own.json#.*, but this run's is own.json#" "$apps/tutti-cifar" "${run[@]}" --model own.json --checkpoint part --resume part
sed 's/"pad": 1/"pda": 1/' kept.json > own.json
said_by_each=yes refuses 2 'own.json: layer 1 (conv1): "pda" is no key of conv' "$mpirun" -np 2 "$apps/tutti-cifar" "${run[@]}" --model own.json
[ "$(grep -c '"pda" is no key' out)" = 2 ] || { fail "not every rank says it"; cat out; }
refuses 1 'none.json: ' "$apps/tutti-cifar" "${run[@]}" --model none.json
refuses 2 'did you mean resnet8' "$apps/tutti-cifar" "${run[@]}" --model resnte8
refuses 2 'own.json: layer 1' "$apps/tutti-sim" own.json --topology star:2
finish
