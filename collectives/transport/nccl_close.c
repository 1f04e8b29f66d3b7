/* Ends communicators. A kernel may end on this rank while NCCL's threads on this rank still send its data. So ranks
 * that leave in order finalize their communicators, which waits for such sends and for the ranks of the host, and
 * then destroy them. After a failure communicators are aborted without waiting. */
#include "collectives/transport/nccl_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

static ncclComm_t comm_of(const tutti_nccl *n, int lane)
{
    return n->lane[lane] ? n->lane[lane]->comm : NULL;
}

/* The first lane's communicator is aborted first: a split of it under way then fails. */
void tutti_nccl_abort(tutti_nccl *n)
{
    for (int k = 0; k < n->lanes; k++)
        if (comm_of(n, k)) ncclCommAbort(comm_of(n, k));
    for (int k = 0; k < n->lanes; k++) {
        if (!n->lane[k]) continue;
        if (n->lane[k]->stream) cudaStreamSynchronize(n->lane[k]->stream);
        n->lane[k]->comm = NULL;
    }
    n->aborted = 1;
}

/* Whether a communicator is finalized, before the deadline; 0 with a warning. */
static int is_finalized(const tutti_nccl *n, int lane, ncclResult_t result, double until_s)
{
    static const double poll_s = 50e-6;
    while (result == ncclInProgress && tutti_clock_s() < until_s) {
        ncclResult_t asked = ncclCommGetAsyncError(comm_of(n, lane), &result);
        if (asked) result = asked;
        if (result == ncclInProgress) tutti_clock_sleep(poll_s);
    }
    if (!result) return 1;
    tutti_log(TUTTI_LOG_WARN, "NCCL: lane %d could not be finalized (%s): aborting it", lane,
        result == ncclInProgress ? "the other ranks have not finalized it in time"
                                 : ncclGetErrorString(result));
    return 0;
}

void tutti_nccl_end(tutti_nccl *n)
{
    const double until_s = tutti_clock_s() + n->timeout_s;
    ncclResult_t result[n->lanes + 1];
    int ends = 1;
    for (int k = 0; k < n->lanes; k++)
        result[k] = comm_of(n, k) ? ncclCommFinalize(comm_of(n, k)) : ncclSuccess;
    for (int k = 0; k < n->lanes && ends; k++) ends = is_finalized(n, k, result[k], until_s);
    if (!ends) {
        tutti_nccl_abort(n);
        return;
    }
    for (int k = 0; k < n->lanes; k++)
        if (comm_of(n, k)) {
            ncclCommDestroy(comm_of(n, k));
            n->lane[k]->comm = NULL;
        }
}
