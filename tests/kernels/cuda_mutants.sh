#!/bin/bash
# Calls of cuBLAS and cuDNN, broken on purpose: test_cuda must fail, and say why where the fakes of these libraries see it. The
# same for kernels of codecs, which have more than one launch, and for many kernels in one launch: test_cuda must see that their bits are
# not the CPU's, or not those of one kernel after another.
#   cuda_mutants.sh [all]: without it, every 24th mutant is made; of the others, only whether they still apply is looked at.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
cd "$TUTTI_BUILDDIR" || exit 1
how_many=${1:-}
[ -e tests/kernels/conv_host.o ] || { echo "skipped: there is no C++ compiler"; exit 77; }

compiler=$(sed -n 's/^CC = //p' Makefile) cxx=$(sed -n 's/^CXX = //p' Makefile)
sanitize=$(sed -n 's/^TUTTI_SANITIZE_CFLAGS = //p' Makefile)
headers=$(sed -n -e 's/^CUDA_CFLAGS = //p' -e 's/^CUDNN_CFLAGS = //p' Makefile | tr '\n' ' ')
shopt -s nullglob
objects=(tests/kernels/*test_cuda-*.o tests/device/fake/*test_cuda-{compute,cublas,cublaslt,product,cudnn,cudnn_graph,cudnn_run,now}.o)

# compile FILE.c: makes FILE.o of it.
compile() {
    # shellcheck disable=SC2086
    $compiler -std=gnu11 -g -O1 $sanitize -fvisibility=hidden -I"$TUTTI_SRCDIR" -Iinclude $headers \
        -idirafter "$TUTTI_SRCDIR/tests/device/include" -c -o "${1%.c}.o" "$1"
}

# passes CASE: whether this part of test_cuda does with the files that are in $dir.
passes() {
    # shellcheck disable=SC2086
    ./libtool --silent --tag=CC --mode=link $compiler $sanitize -o "$dir/test_cuda" "${objects[@]}" "$dir"/{cublas,cublaslt,cudnn,cudnn_engines,cudnn_parts,cudnn_time,*_host}.o \
        libtesting.la > "$dir/log" 2>&1 || { fail "it does not link"; tail -n 5 "$dir/log"; return; }
    (CK_RUN_CASE=$1 timeout 300 "$dir/test_cuda" > "$dir/log" 2>&1; exit $?) 2> /dev/null
}

# replaced FILE OLD NEW: the file with NEW instead of OLD.
replaced() {
    OLD=$2 NEW=$3 awk '(at = index($0, ENVIRON["OLD"])) {
        $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(ENVIRON["OLD"])) } { print }' "$1"
}

original() {
    cp "$TUTTI_SRCDIR/dag/kernels/$1.c" "$dir/$1.c" && compile "$dir/$1.c"
}

count=0
# Whether it is this mutant's turn.
taken() { [ "${1:-}" = all ] || [ $((count++ % 24)) = 0 ]; }

# mutant LIBRARY SENTENCE OLD NEW: NEW instead of OLD in dag/kernels/LIBRARY.c.
mutant() {
    grep -qF -e "$3" "$dir/$1.c" || { fail "dag/kernels/$1.c has no \"$3\""; return; }
    taken "$how_many" || return
    replaced "$TUTTI_SRCDIR/dag/kernels/$1.c" "$3" "$4" > "$dir/$1.c"
    compile "$dir/$1.c" || { fail "\"$4\" does not compile"; return; }
    passes products && fail "\"$4\" instead of \"$3\" is not caught"
    grep -qF -e "$2" "$dir/log" || { fail "\"$4\": it does not say \"$2\""; tail -n 5 "$dir/log"; }
    original "$1"
}

# kernel_mutant CASE FILE FAMILY OLD NEW: the same in dag/kernels/FILE for the kernels of a family, and another part of test_cuda.
kernel_mutant() {
    local file=dag/kernels/$2
    grep -qF -e "$4" "$TUTTI_SRCDIR/$file" || { fail "$file has no \"$4\""; return; }
    taken "$how_many" || return
    replaced "$TUTTI_SRCDIR/$file" "$4" "$5" > "$dir/$file"
    local source=$TUTTI_SRCDIR/dag/kernels/$3_cuda.cu
    [ "$2" != "$3_cuda.cu" ] || source=$dir/$file
    # shellcheck disable=SC2086
    $cxx -std=c++17 -O1 -g $sanitize -ffp-contract=off -fno-exceptions -fno-rtti -I"$dir" -I"$TUTTI_SRCDIR" -Iinclude -I. -x c++ -c \
        -o "$dir/$3_host.o" "$source" || { fail "\"$5\" does not compile"; return; }
    passes "$1" && fail "\"$5\" instead of \"$4\" is not caught"
    rm "$dir/$file"
    cp "tests/kernels/$3_host.o" "$dir"
}

codec_mutant() { kernel_mutant codecs codec_cuda.cu codec "$@"; }

for file in cublas cublaslt cudnn cudnn_engines cudnn_parts cudnn_time; do original $file; done
mkdir -p "$dir/dag/kernels"
cp tests/kernels/*_host.o "$dir" || finish
for part in products codecs many norms pools losses pixels numbers shortcuts; do
    passes $part || { fail "the files as they are do not pass $part"; tail -n 5 "$dir/log"; finish; }
done

# Leading dimensions: too small, and too large.
mutant cublas CUBLAS_STATUS_INVALID_VALUE 'p->a_transposed ? rows : depth,' 'p->a_transposed ? rows - 1 : depth - 1,'
mutant cublas dense 'p->b_transposed ? depth : columns,' 'p->b_transposed ? depth + 1 : columns + 1,'
# A workspace that two streams share.
share='static void *shared; if (!shared) shared ='
mutant cublas 'on another stream' '    cublasStatus_t s = cublasSetStream' "    $share workspace; workspace = shared; cublasStatus_t s = cublasSetStream"
mutant cudnn_parts 'on another stream' '    cudnnStatus_t s = cudnnSetStream' "    $share workspace; workspace = shared; cudnnStatus_t s = cudnnSetStream"
# Memory that was not asked for; a workspace of the library's own.
mutant cudnn '' '*workspace = (size_t)k->workspace' '*workspace = 0'
mutant cublas "workspace of the library's own" 's = cublasSetWorkspace(opened->handle, workspace, TUTTI_CUBLAS_WORKSPACE)' 's = CUBLAS_STATUS_SUCCESS'
# The default stream.
mutant cublas 'on the default stream' '(cudaStream_t)queue' 'NULL'
mutant cudnn 'on the default stream' '(cudaStream_t)call->queue' 'NULL'
# What adds in any order.
mutant cudnn_engines 'is not deterministic' '    CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,' ''
mutant cublas 'not deterministic' CUBLAS_ATOMICS_NOT_ALLOWED CUBLAS_ATOMICS_ALLOWED
# What keeps less precision; TF32 where it was not allowed; sums in bf16.
for note in DOWN_CONVERT_INPUTS:narrows REDUCED_PRECISION_REDUCTION:'adds with less' FFT:Fourier WINOGRAD:Winograd WINOGRAD_TILE_4x4:4x4 \
    WINOGRAD_TILE_6x6:6x6 WINOGRAD_TILE_13x13:13x13; do
    mutant cudnn_engines "${note#*:}" "    CUDNN_NUMERICAL_NOTE_${note%:*}," ''
done
mutant cudnn_engines 'conv N=2' 'return !(exact && note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE)' 'return 1'
mutant cublas dense ': CUBLAS_COMPUTE_32F,' ': CUBLAS_COMPUTE_32F_FAST_TF32,'
mutant cublas 'may add in bf16' '| CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION' ''
# Products with more: the same, and algorithms for other addresses, for sums whose parts are rounded, or anew at each call.
mutant cublaslt '' '(int64_t)a[0]);' '(int64_t)a[0] - 1);'
mutant cublaslt 'on the default stream' '(cudaStream_t)queue' 'NULL'
mutant cublaslt dense ': CUBLAS_COMPUTE_32F,' ': CUBLAS_COMPUTE_32F_FAST_TF32,'
mutant cublaslt CUBLAS_STATUS_INVALID_VALUE 'call->workspace, k->workspace' 'call->workspace, 1 << 20'
mutant cublaslt 'addresses that 256 divides' 'align = ALIGN' 'align = 256'
mutant cublaslt 'addresses that 256 divides' '(const void *)(uintptr_t)ALIGN' 'NULL'
mutant cublaslt 'may add parts of a sum' 'schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE' 'schemes = CUBLASLT_REDUCTION_SCHEME_MASK'
mutant cublaslt 'chooses one at each call' '&k->algorithm, call' 'NULL, call'
mutant cublaslt relus_keep_nans 'return is_there && isnan(numbers)' 'return is_there'
# Engines that are compiled first, that need too much memory, or of which there are none: heuristics in another order, or one of them alone.
mutant cudnn_engines 'compiled at run time' 'may = behaviour[i] != CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION' 'may = 1'
mutant cudnn_engines 'a larger workspace' '!s && workspace <= k->most' '!s'
mutant cudnn_engines 'no deterministic engine' 'k->most = INT64_MAX' ''
mutant cudnn_engines 'a larger workspace' '{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}' '{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_A}'
mutant cudnn_engines 'conv N=2' '{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}' '{CUDNN_HEUR_MODE_FALLBACK, CUDNN_HEUR_MODE_A}'
# Engines chosen by timing: the first one; one that is hardly faster; without its settings, or with those of another; a given one that is not
# looked at, or is of another version of the library.
mutant cudnn_time the_fastest_engine 'ms[e] * clearly <= least_ms' '1'
mutant cudnn_time the_fastest_engine 'clearly = 0.97' 'clearly = 1'
mutant cudnn_engines the_fastest_engine 'if (engine->knobs)' 'if (0)'
mutant cudnn_engines the_fastest_engine '1, &engine->value[i]' '1, &engine->index'
mutant cudnn a_given_engine_is '!text) return choose_by_timing' '1) return choose_by_timing'
mutant cudnn_engines a_given_engine_that 'strncmp(text, version, length) ||' ''
# A bias that is added to nothing, or is none; a ReLU that is left out.
mutant cudnn relus_behind_products ' + !!d->relu' ''
mutant cudnn relus_behind_products 'if (mode == CUDNN_POINTWISE_RELU_FWD)' 'if (0)'
mutant cudnn a_bias_that_no_engine_adds 'conv->desc.bias && lacks_engine(k)' '0'
mutant cudnn a_bias_that_no_engine_adds 'if (!strcmp(text, none)) return TUTTI_OK;' ''
mutant cudnn 'bias = none' 'products ? products : k->parts[TUTTI_CUDNN_Y]' 'k->parts[TUTTI_CUDNN_Y]'
mutant cudnn 'a bias, or none' 'call->to, call->bias}' 'call->to, NULL}'
# Tensors that are described as others; parts that are not finalized; a tensor of a call left out.
mutant cudnn 'another layout' '{H * W * C, 1, W * C, C}' '{H * W * C, H * W, W, 1}'
mutant cudnn 'another alignment' 'ALIGNMENT = 16' 'ALIGNMENT = 4'
mutant cudnn CUDNN_STATUS_BAD_PARAM 'CUDNN_ATTR_TENSOR_STRIDES, 4' 'CUDNN_ATTR_TENSOR_STRIDES, 3'
mutant cudnn CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE 'alpha, CUDNN_TYPE_FLOAT' 'alpha, CUDNN_TYPE_DOUBLE'
mutant cudnn CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH '{d->N, d->K, tutti_conv_out' '{d->N, d->C, tutti_conv_out'
mutant cudnn_parts 'a part that is not finalized' 'if (!k->status) k->status = cudnnBackendFinalize(made)' '(void)made'
mutant cudnn_parts CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER 'TUTTI_CUDNN_FROM1, TUTTI_CUDNN_TO' 'TUTTI_CUDNN_FROM1, TUTTI_CUDNN_FROM1'
# Codes: means in float32; one of equals too many, or another one; a search that forgets what it passed; what only the last replica sent; residuals that
# stay; sums in another order; vectors that sleep, or are drawn though they do not.
codec_mutant 'double sum[MEANS]' 'float sum[MEANS]'
codec_mutant 'equal >= most)) continue' 'equal > most)) continue'
codec_mutant '(equal < most ? equal : most)' 'most'
codec_mutant 'least->kept -= n' '(void)n'
codec_mutant 'g[index[i]] += sent' 'g[index[i]] = sent'
codec_mutant '        e[i] = 0;' '        ;'
codec_mutant 'LANES = 16' 'LANES = 8'
codec_mutant 'asleep[j] = i == columns' 'asleep[j] = 0'
codec_mutant 'asleep[i / d.columns]' 'asleep[0]'
codec_mutant '(float)-total(lane)' '(float)total(lane)'
codec_mutant 'g[0] = NAN' ';'
# Many at once: a work that begins in the tile of another one, or ends early; elements behind the last pack that are left out, or are those of
# another place; packs where tensors do not begin with one; the last list.
many_mutant() { kernel_mutant many cuda.cuh optim "$@"; }
many_mutant 'first[middle] <= tile' 'first[middle] < tile'
many_mutant '(items[w] + tile - 1) / tile' 'items[w] / tile'
many_mutant 'item < packs[w]' 'item <= packs[w]'
many_mutant 'item + packs[w] * (WORK_WIDE - 1)' 'item'
many_mutant 'from + k * THREADS' 'from + k'
many_mutant 'work.packs ? work.count' 'work.count % WORK_WIDE == 0 ? work.count'
many_mutant 'status = list.start(op, queue)' 'if (next < count) status = list.start(op, queue)'
# Norms: a count that stays; a last block that is not; groups, tiles of groups or rows in another order, twice, or left out; statistics of another
# channel; what is kept of a block.
norm_mutant() { kernel_mutant norms norm_reduce.cuh norm "$@"; }
kernel_mutant norms cuda.cuh norm '*counter = before + 1 < all ? before + 1 : 0' '*counter = before + 1'
norm_mutant 's.counter + set' 's.counter'
kernel_mutant norms cuda.cuh norm 'return before + 1 == all' 'return before == 0'
norm_mutant '(tile + 1) % 2' 'tile % 2'
norm_mutant 'g0 ? shared.total0[t] : 0' '0'
norm_mutant 'seen = (g0 + t) * group_rows' 'seen = t * group_rows'
norm_mutant 'share_of(t * s.block_rows' 'share_of((t + 1) * s.block_rows'
norm_mutant 'b += abreast * parts' 'b += threads * parts'
norm_mutant 'b = part * abreast + row' 'b = row'
norm_mutant '(uint32_t)parts)' '(uint32_t)parts + 1)'
norm_mutant '(group + 1) * sets + set' 'sets + set'
norm_mutant 'latest(s.block1, (b0 + b) * s.C' 'latest(s.block1, b * s.C'
norm_mutant 'rows - 1 - r' 'r - r % 2'
norm_mutant '(tile * DEEP + k) * abreast' '(tile * DEEP + k)'
kernel_mutant norms norm_cuda.cu norm 'row % 2' 'row % 4 == 1'
norm_mutant 'put_pack(shared.block.sum1[b], lane, sum1)' 'put_pack(shared.block.sum1[b], lane, sum0)'
# Pools: another division; an element of another pack, or of none; the last of equals; pixels beside the image; gradients of windows beside y, or of
# other places; tiles that are left out.
pool_mutant() { kernel_mutant pools pool_cuda.cu pool "$@"; }
kernel_mutant pools cuda.cuh pool '/ (uint64_t)by + 1' '/ (uint64_t)by'
kernel_mutant pools cuda.cuh pool 'j % 2 ? bits & 0xffff0000 : bits << 16' 'bits << 16'
kernel_mutant pools cuda.cuh pool '| (TUTTI_BF16_CARRIED(high) & 0xffff0000)' '| TUTTI_BF16_CARRIED(high)'
pool_mutant 'd.C % WIDE || !has_packs<WIDE>((const Value *)buf[0], (Value' '!has_packs<WIDE>((const Value *)buf[0], (Value'
pool_mutant 'get(v, j) > best[j]' 'get(v, j) >= best[j]'
pool_mutant 'row >= 0 && ' ''
pool_mutant 'column < d.W;' 'column <= d.W;'
pool_mutant '(h - top) * d.S + w - left' '0'
pool_mutant 'slopes[r][s] = {};' ';'
pool_mutant 's * STRIDE + w;' 's * STRIDE + STRIDE - 1 - w;'
pool_mutant '(d.W - 1 + d.pad[1]) / STRIDE + 1' '(d.W - 1) / STRIDE + 1'
pool_mutant 'd.S = d.W = d.R * d.S' 'd.W = d.R * d.S'
pool_mutant 'd.pad[0] || d.pad[1]) return d' '0) return d'
# Losses: the last of equal logits; one that is not a number; logits that are left out, or added again; rows that are not counted, or are twice; a
# last block that is not, or a count that stays.
loss_mutant() { kernel_mutant losses loss_cuda.cu loss "$@"; }
kernel_mutant losses cuda.cuh loss '*counter = before + 1 < all ? before + 1 : 0' '*counter = before + 1'
loss_mutant '&& b.k < a.k' ''
loss_mutant 'a.k < 0 || b.k < 0' '0'
loss_mutant 'z[k] == z[k] ?' '1 ?'
loss_mutant 'i < found && ' ''
loss_mutant 'k0 ? shared.total : 0' '0'
loss_mutant 'k0 ? shared.smooth : 0' '0'
loss_mutant 'n0 ? shared.metrics[t] : 0' '0'
loss_mutant 'latest(rows, n0 * TUTTI_METRICS + i)' 'latest(rows, i)'
loss_mutant '(uint32_t)d.N' '(uint32_t)d.N + 1'
loss_mutant 'target.label >= 0)' '1)'
loss_mutant 'k == target.other' '0'
# Pixels and sums: the value of another channel; packs that are left out, or where there are none; inputs that are left out; a NaN that is rounded as a
# number.
pixel_mutant() { kernel_mutant pixels pixel_cuda.cu pixel "$@"; }
pixel_mutant 'c + 1 < C ? c + 1 : 0' 'c'
pixel_mutant 'remainder_of(i * WIDE, C)' 'remainder_of(i, C)'
pixel_mutant 'index * depth + k' 'index + k'
pixel_mutant '% WIDE == 0 && has_packs' '% WIDE >= 0 && has_packs'
kernel_mutant numbers arith_cuda.cu arith 'int input = FIRST; !INPUTS' 'int input = FIRST + 1; !INPUTS'
kernel_mutant numbers arith_cuda.cu arith 'int input = 1; input < FIRST' 'int input = 2; input < FIRST'
kernel_mutant numbers cuda.cuh act 'any_nan |= value[j] != value[j]' 'any_nan |= j < 0'
# Shortcuts: other pixels or channels; packs where there are none.
shortcut_mutant() { kernel_mutant shortcuts arith_cuda.cu arith "$@"; }
shortcut_mutant 'to.h * stride, to.w' 'to.h, to.w'
shortcut_mutant 'c < at.x.packs.divisor' 'c <= at.x.packs.divisor'
shortcut_mutant 'to.c + at.front' 'to.c'
shortcut_mutant 'w * at.stride.divisor == to.w' '1'
shortcut_mutant ' && (d->K - d->C) / 2 % WIDE == 0' ''
shortcut_mutant '(W - 1) / stride + 1' 'W / stride'
# Biases: those of other columns; packs where there are none.
bias_mutant() { kernel_mutant products bias.cuh dense "$@"; }
bias_mutant 'first + part' 'part'
bias_mutant 'columns % WIDE == 0 &&' ''
finish
