#include "apps/session/aware.h"

#include "dag/base/log.h"
#include "dag/device/device.h"
#include "dag/kernels/arith.h"

#include <stdlib.h>

/* A piece of the GPU's memory. */
typedef struct piece {
    struct piece *next;
    void *memory;
    size_t bytes;
    int taken;
} piece;

/* A step that has been started. */
struct tutti_message {
    tutti_message *next; /* of those that are idle */
    void *event;         /* behind it on the stream */
};

typedef struct aware {
    tutti_transport base;
    tutti_transport *mpi;
    int gpu;
    void *stream;
    piece *pieces;
    tutti_message *idle;
} aware;

static const tutti_device_kind *const devices = &tutti_device_kind_built;

/* ---- memory ---- */

/* Powers of two, so that steps of other lengths find one, too. */
static size_t size_of(size_t bytes)
{
    size_t size = 256;
    while (size < bytes) size *= 2;
    return size;
}

static tutti_status piece_new(aware *a, size_t bytes, piece **made)
{
    piece *p = calloc(1, sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a collective's steps");
    p->bytes = bytes;
    tutti_status status = devices->alloc(a->gpu, bytes, &p->memory);
    if (status) {
        free(p);
        return status;
    }
    p->next = a->pieces;
    *made = a->pieces = p;
    return TUTTI_OK;
}

static tutti_status aware_prepare(tutti_transport *t, size_t bytes)
{
    aware *a = (aware *)t;
    piece *p;
    return piece_new(a, size_of(bytes), &p);
}

static tutti_status aware_take(tutti_transport *t, size_t bytes, void **memory)
{
    aware *a = (aware *)t;
    const size_t wanted = size_of(bytes);
    tutti_status status = TUTTI_OK;
    piece *p = a->pieces;
    while (p && (p->taken || p->bytes != wanted)) p = p->next;
    if (!p) {
        tutti_log(TUTTI_LOG_INFO,
            "GPU %d: %zu bytes for partial sums come with their first use, which waits for the GPU",
            a->gpu, wanted);
        status = piece_new(a, wanted, &p);
    }
    if (status) return status;
    p->taken = 1;
    *memory = p->memory;
    return TUTTI_OK;
}

static void aware_give(tutti_transport *t, void *memory)
{
    for (piece *p = ((aware *)t)->pieces; p && memory; p = p->next)
        if (p->memory == memory) p->taken = 0;
}

/* ---- steps ---- */

static int aware_combines(const tutti_transport *t, tutti_dtype dtype, tutti_reduce_op op)
{
    (void)t;
    return op == TUTTI_SUM && tutti_kernel_find(&tutti_op_sum, TUTTI_CUDA, dtype);
}

static tutti_status run(
    const aware *a, const tutti_op *op, tutti_dtype dtype, const void *desc, void *const buf[])
{
    const tutti_kernel *kernel = tutti_kernel_find(op, TUTTI_CUDA, dtype);
    void *args = NULL;
    tutti_status status = kernel->open(desc, &args);
    if (!status) status = kernel->fn(args, buf, a->stream);
    kernel->close(args);
    return status;
}

/* dst = dst + src */
static tutti_status add(
    const aware *a, tutti_dtype dtype, void *dst, const void *src, int64_t count)
{
    const tutti_sum_desc desc = {.count = count, .inputs = 1, .into = 1};
    void *const buf[] = {(void *)src, dst};
    return run(a, &tutti_op_sum, dtype, &desc, buf);
}

/* Between elements and accumulators. */
static tutti_status convert(
    const aware *a, const tutti_op *op, tutti_dtype from, void *dst, const void *src, int64_t count)
{
    const tutti_widen_desc desc = {.count = count};
    void *const buf[] = {(void *)src, dst};
    return run(a, op, from, &desc, buf);
}

static tutti_status compute(const aware *a, const tutti_local *s)
{
    switch (s->kind) {
    case TUTTI_LOCAL_COPY:
        return devices->copy(
            a->gpu, s->dst, s->src, (size_t)s->count * tutti_dtype_bytes(s->dtype), a->stream);
    case TUTTI_LOCAL_REDUCE:
        return add(a, s->dtype, s->dst, s->src, s->count);
    case TUTTI_LOCAL_WIDEN:
        return convert(a, &tutti_op_widen, s->dtype, s->dst, s->src, s->count);
    case TUTTI_LOCAL_ACCUMULATE:
        return convert(a, &tutti_op_accumulate, s->dtype, s->dst, s->src, s->count);
    default:
        return convert(a, &tutti_op_narrow, TUTTI_F32, s->dst, s->src, s->count);
    }
}

static tutti_status message_new(aware *a, tutti_message **message)
{
    tutti_message *m = a->idle;
    *message = m;
    if (m) {
        a->idle = m->next;
        return TUTTI_OK;
    }
    m = calloc(1, sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a collective's step");
    *message = m;
    tutti_status status = devices->event_open(a->gpu, &m->event);
    if (status) free(m);
    return status;
}

static void message_free(aware *a, tutti_message *m)
{
    m->next = a->idle;
    a->idle = m;
}

static tutti_status aware_local(
    tutti_transport *t, const tutti_local *step, tutti_message **message)
{
    aware *a = (aware *)t;
    tutti_message *m;
    tutti_status status = devices->select(a->gpu);
    if (!status) status = message_new(a, &m);
    if (status) return status;
    status = compute(a, step);
    if (!status) status = devices->event_mark(a->gpu, m->event, a->stream);
    if (status)
        message_free(a, m);
    else
        *message = m;
    return status;
}

/* What has failed on the stream has ended, too. */
static tutti_status aware_ended(tutti_transport *t, tutti_message *message, int *done)
{
    aware *a = (aware *)t;
    tutti_status status = devices->event_passed(a->gpu, message->event, done);
    *done |= status != TUTTI_OK;
    if (*done) message_free(a, message);
    return status;
}

/* ---- messages ---- */

static tutti_status aware_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    tutti_transport *mpi = ((aware *)t)->mpi;
    return mpi->ops->isend(mpi, lane, peer, tag, data, bytes, message);
}

static tutti_status aware_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    tutti_transport *mpi = ((aware *)t)->mpi;
    return mpi->ops->irecv(mpi, lane, peer, tag, data, bytes, message);
}

static tutti_status aware_test(tutti_transport *t, tutti_message *message, int *done)
{
    tutti_transport *mpi = ((aware *)t)->mpi;
    return mpi->ops->test(mpi, message, done);
}

static void aware_cancel(tutti_transport *t, tutti_message *message)
{
    tutti_transport *mpi = ((aware *)t)->mpi;
    mpi->ops->cancel(mpi, message);
}

static void aware_sweep(tutti_transport *t, int first, int lanes)
{
    tutti_transport *mpi = ((aware *)t)->mpi;
    mpi->ops->sweep(mpi, first, lanes);
}

static void aware_abandon(tutti_transport *t, tutti_message *message)
{
    tutti_transport *mpi = ((aware *)t)->mpi;
    mpi->ops->abandon(mpi, message);
}

static tutti_status aware_grow(
    tutti_transport *t, int lanes, const tutti_members *members, int *done)
{
    tutti_transport *mpi = ((aware *)t)->mpi;
    tutti_status status = mpi->ops->grow(mpi, lanes, members, done);
    t->lanes = mpi->lanes;
    return status;
}

static void aware_close(tutti_transport *t)
{
    aware *a = (aware *)t;
    a->mpi->abandoned |= t->abandoned;
    for (tutti_message *m = a->idle, *next; m; m = next) {
        next = m->next;
        devices->event_close(a->gpu, m->event);
        free(m);
    }
    for (piece *p = a->pieces, *next; p; p = next) {
        next = p->next;
        if (!p->taken) devices->release(a->gpu, p->memory); /* else MPI may still use it */
        free(p);
    }
    devices->queue_close(a->gpu, a->stream);
    a->mpi->ops->close(a->mpi);
    free(a);
}

static const tutti_transport_ops aware_ops = {
    .name = "mpi, CUDA-aware",
    .isend = aware_isend,
    .irecv = aware_irecv,
    .test = aware_test,
    .cancel = aware_cancel,
    .sweep = aware_sweep,
    .abandon = aware_abandon,
    .combines = aware_combines,
    .local = aware_local,
    .ended = aware_ended,
    .prepare = aware_prepare,
    .take = aware_take,
    .give = aware_give,
    .grow = aware_grow,
    .close = aware_close,
};

tutti_status tutti_transport_aware(tutti_transport *mpi, int gpu, tutti_transport **transport)
{
    aware *a = calloc(1, sizeof *a);
    tutti_status status =
        a ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for the lanes of GPUs");
    if (!status) {
        *a = (aware){.base = *mpi, .mpi = mpi, .gpu = gpu};
        a->base.ops = &aware_ops;
        a->base.takes_devices = 1;
        status = devices->queue_open(gpu, &a->stream);
    }
    if (status) {
        tutti_transport_close(mpi);
        free(a);
        return status;
    }
    *transport = &a->base;
    return TUTTI_OK;
}
