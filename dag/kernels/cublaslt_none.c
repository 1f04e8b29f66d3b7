/* A build without cuBLASLt: what else a product needs is computed by kernels of ours. */
#include "dag/kernels/cublaslt.h"

tutti_status tutti_cublaslt_open(
    const tutti_product *product, cublasHandle_t handle, tutti_cublaslt **opened)
{
    (void)product;
    (void)handle;
    *opened = NULL;
    return TUTTI_OK;
}

cublasStatus_t tutti_cublaslt_run(
    const tutti_cublaslt *opened, const tutti_cublas_call *call, void *queue)
{
    (void)opened;
    (void)call;
    (void)queue;
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

void tutti_cublaslt_close(tutti_cublaslt *opened)
{
    (void)opened;
}
