#include "dag/kernels/cublas.h"

#include "dag/base/log.h"

#include <cublas_v2.h>
#include <stdlib.h>

struct tutti_cublas {
    tutti_product product;
    cublasHandle_t handle;
};

static void close_handle(void *handle)
{
    cublasDestroy((cublasHandle_t)handle);
}

static cublasStatus_t open_handle(tutti_workspace *workspace)
{
    /* Sums of products of bf16, too, are kept in float32 until they are whole. */
    const cublasMath_t math =
        (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    cublasHandle_t handle = NULL;
    cublasStatus_t s = cublasCreate(&handle);
    if (!s) s = cublasSetMathMode(handle, math);
    if (!s) s = cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED);
    workspace->library[TUTTI_WORKSPACE_CUBLAS].handle = handle;
    workspace->library[TUTTI_WORKSPACE_CUBLAS].close = close_handle;
    return s;
}

tutti_status tutti_cublas_open(
    const tutti_product *product, tutti_workspace *workspace, tutti_cublas **opened)
{
    tutti_cublas *k = calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", product->op);
    k->product = *product;
    if (!workspace->library[TUTTI_WORKSPACE_CUBLAS].handle) {
        const cublasStatus_t s = open_handle(workspace);
        if (s) {
            tutti_cublas_close(k);
            return tutti_fail(TUTTI_ERR_UNSUPPORTED, "%s: cuBLAS cannot start: %s", product->op,
                cublasGetStatusString(s));
        }
    }
    k->handle = workspace->library[TUTTI_WORKSPACE_CUBLAS].handle;
    *opened = k;
    return TUTTI_OK;
}

static cudaDataType_t type_of(tutti_dtype dtype)
{
    return dtype == TUTTI_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* The library's matrices are stored column after column: those that are here row after row are
 * transposed for it, and it computes the transposed product, of b and a. A leading dimension is the
 * length of a row as it is stored. */
static cublasStatus_t multiply(const tutti_cublas *k, const void *a, const void *b, void *to)
{
    const tutti_product *p = &k->product;
    const int rows = (int)p->rows, columns = (int)p->columns, depth = (int)p->depth;
    const float one = 1, zero = 0;
    return cublasGemmEx(k->handle, p->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
        p->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, columns, rows, depth, &one, b,
        type_of(p->from), p->b_transposed ? depth : columns, a, type_of(p->from),
        p->a_transposed ? rows : depth, &zero, to, type_of(p->to), columns,
        p->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

tutti_status tutti_cublas_run(const tutti_cublas *opened, const void *a, const void *b, void *to,
    void *workspace, void *queue)
{
    /* In this order: a new stream gets a workspace of the library's own. */
    cublasStatus_t s = cublasSetStream(opened->handle, (cudaStream_t)queue);
    if (!s) s = cublasSetWorkspace(opened->handle, workspace, TUTTI_CUBLAS_WORKSPACE);
    if (!s) s = multiply(opened, a, b, to);
    if (!s) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_KERNEL, "%s: cuBLAS does not start it: %s", opened->product.op,
        cublasGetStatusString(s));
}

void tutti_cublas_close(tutti_cublas *k)
{
    free(k);
}
