/* cuBLAS: its handles, which StarPU makes for its workers. */
#include "tests/device/fake/fake.h"

#include <cublas_v2.h>
#include <stdlib.h>

/* Of the interface before version 2, which cublas_v2.h does not have. */
unsigned cublasInit(void);
unsigned cublasShutdown(void);
unsigned cublasSetKernelStream(cudaStream_t stream);

struct cublasContext {
    cudaStream_t stream;
};

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

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
