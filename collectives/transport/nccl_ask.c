/* Converts CUDA's and NCCL's results to statuses. */
#include "collectives/transport/nccl_parts.h"

#include "dag/base/log.h"

tutti_status tutti_nccl_cuda(const tutti_nccl *n, const char *what, cudaError_t error)
{
    if (!error) return TUTTI_OK;
    (void)cudaGetLastError(); /* else the next call would return it */
    return tutti_fail(TUTTI_ERR_COMM, "GPU %d: %s: %s", n->device, what, cudaGetErrorString(error));
}

tutti_status tutti_nccl_called(ncclComm_t comm, int lane, const char *what, ncclResult_t result)
{
    if (!result || result == ncclInProgress) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_COMM, "NCCL: %s on lane %d: %s (%s)", what, lane,
        ncclGetErrorString(result), ncclGetLastError(comm));
}

tutti_status tutti_nccl_ask(ncclComm_t comm, int lane, const char *what, int *over)
{
    ncclResult_t result = ncclSuccess, asked = ncclCommGetAsyncError(comm, &result);
    if (asked) result = asked;
    *over = result != ncclInProgress;
    return tutti_nccl_called(comm, lane, what, result);
}
