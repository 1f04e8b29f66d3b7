#include "dag/kernels/act.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/cpu.h"

#include <math.h>

TUTTI_CPU_OPEN(relu)
{
    const tutti_relu_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "relu: the tensor is empty");
    return tutti_cpu_copy("relu", d, sizeof *d, args);
}

TUTTI_INLINE void relu_lanes(const float *x, float *y, int lanes)
{
    tutti_lanes v;
    tutti_load(&v, x, lanes);
    tutti_rectify(&v);
    tutti_store(y, &v, lanes);
}

TUTTI_CLONES static void relu(int64_t count, const float *x, float *y)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) relu_lanes(x + i, y + i, TUTTI_LANES);
    if (i < count) relu_lanes(x + i, y + i, (int)(count - i));
}

TUTTI_CPU_FN(relu)
{
    (void)queue;
    relu(((const tutti_relu_desc *)args)->count, buf[0], buf[1]);
    return TUTTI_OK;
}

TUTTI_INLINE void relu_bwd_lanes(const float *y, const float *dy, float *dx, int lanes)
{
    tutti_lanes out, gradient;
    tutti_load(&out, y, lanes);
    tutti_load(&gradient, dy, lanes);
    tutti_ilanes alive = out > 0.0f;
    tutti_keep(&gradient, &alive);
    tutti_store(dx, &gradient, lanes);
}

TUTTI_CLONES static void relu_bwd(int64_t count, const float *y, const float *dy, float *dx)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        relu_bwd_lanes(y + i, dy + i, dx + i, TUTTI_LANES);
    if (i < count) relu_bwd_lanes(y + i, dy + i, dx + i, (int)(count - i));
}

TUTTI_CPU_FN(relu_bwd)
{
    (void)queue;
    relu_bwd(((const tutti_relu_desc *)args)->count, buf[0], buf[1], buf[2]);
    return TUTTI_OK;
}

TUTTI_CPU_OPEN(dropout)
{
    const tutti_dropout_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "dropout: the tensor is empty");
    if (d->offset < 0) return tutti_fail(TUTTI_ERR_INVAL, "dropout: the offset is negative");
    if (!(d->rate >= 0 && d->rate < 1))
        return tutti_fail(
            TUTTI_ERR_INVAL, "dropout: the rate is %g, not in [0, 1)", (double)d->rate);
    return tutti_cpu_copy("dropout", d, sizeof *d, args);
}

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

TUTTI_INLINE void dropout_lanes(uint64_t key, uint64_t stream, uint64_t index, uint64_t threshold,
    float scale, const float *x, float *y, int lanes)
{
    words low, high;
    philox(key, stream, index, &low, &high);
    words drawn = (high << 32 | low) >> 11;
    tutti_lanes v, kept;
    tutti_load(&v, x, lanes);
    v *= scale;
    for (int i = 0; i < TUTTI_LANES; i++) kept[i] = drawn[i] >= threshold ? v[i] : 0;
    tutti_store(y, &kept, lanes);
}

TUTTI_CLONES static void dropout(
    const tutti_dropout_desc *d, uint64_t key, const float *x, float *y)
{
    uint64_t threshold = threshold_of(d->rate), offset = (uint64_t)d->offset;
    float scale = 1 / (1 - d->rate);
    int64_t i = 0;
    for (; i + TUTTI_LANES <= d->count; i += TUTTI_LANES)
        dropout_lanes(
            key, d->stream, offset + (uint64_t)i, threshold, scale, x + i, y + i, TUTTI_LANES);
    if (i < d->count)
        dropout_lanes(key, d->stream, offset + (uint64_t)i, threshold, scale, x + i, y + i,
            (int)(d->count - i));
}

/* Forward and backward are the same function of different tensors. */
TUTTI_CPU_FN(dropout)
{
    const tutti_dropout_desc *d = args;
    const int64_t *step = buf[1];
    (void)queue;
    dropout(d, d->seed + (uint64_t)*step, buf[0], buf[2]);
    return TUTTI_OK;
}

const tutti_op tutti_op_relu = {.name = "relu",
    .buffers = "x->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_relu_desc)};
const tutti_op tutti_op_relu_bwd = {.name = "relu_bwd",
    .buffers = "y,dy->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_relu_desc)};
const tutti_op tutti_op_dropout = {.name = "dropout",
    .buffers = "x,step:I64->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_dropout_desc)};
const tutti_op tutti_op_dropout_bwd = {.name = "dropout_bwd",
    .buffers = "dy,step:I64->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_dropout_desc)};

const tutti_kernel tutti_kernels_act_cpu[] = {
    TUTTI_CPU_LOOP(relu, relu_open, relu_run),
    TUTTI_CPU_LOOP(relu_bwd, relu_open, relu_bwd_run),
    TUTTI_CPU_LOOP(dropout, dropout_open, dropout_run),
    TUTTI_CPU_LOOP(dropout_bwd, dropout_open, dropout_run),
    {0},
};
