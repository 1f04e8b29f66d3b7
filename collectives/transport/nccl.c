/* Collectives in the memory of GPUs, through NCCL. What is in main memory goes the way of another transport (MPI),
 * which also carries the ranks' agreement before the first collective: NCCL has collectives, but no messages with
 * tags.
 *
 * Each of the first lanes has a communicator and a stream of its own. Kernels of NCCL hold processors of the GPU
 * until all ranks have launched theirs: lanes share seats. */
#include "collectives/transport/nccl_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static const double launch_limit_s = 10;

/* ---- calls of CUDA and NCCL ---- */

tutti_status tutti_nccl_cuda(const tutti_nccl *n, const char *what, cudaError_t error)
{
    if (!error) return TUTTI_OK;
    (void)cudaGetLastError(); /* it would be the next call's */
    return tutti_fail(TUTTI_ERR_COMM, "GPU %d: %s: %s", n->device, what, cudaGetErrorString(error));
}

tutti_status tutti_nccl_settle(
    tutti_nccl *n, int lane, const char *what, ncclResult_t result, double limit_s)
{
    double until_s = tutti_clock_s() + limit_s;
    while (result == ncclInProgress && tutti_clock_s() < until_s) {
        ncclResult_t asked = ncclCommGetAsyncError(n->comm[lane], &result);
        if (asked) result = asked;
        sched_yield();
    }
    if (!result) return TUTTI_OK;
    if (result == ncclInProgress)
        return tutti_fail(TUTTI_ERR_TIMEOUT, "NCCL: %s on lane %d has not ended within %g s", what,
            lane, limit_s);
    return tutti_fail(TUTTI_ERR_COMM, "NCCL: %s on lane %d: %s (%s)", what, lane,
        ncclGetErrorString(result), ncclGetLastError(n->comm[lane]));
}

/* Ends all kernels that wait. Afterwards there are no communicators, and nothing touches a buffer. */
static void abort_all(tutti_nccl *n)
{
    for (int k = 0; k < n->lanes; k++)
        if (n->comm[k]) ncclCommAbort(n->comm[k]);
    for (int k = 0; k < n->lanes; k++)
        if (n->stream[k]) cudaStreamSynchronize(n->stream[k]);
    memset(n->comm, 0, sizeof n->comm);
    n->aborted = 1;
}

/* ---- collectives ---- */

static tutti_status refuse(const tutti_nccl *n, int lane, const tutti_coll_args *a)
{
    const char *kind = tutti_coll_kind_name(a->kind);
    if (n->aborted)
        return tutti_fail(TUTTI_ERR_COMM, "NCCL: %s after its communicators were aborted", kind);
    if (lane >= n->lanes || !n->unused)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "NCCL: no %s of GPU memory on lane %d: use the transport mpi", kind, lane);
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "NCCL: no %s of %s with the operator %s: use the transport mpi", kind,
        tutti_dtype_name(a->dtype), tutti_coll_op_name(a));
}

/* The event goes behind the kernel only when the launch is over: until then NCCL may launch on a thread
 * of its own. */
static tutti_status nccl_collective(
    tutti_transport *t, int lane, const tutti_coll_args *args, tutti_message **message)
{
    tutti_nccl *n = (tutti_nccl *)t;
    tutti_nccl_call call = {.rank = t->rank, .P = t->size};
    if (n->aborted || lane >= n->lanes || !n->unused || !tutti_nccl_call_describe(args, &call))
        return refuse(n, lane, args);
    call.comm = n->comm[lane];
    call.stream = n->stream[lane];
    tutti_status status = tutti_nccl_cuda(n, "it cannot be used", cudaSetDevice(n->device));
    if (!status)
        status = tutti_nccl_settle(n, lane, tutti_coll_kind_name(args->kind),
            tutti_nccl_call_launch(&call), launch_limit_s);
    tutti_message *m = n->unused;
    if (!status)
        status = tutti_nccl_cuda(n, "marking an event", cudaEventRecord(m->event, call.stream));
    if (status) { /* it may be on the stream, with no event to tell of its end */
        abort_all(n);
        return status;
    }
    n->unused = m->next;
    m->lane = lane;
    *message = m;
    return TUTTI_OK;
}

static int is_mine(const tutti_nccl *n, const tutti_message *m)
{
    return m >= n->all && m < n->all + n->lanes * TUTTI_NCCL_IN_FLIGHT;
}

static void give_back(tutti_nccl *n, tutti_message *m)
{
    m->next = n->unused;
    n->unused = m;
}

/* The failure that NCCL knows of, if any. */
static tutti_status hear(const tutti_nccl *n, int lane)
{
    ncclResult_t result = ncclSuccess, asked = ncclCommGetAsyncError(n->comm[lane], &result);
    if (asked) result = asked;
    if (!result || result == ncclInProgress) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_COMM, "NCCL: lane %d: %s (%s)", lane, ncclGetErrorString(result),
        ncclGetLastError(n->comm[lane]));
}

/* What was aborted has ended on its stream, but nobody knows how far it came: it has failed, as was told. */
static tutti_status nccl_test(tutti_transport *t, tutti_message *message, int *done)
{
    tutti_nccl *n = (tutti_nccl *)t;
    if (!is_mine(n, message)) return n->whole->ops->test(n->whole, message, done);
    tutti_status status = n->aborted ? TUTTI_OK : hear(n, message->lane);
    *done = 0;
    if (status) return status;
    cudaError_t error = cudaEventQuery(message->event);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return TUTTI_OK;
    }
    *done = 1;
    give_back(n, message);
    return n->aborted ? TUTTI_ERR_COMM
                      : tutti_nccl_cuda(n, "what was put on a stream has failed", error);
}

/* A kernel that waits cannot be taken back alone. */
static void nccl_cancel(tutti_transport *t, tutti_message *message)
{
    tutti_nccl *n = (tutti_nccl *)t;
    if (!is_mine(n, message))
        n->whole->ops->cancel(n->whole, message);
    else if (!n->aborted)
        abort_all(n);
}

static void nccl_abandon(tutti_transport *t, tutti_message *message)
{
    tutti_nccl *n = (tutti_nccl *)t;
    if (!is_mine(n, message)) {
        n->whole->ops->abandon(n->whole, message);
        return;
    }
    if (!n->aborted) abort_all(n);
    give_back(n, message);
}

/* ---- what goes the other way ---- */

static tutti_status nccl_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    const tutti_nccl *n = (const tutti_nccl *)t;
    return n->whole->ops->isend(n->whole, lane, peer, tag, data, bytes, message);
}

static tutti_status nccl_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    const tutti_nccl *n = (const tutti_nccl *)t;
    return n->whole->ops->irecv(n->whole, lane, peer, tag, data, bytes, message);
}

static void nccl_sweep(tutti_transport *t, int first, int lanes)
{
    const tutti_nccl *n = (const tutti_nccl *)t;
    if (n->whole->ops->sweep) n->whole->ops->sweep(n->whole, first, lanes);
}

static tutti_status nccl_grow(tutti_transport *t, int lanes, int *done)
{
    const tutti_nccl *n = (const tutti_nccl *)t;
    tutti_status status = n->whole->ops->grow(n->whole, lanes, done);
    t->lanes = n->whole->lanes;
    return status;
}

/* Destroying a communicator waits for the other ranks, so what has ended is aborted, too. */
static void nccl_close(tutti_transport *t)
{
    tutti_nccl *n = (tutti_nccl *)t;
    cudaSetDevice(n->device);
    abort_all(n);
    for (int i = 0; n->all && i < n->lanes * TUTTI_NCCL_IN_FLIGHT; i++)
        if (n->all[i].event) cudaEventDestroy(n->all[i].event);
    for (int k = 0; k < n->lanes; k++)
        if (n->stream[k]) cudaStreamDestroy(n->stream[k]);
    if (n->first) cudaFree(n->first);
    if (t->abandoned) n->whole->abandoned = 1;
    n->whole->ops->close(n->whole);
    free(n->all);
    free(n);
}

const tutti_transport_ops tutti_nccl_ops = {
    .name = "nccl",
    .isend = nccl_isend,
    .irecv = nccl_irecv,
    .test = nccl_test,
    .cancel = nccl_cancel,
    .sweep = nccl_sweep,
    .abandon = nccl_abandon,
    .collective = nccl_collective,
    .grow = nccl_grow,
    .close = nccl_close,
};
