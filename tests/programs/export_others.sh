#!/bin/bash
# What others make of tutti-export's files: ONNX Runtime and torchvision say of pictures what tutti-predict says, by the lines of
# Python that doc/checkpoint.md has; --init-from reads torchvision's weights. TUTTI_TEST_PYTHON names a Python that has NumPy, Pillow
# and onnxruntime, or torchvision (with PyTorch) and safetensors, or all; without both the test is skipped.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
python=${TUTTI_TEST_PYTHON:-python3}
has() { "$python" -c "import $1" 2> /dev/null || { echo "left out: $python lacks one of $1"; return 1; }; }
onnx=0 torch=0
has 'numpy, PIL.Image, onnxruntime' && onnx=1
has 'numpy, PIL.Image, torch, torchvision, safetensors' && torch=1
[ $onnx$torch != 00 ] || exit 77
asks() { "$python" "$TUTTI_SRCDIR/tests/programs/export_others.py" "$@" > "$dir/out" 2>&1 && { cat "$dir/out"; return; }; fail "$*"; cat "$dir/out"; return 1; }
imagenet() { # OPTION...: on one rank
    "$mpirun" -np 1 "$apps/tutti-imagenet" --data "$dir/noise" --quiet "$@" > "$dir/out" 2>&1 && return
    fail "status $?: $*"
    cat "$dir/out"
}
# exports NAME SIZE: the checkpoint as NAME.onnx and NAME.torch, and what tutti-predict says of the pictures of that size as NAME.json.
exports() {
    local format
    for format in onnx torch; do
        "$apps/tutti-export" --checkpoint "$dir/$1" --to "$dir/$1.$format" --format $format || fail "tutti-export $1 $format"
    done
    "$apps/tutti-predict" --checkpoint "$dir/$1" --json --top 10 "$dir/$2"/*.png > "$dir/$1.json" || fail "tutti-predict $1"
}

# Noise in 10 classes, of the sizes to which evaluations resize, so that nobody's way of resizing counts.
asks pictures "$dir/noise" 73 10 || finish
mkdir "$dir/73" "$dir/113" "$dir/32"
for size in 73 113 32; do asks picture "$dir/$size" $size; done

imagenet --model resnet50 --size 64 --batch 4 --steps 2 --lr 0.001 --eval-every never --checkpoint "$dir/mine"
exports mine 73
[ $onnx = 0 ] || asks onnx-by-doc "$TUTTI_SRCDIR/doc/checkpoint.md" "$dir" mine
[ $torch = 0 ] || asks torch-by-doc "$TUTTI_SRCDIR/doc/checkpoint.md" "$dir" mine

if [ $onnx = 1 ]; then
    imagenet --model mobilenet-v1 --size 64 --batch 8 --steps 40 --lr 0.05 --eval-every never --checkpoint "$dir/mobilenet-v1"
    imagenet --model googlenet --size 64 --batch 4 --steps 1 --lr 0.00001 --eval-every never --checkpoint "$dir/googlenet"
    imagenet --model alexnet --size 99 --batch 4 --steps 1 --lr 0.001 --eval-every never --checkpoint "$dir/alexnet"
    trains 1 --data synthetic:32x32x3:10 --model resnet20 --batch 4 --steps 4 --lr 0.05 --eval-every never --checkpoint "$dir/resnet20"
    trains 1 --data synthetic:32x32x3:10 --model cifar-quick --batch 4 --steps 4 --lr 0.01 --eval-every never --checkpoint "$dir/cifar-quick"
    exports mobilenet-v1 73
    exports googlenet 73
    exports alexnet 113
    exports resnet20 32
    exports cifar-quick 32
    for model in mobilenet-v1 googlenet alexnet resnet20 cifar-quick; do asks onnx-by-doc "$TUTTI_SRCDIR/doc/checkpoint.md" "$dir" $model; done
    # A broken file is noticed: one weight is another.
    perl -e 'undef $/; my $m = <STDIN>; my $at = index($m, "bn1.weight"); die if $at < 0; substr($m, $at + 100, 4) = pack "f<", 3; print $m' \
        < "$dir/mine.onnx" > "$dir/broken.onnx"
    cp "$dir/mine.json" "$dir/broken.json"
    "$python" "$TUTTI_SRCDIR/tests/programs/export_others.py" onnx-by-doc "$TUTTI_SRCDIR/doc/checkpoint.md" "$dir" broken > "$dir/out" 2>&1 &&
        { fail "a broken ONNX file goes unnoticed"; cat "$dir/out"; }
fi

# torchvision's own weights: the loss on the test images is that of torchvision.
if [ $torch = 1 ]; then
    asks torchvision-loss "$dir/theirs" "$dir/noise/val" 64 && theirs=$(tail -n 1 "$dir/out")
    imagenet --model resnet18 --size 64 --batch 4 --evaluate --init-from "$dir/theirs" --json "$dir/json"
    ours=$(sed -n 's/.*"event":"eval".*"test_loss":\([^,}]*\).*/\1/p' "$dir/json")
    awk -v a="${ours:-x}" -v b="${theirs:-y}" 'BEGIN { d = a - b; exit !(a > 0 && d < 1e-4 * a && d > -1e-4 * a) }' ||
        fail "--init-from torchvision's weights: loss $ours, torchvision $theirs"
fi
finish
