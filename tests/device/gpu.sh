#!/bin/bash
# make check-gpu: what only a GPU can show, on the first GPU of this machine.   gpu.sh PAGE
#
#   kernels   each kernel for CUDA writes what the CPU's writes (test_gpu.c)
#   designs   tutti-cifar ends with the same weights in every design, on one rank, and on two
#   aborts    a rank that dies, or never starts its sum: the others end with a failure, within their deadline
#   trace     the kernels on the GPU are spans, and tutti-trace tells of them
#   step      the time of a step over that of PyTorch on the same GPU, in TF32 and in bf16, if TUTTI_TEST_PYTHON has a
#             PyTorch that sees it; otherwise "-". PyTorch runs the variant that is the fastest (torch_compute.py --variant best).
#             TUTTI_GPU_STEPS says of what: MODEL:BATCH or MODEL:BATCH:PRECISION, several with blanks between them, or all: six
#             models with 64 and 256 images, each of which takes some minutes. Default: resnet50:64.
#
# Prints a line each, and writes a row with the date, the commit, the GPU and its driver into the table of PAGE (doc/gpu.md), where
# failures stand, too. Exit status: 0; 1 if a part fails; 2 for a mistake in the arguments; 77 without a GPU.
#
# For the test of this script: TUTTI_GPU_CIFAR, TUTTI_GPU_BENCH and TUTTI_GPU_KERNELS name other programs, TUTTI_GPU_MODELS the models
# of designs.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
page=${1:-}
[ -f "$page" ] || { echo "gpu.sh: name the page that gets the row: doc/gpu.md"; exit 2; }
cifar=${TUTTI_GPU_CIFAR:-$apps/tutti-cifar}
bench=${TUTTI_GPU_BENCH:-$apps/tutti-bench}
kernels=${TUTTI_GPU_KERNELS:-$TUTTI_BUILDDIR/tests/device/test_gpu}
read -ra models <<< "${TUTTI_GPU_MODELS:-mlp resnet20}"
read -ra cells <<< "${TUTTI_GPU_STEPS:-resnet50:64}"
if [ "${cells[*]}" = all ]; then
    cells=()
    for batch in 64 256; do
        for model in resnet50 vgg16-224 resnet20 vgg16 mlp wide-mlp; do cells+=("$model:$batch"); done
    done
fi
export STARPU_HOME=${STARPU_HOME:-$dir} STARPU_SILENT=1
launch_here "$mpi" 1000
patience=$((60 * ${TUTTI_TEST_SLOWDOWN:-1})) step_patience=$((400 * ${TUTTI_TEST_SLOWDOWN:-1}))

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

# ratio MODEL BATCH PRECISION: a step's time over that of the fastest variant of PyTorch here, and which variant that is.
ratio() {
    rm -f "$dir/steps"
    timeout "$step_patience" "$mpirun" -np 1 "$bench" step --device cuda --tf32 --precision "$3" --model "$1" --batch "$2" --design funneled \
        --blocks 3 --steps 20 --peer "$TUTTI_TEST_PYTHON $TUTTI_SRCDIR/apps/bench/torch_compute.py" --json "$dir/steps" > "$dir/out" 2>&1 || return 1
    sed -n '/"kind":"design"/s/.*"over_peer":\([0-9.]*\),"peer":"[^"]*best: \([a-z-]*\)".*/\1 \2/p' "$dir/steps" |
        awk '$1 > 0 { printf "%.3f (%s)", $1, $2; found = 1 } END { exit !found }'
}

check_step() {
    local cell model batch precision wanted text all=''
    if [ -z "${TUTTI_TEST_PYTHON:-}" ] ||
        ! "$TUTTI_TEST_PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2> /dev/null; then
        tell step -
        return
    fi
    for cell in "${cells[@]}"; do
        IFS=: read -r model batch wanted <<< "$cell"
        text=
        for precision in ${wanted:-f32 bf16}; do
            if [ "$precision" = f32 ]; then text+="${text:+, }TF32 "; else text+="${text:+, }$precision "; fi
            if ! text+=$(ratio "$model" "$batch" "$precision"); then
                fail "step: $model, batch $batch, $precision"
                tail -n 5 "$dir/out"
                text+=FAILED
            fi
        done
        echo "step: $model:$batch $text"
        all+="${all:+; }$model:$batch $text"
    done
    told[step]=$all
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
