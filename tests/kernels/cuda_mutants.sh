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
objects=(tests/kernels/*test_cuda-*.o tests/kernels/[!c]*_host.o tests/kernels/conv_host.o tests/device/fake/*test_cuda-{compute,cublas,cudnn,now}.o)

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
# A workspace that is too small; one of the library's own.
mutant cudnn CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT 'c->workspace, k->workspace,' 'c->workspace, k->workspace - 1,'
mutant cublas "workspace of the library's own" 's = cublasSetWorkspace(opened->handle, workspace, TUTTI_CUBLAS_WORKSPACE)' 's = CUBLAS_STATUS_SUCCESS'
# The default stream.
mutant cublas 'on the default stream' '(cudaStream_t)queue' 'NULL'
mutant cudnn 'on the default stream' '(cudaStream_t)call->queue' 'NULL'
# What adds in any order.
mutant cudnn 'not deterministic' CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 CUDNN_CONVOLUTION_BWD_DATA_ALGO_0
mutant cudnn 'not deterministic' CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0
mutant cublas 'not deterministic' CUBLAS_ATOMICS_NOT_ALLOWED CUBLAS_ATOMICS_ALLOWED
# TF32 where it was not allowed; sums in bf16.
mutant cudnn conv ': CUDNN_FMA_MATH' ': CUDNN_DEFAULT_MATH'
mutant cublas dense ': CUBLAS_COMPUTE_32F,' ': CUBLAS_COMPUTE_32F_FAST_TF32,'
mutant cublas 'may add in bf16' '| CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION' ''
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
