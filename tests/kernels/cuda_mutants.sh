#!/bin/bash
# Calls of cuBLAS and cuDNN, broken on purpose: test_cuda must fail, and say why where the fakes of these libraries see it.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
cd "$TUTTI_BUILDDIR" || exit 1
[ -e tests/kernels/conv_host.o ] || exit 77 # no C++ compiler

compiler=$(sed -n 's/^CC = //p' Makefile)
sanitize=$(sed -n 's/^TUTTI_SANITIZE_CFLAGS = //p' Makefile)
headers=$(sed -n -e 's/^CUDA_CFLAGS = //p' -e 's/^CUDNN_CFLAGS = //p' Makefile | tr '\n' ' ')
shopt -s nullglob
objects=(tests/kernels/*test_cuda-*.o tests/kernels/*_host.o tests/device/fake/*test_cuda-{compute,cublas,cudnn,now}.o)

# compile FILE.c: makes FILE.o of it.
compile() {
    # shellcheck disable=SC2086
    $compiler -std=gnu11 -g -O1 $sanitize -fvisibility=hidden -I"$TUTTI_SRCDIR" -Iinclude $headers \
        -idirafter "$TUTTI_SRCDIR/tests/device/include" -c -o "${1%.c}.o" "$1"
}

# passes: whether test_cuda does with the two files that are in $dir.
passes() {
    # shellcheck disable=SC2086
    ./libtool --silent --tag=CC --mode=link $compiler $sanitize -o "$dir/test_cuda" "${objects[@]}" "$dir/cublas.o" "$dir/cudnn.o" \
        libtesting.la > "$dir/log" 2>&1 || { fail "it does not link"; tail -n 5 "$dir/log"; return; }
    (CK_RUN_CASE=products "$dir/test_cuda" > "$dir/log" 2>&1; exit $?) 2> /dev/null
}

original() {
    cp "$TUTTI_SRCDIR/dag/kernels/$1.c" "$dir/$1.c" && compile "$dir/$1.c"
}

# mutant LIBRARY SENTENCE OLD NEW: NEW instead of OLD in dag/kernels/LIBRARY.c.
mutant() {
    grep -qF -e "$3" "$dir/$1.c" || { fail "dag/kernels/$1.c has no \"$3\""; return; }
    OLD=$3 NEW=$4 awk '(at = index($0, ENVIRON["OLD"])) {
        $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(ENVIRON["OLD"])) } { print }' \
        "$TUTTI_SRCDIR/dag/kernels/$1.c" > "$dir/$1.c"
    compile "$dir/$1.c" || { fail "\"$4\" does not compile"; return; }
    passes && fail "\"$4\" instead of \"$3\" is not caught"
    grep -qF -e "$2" "$dir/log" || { fail "\"$4\": it does not say \"$2\""; tail -n 5 "$dir/log"; }
    original "$1"
}

original cublas
original cudnn
passes || { fail 'the files as they are do not pass'; tail -n 5 "$dir/log"; finish; }

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
finish
