#include "dag/kernels/optim.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>
#include <string.h>

/* INVAL, logged with the op's name, unless the number is in [0, below). */
static tutti_status check_number(const char *op, const char *what, double number, double below)
{
    if (number >= 0 && number < below) return TUTTI_OK;
    if (below < (double)INFINITY)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: the %s is %g, not in [0, %g)", op, what, number, below);
    return tutti_fail(
        TUTTI_ERR_INVAL, "%s: the %s is %g, not a finite number from 0 on", op, what, number);
}

/* Of what may be a rank's part of a tensor. */
static tutti_status check_part(const char *op, int64_t first, int64_t count)
{
    if (first >= 0 && count >= 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "%s: %lld elements from element %lld on", op,
        (long long)count, (long long)first);
}

static tutti_status check_count(const char *op, int64_t count)
{
    return count >= 1 ? TUTTI_OK : tutti_fail(TUTTI_ERR_INVAL, "%s: the tensor is empty", op);
}

/* ---- sgd ---- */

tutti_status tutti_open_sgd(const void *desc, void **args)
{
    const tutti_sgd_desc *d = desc;
    tutti_status status = check_part("sgd", d->first, d->count);
    if (!status) status = check_number("sgd", "momentum", (double)d->momentum, 1);
    if (!status)
        status = check_number("sgd", "weight decay", (double)d->weight_decay, (double)INFINITY);
    if (!status)
        status =
            check_number("sgd", "factor of the rate", (double)d->rate_factor, (double)INFINITY);
    if (status) return status;
    if (d->nesterov && d->momentum <= 0)
        return tutti_fail(TUTTI_ERR_INVAL, "sgd: Nesterov's momentum needs a momentum above 0");
    return tutti_cpu_copy("sgd", d, sizeof *d, args);
}

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

TUTTI_CLONES static void sgd(
    const tutti_sgd_desc *d, float rate, const float *g, float *w, float *v)
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

/* Without momentum, v is left alone. */
TUTTI_CPU_BYTES(sgd)
{
    const tutti_sgd_desc *d = desc;
    double weights = (d->momentum > 0 ? 4 : 2) * (double)d->count * sizeof(float);
    return (double)d->count * (double)element + weights + sizeof(float);
}

/* ---- adam ---- */

tutti_status tutti_open_adam(const void *desc, void **args)
{
    const tutti_adam_desc *d = desc;
    tutti_status status = check_part("adam", d->first, d->count);
    if (!status) status = check_number("adam", "beta1", d->beta1, 1);
    if (!status) status = check_number("adam", "beta2", d->beta2, 1);
    if (!status) status = check_number("adam", "epsilon", (double)d->epsilon, (double)INFINITY);
    if (!status)
        status = check_number("adam", "weight decay", (double)d->weight_decay, (double)INFINITY);
    if (!status)
        status =
            check_number("adam", "factor of the rate", (double)d->rate_factor, (double)INFINITY);
    if (status) return status;
    if (d->every < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "adam: an update every %lld steps; must be at least 1",
            (long long)d->every);
    return tutti_cpu_copy("adam", d, sizeof *d, args);
}

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

TUTTI_CLONES static void adam(
    const adam_update *u, int64_t count, const float *g, float *w, float *m, float *s)
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

TUTTI_INLINE void add_squares(tutti_dlanes *total, const float *x, int lanes)
{
    tutti_lanes v;
    tutti_load(&v, x, lanes);
    tutti_dlanes wide = __builtin_convertvector(v, tutti_dlanes);
    *total += wide * wide;
}

TUTTI_CLONES static void add_all_squares(tutti_dlanes *total, int64_t count, const float *x)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) add_squares(total, x + i, TUTTI_LANES);
    if (i < count) add_squares(total, x + i, (int)(count - i));
}

static double length_of(const tutti_dlanes *squares)
{
    double sum = 0;
    for (int lane = 0; lane < TUTTI_LANES; lane++) sum += (*squares)[lane];
    return sqrt(sum);
}

static double float_length(int64_t count, const float *x)
{
    tutti_dlanes squares = {0};
    add_all_squares(&squares, count, x);
    return length_of(&squares);
}

tutti_status tutti_check_length(const tutti_length_desc *d)
{
    return check_count("length", d->count);
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
    tutti_dlanes squares = {0};
    (void)queue;
    for (int64_t i = 0; i < d->count; i += TUTTI_CPU_BLOCK) {
        int64_t count = d->count - i < TUTTI_CPU_BLOCK ? d->count - i : TUTTI_CPU_BLOCK;
        tutti_cpu_widen(wide, x + i, count);
        add_all_squares(&squares, count, wide);
    }
    *length = (float)length_of(&squares);
    return TUTTI_OK;
}

/* ---- lars ---- */

tutti_status tutti_check_lars(const tutti_lars_desc *d)
{
    tutti_status status = check_count("lars", d->count);
    if (!status) status = check_number("lars", "momentum", (double)d->momentum, 1);
    if (!status)
        status = check_number("lars", "weight decay", (double)d->weight_decay, (double)INFINITY);
    if (!status)
        status =
            check_number("lars", "factor of the rate", (double)d->rate_factor, (double)INFINITY);
    if (!status)
        status = check_number("lars", "trust coefficient", (double)d->trust, (double)INFINITY);
    return status;
}

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

TUTTI_CLONES static void lars(
    const tutti_lars_desc *d, float rate, const float *g, float *w, float *v)
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

tutti_status tutti_open_lengths(const void *desc, void **args)
{
    const tutti_lengths_desc *d = desc;
    if (d->inputs < 1 || d->first < 0 || d->first > d->count - d->inputs)
        return tutti_fail(TUTTI_ERR_INVAL, "lengths: %d from %lld on, of %lld", d->inputs,
            (long long)d->first, (long long)d->count);
    return tutti_cpu_copy("lengths", d, sizeof *d, args);
}

TUTTI_CPU_FN(lengths)
{
    const tutti_lengths_desc *d = args;
    float *all = buf[d->inputs];
    (void)queue;
    memset(all, 0, (size_t)d->count * sizeof *all);
    for (int i = 0; i < d->inputs; i++) all[d->first + i] = *(const float *)buf[i];
    return TUTTI_OK;
}

tutti_status tutti_open_clip_factor(const void *desc, void **args)
{
    const tutti_clip_factor_desc *d = desc;
    if (d->inputs < 1 || d->each < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "clip_factor: there is no length");
    if (!(d->most > 0 && isfinite(d->most)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "clip_factor: the greatest length is %g, not a finite number above 0", (double)d->most);
    return tutti_cpu_copy("clip_factor", d, sizeof *d, args);
}

TUTTI_CPU_FN(clip_factor)
{
    const tutti_clip_factor_desc *d = args;
    float *factor = buf[d->inputs];
    double squares = 0;
    (void)queue;
    for (int i = 0; i < d->inputs; i++)
        for (int64_t k = 0; k < (d->each ? d->each : 1); k++) {
            double length = (double)((const float *)buf[i])[k];
            squares += length * length;
        }
    double wanted = (double)d->most / (sqrt(squares) + 1e-6);
    *factor = wanted >= 1 ? 1 : (float)wanted;
    return TUTTI_OK;
}

tutti_status tutti_open_clip(const void *desc, void **args)
{
    const tutti_clip_desc *d = desc;
    tutti_status status = check_count("clip", d->count);
    return status ? status : tutti_cpu_copy("clip", d, sizeof *d, args);
}

TUTTI_INLINE void clip_lanes(float factor, float *g, int lanes)
{
    tutti_lanes gradient;
    tutti_load(&gradient, g, lanes);
    gradient *= factor;
    tutti_store(g, &gradient, lanes);
}

TUTTI_CLONES static void clip(int64_t count, float factor, float *g)
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

TUTTI_CPU_BYTES(clip)
{
    const tutti_clip_desc *d = desc;
    return 2 * (double)d->count * sizeof(float) + (double)element;
}

/* ---- average ---- */

tutti_status tutti_open_average(const void *desc, void **args)
{
    const tutti_average_desc *d = desc;
    tutti_status status = check_count("average", d->count);
    if (!status) status = check_number("average", "decay", d->decay, 1);
    return status ? status : tutti_cpu_copy("average", d, sizeof *d, args);
}

TUTTI_INLINE void average_lanes(float part, const float *w, float *a, int lanes)
{
    tutti_lanes weight, average;
    tutti_load(&weight, w, lanes);
    tutti_load(&average, a, lanes);
    average += (weight - average) * part;
    tutti_store(a, &average, lanes);
}

TUTTI_CLONES static void average(int64_t count, float part, const float *w, float *a)
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

static tutti_status check_parts(const char *op, int64_t count, float by)
{
    if (!(by >= 1)) return tutti_fail(TUTTI_ERR_INVAL, "%s: a sum of %g parts", op, (double)by);
    return check_count(op, count);
}

tutti_status tutti_open_divide(const void *desc, void **args)
{
    const tutti_divide_desc *d = desc;
    tutti_status status = check_parts("divide", d->count, d->by);
    return status ? status : tutti_cpu_copy("divide", d, sizeof *d, args);
}

TUTTI_INLINE void divide_lanes(float by, float *x, int lanes)
{
    tutti_lanes value;
    tutti_load(&value, x, lanes);
    value /= by;
    tutti_store(x, &value, lanes);
}

TUTTI_CLONES static void divide(int64_t count, float by, float *x)
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

tutti_status tutti_open_outer(const void *desc, void **args)
{
    const tutti_outer_desc *d = desc;
    tutti_status status = check_parts("outer", d->count, d->by);
    if (!status) status = check_number("outer", "momentum", d->momentum, 1);
    if (!status && !(d->rate > 0 && isfinite(d->rate)))
        status = tutti_fail(
            TUTTI_ERR_INVAL, "outer: the rate is %g, not a finite number above 0", (double)d->rate);
    return status ? status : tutti_cpu_copy("outer", d, sizeof *d, args);
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

TUTTI_CLONES static void outer(const tutti_outer_desc *d, float *w, float *w0, float *v)
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

tutti_status tutti_open_pair(const void *desc, void **args)
{
    const tutti_pair_desc *d = desc;
    tutti_status status = check_count("pair", d->count);
    return status ? status : tutti_cpu_copy("pair", d, sizeof *d, args);
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

TUTTI_CLONES static void pair(int64_t count, const float *own, const float *other, float *w)
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

const tutti_op tutti_op_sgd = {.name = "sgd",
    .buffers = "g,rate:F32->w:F32(rw),v:F32(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_sgd_desc),
    .bytes = sgd_bytes};
const tutti_op tutti_op_adam = {.name = "adam",
    .buffers = "g,rate:F32,step:I64->w:F32(rw),mean:F32(rw),square:F32(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_adam_desc)};
const tutti_op tutti_op_lars = {.name = "lars",
    .buffers = "g,rate:F32->w:F32(rw),v:F32(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_lars_desc)};
const tutti_op tutti_op_length = {.name = "length",
    .buffers = "x->length:F32",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_length_desc)};
const tutti_op tutti_op_lengths = {.name = "lengths",
    .buffers = "length,...->all",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_lengths_desc)};
const tutti_op tutti_op_clip_factor = {.name = "clip_factor",
    .buffers = "length,...->factor",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_clip_factor_desc)};
const tutti_op tutti_op_clip = {.name = "clip",
    .buffers = "factor->g(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_clip_desc),
    .bytes = clip_bytes};
const tutti_op tutti_op_average = {.name = "average",
    .buffers = "w->average(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_average_desc)};
const tutti_op tutti_op_divide = {.name = "divide",
    .buffers = "->x(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_divide_desc)};
const tutti_op tutti_op_outer = {.name = "outer",
    .buffers = "->w(rw),w0(rw),[v](rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_outer_desc)};
const tutti_op tutti_op_pair = {.name = "pair",
    .buffers = "own,other->w(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_pair_desc)};

const tutti_kernel tutti_kernels_optim_cpu[] = {
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

const tutti_kernel *tutti_optim_kernel(const tutti_op *op, tutti_dtype dtype)
{
    for (const tutti_kernel *row = tutti_kernels_optim_cpu; row->op; row++)
        if (row->op == op && row->dtype == dtype) return row;
    return NULL;
}
