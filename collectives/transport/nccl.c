/* Collectives in GPU memory, through NCCL. The transport (MPI) carries messages in main memory, and the ranks'
 * agreement before the first collective: NCCL has collectives, but no messages with tags. So messages of edges are in
 * main memory.
 *
 * Each of the first lanes, and each lane that is added for a group, has its own communicator and stream. NCCL's
 * kernels hold processors of the GPU until all ranks have launched theirs: lanes share device slots. */
#include "collectives/transport/nccl_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <sched.h>
#include <stdlib.h>

static const double launch_limit_s = 10;

/* ---- collectives ---- */

/* Waits until a launch is complete; a launch waits for no other rank. TIMEOUT. */
static tutti_status await_launch(ncclComm_t comm, int lane, const char *what, ncclResult_t result)
{
    double until_s = tutti_clock_s() + launch_limit_s;
    tutti_status status = tutti_nccl_called(comm, lane, what, result);
    for (int over = result != ncclInProgress; !status && !over;) {
        status = tutti_nccl_ask(comm, lane, what, &over);
        if (!status && !over && tutti_clock_s() > until_s)
            return tutti_fail(TUTTI_ERR_TIMEOUT, "NCCL: %s on lane %d has not ended within %g s",
                what, lane, launch_limit_s);
        sched_yield();
    }
    return status;
}

/* NULL: this rank has no communicator there. */
static tutti_nccl_lane *lane_of(const tutti_nccl *n, int lane)
{
    return lane < n->lanes ? n->lane[lane] : NULL;
}

static tutti_status fail_unsupported(const tutti_nccl *n, int lane, const tutti_coll_args *a)
{
    const char *kind = tutti_coll_kind_name(a->kind);
    if (n->aborted)
        return tutti_fail(TUTTI_ERR_COMM, "NCCL: %s after its communicators were aborted", kind);
    if (!lane_of(n, lane) || !n->lane[lane]->unused)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "NCCL: no %s of GPU memory on lane %d: use the transport mpi", kind, lane);
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "NCCL: no %s of %s with the operator %s: use the transport mpi", kind,
        tutti_dtype_name(a->dtype), tutti_coll_op_name(a));
}

/* The event follows the kernel on the stream only once the launch is complete: until then NCCL may launch from
 * its own thread. */
static tutti_status nccl_start(
    tutti_device_collectives *c, int lane, const tutti_coll_args *args, tutti_device_call **started)
{
    tutti_nccl *n = (tutti_nccl *)c;
    tutti_nccl_lane *l = lane_of(n, lane);
    tutti_nccl_call call = {0};
    if (n->aborted || !l || !l->unused || !tutti_nccl_call_describe(args, &call))
        return fail_unsupported(n, lane, args);
    call.rank = l->rank;
    call.P = l->size;
    call.comm = l->comm;
    call.stream = l->stream;
    tutti_status status = tutti_nccl_cuda(n, "it cannot be used", cudaSetDevice(n->device));
    if (!status)
        status = await_launch(
            l->comm, lane, tutti_coll_kind_name(args->kind), tutti_nccl_call_launch(&call));
    tutti_device_call *m = l->unused;
    if (!status)
        status = tutti_nccl_cuda(n, "marking an event", cudaEventRecord(m->event, call.stream));
    if (status) { /* the kernel may be on the stream, without an event for its end */
        tutti_nccl_abort(n);
        return status;
    }
    l->unused = m->next;
    *started = m;
    return TUTTI_OK;
}

/* Whether NCCL has reported a failure. If another rank has aborted, NCCL fails here, too, maybe before the reason
 * arrives in a control message: so the failure is returned a little later. */
static tutti_status check_failure(tutti_nccl *n, int lane, int *failed)
{
    static const double patience_s = 1;
    const ncclComm_t comm = n->lane[lane]->comm;
    ncclResult_t result = ncclSuccess, asked = ncclCommGetAsyncError(comm, &result);
    if (asked) result = asked;
    *failed = result && result != ncclInProgress;
    if (!*failed) return TUTTI_OK;
    if (!(n->failed_s > 0)) n->failed_s = tutti_clock_s();
    if (tutti_clock_s() < n->failed_s + patience_s) return TUTTI_OK;
    return tutti_nccl_called(comm, lane, "a collective under way", result);
}

/* NCCL is queried after the event: a kernel that ends with an error has set it by then. An aborted kernel has ended
 * on its stream, but its result is undefined: it has failed. */
static tutti_status nccl_test(tutti_device_collectives *c, tutti_device_call *call, int *done)
{
    tutti_nccl *n = (tutti_nccl *)c;
    int failed = 0;
    cudaError_t error = cudaEventQuery(call->event);
    (void)cudaGetLastError(); /* else the next call would return it */
    tutti_status status = n->aborted ? TUTTI_OK : check_failure(n, call->lane, &failed);
    *done = !status && !failed && error != cudaErrorNotReady;
    if (!*done) return status;
    call->next = n->lane[call->lane]->unused;
    n->lane[call->lane]->unused = call;
    return n->aborted ? TUTTI_ERR_COMM
                      : tutti_nccl_cuda(n, "a kernel on a stream has failed", error);
}

/* A single waiting kernel cannot be cancelled: all communicators are aborted. */
static void nccl_cancel(tutti_device_collectives *c)
{
    tutti_nccl *n = (tutti_nccl *)c;
    if (!n->aborted) tutti_nccl_abort(n);
}

/* ---- lanes ---- */

static tutti_status nccl_grow(
    tutti_device_collectives *c, int first, int lanes, const tutti_members *members, int *done)
{
    tutti_nccl *n = (tutti_nccl *)c;
    tutti_nccl_making *m = &n->making;
    const int end = first + lanes;
    tutti_status status = m->lane ? TUTTI_OK : tutti_nccl_widen(n, end);
    if (!m->lane) *m = (tutti_nccl_making){.lane = first, .members = members};
    for (int made = 1; !status && made && m->lane < end;) {
        status = tutti_nccl_make(n, m, &made);
        if (made) *m = (tutti_nccl_making){.lane = m->lane + 1, .members = members};
    }
    *done = !status && m->lane == end;
    if (status || *done) m->lane = 0;
    return status;
}

static void nccl_close(tutti_device_collectives *c)
{
    tutti_nccl *n = (tutti_nccl *)c;
    cudaSetDevice(n->device);
    if ((n->transport->abandoned || n->making.lane) && !n->aborted) tutti_nccl_abort(n);
    if (!n->aborted) tutti_nccl_end(n);
    tutti_nccl_free_lanes(n);
    if (n->first) cudaFree(n->first);
    free(n);
}

const tutti_device_collectives_ops tutti_nccl_ops = {
    .start = nccl_start,
    .test = nccl_test,
    .cancel = nccl_cancel,
    .grow = nccl_grow,
    .close = nccl_close,
};
