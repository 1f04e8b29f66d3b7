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
struct tutti_local_step {
    tutti_local_step *next; /* of those that are idle */
    void *event;            /* behind it on the stream */
};

typedef struct aware {
    tutti_arithmetic base;
    int gpu;
    int lost; /* it cannot be selected any more */
    void *stream;
    piece *pieces;
    tutti_local_step *idle;
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

static tutti_status aware_prepare(tutti_arithmetic *t, size_t bytes)
{
    aware *a = (aware *)t;
    piece *p;
    return piece_new(a, size_of(bytes), &p);
}

static tutti_status aware_take(tutti_arithmetic *t, size_t bytes, void **memory)
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

static void aware_give(tutti_arithmetic *t, void *memory)
{
    for (piece *p = ((aware *)t)->pieces; p && memory; p = p->next)
        if (p->memory == memory) p->taken = 0;
}

/* ---- steps ---- */

static void aware_select(tutti_arithmetic *t)
{
    aware *a = (aware *)t;
    if (!a->lost) a->lost = devices->select(a->gpu) != TUTTI_OK; /* which is said once */
}

static int aware_combines(const tutti_arithmetic *t, tutti_dtype dtype, tutti_reduce_op op)
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

static tutti_status step_new(aware *a, tutti_local_step **step)
{
    tutti_local_step *s = a->idle;
    *step = s;
    if (s) {
        a->idle = s->next;
        return TUTTI_OK;
    }
    s = calloc(1, sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a collective's step");
    *step = s;
    tutti_status status = devices->event_open(a->gpu, &s->event);
    if (status) free(s);
    return status;
}

static void step_free(aware *a, tutti_local_step *s)
{
    s->next = a->idle;
    a->idle = s;
}

static tutti_status aware_start(
    tutti_arithmetic *t, const tutti_local *local, tutti_local_step **step)
{
    aware *a = (aware *)t;
    tutti_local_step *s;
    tutti_status status = devices->select(a->gpu);
    if (!status) status = step_new(a, &s);
    if (status) return status;
    status = compute(a, local);
    if (!status) status = devices->event_mark(a->gpu, s->event, a->stream);
    if (status)
        step_free(a, s);
    else
        *step = s;
    return status;
}

/* What has failed on the stream has ended, too. */
static tutti_status aware_test(tutti_arithmetic *t, tutti_local_step *step, int *done)
{
    aware *a = (aware *)t;
    tutti_status status = devices->event_passed(a->gpu, step->event, done);
    *done |= status != TUTTI_OK;
    if (*done) step_free(a, step);
    return status;
}

static void aware_close(tutti_arithmetic *t)
{
    aware *a = (aware *)t;
    for (tutti_local_step *s = a->idle, *next; s; s = next) {
        next = s->next;
        devices->event_close(a->gpu, s->event);
        free(s);
    }
    for (piece *p = a->pieces, *next; p; p = next) {
        next = p->next;
        if (!p->taken) devices->release(a->gpu, p->memory); /* else MPI may still use it */
        free(p);
    }
    devices->queue_close(a->gpu, a->stream);
    free(a);
}

static const tutti_arithmetic_ops aware_ops = {
    .select = aware_select,
    .combines = aware_combines,
    .start = aware_start,
    .test = aware_test,
    .prepare = aware_prepare,
    .take = aware_take,
    .give = aware_give,
    .close = aware_close,
};

tutti_status tutti_transport_aware(tutti_transport *mpi, int gpu)
{
    aware *a = calloc(1, sizeof *a);
    if (!a) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the arithmetic of a GPU");
    *a = (aware){.base.ops = &aware_ops, .gpu = gpu};
    tutti_status status = devices->queue_open(gpu, &a->stream);
    if (status) {
        free(a);
        return status;
    }
    mpi->arithmetic = &a->base;
    return TUTTI_OK;
}
