#!/bin/bash
# make check-gpu, on the fake device: each part passes there, and writes its row; without a GPU it writes none; what fails is
# told in the row. And the page of this tree says that nothing ran on a GPU, or what did.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
here=$TUTTI_BUILDDIR/tests/device
[ -x "$here/test_gpu_fake" ] || exit 77
export LD_LIBRARY_PATH=$here/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export TUTTI_GPU_CIFAR=$here/tutti-cifar TUTTI_GPU_KERNELS=$here/test_gpu_fake TUTTI_GPU_MODELS=mlp TUTTI_TEST_PYTHON=
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
grep -qE ' \| [0-9]+ kernels in [0-9]+ cases \| [0-9]+ runs \| ok \| [0-9]+ spans \| - \|$' "$page" || { fail "another row"; cat "$page"; }

TUTTI_GPU_KERNELS=false TUTTI_GPU_CIFAR=false checks 1
[ "$(rows)" = 2 ] || { fail "no second row"; cat "$page"; }
grep -q ' | FAILED | FAILED: [0-9]* of [0-9]* | .*FAILED' "$page" || { fail "failures are not told"; cat "$page"; }
[ "$(tail -n 1 "$page")" = More. ] || fail "the rest of the page is lost"

grep -q '^| date | commit | GPU | driver | kernels | designs | aborts | trace | step' "$TUTTI_SRCDIR/doc/gpu.md" ||
    fail "doc/gpu.md has no table of runs"
finish
