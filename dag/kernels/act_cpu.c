#include "dag/kernels/act.h"

#include "dag/kernels/cpu.h"

#include <math.h>

/* limit NULL: none. It is a constant whether there is one. */
TUTTI_INLINE void relu_lanes(
    const tutti_lanes *limit, tutti_dtype dtype, const void *x, void *y, int64_t i, int lanes)
{
    tutti_lanes v;
    tutti_get_lanes(&v, dtype, x, i, lanes);
    tutti_rectify(&v);
    if (limit) tutti_limit(&v, limit);
    tutti_put_lanes(dtype, y, i, &v, lanes);
}

TUTTI_INLINE void relu_all(
    const tutti_lanes *limit, const tutti_relu_desc *d, void *const buf[], tutti_dtype dtype)
{
    int64_t i = 0, count = d->count;
    const void *x = buf[0];
    void *y = buf[1];
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        relu_lanes(limit, dtype, x, y, i, TUTTI_LANES);
    if (i < count) relu_lanes(limit, dtype, x, y, i, (int)(count - i));
}

/* The limit in all lanes, as values of this type have it. */
TUTTI_INLINE void get_limit(tutti_lanes *limit, const tutti_relu_desc *d, tutti_dtype dtype)
{
    *limit = (tutti_lanes){0} + d->limit;
    tutti_round(dtype, limit);
}

TUTTI_INLINE void relu(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_relu_desc *d = args;
    tutti_lanes limit;
    get_limit(&limit, d, dtype);
    if (d->limit > 0)
        relu_all(&limit, d, buf, dtype);
    else
        relu_all(NULL, d, buf, dtype);
}

TUTTI_CPU_VALUES_FN(relu)

TUTTI_INLINE void relu_bwd_lanes(const tutti_lanes *limit, tutti_dtype dtype, const void *y,
    const void *dy, void *dx, int64_t i, int lanes)
{
    tutti_lanes out, gradient;
    tutti_get_lanes(&out, dtype, y, i, lanes);
    tutti_get_lanes(&gradient, dtype, dy, i, lanes);
    tutti_ilanes alive = out > 0.0f;
    if (limit) alive &= out < *limit;
    tutti_keep(&gradient, &alive);
    tutti_put_lanes(dtype, dx, i, &gradient, lanes);
}

TUTTI_INLINE void relu_bwd_all(
    const tutti_lanes *limit, const tutti_relu_desc *d, void *const buf[], tutti_dtype dtype)
{
    int64_t i = 0, count = d->count;
    const void *y = buf[0], *dy = buf[1];
    void *dx = buf[2];
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        relu_bwd_lanes(limit, dtype, y, dy, dx, i, TUTTI_LANES);
    if (i < count) relu_bwd_lanes(limit, dtype, y, dy, dx, i, (int)(count - i));
}

TUTTI_INLINE void relu_bwd(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_relu_desc *d = args;
    tutti_lanes limit;
    get_limit(&limit, d, dtype);
    if (d->limit > 0)
        relu_bwd_all(&limit, d, buf, dtype);
    else
        relu_bwd_all(NULL, d, buf, dtype);
}

TUTTI_CPU_VALUES_FN(relu_bwd)

/* Philox4x32-10 as in dag/base/rng.c, for many indices at a time: the first two words of each. */
typedef uint64_t words __attribute__((vector_size(8 * TUTTI_LANES)));

TUTTI_INLINE void philox(uint64_t key, uint64_t hi, uint64_t lo, words *word0, words *word1)
{
    words c0, c1, c2 = {0}, c3 = {0};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < TUTTI_LANES; i++) {
        c0[i] = (uint32_t)(lo + (uint64_t)i);
        c1[i] = (lo + (uint64_t)i) >> 32;
    }
    c2 += (uint32_t)hi;
    c3 += hi >> 32;
    for (int round = 0; round < 10; round++) {
        words p0 = c0 * 0xD2511F53u, p1 = c2 * 0xCD9E8D57u;
        c0 = (p1 >> 32) ^ c1 ^ k0;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c1 = p1 & UINT32_MAX;
        c3 = p0 & UINT32_MAX;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    *word0 = c0;
    *word1 = c1;
}

/* tutti_rng_uniform() >= rate is equivalent to comparing its 53 bits with this integer. */
static uint64_t threshold_of(float rate)
{
    return (uint64_t)ceil((double)rate * 0x1p53);
}

/* What is the same for all elements. */
typedef struct drawing {
    uint64_t key, stream, offset, threshold;
    float scale;
} drawing;

TUTTI_INLINE void dropout_lanes(
    const drawing *d, tutti_dtype dtype, const void *x, void *y, int64_t first, int lanes)
{
    words low, high;
    philox(d->key, d->stream, d->offset + (uint64_t)first, &low, &high);
    words drawn = (high << 32 | low) >> 11;
    tutti_lanes v, kept;
    tutti_get_lanes(&v, dtype, x, first, lanes);
    v *= d->scale;
    for (int i = 0; i < TUTTI_LANES; i++) kept[i] = drawn[i] >= d->threshold ? v[i] : 0;
    tutti_put_lanes(dtype, y, first, &kept, lanes);
}

/* Forward and backward are the same function of different tensors. */
TUTTI_INLINE void dropout(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_dropout_desc *desc = args;
    const int64_t *step = buf[1];
    const drawing d = {.key = desc->seed + (uint64_t)*step,
        .stream = desc->stream,
        .offset = (uint64_t)desc->offset,
        .threshold = threshold_of(desc->rate),
        .scale = 1 / (1 - desc->rate)};
    int64_t i = 0, count = desc->count;
    const void *x = buf[0];
    void *y = buf[2];
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        dropout_lanes(&d, dtype, x, y, i, TUTTI_LANES);
    if (i < count) dropout_lanes(&d, dtype, x, y, i, (int)(count - i));
}

TUTTI_CPU_VALUES_FN(dropout)

const tutti_kernel TUTTI_CLONE(tutti_kernels_act)[] = {
    TUTTI_CPU_LOOPS(relu, tutti_open_relu, relu, tutti_cpu_free),
    TUTTI_CPU_LOOPS(relu_bwd, tutti_open_relu, relu_bwd, tutti_cpu_free),
    TUTTI_CPU_LOOPS(dropout, tutti_open_dropout, dropout, tutti_cpu_free),
    TUTTI_CPU_LOOPS(dropout_bwd, tutti_open_dropout, dropout, tutti_cpu_free),
    {0},
};
