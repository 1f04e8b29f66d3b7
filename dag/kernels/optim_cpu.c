#include "dag/kernels/optim.h"

#include "dag/kernels/cpu.h"

#include <math.h>
#include <string.h>

/* ---- sgd ---- */

TUTTI_INLINE void sgd_lanes(
    const tutti_sgd_desc *d, float rate, const float *g, float *w, float *v, int lanes)
{
    tutti_lanes gradient, weight, step;
    tutti_load(&gradient, g, lanes);
    tutti_load(&weight, w, lanes);
    gradient += weight * d->weight_decay;
    step = gradient;
    if (d->momentum > 0) {
        tutti_lanes velocity;
        tutti_load(&velocity, v, lanes);
        velocity = velocity * d->momentum + gradient;
        tutti_store(v, &velocity, lanes);
        step = d->nesterov ? gradient + velocity * d->momentum : velocity;
    }
    weight -= step * rate;
    tutti_store(w, &weight, lanes);
}

static void sgd(const tutti_sgd_desc *d, float rate, const float *g, float *w, float *v)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= d->count; i += TUTTI_LANES)
        sgd_lanes(d, rate, g + i, w + i, v + i, TUTTI_LANES);
    if (i < d->count) sgd_lanes(d, rate, g + i, w + i, v + i, (int)(d->count - i));
}

TUTTI_CPU_FN(sgd)
{
    const tutti_sgd_desc *d = args;
    const float *g = buf[0], *rate = buf[1];
    float *w = buf[2];
    (void)queue;
    sgd(d, *rate * d->rate_factor, g + d->first, w + d->first, buf[3]);
    return TUTTI_OK;
}

/* The same with gradients in bf16, which are widened block by block. */
TUTTI_CPU_FN(sgd_bf16)
{
    const tutti_sgd_desc *d = args;
    const uint16_t *g = (const uint16_t *)buf[0] + d->first;
    const float *rate = buf[1];
    float *w = (float *)buf[2] + d->first, *v = buf[3], wide[TUTTI_CPU_BLOCK];
    (void)queue;
    for (int64_t i = 0; i < d->count; i += TUTTI_CPU_BLOCK) {
        tutti_sgd_desc part = *d;
        part.count = d->count - i < TUTTI_CPU_BLOCK ? d->count - i : TUTTI_CPU_BLOCK;
        tutti_cpu_widen(wide, g + i, part.count);
        sgd(&part, *rate * d->rate_factor, wide, w + i, v + i);
    }
    return TUTTI_OK;
}

/* ---- adam ---- */

/* The numbers of one update that all elements share. */
typedef struct adam_update {
    float keep_mean, add_mean, keep_square, add_square;
    float decay;       /* added to the gradient, times w; 0 if decoupled */
    float shrink;      /* w *= this first */
    float rate, scale; /* rate / (1 - beta1^t); 1 / sqrt(1 - beta2^t) */
    float epsilon;
} adam_update;

/* base^exponent by squaring: the same bits with every mathematical library. */
static double power(double base, int64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2) result *= base;
        base *= base;
    }
    return result;
}

static adam_update adam_update_at(const tutti_adam_desc *d, float rate, int64_t step)
{
    int64_t t = step / d->every + 1;
    double scaled = (double)rate * (double)d->rate_factor, decay = (double)d->weight_decay;
    return (adam_update){.keep_mean = (float)d->beta1,
        .add_mean = (float)(1 - d->beta1),
        .keep_square = (float)d->beta2,
        .add_square = (float)(1 - d->beta2),
        .decay = d->decoupled ? 0 : d->weight_decay,
        .shrink = d->decoupled ? (float)(1 - scaled * decay) : 1,
        .rate = (float)(scaled / (1 - power(d->beta1, t))),
        .scale = (float)(1 / sqrt(1 - power(d->beta2, t))),
        .epsilon = d->epsilon};
}

TUTTI_INLINE void adam_lanes(
    const adam_update *u, const float *g, float *w, float *m, float *s, int lanes)
{
    tutti_lanes gradient, weight, mean, square, root;
    tutti_load(&gradient, g, lanes);
    tutti_load(&weight, w, lanes);
    tutti_load(&mean, m, lanes);
    tutti_load(&square, s, lanes);
    gradient += weight * u->decay;
    weight *= u->shrink;
    mean = mean * u->keep_mean + gradient * u->add_mean;
    square = square * u->keep_square + gradient * gradient * u->add_square;
    for (int i = 0; i < TUTTI_LANES; i++) root[i] = sqrtf(square[i]);
    weight -= mean / (root * u->scale + u->epsilon) * u->rate;
    tutti_store(m, &mean, lanes);
    tutti_store(s, &square, lanes);
    tutti_store(w, &weight, lanes);
}

static void adam(const adam_update *u, int64_t count, const float *g, float *w, float *m, float *s)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        adam_lanes(u, g + i, w + i, m + i, s + i, TUTTI_LANES);
    if (i < count) adam_lanes(u, g + i, w + i, m + i, s + i, (int)(count - i));
}

TUTTI_CPU_FN(adam)
{
    const tutti_adam_desc *d = args;
    const float *g = buf[0], *rate = buf[1];
    const int64_t *step = buf[2];
    const adam_update u = adam_update_at(d, *rate, *step);
    float *w = buf[3];
    (void)queue;
    adam(&u, d->count, g + d->first, w + d->first, buf[4], buf[5]);
    return TUTTI_OK;
}

/* ---- lengths ---- */

/* Partial sums, of which the k-th has the elements k, k + TUTTI_SUMS, ... */
typedef struct squares {
    tutti_wide part[TUTTI_SUMS / TUTTI_LANES];
} squares;

TUTTI_INLINE void add_square(tutti_wide *part, const float *x, int lanes)
{
    tutti_lanes v;
    tutti_wide wide;
    tutti_load(&v, x, lanes);
    tutti_to_double(&wide, &v);
    TUTTI_EACH (h, 2) part->half[h] += wide.half[h] * wide.half[h];
}

static void add_all_squares(squares *total, int64_t count, const float *x)
{
    squares sums = *total;
    int64_t i = 0;
    for (; i + TUTTI_SUMS <= count; i += TUTTI_SUMS)
        TUTTI_EACH (j, TUTTI_SUMS / TUTTI_LANES)
            add_square(&sums.part[j], x + i + j * TUTTI_LANES, TUTTI_LANES);
    *total = sums;
    for (int j = 0; i < count; i += TUTTI_LANES, j++)
        add_square(
            &total->part[j], x + i, count - i < TUTTI_LANES ? (int)(count - i) : TUTTI_LANES);
}

static double length_of(const squares *total)
{
    double part[TUTTI_SUMS], sum = 0;
    memcpy(part, total, sizeof part);
    for (int k = 0; k < TUTTI_SUMS; k++) sum += part[k];
    return sqrt(sum);
}

static double float_length(int64_t count, const float *x)
{
    squares total = {0};
    add_all_squares(&total, count, x);
    return length_of(&total);
}

TUTTI_CPU_OPEN(length)
{
    tutti_status status = tutti_check_length(desc);
    return status ? status : tutti_cpu_copy("length", desc, sizeof(tutti_length_desc), args);
}

TUTTI_CPU_FN(length)
{
    const tutti_length_desc *d = args;
    float *length = buf[1];
    (void)queue;
    *length = (float)float_length(d->count, buf[0]);
    return TUTTI_OK;
}

/* The same of a tensor of bf16, with the bits that the widened tensor gives. */
TUTTI_CPU_FN(length_bf16)
{
    const tutti_length_desc *d = args;
    const uint16_t *x = buf[0];
    float *length = buf[1], wide[TUTTI_CPU_BLOCK];
    squares total = {0};
    (void)queue;
    for (int64_t i = 0; i < d->count; i += TUTTI_CPU_BLOCK) {
        int64_t count = d->count - i < TUTTI_CPU_BLOCK ? d->count - i : TUTTI_CPU_BLOCK;
        tutti_cpu_widen(wide, x + i, count);
        add_all_squares(&total, count, wide);
    }
    *length = (float)length_of(&total);
    return TUTTI_OK;
}

/* ---- lars ---- */

TUTTI_CPU_OPEN(lars)
{
    tutti_status status = tutti_check_lars(desc);
    return status ? status : tutti_cpu_copy("lars", desc, sizeof(tutti_lars_desc), args);
}

/* The factor of the rate for this tensor; NaN if a length is. */
static double lars_local(const tutti_lars_desc *d, const float *g, const float *w)
{
    double trust = (double)d->trust, decay = (double)d->weight_decay;
    if (trust <= 0) return 1;
    double weight = float_length(d->count, w), gradient = float_length(d->count, g);
    if (weight <= 0 || gradient <= 0) return 1;
    return trust * weight / (gradient + decay * weight);
}

TUTTI_INLINE void lars_lanes(
    const tutti_lars_desc *d, float rate, const float *g, float *w, float *v, int lanes)
{
    tutti_lanes gradient, weight, velocity;
    tutti_load(&gradient, g, lanes);
    tutti_load(&weight, w, lanes);
    tutti_load(&velocity, v, lanes);
    gradient += weight * d->weight_decay;
    velocity = velocity * d->momentum + gradient * rate;
    weight -= velocity;
    tutti_store(v, &velocity, lanes);
    tutti_store(w, &weight, lanes);
}

static void lars(const tutti_lars_desc *d, float rate, const float *g, float *w, float *v)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= d->count; i += TUTTI_LANES)
        lars_lanes(d, rate, g + i, w + i, v + i, TUTTI_LANES);
    if (i < d->count) lars_lanes(d, rate, g + i, w + i, v + i, (int)(d->count - i));
}

TUTTI_CPU_FN(lars)
{
    const tutti_lars_desc *d = args;
    const float *rate = buf[1];
    (void)queue;
    double local = (double)*rate * (double)d->rate_factor * lars_local(d, buf[0], buf[2]);
    lars(d, (float)local, buf[0], buf[2], buf[3]);
    return TUTTI_OK;
}

/* ---- clip ---- */

TUTTI_CPU_FN(lengths)
{
    const tutti_lengths_desc *d = args;
    float *all = buf[d->inputs];
    (void)queue;
    memset(all, 0, (size_t)d->count * sizeof *all);
    for (int i = 0; i < d->inputs; i++) all[d->first + i] = *(const float *)buf[i];
    return TUTTI_OK;
}

TUTTI_CPU_FN(clip_factor)
{
    const tutti_clip_factor_desc *d = args;
    float *factor = buf[d->inputs];
    double sum = 0;
    (void)queue;
    for (int i = 0; i < d->inputs; i++)
        for (int64_t k = 0; k < (d->each ? d->each : 1); k++) {
            double length = (double)((const float *)buf[i])[k];
            sum += length * length;
        }
    double wanted = (double)d->most / (sqrt(sum) + 1e-6);
    *factor = wanted >= 1 ? 1 : (float)wanted;
    return TUTTI_OK;
}

TUTTI_INLINE void clip_lanes(float factor, float *g, int lanes)
{
    tutti_lanes gradient;
    tutti_load(&gradient, g, lanes);
    gradient *= factor;
    tutti_store(g, &gradient, lanes);
}

static void clip(int64_t count, float factor, float *g)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) clip_lanes(factor, g + i, TUTTI_LANES);
    if (i < count) clip_lanes(factor, g + i, (int)(count - i));
}

TUTTI_CPU_FN(clip)
{
    const tutti_clip_desc *d = args;
    const float *factor = buf[0];
    (void)queue;
    if (*factor < 1 || isnan(*factor)) clip(d->count, *factor, buf[1]);
    return TUTTI_OK;
}

/* ---- average ---- */

TUTTI_INLINE void average_lanes(float part, const float *w, float *a, int lanes)
{
    tutti_lanes weight, average;
    tutti_load(&weight, w, lanes);
    tutti_load(&average, a, lanes);
    average += (weight - average) * part;
    tutti_store(a, &average, lanes);
}

static void average(int64_t count, float part, const float *w, float *a)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        average_lanes(part, w + i, a + i, TUTTI_LANES);
    if (i < count) average_lanes(part, w + i, a + i, (int)(count - i));
}

TUTTI_CPU_FN(average)
{
    const tutti_average_desc *d = args;
    (void)queue;
    average(d->count, (float)(1 - d->decay), buf[0], buf[1]);
    return TUTTI_OK;
}

/* ---- averages over ranks ---- */

TUTTI_INLINE void divide_lanes(float by, float *x, int lanes)
{
    tutti_lanes value;
    tutti_load(&value, x, lanes);
    value /= by;
    tutti_store(x, &value, lanes);
}

static void divide(int64_t count, float by, float *x)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) divide_lanes(by, x + i, TUTTI_LANES);
    if (i < count) divide_lanes(by, x + i, (int)(count - i));
}

TUTTI_CPU_FN(divide)
{
    const tutti_divide_desc *d = args;
    (void)queue;
    divide(d->count, d->by, buf[0]);
    return TUTTI_OK;
}

/* v: NULL without momentum. */
TUTTI_INLINE void outer_lanes(const tutti_outer_desc *d, float *w, float *w0, float *v, int lanes)
{
    tutti_lanes sum, start, move;
    tutti_load(&sum, w, lanes);
    tutti_load(&start, w0, lanes);
    move = start - sum / d->by;
    if (v) {
        tutti_lanes velocity;
        tutti_load(&velocity, v, lanes);
        velocity = velocity * d->momentum + move;
        tutti_store(v, &velocity, lanes);
        move += velocity * d->momentum;
    }
    start -= move * d->rate;
    tutti_store(w, &start, lanes);
    tutti_store(w0, &start, lanes);
}

static void outer(const tutti_outer_desc *d, float *w, float *w0, float *v)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= d->count; i += TUTTI_LANES)
        outer_lanes(d, w + i, w0 + i, v ? v + i : NULL, TUTTI_LANES);
    if (i < d->count) outer_lanes(d, w + i, w0 + i, v ? v + i : NULL, (int)(d->count - i));
}

TUTTI_CPU_FN(outer)
{
    const tutti_outer_desc *d = args;
    (void)queue;
    outer(d, buf[0], buf[1], d->momentum > 0 ? buf[2] : NULL);
    return TUTTI_OK;
}

TUTTI_INLINE void pair_lanes(const float *own, const float *other, float *w, int lanes)
{
    tutti_lanes mine, theirs, weight;
    tutti_load(&mine, own, lanes);
    tutti_load(&theirs, other, lanes);
    tutti_load(&weight, w, lanes);
    weight += (theirs - mine) * 0.5f;
    tutti_store(w, &weight, lanes);
}

static void pair(int64_t count, const float *own, const float *other, float *w)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        pair_lanes(own + i, other + i, w + i, TUTTI_LANES);
    if (i < count) pair_lanes(own + i, other + i, w + i, (int)(count - i));
}

TUTTI_CPU_FN(pair)
{
    const tutti_pair_desc *d = args;
    (void)queue;
    pair(d->count, buf[0], buf[1], buf[2]);
    return TUTTI_OK;
}

const tutti_kernel TUTTI_CLONE(tutti_kernels_optim)[] = {
    TUTTI_CPU_LOOP(sgd, tutti_open_sgd, sgd_run),
    TUTTI_CPU_LOOP_OF(sgd, TUTTI_BF16, tutti_open_sgd, sgd_bf16_run),
    TUTTI_CPU_LOOP(adam, tutti_open_adam, adam_run),
    TUTTI_CPU_LOOP(lars, lars_open, lars_run),
    TUTTI_CPU_LOOP(length, length_open, length_run),
    TUTTI_CPU_LOOP_OF(length, TUTTI_BF16, length_open, length_bf16_run),
    TUTTI_CPU_LOOP(lengths, tutti_open_lengths, lengths_run),
    TUTTI_CPU_LOOP(clip_factor, tutti_open_clip_factor, clip_factor_run),
    TUTTI_CPU_LOOP(clip, tutti_open_clip, clip_run),
    TUTTI_CPU_LOOP(average, tutti_open_average, average_run),
    TUTTI_CPU_LOOP(divide, tutti_open_divide, divide_run),
    TUTTI_CPU_LOOP(outer, tutti_open_outer, outer_run),
    TUTTI_CPU_LOOP(pair, tutti_open_pair, pair_run),
    {0},
};
