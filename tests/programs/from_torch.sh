#!/bin/bash
# apps/tools/from_torch.py, where TUTTI_TEST_PYTHON has a PyTorch: weights go out (tutti-export), into a file of torch.save, and come
# back bit for bit; tutti-predict reads what it describes; what is no file of weights is refused.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
python=${TUTTI_TEST_PYTHON:-}
[ -n "$python" ] && "$python" -c 'import torch' 2> /dev/null || { echo "skipped: ${python:-TUTTI_TEST_PYTHON, which is not set,} has no PyTorch"; exit 77; }
converts() { timeout 100 "$python" "$TUTTI_SRCDIR/apps/tools/from_torch.py" "$@"; }
make_jpeg "$dir/jpeg"
cd "$dir" || exit 1
run=(--data "$dir/jpeg" --model resnet8 --batch 2)
trains 1 "${run[@]}" --steps 2 --lr 0.01 --checkpoint mine
hash=$(field weights_hash)
"$apps/tutti-export" --checkpoint mine --to mine.torch --format torch > out 2>&1 || { fail "tutti-export"; cat out; }
cat > make.py <<'EOF'
import json, numpy, struct, torch
file = open("mine.torch", "rb")
header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
words, data = header.pop("__metadata__"), file.read()
at = lambda begin, end: data[begin:end]
w = {n: torch.from_numpy(numpy.frombuffer(at(*t["data_offsets"]), "<f4").reshape(t["shape"]).copy()) for n, t in header.items()}
torch.save({**w, "bn1.num_batches_tracked": torch.tensor(7)}, "plain.pth")
torch.save({"epoch": 3, "state_dict": {"module." + n: t.double() for n, t in w.items()}, "ema": {"x": torch.zeros(2)}}, "whole.pth")
torch.save({"epoch": 3}, "none.pth")
vgg = {"features.0.weight": torch.ones(1, 3, 3, 3), "pre_logits.fc1.weight": torch.arange(36.).reshape(2, 2, 3, 3), "head.fc.weight": torch.ones(2, 2), "head.fc.bias": torch.ones(2)}
torch.save({k: t.bfloat16() for k, t in vgg.items()}, "vgg.pth")
print(words["mean"], words["deviation"], words["shape"], words.get("resize", ""))
EOF
read -r mean deviation shape resize < <("$python" make.py)
for file in plain whole; do
    converts $file.pth $file.safetensors > out 2>&1 || { fail "from_torch.py $file.pth"; cat out; }
    trains 1 "${run[@]}" --evaluate --init-from $file.safetensors
    [ "$(field weights_hash)" = "$hash" ] || fail "$file.pth: $(field weights_hash), not $hash"
done
printf 'a\nb\n' > names
converts plain.pth plain.safetensors --model resnet8 --size "${shape%%x*}" --resize "${resize:-0}" --mean "$mean" --deviation "$deviation" \
    --class-names names > out 2>&1 || { fail "with --model"; cat out; }
"$apps/tutti-predict" --checkpoint mine --json jpeg/test/b/1.jpg > wanted && "$apps/tutti-predict" --checkpoint plain.safetensors --json jpeg/test/b/1.jpg > out &&
    cmp out wanted || { fail "tutti-predict"; cat out wanted; }
# timm's VGG
converts vgg.pth vgg.safetensors > out 2>&1 || { fail "timm's VGG"; cat out; }
says() { # FILE WORD...
    local file=$1
    shift
    perl -e 'open my $f, "<:raw", $ARGV[0]; read $f, my $n, 8; read $f, my $t, unpack "Q<", $n; print $t' "$file" > header
    for word; do grep -qF -- "$word" header || { fail "$file has no $word"; cat header; }; done
}
says vgg.safetensors '"classifier.0.weight":{"dtype":"BF16","shape":[2,18]' '"classifier.6.bias"'
# what torchvision's weights expect
converts vgg.pth vgg.safetensors --model vgg16-224 > out 2>&1 || { fail "vgg.pth with --model"; cat out; }
says vgg.safetensors '"mean":"0.485,0.456,0.406"' '"deviation":"0.229,0.224,0.225"' '"resize":"256"'
converts vgg.pth vgg.safetensors --model googlenet-bn --size 160 > out 2>&1 || { fail "googlenet-bn"; cat out; }
says vgg.safetensors '"mean":"0.5,0.5,0.5"' '"deviation":"0.5,0.5,0.5"' '"resize":"183"'
converts vgg.pth vgg.safetensors --model googlenet-bn --mean 0.485,0.456,0.406 --deviation 0.229,0.224,0.225 > out 2>&1 || { fail "--mean"; cat out; }
says vgg.safetensors '"mean":"0.485,0.456,0.406"' '"deviation":"0.229,0.224,0.225"'
# refused
refuses 1 'none.pth: holds no weights by their names' converts none.pth x
refuses 1 'whole.pth: has no entry best; it has epoch, state_dict, ema' converts whole.pth x --key best
[ -e x ] && fail "a refusal leaves a file"
finish
