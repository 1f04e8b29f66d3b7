#!/bin/bash
# The peer of one process of PyTorch (apps/bench/torch_compute.py), where TUTTI_TEST_PYTHON has a PyTorch: its choice of the
# fastest variant, its times by class of operation, and what it refuses.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
python=${TUTTI_TEST_PYTHON:-}
[ -n "$python" ] && "$python" -c 'import torch.profiler' 2> /dev/null || { echo "skipped: ${python:-TUTTI_TEST_PYTHON, which is not set,} has no PyTorch"; exit 77; }
torch() { timeout 100 "$python" "$TUTTI_SRCDIR/apps/bench/torch_compute.py" --model cifar-quick --batch 2 --steps 2 "$@"; }

"$python" "$TUTTI_SRCDIR/tests/programs/torch_variants.py" "$TUTTI_SRCDIR/apps/bench" > "$dir/out" 2>&1 ||
    { fail "torch_variants.py"; cat "$dir/out"; }
torch --profile > "$dir/out" 2> "$dir/err" && grep -q '"event": "profile".*"conv_bwd_weights": ' "$dir/out" ||
    { fail "--profile"; cat "$dir/out" "$dir/err"; }
torch --variant best > "$dir/out" 2> "$dir/err" && grep -q '"won": ".*"tried": {"eager": [0-9]' "$dir/out" ||
    { fail "best"; cat "$dir/out" "$dir/err"; }
refuses 1 '--variant bf16-graph captures a CUDA graph: add --device cuda$' torch --variant bf16-graph
for script in torch_compute torch_ddp torch_pipeline; do
    "$python" "$TUTTI_SRCDIR/apps/bench/$script.py" --probe --model nothing > "$dir/out" 2>&1
    [ $? = 2 ] && [ ! -s "$dir/out" ] || { fail "$script.py --probe of a model that it has not"; cat "$dir/out"; }
    "$python" "$TUTTI_SRCDIR/apps/bench/$script.py" --model nothing > "$dir/out" 2>&1
    [ $? = 2 ] && grep -q 'there is no nothing, only .*resnet20' "$dir/out" || { fail "$script.py and a model that it has not"; cat "$dir/out"; }
done
torch --probe --device cuda > "$dir/out" 2>&1 || grep -q '^PyTorch .* finds no GPU$' "$dir/out" || { fail "--probe"; cat "$dir/out"; }
finish
