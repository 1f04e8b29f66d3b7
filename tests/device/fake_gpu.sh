#!/bin/bash
# make check-gpu, on the fake device: each part passes there, and writes its row; without a GPU it writes none; what fails is
# told in the row. And the page of this tree says that nothing ran on a GPU, or what did.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
here=$TUTTI_BUILDDIR/tests/device
[ -x "$here/test_gpu_fake" ] || exit 77
export LD_LIBRARY_PATH=$here/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export TUTTI_GPU_CIFAR=$here/tutti-cifar TUTTI_GPU_KERNELS=$here/test_gpu_fake TUTTI_GPU_MODELS=mlp TUTTI_GPU_BENCH=$here/tutti-bench TUTTI_TEST_PYTHON=
export TUTTI_GPU_STEPS='mlp:2:f32 mlp:2:bf16'
export TUTTI_FAKE_MEMORY_MB=1024
page=$dir/gpu.md
checks() { # STATUS: of gpu.sh, which it must be
    local status=0
    bash "$TUTTI_SRCDIR/tests/device/gpu.sh" "$page" > "$dir/out" 2>&1 || status=$?
    [ $status = "$1" ] || { fail "status $status, not $1"; cat "$dir/out"; }
}
rows() { grep -c '^| 20[0-9-]* | .* | fake device, ' "$page"; }

cat > "$page" << 'END'
# A page
| date | commit | GPU | driver | kernels | designs | aborts | trace | step |
|---|---|---|---|---|---|---|---|---|
| never run on a GPU | | | | | | | | |

More.
END
cp "$page" "$dir/before"
TUTTI_FAKE_DEVICES=0 checks 77
grep -q '^nothing was checked: there is a driver, but no GPU' "$dir/out" || { fail "it does not say what is missing"; cat "$dir/out"; }
cmp -s "$page" "$dir/before" || fail "a row without a GPU"

checks 0
[ "$(rows)" = 1 ] || fail "no row"
grep -q 'never run' "$page" && fail "the row of nothing is still there"
grep -qE ' \| [0-9]+ kernels in [0-9]+ cases \| [0-9]+ runs \| ok \| [0-9]+ spans \| mlp:2 TF32 [0-9.]+ ms; mlp:2 bf16 [0-9.]+ ms \|$' "$page" || { fail "another row"; cat "$page"; }

# Failures. And with a PyTorch, which is false here: what it is asked for, and the ratio.
cat > "$dir/python" << 'END'
#!/bin/sh
echo "$*" >> "$0.calls"
case "$*" in
-c*) exit 0 ;;
*resnet20*) exit 1 ;;
esac
echo '{"event": "ready", "torch": "9.8.7", "variant": "best", "won": "compile-graph"}'
while read -r line; do echo '{"event": "block", "step_ms": 0.001}'; done
END
chmod +x "$dir/python"
TUTTI_GPU_KERNELS=false TUTTI_GPU_CIFAR=false TUTTI_TEST_PYTHON=$dir/python TUTTI_GPU_STEPS='mlp:2:f32 resnet20:1:f32' checks 1
[ "$(rows)" = 2 ] || { fail "no second row"; cat "$page"; }
grep -q 'torch_compute.py --device cuda --model mlp --batch 2 .*--variant best$' "$dir/python.calls" || { fail "PyTorch's options"; cat "$dir/python.calls"; }
grep -qE ' \| mlp:2 TF32 [0-9.]+ ms, [0-9]+\.[0-9]{3} \(compile-graph\); resnet20:1 TF32 FAILED \|$' "$page" || { fail "the row of steps"; cat "$page"; }
grep -q '^FAILED: step: resnet20, batch 1, f32' "$dir/out" || { fail "a step that fails"; cat "$dir/out"; }
grep -q ' | FAILED | FAILED: [0-9]* of [0-9]* | .*FAILED' "$page" || { fail "failures are not told"; cat "$page"; }
[ "$(tail -n 1 "$page")" = More. ] || fail "the rest of the page is lost"

# A part that takes too long leaves the others their time, the row is there before the last part has run, and all ends in time.
cat > "$dir/slow" << 'END'
#!/bin/sh
sleep 60
END
cat > "$dir/looks" << END
#!/bin/sh
tail -n 3 "$page" > "$dir/seen"
exit 1
END
chmod +x "$dir/slow" "$dir/looks"
began=$SECONDS
TUTTI_GPU_SECONDS=12 TUTTI_GPU_KERNELS=$dir/slow TUTTI_GPU_BENCH=$dir/slow TUTTI_GPU_CIFAR=$dir/looks checks 1
[ $((SECONDS - began)) -lt 50 ] || fail "it ended after $((SECONDS - began)) s, not 12"
grep -qE ' \| FAILED \| .*not run \| mlp:2 TF32 FAILED; mlp:2 bf16 no time \|$' "$dir/seen" || { fail "no row while it runs"; cat "$dir/seen"; }
TUTTI_GPU_SECONDS=soon checks 2

grep -q '^| date | commit | GPU | driver | kernels | designs | aborts | trace | step' "$TUTTI_SRCDIR/doc/gpu.md" ||
    fail "doc/gpu.md has no table of runs"
finish
