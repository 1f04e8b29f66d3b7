/* Collectives in GPU memory, through NCCL. Messages in main memory go through another transport (MPI), which also
 * carries the ranks' agreement before the first collective: NCCL has collectives, but no messages with tags. So
 * messages of edges are in main memory.
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
static tutti_status nccl_collective(
    tutti_transport *t, int lane, const tutti_coll_args *args, tutti_message **message)
{
    tutti_nccl *n = (tutti_nccl *)t;
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
    tutti_message *m = l->unused;
    if (!status)
        status = tutti_nccl_cuda(n, "marking an event", cudaEventRecord(m->event, call.stream));
    if (status) { /* the kernel may be on the stream, without an event for its end */
        tutti_nccl_abort(n);
        return status;
    }
    l->unused = m->next;
    *message = m;
    return TUTTI_OK;
}

static int is_mine(const tutti_nccl *n, const tutti_message *m)
{
    for (int k = 0; k < n->lanes; k++)
        if (n->lane[k] && m >= n->lane[k]->all && m < n->lane[k]->all + TUTTI_NCCL_IN_FLIGHT)
            return 1;
    return 0;
}

static void give_back(tutti_nccl *n, tutti_message *m)
{
    tutti_nccl_lane *lane = n->lane[m->lane];
    m->next = lane->unused;
    lane->unused = m;
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
static tutti_status nccl_test(tutti_transport *t, tutti_message *message, int *done)
{
    tutti_nccl *n = (tutti_nccl *)t;
    if (!is_mine(n, message)) return n->whole->ops->test(n->whole, message, done);
    int failed = 0;
    cudaError_t error = cudaEventQuery(message->event);
    (void)cudaGetLastError(); /* else the next call would return it */
    tutti_status status = n->aborted ? TUTTI_OK : check_failure(n, message->lane, &failed);
    *done = !status && !failed && error != cudaErrorNotReady;
    if (!*done) return status;
    give_back(n, message);
    return n->aborted ? TUTTI_ERR_COMM
                      : tutti_nccl_cuda(n, "a kernel on a stream has failed", error);
}

/* A single waiting kernel cannot be cancelled: all communicators are aborted. */
static void nccl_cancel(tutti_transport *t, tutti_message *message)
{
    tutti_nccl *n = (tutti_nccl *)t;
    if (!is_mine(n, message))
        n->whole->ops->cancel(n->whole, message);
    else if (!n->aborted)
        tutti_nccl_abort(n);
}

static void nccl_abandon(tutti_transport *t, tutti_message *message)
{
    tutti_nccl *n = (tutti_nccl *)t;
    if (!is_mine(n, message)) {
        n->whole->ops->abandon(n->whole, message);
        return;
    }
    if (!n->aborted) tutti_nccl_abort(n);
    give_back(n, message);
}

/* ---- messages in main memory ---- */

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

static void begin_next(tutti_nccl *n, const tutti_members *members)
{
    n->making = (tutti_nccl_making){.lane = n->base.lanes - n->missing, .members = members};
}

/* The other transport adds its lanes first, so that a lane has the same number on both. */
static tutti_status grow_whole(tutti_nccl *n, int lanes, const tutti_members *members)
{
    if (!n->missing) n->missing = lanes;
    tutti_status status = n->whole->ops->grow(n->whole, lanes, members, &n->widened);
    n->base.lanes = n->whole->lanes;
    if (status || !n->widened) return status;
    begin_next(n, members);
    return tutti_nccl_widen(n, n->base.lanes);
}

static tutti_status nccl_grow(
    tutti_transport *t, int lanes, const tutti_members *members, int *done)
{
    tutti_nccl *n = (tutti_nccl *)t;
    tutti_status status = n->widened ? TUTTI_OK : grow_whole(n, lanes, members);
    for (int made = n->widened; !status && made && n->missing;) {
        status = tutti_nccl_make(n, &n->making, &made);
        n->missing -= made;
        if (made) begin_next(n, members);
    }
    *done = !status && n->widened && !n->missing;
    if (status || *done) n->missing = n->widened = 0;
    return status;
}

static void nccl_close(tutti_transport *t)
{
    tutti_nccl *n = (tutti_nccl *)t;
    cudaSetDevice(n->device);
    if ((t->abandoned || n->missing) && !n->aborted) tutti_nccl_abort(n);
    if (!n->aborted) tutti_nccl_end(n);
    tutti_nccl_free_lanes(n);
    if (n->first) cudaFree(n->first);
    if (t->abandoned) n->whole->abandoned = 1;
    n->whole->ops->close(n->whole);
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
