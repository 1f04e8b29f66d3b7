#!/bin/bash
# make check-gpu: what only a GPU can show, on the first GPU of this machine.   gpu.sh PAGE
#
# The parts, those first without which the others say little:
#   kernels   each kernel for CUDA writes what the CPU's writes (test_gpu.c)
#   step      milliseconds of a step, in TF32 and in bf16, and their ratio to PyTorch's on the same GPU, if TUTTI_TEST_PYTHON
#             has a PyTorch that sees it. PyTorch runs the variant that is the fastest (torch_compute.py --variant best).
#             TUTTI_GPU_STEPS says of what: MODEL:BATCH or MODEL:BATCH:PRECISION, several with blanks between them, or all: six
#             models with 64 and 256 images, each of which takes some minutes. Default: resnet50:64.
#   designs   tutti-cifar ends with the same weights in every design, on one rank, and on two
#   aborts    a rank that dies, or never starts its sum: the others end with a failure, within their deadline
#   trace     the kernels on the GPU are spans, and tutti-trace tells of them
#
# Prints a line each, and writes a row with the date, the commit, the GPU and its driver into the table of PAGE (doc/gpu.md), where
# failures stand, too. The row is there from the first part on, and written again after each: a GPU may be taken away. All ends
# within TUTTI_GPU_SECONDS (540): each part has a share of them and what those before it have left, and what no time was left
# for is a failure that says so. Exit status: 0; 1 if a part fails; 2 for a mistake in the arguments; 77 without a GPU.
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
patience=$((60 * ${TUTTI_TEST_SLOWDOWN:-1}))
parts='kernels step designs aborts trace'
declare -A share=([kernels]=150 [step]=220 [designs]=100 [aborts]=40 [trace]=30) # of 540
seconds=${TUTTI_GPU_SECONDS:-$((540 * ${TUTTI_TEST_SLOWDOWN:-1}))}
[[ $seconds =~ ^[1-9][0-9]{0,5}$ ]] || { echo "gpu.sh: TUTTI_GPU_SECONDS is a number of seconds, not '$seconds'"; exit 2; }

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

part_ends=0 # in SECONDS
is_late() { [ $SECONDS -ge $part_ends ]; }
# within MOST COMMAND...: for at most so many seconds, and not beyond the end of the part.
within() {
    local left=$((part_ends - SECONDS))
    [ $left -lt "$1" ] || left=$1
    [ $left -gt 0 ] || return 124
    timeout -k 5 $left "${@:2}"
}

check_kernels() {
    if within "$seconds" "$kernels" > "$dir/out" 2>&1; then
        tell kernels "$(sed -n 's/^\([0-9]* kernels in [0-9]* cases\)$/\1/p' "$dir/out")"
    else
        fail "kernels"
        tail -n 20 "$dir/out"
        tell kernels "FAILED"
    fi
}

# train RANKS OPTION...: output in $dir/out; sums are in the order of ranks, whatever is summed together.
train() {
    within "$patience" "$mpirun" -np "$1" "$cifar" --data synthetic --batch 8 --steps 4 --eval-every never --algorithm direct \
        --device cuda "${@:2}" > "$dir/out" 2>&1
}

check_designs() {
    local ranks model design hash first bad=0 runs=0 left_out=0 late=''
    for model in "${models[@]}"; do
        for ranks in 1 2; do
            first=
            for design in $(names designs); do
                if is_late; then
                    left_out=$((left_out + 1))
                    continue
                fi
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
    if [ $left_out != 0 ]; then
        fail "designs: no time for $left_out runs"
        late=", no time for $left_out"
    fi
    if [ $bad = 0 ]; then tell designs "$runs runs$late"; else tell designs "FAILED: $bad of $runs"; fi
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

# step_of MODEL BATCH PRECISION: milliseconds of a step; with PyTorch, over those of its fastest variant here, and which that is.
step_of() {
    local peer=()
    [ -z "$python" ] || peer=(--peer "$python $TUTTI_SRCDIR/apps/bench/torch_compute.py")
    rm -f "$dir/steps"
    within "$seconds" "$mpirun" -np 1 "$bench" step --device cuda --tf32 --precision "$3" --model "$1" --batch "$2" --design funneled \
        --blocks 3 --steps 20 "${peer[@]}" --json "$dir/steps" > "$dir/out" 2>&1 || return 1
    grep '"kind":"design"' "$dir/steps" | awk -v peer="${#peer[@]}" '
        match($0, /"step_ms":[0-9.]+/) { ms = substr($0, RSTART + 10, RLENGTH - 10) }
        match($0, /"over_peer":[0-9.]+/) { over = substr($0, RSTART + 12, RLENGTH - 12) }
        match($0, /best: [a-z-]+/) { best = substr($0, RSTART + 6, RLENGTH - 6) }
        END { if (!(ms > 0) || peer && !(over > 0 && best != "")) exit 1
              printf "%.2f ms", ms
              if (peer) printf ", %.3f (%s)", over, best }'
}

check_step() {
    local cell model batch precision wanted text all=''
    python=
    if [ -n "${TUTTI_TEST_PYTHON:-}" ] &&
        within 60 "$TUTTI_TEST_PYTHON" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2> /dev/null; then
        python=$TUTTI_TEST_PYTHON
    fi
    for cell in "${cells[@]}"; do
        IFS=: read -r model batch wanted <<< "$cell"
        text=
        for precision in ${wanted:-f32 bf16}; do
            if [ "$precision" = f32 ]; then text+="${text:+, }TF32 "; else text+="${text:+, }$precision "; fi
            if is_late; then
                fail "step: no time for $model, batch $batch, $precision"
                text+='no time'
            elif ! text+=$(step_of "$model" "$batch" "$precision"); then
                fail "step: $model, batch $batch, $precision"
                tail -n 5 "$dir/out"
                text+=FAILED
            fi
        done
        echo "step: $model:$batch $text"
        all+="${all:+; }$model:$batch $text"
        told[step]=$all
        write_row
    done
}

commit=$(git -C "$TUTTI_SRCDIR" describe --always --dirty --abbrev=12 --exclude='*' 2> /dev/null)
cp "$page" "$dir/original"
# The row, with what is known by now, goes below the last one; the first takes the place of the one that says that there is none.
write_row() {
    local part row
    row="| $(date -u +%Y-%m-%d) | ${commit:-unknown} | $gpu | $driver"
    for part in kernels designs aborts trace step; do row+=" | ${told[$part]:-not run}"; done
    row="$row |" awk '
        /^\| date \| commit \|/ { table = 1 }
        table && !/^\|/ { print ENVIRON["row"]; table = 0; written = 1 }
        /^\| never run on a GPU \|/ { next }
        { print }
        END { if (table) print ENVIRON["row"]; exit !(table || written) }' "$dir/original" > "$dir/page" ||
        { fail "$page has no table of runs"; finish; }
    cat "$dir/page" > "$page"
}

began_s=$SECONDS given=0
for part in $parts; do
    given=$((given + share[$part]))
    part_ends=$((began_s + given * seconds / 540))
    if is_late; then
        fail "$part: no time was left for it"
        tell "$part" 'no time'
    else
        "check_$part"
    fi
    write_row
done
echo "written into $page"
finish
