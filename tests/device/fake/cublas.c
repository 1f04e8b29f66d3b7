/* cuBLAS: handles, which StarPU makes, too, and matrix products as Tutti calls them. It refuses what
 * the library refuses; what that would do without a word, and what is wrong with it, ends the
 * process: a product on the default stream, in a workspace of the library's own (which streams
 * share, so that results may differ from run to run), with atomic sums, or with sums of bf16.
 * A handle takes memory of the device for itself, as the library's does. */
#include "tests/device/fake/product.h"

#include <stdlib.h>

/* Of the interface before version 2, which cublas_v2.h does not have: StarPU calls it. */
unsigned cublasInit(void);
unsigned cublasShutdown(void);
unsigned cublasSetKernelStream(cudaStream_t stream);

struct cublasContext {
    cudaStream_t stream;
    void *workspace; /* NULL: the library's */
    size_t bytes;
    cublasMath_t math;
    cublasAtomicsMode_t atomics;
    void *own;
};
enum { OWN = 256 << 10 };

unsigned cublasInit(void)
{
    return CUBLAS_STATUS_SUCCESS;
}

unsigned cublasShutdown(void)
{
    return CUBLAS_STATUS_SUCCESS;
}

unsigned cublasSetKernelStream(cudaStream_t stream)
{
    (void)stream; /* that interface has nothing here that would use it */
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_ALLOC_FAILED  ? "CUBLAS_STATUS_ALLOC_FAILED"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                   : "CUBLAS_STATUS_NOT_INITIALIZED";
}

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    if (*handle) (*handle)->own = fake_own(OWN);
    if (*handle && (*handle)->own) return CUBLAS_STATUS_SUCCESS;
    free(*handle);
    *handle = NULL;
    return CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    fake_disown(handle->own);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    handle->workspace = NULL;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((uintptr_t)workspace % 256) return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->atomics = mode;
    return CUBLAS_STATUS_SUCCESS;
}

static const char call[] = "cublasGemmEx";

/* What the library would not say. */
static void check_use(cublasHandle_t handle, const product *j)
{
    compute_check_stream(call, handle->stream);
    if (!handle->workspace)
        fake_fail("%s in a workspace of the library's own: its handle was given none since its "
                  "stream was set",
            call);
    if (handle->bytes < 4 << 20)
        fake_fail(
            "%s in a workspace of %zu bytes, which is less than recommended", call, handle->bytes);
    if (handle->atomics != CUBLAS_ATOMICS_NOT_ALLOWED)
        fake_fail("%s with atomic sums is not deterministic", call);
    if (j->a.dtype == TUTTI_BF16 &&
        !((unsigned)handle->math & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION))
        fake_fail("%s may add in bf16", call);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
    cublasOperation_t transb, int m, int n, int k, const void *alpha, const void *A,
    cudaDataType_t Atype, int lda, const void *B, cudaDataType_t Btype, int ldb, const void *beta,
    void *C, cudaDataType_t Ctype, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 1 || n < 1 || k < 1 || lda < 1 || ldb < 1 || ldc < 1 || !alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    const product j = {.call = call,
        .a = product_matrix_of(A, Atype, transa, m, k, lda),
        .b = product_matrix_of(B, Btype, transb, k, n, ldb),
        .c = product_matrix_of(C, Ctype, CUBLAS_OP_N, m, n, ldc),
        .workspace = handle->workspace,
        .bytes = handle->bytes,
        .depth = (size_t)k,
        .tf32 =
            Atype == CUDA_R_32F && (compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                                       ((unsigned)handle->math & 3) == CUBLAS_TF32_TENSOR_OP_MATH)};
    if (!product_fits(&j)) return CUBLAS_STATUS_INVALID_VALUE;
    const float one = *(const float *)alpha, zero = *(const float *)beta;
    const int known = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    if (!product_is_known(&j) || !known || algo != CUBLAS_GEMM_DEFAULT || one < 1 || one > 1 ||
        zero < 0 || zero > 0)
        return CUBLAS_STATUS_NOT_SUPPORTED; /* by the library, or this fake */
    check_use(handle, &j);
    product_enqueue(&j, handle->stream);
    return CUBLAS_STATUS_SUCCESS;
}
