#!/bin/bash
# tutti-imagenet: what it shares with tutti-cifar it does alike; its own are models, formats and defaults.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_jpeg "$dir/jpeg"
make_cifar "$dir/cifar"
common=(--batch 2 --steps 3 --lr 0.01 --eval-every end --timeout 60)

imagenet() { # P OPTION...: output in $dir/out
    local ranks=$1
    shift
    "$mpirun" -np "$ranks" "$apps/tutti-imagenet" "$@" > "$dir/out" 2>&1
}

imagenet 2 --data "$dir/jpeg" "${common[@]}" --checkpoint "$dir/weights" --json "$dir/json" --quiet || { fail "status $?"; cat "$dir/out"; }
grep -q '"event":"start".*"model":"resnet50".*"data":"jpeg"' "$dir/json" || { fail "the start event"; cat "$dir/json"; }
grep -aq '"program":"tutti-imagenet"' "$dir/weights" || fail "the checkpoint does not name its program"
hash=$(field weights_hash)
[ -n "$hash" ] || fail "no weights_hash"

# The same weights as from tutti-cifar, which continues the checkpoint as well.
trains 2 --data "$dir/jpeg" "${common[@]}" --model resnet50 --epochs 90
[ "$(field weights_hash)" = "$hash" ] || fail "tutti-cifar trains other weights: $(field weights_hash), not $hash"
trains 2 --data "$dir/jpeg" "${common[@]}" --model resnet50 --steps 4 --resume "$dir/weights"

refuses 2 '--data DIR is missing' imagenet 2 --epochs 1
refuses 2 'unknown model; known: ' imagenet 2 --data "$dir/jpeg" --model resnet20
refuses 2 'unknown format; known: folders, imagenet, jpeg, ' imagenet 2 --data "$dir/jpeg" --format cifar10
refuses 2 'holds cifar10, which tutti-imagenet does not read: use tutti-cifar' imagenet 2 --data "$dir/cifar" "${common[@]}"

# A recipe: 2 ranks x 2 images of 6 make an epoch of 1 step. Goyal's rate for 4 images is 0.1 / 64, below the one it warms up from.
imagenet 2 --data "$dir/jpeg" --batch 2 --recipe goyal --augment none --mixup 0.2 --steps 2 --eval-every never --json "$dir/recipe" --checkpoint "$dir/goyal" || { fail "status $?"; cat "$dir/out"; }
grep -qF 'recipe goyal: sgd, rate 0.0015625 (milestones 30,60,80 x 0.1, warm-up 5 from 0.0015625), momentum 0.9 nesterov, weight decay 0.0001 of weights only, label smoothing 0, last scales start at 0' \
    "$dir/out" || { fail "the values in force"; cat "$dir/out"; }
grep -q '"event":"start".*"program":"tutti-imagenet","recipe":"goyal","optimizer":"sgd","strategy":"sync","lr":0.0015625,' "$dir/recipe" || { fail "the start event"; cat "$dir/recipe"; }
grep -q '"event":"start".*"zero_last_scale":true' "$dir/recipe" && grep -aq '"zero-last-scale":"yes"' "$dir/goyal" || fail "the last scales are not recorded"
grep -qF 'training images are mixed in pairs, mixup 0.2' "$dir/out" && grep -q '"event":"start".*"mixup":0.2' "$dir/recipe" || fail "mixup is not told"
refuses 2 '--batch 3: must be even: --mixup mixes images in pairs' imagenet 2 --data "$dir/jpeg" --batch 3 --mixup 1
refuses 2 '--batch 3: must be even: --cutmix mixes images in pairs' imagenet 2 --data "$dir/jpeg" --batch 3 --cutmix 1
refuses 2 '--cutmix: images are mixed in one way alone: use either --mixup or --cutmix' imagenet 2 --data "$dir/jpeg" --batch 2 --cutmix 1 --mixup 1
refuses 2 '--workers 2: more workers than pairs of images' imagenet 2 --data "$dir/jpeg" --batch 2 --workers 2 --mixup 1
refuses 2 'unknown recipe; known: none, goyal' imagenet 2 --data "$dir/jpeg" --recipe he
refuses 2 '--milestones 5,x: must be up to 8 ascending epochs from 1 on' imagenet 2 --data "$dir/jpeg" --milestones 5,x
for bad in 0.4 0.4,0.4 1.5,0,0 0.4,0.4,0.4,0.1; do
    refuses 2 "--jitter $bad: must be none, or three numbers from 0 to 1" imagenet 2 --data "$dir/jpeg" --jitter $bad
done
refuses 2 '--rand-augment 2,31: must be none, or how many operations' imagenet 1 --data "$dir/jpeg" --rand-augment 2,31
refuses 2 'has images of 1 channel, which are no colours: use --rand-augment none' imagenet 1 --data synthetic:224x224x1:4 --rand-augment 2,9
refuses 2 'has images of 1 channel, which are no colours: use --jitter none' imagenet 2 --data synthetic:224x224x1:4 --jitter 0.4,0.4,0.4
launch_several_programs "$mpi"
refuses 2 'augment is "standard" on rank 0 and "none" on rank' imagenet 2 --data "$dir/jpeg" --recipe goyal : -np 1 "$apps/tutti-imagenet" --data "$dir/jpeg"

# Evaluation at another size: the weights of a run without it, and the loss of a run at that size.
small=(--data "$dir/jpeg" --model resnet18 --batch 2 --timeout 60 --quiet)
loss_of() { # OPTION...
    imagenet 1 "${small[@]}" --evaluate --init-from "$dir/small" --json "$dir/json" --keep 0 "$@" || { fail "status $?: $*"; cat "$dir/out"; }
    grep -o '"test_loss":[^,}]*' "$dir/json" | tail -1
}
imagenet 1 "${small[@]}" --size 32 --steps 2 --checkpoint "$dir/small" --json "$dir/json" --keep 0 || { fail "status $?"; cat "$dir/out"; }
hash=$(field weights_hash)
imagenet 1 "${small[@]}" --size 32 --eval-size 48 --steps 2 --checkpoint "$dir/other" --json "$dir/json" --keep 0 || { fail "status $?"; cat "$dir/out"; }
is "--eval-size" "$hash"
grep -q '"event":"start".*"eval_size":48' "$dir/json" && grep -aq '"eval-size":"48"' "$dir/other" || fail "the size of evaluations is not recorded"
there=$(loss_of --size 48)
[ -n "$there" ] && [ "$(loss_of --size 32 --eval-size 48)" = "$there" ] || fail "another loss at another size than $there"
[ "$(loss_of --size 32)" != "$there" ] || fail "--eval-size 48 is evaluated at 32"
"$apps/tutti-predict" --checkpoint "$dir/small" "$dir/jpeg/test/a/1.jpg" --json > "$dir/at32" && "$apps/tutti-predict" --checkpoint "$dir/other" "$dir/jpeg/test/a/1.jpg" --json > "$dir/at48" || fail "tutti-predict"
cmp -s "$dir/at32" "$dir/at48" && fail "tutti-predict sees another size than evaluations"
refuses 2 '--eval-size 96: layer fc6 of alexnet has other weights for images of 96x96 than for 64x64' imagenet 2 --data "$dir/jpeg" --model alexnet --size 64 --eval-size 96 --batch 2
refuses 2 '--eval-resize 40: is smaller than --eval-size 48' imagenet 2 --data "$dir/jpeg" --eval-size 48 --eval-resize 40
refuses 2 'only photographs are resized' imagenet 2 --data synthetic --eval-size 48

# Photographs of one's own: a folder for each class, from which images are held out; then what the network sees on one.
cp -r "$dir/jpeg/train" "$dir/own"
imagenet 2 --data "$dir/own" --model resnet18 --size 32 --batch 2 --steps 1 --split 0.3,4 --checkpoint "$dir/mine" --json "$dir/json" --keep 0 --quiet ||
    { fail "a folder for each class: status $?"; cat "$dir/out"; }
grep -q '"event":"start".*"data":"folders"' "$dir/json" || fail "the start does not name the format folders"
own=$(find "$dir/own" -name '*.jpg' | head -n 1)
"$apps/tutti-predict" --checkpoint "$dir/mine" "$own" | grep -q "$(basename "$(dirname "$own")")" || fail "tutti-predict does not name the folders' classes"
imagenet 2 --data "$dir/own" --model resnet18 --size 32 --batch 2 --steps 2 --split 0.3,5 --resume "$dir/mine" --eval-every never ||
    { fail "resumed with other images held out: status $?"; cat "$dir/out"; }
grep -q 'split was 0.3,4 and is 0.3,5' "$dir/out" || { fail "no warning of other images held out"; cat "$dir/out"; }
refuses 2 '--split: .* has test images of its own: leave it out' imagenet 2 --data "$dir/jpeg" --split 0.3
refuses 2 '--split 0.2,x: must be a share from 0.001 to 0.9' imagenet 2 --data "$dir/own" --split 0.2,x

# Nothing that both programs share names one of them.
"$apps/tutti-imagenet" --help all > "$dir/help"
grep -i cifar "$dir/help" && fail "--help speaks of another program"
finish
