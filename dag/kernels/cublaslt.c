#include "dag/kernels/cublaslt.h"

#include "dag/base/log.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>

/* It divides the addresses of all tensors, on which the choice of an algorithm depends. */
enum { ALIGN = 16 };

struct tutti_cublaslt {
    tutti_product product;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t multiply;
    cublasLtMatrixLayout_t a, b, to; /* the library's */
    size_t workspace;                /* bytes that it may compute in */
    cublasLtMatmulAlgo_t algorithm;
};

static cudaDataType_t type_of(tutti_dtype dtype)
{
    return dtype == TUTTI_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

static uint32_t epilogue_of(unsigned also)
{
    return also == TUTTI_PRODUCT_BIAS                          ? CUBLASLT_EPILOGUE_BIAS
           : also == TUTTI_PRODUCT_RELU                        ? CUBLASLT_EPILOGUE_RELU
           : also == (TUTTI_PRODUCT_BIAS | TUTTI_PRODUCT_RELU) ? CUBLASLT_EPILOGUE_RELU_BIAS
                                                               : CUBLASLT_EPILOGUE_BGRADB;
}

static cublasStatus_t set(
    const tutti_cublaslt *k, cublasLtMatmulDescAttributes_t what, const void *value, size_t bytes)
{
    return cublasLtMatmulDescSetAttribute(k->multiply, what, value, bytes);
}

/* The library's matrices are stored column after column: its product is the transposed one, of b and a (cublas.c). */
static cublasStatus_t describe(tutti_cublaslt *k)
{
    const tutti_product *p = &k->product;
    const uint64_t rows = (uint64_t)p->rows, columns = (uint64_t)p->columns;
    const uint64_t depth = (uint64_t)p->depth;
    const uint64_t a[] = {p->b_transposed ? depth : columns, p->b_transposed ? columns : depth};
    const uint64_t b[] = {p->a_transposed ? rows : depth, p->a_transposed ? depth : rows};
    const int32_t of_a = p->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t of_b = p->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint32_t epilogue = epilogue_of(p->also);
    /* The vector is not there yet; what its address will have in common with the others is. */
    const void *vector = (const void *)(uintptr_t)ALIGN;
    cublasStatus_t s = cublasLtMatmulDescCreate(
        &k->multiply, p->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (!s) s = set(k, CUBLASLT_MATMUL_DESC_TRANSA, &of_a, sizeof of_a);
    if (!s) s = set(k, CUBLASLT_MATMUL_DESC_TRANSB, &of_b, sizeof of_b);
    if (!s) s = set(k, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!s) s = set(k, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, sizeof vector);
    if (!s) s = cublasLtMatrixLayoutCreate(&k->a, type_of(p->from), a[0], a[1], (int64_t)a[0]);
    if (!s) s = cublasLtMatrixLayoutCreate(&k->b, type_of(p->from), b[0], b[1], (int64_t)b[0]);
    if (!s) s = cublasLtMatrixLayoutCreate(&k->to, type_of(p->to), columns, rows, (int64_t)columns);
    return s;
}

static cublasStatus_t prefer(const tutti_cublaslt *k, cublasLtMatmulPreference_t preference)
{
    static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const uint64_t workspace = k->workspace;
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, align = ALIGN;
    cublasStatus_t s = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (!s)
        s = cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes);
    for (size_t i = 0; i < sizeof aligned / sizeof *aligned && !s; i++)
        s = cublasLtMatmulPreferenceSetAttribute(preference, aligned[i], &align, sizeof align);
    return s;
}

/* Takes what the heuristics offer first. */
static cublasStatus_t choose(tutti_cublaslt *k)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t first;
    int offered = 0;
    cublasStatus_t s = cublasLtMatmulPreferenceCreate(&preference);
    if (!s) s = prefer(k, preference);
    if (!s)
        s = cublasLtMatmulAlgoGetHeuristic(
            k->handle, k->multiply, k->a, k->b, k->to, k->to, preference, 1, &first, &offered);
    if (!s) s = offered ? first.state : CUBLAS_STATUS_NOT_SUPPORTED;
    if (!s) k->algorithm = first.algo;
    if (preference) cublasLtMatmulPreferenceDestroy(preference);
    return s;
}

/* The library's status; *opened is set after success. */
static cublasStatus_t open_product(
    const tutti_product *product, cublasHandle_t handle, size_t workspace, tutti_cublaslt **opened)
{
    tutti_cublaslt *k = calloc(1, sizeof *k);
    if (!k) return CUBLAS_STATUS_ALLOC_FAILED;
    k->product = *product;
    k->workspace = workspace;
    k->handle = (cublasLtHandle_t)handle; /* a handle of cuBLAS is one of cuBLASLt */
    cublasStatus_t s = describe(k);
    if (!s) s = choose(k);
    if (s)
        tutti_cublaslt_close(k);
    else
        *opened = k;
    return s;
}

enum { SIDE = 16, MATRIX = SIDE * SIDE * sizeof(float) };

/* The product of matrices of NaNs, and a bias of NaNs. Returns whether it is there. */
static int multiply_nans(const tutti_cublaslt *k, char *memory, cudaStream_t stream, float *last)
{
    const tutti_cublas_call call = {
        .a = memory, .b = memory, .to = memory + MATRIX, .vector = memory + 2 * MATRIX};
    return !cudaMemsetAsync(memory, 0xff, 3 * MATRIX, stream) &&
           !tutti_cublaslt_run(k, &call, stream) &&
           !cudaMemcpyAsync(last, memory + MATRIX, sizeof *last, cudaMemcpyDeviceToHost, stream) &&
           !cudaStreamSynchronize(stream);
}

/* Whether the library's ReLU leaves a NaN as it is, which its documentation does not say: a training would not stop at
 * them. Asked with a small product of the same types. */
static int keeps_nans(const tutti_product *product, cublasHandle_t handle)
{
    tutti_product small = *product;
    tutti_cublaslt *k = NULL;
    cudaStream_t stream = NULL;
    void *memory = NULL;
    float numbers = 0; /* one of float32, two of bf16 */
    small.rows = small.columns = small.depth = SIDE;
    const int is_there = !open_product(&small, handle, 0, &k) && !cudaMalloc(&memory, 3 * MATRIX) &&
                         !cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) &&
                         multiply_nans(k, memory, stream, &numbers);
    if (stream) cudaStreamDestroy(stream);
    cudaFree(memory);
    tutti_cublaslt_close(k);
    (void)cudaGetLastError(); /* it would be the next launch's */
    return is_there && isnan(numbers);
}

tutti_status tutti_cublaslt_open(
    const tutti_product *product, cublasHandle_t handle, tutti_cublaslt **opened)
{
    *opened = NULL;
    if (product->also & TUTTI_PRODUCT_RELU && !keeps_nans(product, handle)) return TUTTI_OK;
    const cublasStatus_t s = open_product(product, handle, TUTTI_CUBLAS_WORKSPACE, opened);
    if (!s || s == CUBLAS_STATUS_NOT_SUPPORTED || s == CUBLAS_STATUS_INVALID_VALUE) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: cuBLASLt cannot open it: %s", product->op,
        cublasGetStatusString(s));
}

cublasStatus_t tutti_cublaslt_run(
    const tutti_cublaslt *k, const tutti_cublas_call *call, void *queue)
{
    const float one = 1, zero = 0;
    const cublasStatus_t s =
        set(k, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &call->vector, sizeof call->vector);
    if (s) return s;
    return cublasLtMatmul(k->handle, k->multiply, &one, call->b, k->a, call->a, k->b, &zero,
        call->to, k->to, call->to, k->to, &k->algorithm, call->workspace, k->workspace,
        (cudaStream_t)queue);
}

void tutti_cublaslt_close(tutti_cublaslt *k)
{
    if (!k) return;
    if (k->to) cublasLtMatrixLayoutDestroy(k->to);
    if (k->b) cublasLtMatrixLayoutDestroy(k->b);
    if (k->a) cublasLtMatrixLayoutDestroy(k->a);
    if (k->multiply) cublasLtMatmulDescDestroy(k->multiply);
    free(k);
}
