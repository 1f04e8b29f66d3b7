#!/bin/bash
# make check-gpu: what only a GPU can show, on the first GPU of this machine.   gpu.sh PAGE
#
#   kernels   each kernel for CUDA writes what the CPU's writes (test_gpu.c)
#   designs   tutti-cifar ends with the same weights in every design, on one rank, and on two
#   aborts    a rank that dies, or never starts its sum: the others end with a failure, within their deadline
#   trace     the kernels on the GPU are spans, and tutti-trace tells of them
#   step      resnet50's time of a step over PyTorch's on the same GPU, in TF32 and in bf16, if TUTTI_TEST_PYTHON has a
#             PyTorch that sees it; otherwise "-"
#
# Prints a line each, and writes a row with the date, the commit, the GPU and its driver into the table of PAGE (doc/gpu.md), where
# failures stand, too. Exit status: 0; 1 if a part fails; 2 for a mistake in the arguments; 77 without a GPU.
#
# For the test of this script: TUTTI_GPU_CIFAR and TUTTI_GPU_KERNELS name other programs, TUTTI_GPU_MODELS the models.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
page=${1:-}
[ -f "$page" ] || { echo "gpu.sh: name the page that gets the row: doc/gpu.md"; exit 2; }
cifar=${TUTTI_GPU_CIFAR:-$apps/tutti-cifar}
kernels=${TUTTI_GPU_KERNELS:-$TUTTI_BUILDDIR/tests/device/test_gpu}
read -ra models <<< "${TUTTI_GPU_MODELS:-mlp resnet20}"
export STARPU_HOME=${STARPU_HOME:-$dir} STARPU_SILENT=1
launch_here "$mpi" 1000
patience=$((60 * ${TUTTI_TEST_SLOWDOWN:-1}))

"$apps/tutti-info" > "$dir/info" 2>&1 || { cat "$dir/info"; exit 1; }
row_of() { sed -n "s/^  $1  *//p" "$dir/info" | head -n 1; } # NAME: what tutti-info says
gpu=$(row_of 'GPU 0')
[ -n "$gpu" ] || { echo "nothing was checked: $(row_of devices)"; exit 77; }
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2> /dev/null | head -n 1)
driver=${driver:-serves CUDA $(row_of 'driver, for CUDA')}
echo "GPU 0: $gpu; driver: $driver"

# told PART: its result for the row. Parts fill it.
declare -A told
# tell PART TEXT...
tell() {
    told[$1]=${*:2}
    echo "$1: ${*:2}"
}

check_kernels() {
    if "$kernels" > "$dir/out" 2>&1; then
        tell kernels "$(sed -n 's/^\([0-9]* kernels in [0-9]* cases\)$/\1/p' "$dir/out")"
    else
        fail "kernels"
        tail -n 20 "$dir/out"
        tell kernels "FAILED"
    fi
}

# train RANKS OPTION...: output in $dir/out; sums are in the order of ranks, whatever is summed together.
train() {
    timeout "$patience" "$mpirun" -np "$1" "$cifar" --data synthetic --batch 8 --steps 4 --eval-every never --algorithm direct \
        --device cuda "${@:2}" > "$dir/out" 2>&1
}

check_designs() {
    local ranks model design hash first bad=0 runs=0
    for model in "${models[@]}"; do
        for ranks in 1 2; do
            first=
            for design in $(names designs); do
                train "$ranks" --model "$model" --design "$design" || { fail "$model, $ranks ranks, $design"; tail -n 30 "$dir/out"; }
                hash=$(grep -o 'weights [0-9a-f]*' "$dir/out")
                first=${first:-$hash} runs=$((runs + 1))
                if [ -z "$hash" ] || [ "$hash" != "$first" ]; then
                    fail "$model, $ranks ranks, $design: ${hash:-no weights}, not $first"
                    bad=$((bad + 1))
                fi
            done
        done
    done
    if [ $bad = 0 ]; then tell designs "$runs runs"; else tell designs "FAILED: $bad of $runs"; fi
}

check_aborts() {
    local kind status began bad=0
    local -A says=([kill]='signal 9|died|lost' [skip]='rank 1')
    if ! has_faults; then
        tell aborts "left out (--disable-faults)"
        return
    fi
    train 2 --model mlp --design concurrent || { fail "aborts: a run that nothing is done to ends with $?"; bad=1; }
    for kind in kill skip; do
        began=$SECONDS status=0
        TUTTI_FAULT=rank=1,collective=5,do=$kind train 2 --model mlp --design concurrent --timeout 10 || status=$?
        if [ $status = 0 ] || [ $status = 124 ] || ! grep -qE "${says[$kind]}" "$dir/out"; then
            fail "$kind: status $status after $((SECONDS - began)) s"
            tail -n 5 "$dir/out"
            bad=1
        fi
    done
    if [ $bad = 0 ]; then tell aborts ok; else tell aborts FAILED; fi
}

check_trace() {
    local spans
    if train 1 --model mlp --trace "$dir/trace.json" && "$apps/tutti-trace" "$dir/trace.json" > "$dir/out" 2>&1; then
        spans=$(grep -c '"name"' "$dir/trace.json")
        if [ "$spans" -gt 20 ] && grep -q '^critical path of step' "$dir/out"; then
            tell trace "$spans spans"
            return
        fi
    fi
    fail trace
    tail -n 5 "$dir/out"
    tell trace FAILED
}

# number KEY FILE: of the last line with it in JSON.
number() { sed -n 's/.*"'"$1"'": *\([0-9.]*\).*/\1/p' "$2" | tail -n 1; }

# ratio PRECISION VARIANT: the median of three ratios, measured in turns.
ratio() {
    local turn ours theirs
    for turn in 1 2 3; do
        "$mpirun" -np 1 "$apps/tutti-bench" step --device cuda --tf32 --precision "$1" --model resnet50 --batch 64 --peer none \
            --blocks 1 --steps 20 --design funneled --json "$dir/ours.$turn" > "$dir/out" 2>&1 || return 1
        "$TUTTI_TEST_PYTHON" "$TUTTI_SRCDIR/apps/bench/torch_compute.py" --device cuda --model resnet50 --batch 64 --variant "$2" \
            > "$dir/theirs" 2> "$dir/out" || return 1
        ours=$(grep '"kind": *"design"' "$dir/ours.$turn" > "$dir/line" && number step_ms "$dir/line")
        theirs=$(number step_ms "$dir/theirs")
        awk -v a="$ours" -v b="$theirs" 'BEGIN { if (!(a > 0 && b > 0)) exit 1; printf "%.3f\n", a / b }' || return 1
    done | sort -n | sed -n 2p
}

check_step() {
    local tf32 bf16
    if [ -z "${TUTTI_TEST_PYTHON:-}" ] ||
        ! "$TUTTI_TEST_PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2> /dev/null; then
        tell step -
        return
    fi
    if tf32=$(ratio f32 eager) && bf16=$(ratio bf16 bf16) && [ -n "$tf32" ] && [ -n "$bf16" ]; then
        tell step "TF32 $tf32, bf16 $bf16"
    else
        fail step
        tail -n 5 "$dir/out"
        tell step FAILED
    fi
}

for part in kernels designs aborts trace step; do "check_$part"; done

# The row goes below the last one; the first takes the place of the one that says that there is none.
commit=$(git -C "$TUTTI_SRCDIR" describe --always --dirty --abbrev=12 --exclude='*' 2> /dev/null)
row="| $(date -u +%Y-%m-%d) | ${commit:-unknown} | $gpu | $driver"
for part in kernels designs aborts trace step; do row+=" | ${told[$part]}"; done
row="$row |" awk '
    /^\| date \| commit \|/ { table = 1 }
    table && !/^\|/ { print ENVIRON["row"]; table = 0; written = 1 }
    /^\| never run on a GPU \|/ { next }
    { print }
    END { if (table) print ENVIRON["row"]; exit !(table || written) }' "$page" > "$dir/page" ||
    { fail "$page has no table of runs"; finish; }
cat "$dir/page" > "$page"
echo "written into $page"
finish
