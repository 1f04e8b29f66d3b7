#include "dag/kernels/arith.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

TUTTI_CPU_OPEN(sum)
{
    const tutti_sum_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "sum: the tensor is empty");
    if (d->inputs < 1) return tutti_fail(TUTTI_ERR_INVAL, "sum: there is no input");
    return tutti_cpu_copy("sum", d, sizeof *d, args);
}

TUTTI_CPU_OPEN(sum_narrow)
{
    const tutti_sum_desc *d = desc;
    if (d->into)
        return tutti_fail(TUTTI_ERR_INVAL, "sum_narrow: a sum cannot be added to a rounded one");
    return sum_open(desc, args);
}

TUTTI_INLINE void sum_lanes(
    const tutti_sum_desc *d, void *const buf[], int64_t i, float *y, int lanes)
{
    tutti_lanes total, term;
    tutti_load(&total, d->into ? y : (const float *)buf[0] + i, lanes);
    for (int input = !d->into; input < d->inputs; input++) {
        tutti_load(&term, (const float *)buf[input] + i, lanes);
        total += term;
    }
    if (d->relu) tutti_rectify(&total);
    tutti_store(y, &total, lanes);
}

/* y[0 .. count-1]: the sums of the elements from `first` on. */
TUTTI_CLONES static void sum(
    const tutti_sum_desc *d, void *const buf[], int64_t first, int64_t count, float *y)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        sum_lanes(d, buf, first + i, y + i, TUTTI_LANES);
    if (i < count) sum_lanes(d, buf, first + i, y + i, (int)(count - i));
}

TUTTI_CPU_FN(sum)
{
    const tutti_sum_desc *d = args;
    (void)queue;
    sum(d, buf, 0, d->count, buf[d->inputs]);
    return TUTTI_OK;
}

TUTTI_CPU_FN(sum_narrow)
{
    const tutti_sum_desc *d = args;
    uint16_t *y = buf[d->inputs];
    float wide[TUTTI_CPU_BLOCK];
    (void)queue;
    for (int64_t i = 0; i < d->count; i += TUTTI_CPU_BLOCK) {
        int64_t count = d->count - i < TUTTI_CPU_BLOCK ? d->count - i : TUTTI_CPU_BLOCK;
        sum(d, buf, i, count, wide);
        tutti_cpu_narrow(y + i, wide, count);
    }
    return TUTTI_OK;
}

TUTTI_CPU_OPEN(widen)
{
    const tutti_widen_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "widen: the tensor is empty");
    return tutti_cpu_copy("widen", d, sizeof *d, args);
}

TUTTI_CPU_FN(widen)
{
    const tutti_widen_desc *d = args;
    (void)queue;
    tutti_cpu_widen(buf[1], buf[0], d->count);
    return TUTTI_OK;
}

TUTTI_CPU_OPEN(shortcut)
{
    const tutti_shortcut_desc *d = desc;
    const int64_t x[] = {d->N, d->H, d->W, d->K};
    tutti_status status = tutti_cpu_check("shortcut", "N", d->N, 1);
    if (!status) status = tutti_cpu_check("shortcut", "H", d->H, 1);
    if (!status) status = tutti_cpu_check("shortcut", "W", d->W, 1);
    if (!status) status = tutti_cpu_check("shortcut", "C", d->C, 1);
    if (!status) status = tutti_cpu_check("shortcut", "K", d->K, d->C);
    if (!status) status = tutti_cpu_check("shortcut", "stride", d->stride, 1);
    if (!status) status = tutti_cpu_check_count("shortcut", x, 4);
    return status ? status : tutti_cpu_copy("shortcut", d, sizeof *d, args);
}

TUTTI_INLINE void copy(float *to, const float *from, int64_t count)
{
    tutti_lanes v;
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) {
        tutti_load(&v, from + i, TUTTI_LANES);
        tutti_store(to + i, &v, TUTTI_LANES);
    }
    for (; i < count; i++) to[i] = from[i];
}

TUTTI_CPU_OPEN(concat)
{
    const tutti_concat_desc *d = desc;
    int64_t channels = 0;
    tutti_status status = tutti_cpu_check("concat", "pixels", d->pixels, 1);
    if (!status && (d->parts < 1 || d->parts > TUTTI_CONCAT_PARTS))
        status = tutti_fail(
            TUTTI_ERR_INVAL, "concat: %d parts, not 1 to %d", d->parts, TUTTI_CONCAT_PARTS);
    for (int i = 0; !status && i < d->parts; i++) {
        status = tutti_cpu_check("concat", "C", d->C[i], 1);
        channels += d->C[i];
    }
    if (status) return status;
    const int64_t y[] = {d->pixels, channels};
    status = tutti_cpu_check_count("concat", y, 2);
    return status ? status : tutti_cpu_copy("concat", d, sizeof *d, args);
}

TUTTI_CLONES static void concat(const tutti_concat_desc *d, void *const part[], float *whole)
{
    for (int64_t p = 0; p < d->pixels; p++)
        for (int i = 0; i < d->parts; i++) {
            copy(whole, (const float *)part[i] + p * d->C[i], d->C[i]);
            whole += d->C[i];
        }
}

TUTTI_CPU_FN(concat)
{
    const tutti_concat_desc *d = args;
    (void)queue;
    concat(d, buf, buf[d->parts]);
    return TUTTI_OK;
}

TUTTI_CLONES static void split(const tutti_concat_desc *d, const float *whole, void *const part[])
{
    for (int64_t p = 0; p < d->pixels; p++)
        for (int i = 0; i < d->parts; i++) {
            copy((float *)part[i] + p * d->C[i], whole, d->C[i]);
            whole += d->C[i];
        }
}

TUTTI_CPU_FN(split)
{
    (void)queue;
    split(args, buf[0], buf + 1);
    return TUTTI_OK;
}

TUTTI_CLONES static void shortcut(const tutti_shortcut_desc *d, const float *x, float *y)
{
    int64_t front = (d->K - d->C) / 2, behind = d->K - d->C - front;
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t i = 0; i < d->H; i += d->stride)
            for (int64_t j = 0; j < d->W; j += d->stride) {
                memset(y, 0, (size_t)front * sizeof *y);
                copy(y + front, x + ((n * d->H + i) * d->W + j) * d->C, d->C);
                memset(y + front + d->C, 0, (size_t)behind * sizeof *y);
                y += d->K;
            }
}

TUTTI_CPU_FN(shortcut)
{
    (void)queue;
    shortcut(args, buf[0], buf[1]);
    return TUTTI_OK;
}

TUTTI_CLONES static void shortcut_bwd(const tutti_shortcut_desc *d, const float *dy, float *dx)
{
    memset(dx, 0, (size_t)(d->N * d->H * d->W * d->C) * sizeof *dx);
    dy += (d->K - d->C) / 2;
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t i = 0; i < d->H; i += d->stride)
            for (int64_t j = 0; j < d->W; j += d->stride) {
                copy(dx + ((n * d->H + i) * d->W + j) * d->C, dy, d->C);
                dy += d->K;
            }
}

TUTTI_CPU_FN(shortcut_bwd)
{
    (void)queue;
    shortcut_bwd(args, buf[0], buf[1]);
    return TUTTI_OK;
}

/* Every stride-th pixel is read, and all of y is written. */
TUTTI_CPU_BYTES(shortcut)
{
    const tutti_shortcut_desc *d = desc;
    int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    return (double)(d->N * P * Q * (d->C + d->K)) * (double)element;
}

/* The channels of zeros are not read, and all of dx is written. */
TUTTI_CPU_BYTES(shortcut_bwd)
{
    const tutti_shortcut_desc *d = desc;
    int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    return (double)(d->N * (P * Q + d->H * d->W) * d->C) * (double)element;
}

const tutti_op tutti_op_concat = {.name = "concat",
    .buffers = "x,...->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_concat_bwd = {.name = "concat_bwd",
    .buffers = "dy->dx,...",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_split = {.name = "split",
    .buffers = "x->y,...",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_split_bwd = {.name = "split_bwd",
    .buffers = "dy,...->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_shortcut = {.name = "shortcut",
    .buffers = "x->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_shortcut_desc),
    .bytes = shortcut_bytes};
const tutti_op tutti_op_shortcut_bwd = {.name = "shortcut_bwd",
    .buffers = "dy->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_shortcut_desc),
    .bytes = shortcut_bwd_bytes};
const tutti_op tutti_op_sum = {.name = "sum",
    .buffers = "x,...->y",
    .part = TUTTI_PART_SUM,
    .desc_bytes = sizeof(tutti_sum_desc)};
const tutti_op tutti_op_sum_narrow = {.name = "sum_narrow",
    .buffers = "x,...->y:BF16",
    .part = TUTTI_PART_SUM,
    .desc_bytes = sizeof(tutti_sum_desc)};
const tutti_op tutti_op_widen = {.name = "widen",
    .buffers = "x->y:F32",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_widen_desc)};

const tutti_kernel tutti_kernels_arith_cpu[] = {
    TUTTI_CPU_LOOP(concat, concat_open, concat_run),
    TUTTI_CPU_LOOP(concat_bwd, concat_open, split_run),
    TUTTI_CPU_LOOP(split, concat_open, split_run),
    TUTTI_CPU_LOOP(split_bwd, concat_open, concat_run),
    TUTTI_CPU_LOOP(shortcut, shortcut_open, shortcut_run),
    TUTTI_CPU_LOOP(shortcut_bwd, shortcut_open, shortcut_bwd_run),
    TUTTI_CPU_LOOP(sum, sum_open, sum_run),
    TUTTI_CPU_LOOP(sum_narrow, sum_narrow_open, sum_narrow_run),
    TUTTI_CPU_LOOP_OF(widen, TUTTI_BF16, widen_open, widen_run),
    {0},
};
