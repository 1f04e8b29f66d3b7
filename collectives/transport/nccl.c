/* Collectives in the memory of GPUs, through NCCL. What is in main memory goes the way of another transport (MPI), which
 * also carries the ranks' agreement before the first collective: NCCL has collectives, but no messages with tags.
 *
 * Each of the first lanes has a communicator and a stream of its own. Kernels of NCCL hold processors of the GPU until all
 * ranks have launched theirs: lanes share seats. A launch waits for no other rank once a communicator is connected, so
 * the first collective of each is one of ours, here, with a deadline. All memory, streams and events are made here, too:
 * what makes them later would wait for kernels that wait for other ranks. */
#include "collectives/transport/nccl.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LANES = 16, IN_FLIGHT = 64 /* on a lane: TUTTI_COMM_DEPTH */ };
static const double launch_limit_s = 10;

/* A collective that has been launched. */
struct tutti_message {
    tutti_message *next; /* of those that are free */
    cudaEvent_t event;   /* behind it on its stream */
    int lane;
};

typedef struct nccl {
    tutti_transport base;
    tutti_transport *whole;
    int device, lanes; /* how many have communicators */
    double timeout_s;
    int aborted;
    ncclComm_t comm[MOST_LANES];
    cudaStream_t stream[MOST_LANES];
    tutti_message *all, *unused; /* [lanes * IN_FLIGHT] */
    float *first;                /* what the first collectives add */
} nccl;

/* What a rank tells the others while it opens. */
typedef struct card {
    int status;
    char text[200]; /* why */
    char host[64], bus[32];
    ncclUniqueId id[MOST_LANES]; /* of rank 0 */
} card;

/* ---- the cards of all ranks ---- */

static void lock(const nccl *n)
{
    if (n->whole->lock) pthread_mutex_lock(n->whole->lock);
}

static void unlock(const nccl *n)
{
    if (n->whole->lock) pthread_mutex_unlock(n->whole->lock);
}

/* Waits for a message of the other transport; after the deadline it is abandoned. */
static tutti_status finish(nccl *n, tutti_message *message, double until_s)
{
    tutti_transport *w = n->whole;
    int done = !message;
    while (!done) {
        lock(n);
        tutti_status status = w->ops->test(w, message, &done);
        if (!status && !done && tutti_clock_s() > until_s) {
            w->ops->abandon(w, message);
            w->abandoned = 1;
            status = tutti_fail(TUTTI_ERR_TIMEOUT,
                "NCCL: the other ranks have not come within %g s", n->timeout_s);
        }
        unlock(n);
        if (status) return status;
        if (!done) tutti_clock_sleep(50e-6);
    }
    return TUTTI_OK;
}

static tutti_status send_to(nccl *n, int peer, const void *data, size_t bytes, double until_s)
{
    tutti_message *message = NULL;
    lock(n);
    tutti_status status = n->whole->ops->isend(n->whole, 0, peer, 0, data, bytes, &message);
    unlock(n);
    return status ? status : finish(n, message, until_s);
}

static tutti_status receive_from(nccl *n, int peer, void *data, size_t bytes, double until_s)
{
    tutti_message *message = NULL;
    lock(n);
    tutti_status status = n->whole->ops->irecv(n->whole, 0, peer, 0, data, bytes, &message);
    unlock(n);
    return status ? status : finish(n, message, until_s);
}

/* all[r]: the card of rank r, the same on every rank. */
static tutti_status show_cards(nccl *n, const card *mine, card all[])
{
    int rank = n->base.rank, size = n->base.size;
    double until_s = tutti_clock_s() + n->timeout_s;
    size_t bytes = (size_t)size * sizeof *all;
    tutti_status status = TUTTI_OK;
    all[rank] = *mine;
    if (rank) {
        status = send_to(n, 0, mine, sizeof *mine, until_s);
        return status ? status : receive_from(n, 0, all, bytes, until_s);
    }
    for (int r = 1; r < size && !status; r++)
        status = receive_from(n, r, &all[r], sizeof *all, until_s);
    for (int r = 1; r < size && !status; r++) status = send_to(n, r, all, bytes, until_s);
    return status;
}

/* The first rank's complaint, on every rank. */
static tutti_status hear_complaints(const nccl *n, const card all[])
{
    for (int r = 0; r < n->base.size; r++)
        if (all[r].status)
            return tutti_fail((tutti_status)all[r].status, "NCCL: rank %d: %s", r, all[r].text);
    return TUTTI_OK;
}

/* NCCL refuses two ranks on one GPU. */
static tutti_status are_distinct(const nccl *n, const card all[])
{
    for (int r = 0; r < n->base.size; r++)
        for (int q = 0; q < r; q++)
            if (!strcmp(all[r].host, all[q].host) && !strcmp(all[r].bus, all[q].bus))
                return tutti_fail(TUTTI_ERR_USAGE,
                    "NCCL needs a GPU for each rank, and ranks %d and %d have the same one (%s of "
                    "%s): start fewer ranks on a host, or use the transport mpi",
                    q, r, all[r].bus, all[r].host);
    return TUTTI_OK;
}

/* ---- calls of CUDA and NCCL ---- */

static tutti_status cuda(const nccl *n, const char *what, cudaError_t error)
{
    if (!error) return TUTTI_OK;
    (void)cudaGetLastError(); /* it would be the next call's */
    return tutti_fail(
        TUTTI_ERR_COMM, "GPU %d: %s: %s", n->device, what, cudaGetErrorString(error));
}

/* Waits until what was called on a communicator that does not block has been done: for other ranks
 * only while it is made, and in its first collective. */
static tutti_status settle(nccl *n, int lane, const char *what, ncclResult_t result, double limit_s)
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
static void abort_all(nccl *n)
{
    for (int k = 0; k < n->lanes; k++)
        if (n->comm[k]) ncclCommAbort(n->comm[k]);
    for (int k = 0; k < n->lanes; k++)
        if (n->stream[k]) cudaStreamSynchronize(n->stream[k]);
    memset(n->comm, 0, sizeof n->comm);
    n->aborted = 1;
}

/* ---- opening ---- */

static tutti_status make_cuda(nccl *n)
{
    int least = 0, most = 0;
    tutti_status status = cuda(n, "it cannot be used", cudaSetDevice(n->device));
    if (!status)
        status = cuda(n, "its streams", cudaDeviceGetStreamPriorityRange(&least, &most));
    if (!status) status = cuda(n, "memory", cudaMalloc((void **)&n->first, sizeof *n->first));
    if (!status) status = cuda(n, "memory", cudaMemset(n->first, 0, sizeof *n->first));
    if (!status) status = cuda(n, "memory", cudaDeviceSynchronize());
    for (int k = 0; k < n->lanes && !status; k++)
        status = cuda(n, "a stream",
            cudaStreamCreateWithPriority(&n->stream[k], cudaStreamNonBlocking, most));
    n->all = calloc((size_t)n->lanes * IN_FLIGHT, sizeof *n->all);
    if (!status && !n->all) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for NCCL's lanes");
    for (int i = 0; i < n->lanes * IN_FLIGHT && !status; i++) {
        status = cuda(n, "an event",
            cudaEventCreateWithFlags(&n->all[i].event, cudaEventDisableTiming));
        n->all[i].next = n->unused;
        n->unused = &n->all[i];
    }
    return status;
}

static tutti_status wait_for_event(nccl *n, const tutti_message *m)
{
    double until_s = tutti_clock_s() + n->timeout_s;
    for (int done = 0;;) {
        tutti_status status = n->base.ops->test(&n->base, (tutti_message *)m, &done);
        if (status || done) return status;
        if (tutti_clock_s() > until_s)
            return tutti_fail(TUTTI_ERR_TIMEOUT,
                "NCCL: the first collective on lane %d has not ended within %g s", m->lane,
                n->timeout_s);
        tutti_clock_sleep(50e-6);
    }
}

static tutti_status make_comms(nccl *n, const card all[])
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < n->lanes && !status; k++) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        ncclResult_t result = ncclCommInitRankConfig(
            &n->comm[k], n->base.size, all[0].id[k], n->base.rank, &config);
        status = settle(n, k, "a communicator", result, n->timeout_s);
    }
    const tutti_coll_args first = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = 1,
        .recv = n->first,
        .memory = TUTTI_MEMORY_DEVICE};
    for (int k = 0; k < n->lanes && !status; k++) {
        tutti_message *message = NULL;
        status = n->base.ops->collective(&n->base, k, &first, &message);
        if (!status) status = wait_for_event(n, message);
    }
    return status;
}

/* The outcome of a step of opening, the same on all ranks. */
static tutti_status agree(nccl *n, tutti_status status, card *mine, card all[])
{
    mine->status = (int)status;
    snprintf(mine->text, sizeof mine->text, "%s", status ? tutti_last_error() : "");
    tutti_status heard = show_cards(n, mine, all);
    return heard ? heard : hear_complaints(n, all);
}

static tutti_status connect(nccl *n, card *mine, card all[])
{
    tutti_status status = make_cuda(n);
    gethostname(mine->host, sizeof mine->host - 1);
    if (!status)
        status = cuda(n, "its place", cudaDeviceGetPCIBusId(mine->bus, sizeof mine->bus, n->device));
    for (int k = 0; k < n->lanes && !n->base.rank && !status; k++)
        if (ncclGetUniqueId(&mine->id[k]))
            status = tutti_fail(TUTTI_ERR_COMM, "NCCL: no unique id: %s", ncclGetLastError(NULL));
    status = agree(n, status, mine, all);
    if (!status) status = are_distinct(n, all);
    if (status) return status;
    return agree(n, make_comms(n, all), mine, all);
}

/* ---- collectives ---- */

static int type_of(tutti_dtype dtype, ncclDataType_t *type)
{
    static const struct {
        tutti_dtype dtype;
        ncclDataType_t type;
    } types[] = {{TUTTI_F32, ncclFloat32}, {TUTTI_F64, ncclFloat64}, {TUTTI_BF16, ncclBfloat16},
        {TUTTI_I8, ncclInt8}, {TUTTI_U8, ncclUint8}, {TUTTI_I32, ncclInt32}, {TUTTI_U32, ncclUint32},
        {TUTTI_I64, ncclInt64}, {TUTTI_U64, ncclUint64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype) {
            *type = types[i].type;
            return 1;
        }
    return 0;
}

static int op_of(const tutti_coll_args *a, ncclRedOp_t *op)
{
    static const struct {
        tutti_reduce_op op;
        ncclRedOp_t nccl;
    } ops[] = {{TUTTI_SUM, ncclSum}, {TUTTI_PROD, ncclProd}, {TUTTI_MIN, ncclMin}, {TUTTI_MAX, ncclMax}};
    *op = ncclSum;
    if (!tutti_coll_trait_of(a->kind)->reduces) return 1;
    for (size_t i = 0; i < sizeof ops / sizeof *ops && !a->user; i++)
        if (ops[i].op == a->op) {
            *op = ops[i].nccl;
            return 1;
        }
    return 0;
}

/* A collective in NCCL's terms. */
typedef struct call {
    const tutti_coll_args *args;
    int rank, P;
    ncclComm_t comm;
    cudaStream_t stream;
    ncclDataType_t type;
    ncclRedOp_t op;
    size_t element;
} call;

static char *output(const call *c, int64_t at)
{
    return (char *)c->args->recv + (size_t)at * c->element;
}

static const void *input(const call *c)
{
    return c->args->send ? c->args->send : c->args->recv;
}

static ncclResult_t allreduce(const call *c)
{
    return ncclAllReduce(input(c), c->args->recv, (size_t)c->args->count, c->type, c->op, c->comm, c->stream);
}

static ncclResult_t broadcast(const call *c)
{
    return ncclBroadcast(c->args->recv, c->args->recv, (size_t)c->args->count, c->type, c->args->root,
        c->comm, c->stream);
}

static ncclResult_t reduce(const call *c)
{
    return ncclReduce(input(c), c->args->recv, (size_t)c->args->count, c->type, c->op, c->args->root,
        c->comm, c->stream);
}

/* Parts of several lengths: each is broadcast by its rank. */
static ncclResult_t allgather(const call *c)
{
    int64_t at;
    int64_t mine = tutti_coll_part(c->args->counts, c->args->count, c->rank, &at);
    const void *in = c->args->send ? c->args->send : output(c, at);
    if (!c->args->counts)
        return ncclAllGather(in, c->args->recv, (size_t)mine, c->type, c->comm, c->stream);
    ncclGroupStart();
    for (int r = 0; r < c->P; r++) {
        int64_t length = tutti_coll_part(c->args->counts, c->args->count, r, &at);
        const void *from = r == c->rank ? in : output(c, at);
        if (length)
            ncclBroadcast(from, output(c, at), (size_t)length, c->type, r, c->comm, c->stream);
    }
    return ncclGroupEnd();
}

/* Blocks that differ in length: each is reduced to its rank. */
static ncclResult_t reduce_scatter(const call *c)
{
    int64_t at, length, count = c->args->count;
    tutti_coll_block(count, c->P, c->rank, &at, &length);
    if (count % c->P == 0)
        return ncclReduceScatter(
            input(c), output(c, at), (size_t)length, c->type, c->op, c->comm, c->stream);
    ncclGroupStart();
    for (int r = 0; r < c->P; r++) {
        tutti_coll_block(count, c->P, r, &at, &length);
        const void *from = (const char *)input(c) + (size_t)at * c->element;
        if (length)
            ncclReduce(from, output(c, at), (size_t)length, c->type, c->op, r, c->comm, c->stream);
    }
    return ncclGroupEnd();
}

static ncclResult_t (*const calls[TUTTI_COLL_KINDS])(const call *c) = {
    [TUTTI_ALLREDUCE] = allreduce,
    [TUTTI_BROADCAST] = broadcast,
    [TUTTI_REDUCE] = reduce,
    [TUTTI_ALLGATHER] = allgather,
    [TUTTI_REDUCE_SCATTER] = reduce_scatter,
};

static tutti_status refuse(const nccl *n, int lane, const tutti_coll_args *a)
{
    const char *kind = tutti_coll_kind_name(a->kind);
    if (n->aborted)
        return tutti_fail(TUTTI_ERR_COMM, "NCCL: %s after its communicators were aborted", kind);
    if (lane >= n->lanes || !calls[a->kind])
        return tutti_fail(TUTTI_ERR_UNSUPPORTED,
            "NCCL: no %s of GPU memory on lane %d: use the transport mpi", kind, lane);
    return tutti_fail(TUTTI_ERR_UNSUPPORTED,
        "NCCL: no %s of %s with the operator %s: use the transport mpi", kind,
        tutti_dtype_name(a->dtype), tutti_coll_op_name(a));
}

/* The event goes behind the kernel only when the launch is over: until then NCCL may launch on a thread of its own. */
static tutti_status nccl_collective(
    tutti_transport *t, int lane, const tutti_coll_args *args, tutti_message **message)
{
    nccl *n = (nccl *)t;
    call c = {.args = args, .rank = t->rank, .P = t->size, .element = tutti_dtype_bytes(args->dtype)};
    if (n->aborted || lane >= n->lanes || !calls[args->kind] || !type_of(args->dtype, &c.type) ||
        !op_of(args, &c.op) || !n->unused)
        return refuse(n, lane, args);
    c.comm = n->comm[lane];
    c.stream = n->stream[lane];
    tutti_status status = cuda(n, "it cannot be used", cudaSetDevice(n->device));
    if (!status)
        status = settle(n, lane, tutti_coll_kind_name(args->kind), calls[args->kind](&c), launch_limit_s);
    tutti_message *m = n->unused;
    if (!status) status = cuda(n, "marking an event", cudaEventRecord(m->event, c.stream));
    if (status) { /* it may be on the stream, with no event to tell of its end */
        abort_all(n);
        return status;
    }
    n->unused = m->next;
    m->lane = lane;
    *message = m;
    return TUTTI_OK;
}

static int is_mine(const nccl *n, const tutti_message *m)
{
    return m >= n->all && m < n->all + n->lanes * IN_FLIGHT;
}

static void give_back(nccl *n, tutti_message *m)
{
    m->next = n->unused;
    n->unused = m;
}

static tutti_status nccl_test(tutti_transport *t, tutti_message *message, int *done)
{
    nccl *n = (nccl *)t;
    if (!is_mine(n, message)) return n->whole->ops->test(n->whole, message, done);
    ncclResult_t result = ncclSuccess;
    *done = 0;
    if (!n->aborted) {
        ncclResult_t asked = ncclCommGetAsyncError(n->comm[message->lane], &result);
        if (asked) result = asked;
    }
    if (result && result != ncclInProgress)
        return tutti_fail(TUTTI_ERR_COMM, "NCCL: lane %d: %s (%s)", message->lane,
            ncclGetErrorString(result), ncclGetLastError(n->comm[message->lane]));
    cudaError_t error = cudaEventQuery(message->event);
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return TUTTI_OK;
    }
    *done = 1;
    give_back(n, message);
    return n->aborted ? TUTTI_OK : cuda(n, "what was put on a stream has failed", error);
}

/* A kernel that waits cannot be taken back alone. */
static void nccl_cancel(tutti_transport *t, tutti_message *message)
{
    nccl *n = (nccl *)t;
    if (!is_mine(n, message))
        n->whole->ops->cancel(n->whole, message);
    else if (!n->aborted)
        abort_all(n);
}

static void nccl_abandon(tutti_transport *t, tutti_message *message)
{
    nccl *n = (nccl *)t;
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
    const nccl *n = (const nccl *)t;
    return n->whole->ops->isend(n->whole, lane, peer, tag, data, bytes, message);
}

static tutti_status nccl_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    const nccl *n = (const nccl *)t;
    return n->whole->ops->irecv(n->whole, lane, peer, tag, data, bytes, message);
}

static void nccl_sweep(tutti_transport *t, int first, int lanes)
{
    const nccl *n = (const nccl *)t;
    if (n->whole->ops->sweep) n->whole->ops->sweep(n->whole, first, lanes);
}

static tutti_status nccl_grow(tutti_transport *t, int lanes, int *done)
{
    const nccl *n = (const nccl *)t;
    tutti_status status = n->whole->ops->grow(n->whole, lanes, done);
    t->lanes = n->whole->lanes;
    return status;
}

/* Destroying a communicator waits for the other ranks, so what has ended is aborted, too. */
static void nccl_close(tutti_transport *t)
{
    nccl *n = (nccl *)t;
    cudaSetDevice(n->device);
    abort_all(n);
    for (int i = 0; n->all && i < n->lanes * IN_FLIGHT; i++)
        if (n->all[i].event) cudaEventDestroy(n->all[i].event);
    for (int k = 0; k < n->lanes; k++)
        if (n->stream[k]) cudaStreamDestroy(n->stream[k]);
    if (n->first) cudaFree(n->first);
    if (t->abandoned) n->whole->abandoned = 1;
    n->whole->ops->close(n->whole);
    free(n->all);
    free(n);
}

static const tutti_transport_ops nccl_ops = {
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

tutti_status tutti_transport_nccl(
    tutti_transport *whole, const tutti_nccl_options *options, tutti_transport **transport)
{
    nccl *n = calloc(1, sizeof *n);
    card *mine = calloc(1, sizeof *mine), *all = calloc((size_t)whole->size, sizeof *all);
    tutti_status status = TUTTI_OK;
    if (!n || !mine || !all) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for NCCL's lanes");
    if (!status && (options->lanes < 1 || options->lanes > MOST_LANES))
        status = tutti_fail(TUTTI_ERR_USAGE, "NCCL: %d lanes: must be from 1 to %d", options->lanes, MOST_LANES);
    if (!status) {
        setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0); /* before the first call of NCCL */
        *n = (nccl){.base = *whole, .whole = whole, .device = options->device, .lanes = options->lanes,
            .timeout_s = options->timeout_s};
        n->base.ops = &nccl_ops;
        n->base.shares_seats = 1;
        n->base.takes_devices = 1;
        status = connect(n, mine, all);
    }
    free(mine);
    free(all);
    if (!status)
        *transport = &n->base;
    else if (n && n->whole)
        nccl_close(&n->base);
    else {
        whole->ops->close(whole);
        free(n);
    }
    return status;
}
