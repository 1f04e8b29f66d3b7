#!/bin/bash
# Calls of cuBLAS and cuDNN, broken on purpose: test_cuda must fail, and say why where the fakes of these libraries see it. The
# same for kernels of codecs, which have more than one launch: test_cuda must see that their bits are not the CPU's.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
cd "$TUTTI_BUILDDIR" || exit 1
[ -e tests/kernels/conv_host.o ] || exit 77 # no C++ compiler

compiler=$(sed -n 's/^CC = //p' Makefile) cxx=$(sed -n 's/^CXX = //p' Makefile)
sanitize=$(sed -n 's/^TUTTI_SANITIZE_CFLAGS = //p' Makefile)
headers=$(sed -n -e 's/^CUDA_CFLAGS = //p' -e 's/^CUDNN_CFLAGS = //p' Makefile | tr '\n' ' ')
shopt -s nullglob
objects=(tests/kernels/*test_cuda-*.o tests/kernels/[!c]*_host.o tests/kernels/conv_host.o tests/device/fake/*test_cuda-{compute,cublas,cudnn,cudnn_graph,cudnn_run,now}.o)

# compile FILE.c: makes FILE.o of it.
compile() {
    # shellcheck disable=SC2086
    $compiler -std=gnu11 -g -O1 $sanitize -fvisibility=hidden -I"$TUTTI_SRCDIR" -Iinclude $headers \
        -idirafter "$TUTTI_SRCDIR/tests/device/include" -c -o "${1%.c}.o" "$1"
}

# passes CASE: whether this part of test_cuda does with the files that are in $dir.
passes() {
    # shellcheck disable=SC2086
    ./libtool --silent --tag=CC --mode=link $compiler $sanitize -o "$dir/test_cuda" "${objects[@]}" "$dir"/{cublas,cudnn,codec_host}.o \
        libtesting.la > "$dir/log" 2>&1 || { fail "it does not link"; tail -n 5 "$dir/log"; return; }
    (CK_RUN_CASE=$1 "$dir/test_cuda" > "$dir/log" 2>&1; exit $?) 2> /dev/null
}

# replaced FILE OLD NEW: the file with NEW instead of OLD.
replaced() {
    OLD=$2 NEW=$3 awk '(at = index($0, ENVIRON["OLD"])) {
        $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(ENVIRON["OLD"])) } { print }' "$1"
}

original() {
    cp "$TUTTI_SRCDIR/dag/kernels/$1.c" "$dir/$1.c" && compile "$dir/$1.c"
}

# mutant LIBRARY SENTENCE OLD NEW: NEW instead of OLD in dag/kernels/LIBRARY.c.
mutant() {
    grep -qF -e "$3" "$dir/$1.c" || { fail "dag/kernels/$1.c has no \"$3\""; return; }
    replaced "$TUTTI_SRCDIR/dag/kernels/$1.c" "$3" "$4" > "$dir/$1.c"
    compile "$dir/$1.c" || { fail "\"$4\" does not compile"; return; }
    passes products && fail "\"$4\" instead of \"$3\" is not caught"
    grep -qF -e "$2" "$dir/log" || { fail "\"$4\": it does not say \"$2\""; tail -n 5 "$dir/log"; }
    original "$1"
}

# codec_mutant OLD NEW: the same in codec_cuda.cu.
codec_mutant() {
    local source=$TUTTI_SRCDIR/dag/kernels/codec_cuda.cu
    grep -qF -e "$1" "$source" || { fail "$source has no \"$1\""; return; }
    replaced "$source" "$1" "$2" > "$dir/codec_cuda.cu"
    # shellcheck disable=SC2086
    $cxx -std=c++17 -O1 -g $sanitize -ffp-contract=off -fno-exceptions -fno-rtti -I"$TUTTI_SRCDIR" -Iinclude -I. -x c++ -c \
        -o "$dir/codec_host.o" "$dir/codec_cuda.cu" || { fail "\"$2\" does not compile"; return; }
    passes codecs && fail "\"$2\" instead of \"$1\" is not caught"
}

original cublas
original cudnn
cp tests/kernels/codec_host.o "$dir" || finish
for part in products codecs; do
    passes $part || { fail "the files as they are do not pass $part"; tail -n 5 "$dir/log"; finish; }
done

# Leading dimensions: too small, and too large.
mutant cublas CUBLAS_STATUS_INVALID_VALUE 'p->a_transposed ? rows : depth,' 'p->a_transposed ? rows - 1 : depth - 1,'
mutant cublas dense 'p->b_transposed ? depth : columns,' 'p->b_transposed ? depth + 1 : columns + 1,'
# A workspace that two streams share.
share='static void *shared; if (!shared) shared ='
mutant cublas 'on another stream' '    cublasStatus_t s = cublasSetStream' "    $share workspace; workspace = shared; cublasStatus_t s = cublasSetStream"
mutant cudnn 'on another stream' '    cudnnStatus_t s = cudnnSetStream' \
    "    $share call->workspace; tutti_cudnn_call other = *call; other.workspace = shared; call = &other; cudnnStatus_t s = cudnnSetStream"
# Memory that was not asked for; a workspace of the library's own.
mutant cudnn products '*workspace = k ? (size_t)k->workspace : 0' '*workspace = 0'
mutant cublas "workspace of the library's own" 's = cublasSetWorkspace(opened->handle, workspace, TUTTI_CUBLAS_WORKSPACE)' 's = CUBLAS_STATUS_SUCCESS'
# The default stream.
mutant cublas 'on the default stream' '(cudaStream_t)queue' 'NULL'
mutant cudnn 'on the default stream' '(cudaStream_t)call->queue' 'NULL'
# What adds in any order.
mutant cudnn 'is not deterministic' '    CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,' ''
mutant cublas 'not deterministic' CUBLAS_ATOMICS_NOT_ALLOWED CUBLAS_ATOMICS_ALLOWED
# What keeps less precision; TF32 where it was not allowed; sums in bf16.
for note in DOWN_CONVERT_INPUTS:narrows REDUCED_PRECISION_REDUCTION:'adds with less' FFT:Fourier WINOGRAD:Winograd WINOGRAD_TILE_4x4:4x4 \
    WINOGRAD_TILE_6x6:6x6 WINOGRAD_TILE_13x13:13x13; do
    mutant cudnn "${note#*:}" "    CUDNN_NUMERICAL_NOTE_${note%:*}," ''
done
mutant cudnn 'conv N=2' 'return !(exact && note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE)' 'return 1'
mutant cublas dense ': CUBLAS_COMPUTE_32F,' ': CUBLAS_COMPUTE_32F_FAST_TF32,'
mutant cublas 'may add in bf16' '| CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION' ''
# Engines that are compiled first, that need too much memory, or of which there are none: heuristics in another order, or one of them alone.
mutant cudnn 'compiled at run time' 'may = behaviour[i] != CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION' 'may = 1'
mutant cudnn 'a larger workspace' '!s && k->workspace <= k->most' '!s'
mutant cudnn 'no deterministic engine' 'k->most = INT64_MAX' ''
mutant cudnn 'a larger workspace' '{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}' '{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_A}'
mutant cudnn 'conv N=2' '{CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}' '{CUDNN_HEUR_MODE_FALLBACK, CUDNN_HEUR_MODE_A}'
# Tensors that are described as others; parts that are not finalized; a tensor of a call left out; nothing is added.
mutant cudnn 'another layout' '{H * W * C, 1, W * C, C}' '{H * W * C, H * W, W, 1}'
mutant cudnn 'another alignment' 'ALIGNMENT = 16' 'ALIGNMENT = 4'
mutant cudnn CUDNN_STATUS_BAD_PARAM 'CUDNN_ATTR_TENSOR_STRIDES, 4' 'CUDNN_ATTR_TENSOR_STRIDES, 3'
mutant cudnn CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE 'alpha, CUDNN_TYPE_FLOAT' 'alpha, CUDNN_TYPE_DOUBLE'
mutant cudnn CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH '{d->N, d->K, tutti_conv_out' '{d->N, d->C, tutti_conv_out'
mutant cudnn 'a part that is not finalized' 'if (!k->status) k->status = cudnnBackendFinalize(made)' '(void)made'
mutant cudnn CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER '{FROM0, FROM1, TO};' '{FROM0, FROM1, FROM1};'
mutant cudnn images_in_parts 'beta = adds ? 1 : 0' 'beta = 0'
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
finish
