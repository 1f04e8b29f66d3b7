#include "dag/kernels/cublas.h"

#include "dag/base/log.h"
#include "dag/kernels/cublaslt.h"

#include <stdlib.h>

struct tutti_cublas {
    tutti_product product;
    cublasHandle_t handle;
    tutti_cublaslt *with_more; /* NULL: the product alone */
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

/* All that is wanted; or only the bias, where a ReLU behind it cannot be. */
static tutti_status open_more(tutti_cublas *k)
{
    tutti_product *p = &k->product;
    tutti_status status = TUTTI_OK;
    if (p->also) status = tutti_cublaslt_open(p, k->handle, &k->with_more);
    if (status || k->with_more) return status;
    p->also &= TUTTI_PRODUCT_BIAS;
    if (p->also) status = tutti_cublaslt_open(p, k->handle, &k->with_more);
    if (!k->with_more) p->also = 0;
    return status;
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
    const tutti_status status = open_more(k);
    if (status)
        tutti_cublas_close(k);
    else
        *opened = k;
    return status;
}

unsigned tutti_cublas_also(const tutti_cublas *opened)
{
    return opened->product.also;
}

static cudaDataType_t type_of(tutti_dtype dtype)
{
    return dtype == TUTTI_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* The library's matrices are stored column after column: those that are here row after row are
 * transposed for it, and it computes the transposed product, of b and a. A leading dimension is the
 * length of a row as it is stored. */
static cublasStatus_t multiply(const tutti_cublas *k, const tutti_cublas_call *call)
{
    const tutti_product *p = &k->product;
    const int rows = (int)p->rows, columns = (int)p->columns, depth = (int)p->depth;
    const float one = 1, zero = 0;
    return cublasGemmEx(k->handle, p->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
        p->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, columns, rows, depth, &one, call->b,
        type_of(p->from), p->b_transposed ? depth : columns, call->a, type_of(p->from),
        p->a_transposed ? rows : depth, &zero, call->to, type_of(p->to), columns,
        p->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t run_alone(
    const tutti_cublas *opened, const tutti_cublas_call *call, void *queue)
{
    void *workspace = call->workspace;
    /* In this order: a new stream gets a workspace of the library's own. */
    cublasStatus_t s = cublasSetStream(opened->handle, (cudaStream_t)queue);
    if (!s) s = cublasSetWorkspace(opened->handle, workspace, TUTTI_CUBLAS_WORKSPACE);
    return s ? s : multiply(opened, call);
}

tutti_status tutti_cublas_run(
    const tutti_cublas *opened, const tutti_cublas_call *call, void *queue)
{
    const cublasStatus_t s = opened->with_more ? tutti_cublaslt_run(opened->with_more, call, queue)
                                               : run_alone(opened, call, queue);
    if (!s) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_KERNEL, "%s: cuBLAS does not start it: %s", opened->product.op,
        cublasGetStatusString(s));
}

void tutti_cublas_close(tutti_cublas *k)
{
    if (!k) return;
    tutti_cublaslt_close(k->with_more);
    free(k);
}
