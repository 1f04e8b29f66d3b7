#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/optim.h"
}

#include <math.h>

namespace
{

/* ---- sgd ---- */

template <typename Value> struct Sgd {
    const Value *g;
    const float *rate;
    float *w, *v;
    float momentum, weight_decay, rate_factor;
    int nesterov;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const float gradient = get(g, i) + w[i] * weight_decay;
        float step = gradient;
        if (momentum > 0) {
            const float velocity = v[i] * momentum + gradient;
            v[i] = velocity;
            step = nesterov ? gradient + velocity * momentum : velocity;
        }
        w[i] -= step * (*rate * rate_factor);
    }
};

template <typename Value> tutti_status sgd(const void *args, void *const buf[], void *queue)
{
    const tutti_sgd_desc *d = (const tutti_sgd_desc *)args;
    const Sgd<Value> element = {(const Value *)buf[0] + d->first, (const float *)buf[1],
        (float *)buf[2] + d->first, (float *)buf[3], d->momentum, d->weight_decay, d->rate_factor,
        d->nesterov};
    return launch("sgd", d->count, element, queue);
}

/* ---- adam ---- */

/* base^exponent by squaring, as on the CPU. */
TUTTI_BOTH inline double power(double base, int64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2) result *= base;
        base *= base;
    }
    return result;
}

struct Adam {
    const float *g, *rate;
    const int64_t *step;
    float *w, *mean, *square;
    tutti_adam_desc d;
};

/* One update: what all elements share. */
struct AdamUpdate {
    const float *g;
    float *w, *mean, *square;
    float keep_mean, add_mean, keep_square, add_square, decay, shrink, rate, scale, epsilon;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const float gradient = g[i] + w[i] * decay, weight = w[i] * shrink;
        const float m = mean[i] * keep_mean + gradient * add_mean;
        const float s = square[i] * keep_square + gradient * gradient * add_square;
        mean[i] = m;
        square[i] = s;
        w[i] = weight - m / (sqrtf(s) * scale + epsilon) * rate;
    }
};

TUTTI_BOTH inline AdamUpdate ready(const Adam &a)
{
    const int64_t t = *a.step / a.d.every + 1;
    const double scaled = (double)*a.rate * (double)a.d.rate_factor;
    return {a.g, a.w, a.mean, a.square, (float)a.d.beta1, (float)(1 - a.d.beta1), (float)a.d.beta2,
        (float)(1 - a.d.beta2), a.d.decoupled ? 0 : a.d.weight_decay,
        a.d.decoupled ? (float)(1 - scaled * (double)a.d.weight_decay) : 1,
        (float)(scaled / (1 - power(a.d.beta1, t))), (float)(1 / sqrt(1 - power(a.d.beta2, t))),
        a.d.epsilon};
}

tutti_status adam(const void *args, void *const buf[], void *queue)
{
    const tutti_adam_desc *d = (const tutti_adam_desc *)args;
    const Adam element = {(const float *)buf[0] + d->first, (const float *)buf[1],
        (const int64_t *)buf[2], (float *)buf[3] + d->first, (float *)buf[4], (float *)buf[5], *d};
    return launch("adam", d->count, element, queue);
}

/* ---- lengths ---- */

/* A tensor's squares are added in PARTS parts, whose sums are added in GROUPS groups, and these one
 * after another, all in double: the same order on every GPU, but not the CPU's. */
enum { PARTS = 1 << 14, GROUPS = 1 << 7 };

template <typename Value> struct Squares {
    const Value *x;
    int64_t count;
    double *sum;
    TUTTI_BOTH void operator()(int64_t part) const
    {
        double total = 0;
        for (int64_t i = part; i < count; i += PARTS)
            total += (double)get(x, i) * (double)get(x, i);
        sum[part] = total;
    }
};

struct GroupSums {
    const double *part;
    double *sum;
    TUTTI_BOTH void operator()(int64_t group) const
    {
        double total = 0;
        for (int i = 0; i < PARTS / GROUPS; i++) total += part[group + (int64_t)i * GROUPS];
        sum[group] = total;
    }
};

/* The sums of the groups are in sum[PARTS] and behind. `sum` has PARTS + GROUPS elements. */
template <typename Value>
tutti_status add_squares(const char *op, const Value *x, int64_t count, double *sum, void *queue)
{
    const Squares<Value> squares = {x, count, sum};
    const GroupSums groups = {sum, sum + PARTS};
    const tutti_status status = launch(op, PARTS, squares, queue);
    return status ? status : launch(op, GROUPS, groups, queue);
}

TUTTI_BOTH inline double length_of(const double *sum)
{
    double squares = 0;
    for (int group = 0; group < GROUPS; group++) squares += sum[PARTS + group];
    return sqrt(squares);
}

tutti_status open_length(const void *desc, void **args)
{
    const tutti_length_desc *d = (const tutti_length_desc *)desc;
    const tutti_status status = tutti_check_length(d);
    return status ? status : open_with("length", d, (PARTS + GROUPS) * sizeof(double), args);
}

struct Length {
    const double *sum;
    float *length;
    TUTTI_BOTH void operator()(int64_t) const
    {
        *length = (float)length_of(sum);
    }
};

template <typename Value> tutti_status length(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_length_desc> *k = (const Opened<tutti_length_desc> *)args;
    double *sum = (double *)k->space->memory;
    const Length element = {sum, (float *)buf[1]};
    const tutti_status status =
        add_squares("length", (const Value *)buf[0], k->desc.count, sum, queue);
    return status ? status : launch("length", 1, element, queue);
}

/* ---- lars ---- */

/* The sums for w, those for g, and the rate. */
enum { LARS_SPACE = 2 * (PARTS + GROUPS) + 1 };

tutti_status open_lars(const void *desc, void **args)
{
    const tutti_lars_desc *d = (const tutti_lars_desc *)desc;
    const tutti_status status = tutti_check_lars(d);
    return status ? status : open_with("lars", d, LARS_SPACE * sizeof(double), args);
}

struct LarsRate {
    const float *rate;
    double *space;
    tutti_lars_desc d;
    TUTTI_BOTH void operator()(int64_t) const
    {
        const double trust = (double)d.trust, decay = (double)d.weight_decay;
        double local = 1;
        if (trust > 0) {
            const double weight = length_of(space), gradient = length_of(space + PARTS + GROUPS);
            if (!(weight <= 0 || gradient <= 0))
                local = trust * weight / (gradient + decay * weight);
        }
        space[LARS_SPACE - 1] = (double)*rate * (double)d.rate_factor * local;
    }
};

struct Lars {
    const float *g;
    float *w, *v;
    const double *rate;
    float momentum, weight_decay;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const float gradient = g[i] + w[i] * weight_decay;
        const float velocity = v[i] * momentum + gradient * (float)*rate;
        v[i] = velocity;
        w[i] -= velocity;
    }
};

tutti_status lars(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_lars_desc> *k = (const Opened<tutti_lars_desc> *)args;
    const tutti_lars_desc *d = &k->desc;
    double *space = (double *)k->space->memory;
    const float *g = (const float *)buf[0];
    float *w = (float *)buf[2];
    const LarsRate rate = {(const float *)buf[1], space, *d};
    const Lars element = {
        g, w, (float *)buf[3], space + LARS_SPACE - 1, d->momentum, d->weight_decay};
    tutti_status status = TUTTI_OK;
    if (d->trust > 0) {
        status = add_squares("lars", (const float *)w, d->count, space, queue);
        if (!status) status = add_squares("lars", g, d->count, space + PARTS + GROUPS, queue);
    }
    if (!status) status = launch("lars", 1, rate, queue);
    return status ? status : launch("lars", d->count, element, queue);
}

/* ---- clip ---- */

/* One thread adds all lengths: there is one for each tensor, or a few. */
struct ClipFactor {
    const float *length[MOST_INPUTS];
    float *factor;
    int inputs;
    int64_t each;
    float most;
    TUTTI_BOTH void operator()(int64_t) const
    {
        double squares = 0;
        for (int i = 0; i < inputs; i++)
            for (int64_t k = 0; k < each; k++)
                squares += (double)length[i][k] * (double)length[i][k];
        const double wanted = (double)most / (sqrt(squares) + 1e-6);
        *factor = wanted >= 1 ? 1 : (float)wanted;
    }
};

tutti_status clip_factor(const void *args, void *const buf[], void *queue)
{
    const tutti_clip_factor_desc *d = (const tutti_clip_factor_desc *)args;
    const tutti_status status = check_inputs("clip_factor", d->inputs);
    if (status) return status;
    ClipFactor element = {{}, (float *)buf[d->inputs], d->inputs, d->each ? d->each : 1, d->most};
    for (int i = 0; i < d->inputs; i++) element.length[i] = (const float *)buf[i];
    return launch("clip_factor", 1, element, queue);
}

struct Lengths {
    const float *length[MOST_INPUTS];
    float *all;
    int64_t first, inputs;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        all[i] = i >= first && i < first + inputs ? *length[i - first] : 0;
    }
};

tutti_status lengths(const void *args, void *const buf[], void *queue)
{
    const tutti_lengths_desc *d = (const tutti_lengths_desc *)args;
    const tutti_status status = check_inputs("lengths", d->inputs);
    if (status) return status;
    Lengths element = {{}, (float *)buf[d->inputs], d->first, d->inputs};
    for (int i = 0; i < d->inputs; i++) element.length[i] = (const float *)buf[i];
    return launch("lengths", d->count, element, queue);
}

struct Clip {
    const float *factor;
    float *g;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        if (!(*factor >= 1)) g[i] *= *factor; /* also where it is NaN */
    }
};

tutti_status clip(const void *args, void *const buf[], void *queue)
{
    const Clip element = {(const float *)buf[0], (float *)buf[1]};
    return launch("clip", ((const tutti_clip_desc *)args)->count, element, queue);
}

/* ---- average ---- */

struct Average {
    const float *w;
    float *average;
    float part;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        average[i] += (w[i] - average[i]) * part;
    }
};

tutti_status average(const void *args, void *const buf[], void *queue)
{
    const tutti_average_desc *d = (const tutti_average_desc *)args;
    const Average element = {(const float *)buf[0], (float *)buf[1], (float)(1 - d->decay)};
    return launch("average", d->count, element, queue);
}

/* ---- averages over ranks ---- */

struct Divide {
    float *x;
    float by;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        x[i] /= by;
    }
};

tutti_status divide(const void *args, void *const buf[], void *queue)
{
    const tutti_divide_desc *d = (const tutti_divide_desc *)args;
    const Divide element = {(float *)buf[0], d->by};
    return launch("divide", d->count, element, queue);
}

struct Outer {
    float *w, *w0, *v; /* v: NULL without momentum */
    float by, rate, momentum;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        float move = w0[i] - w[i] / by;
        if (v) {
            v[i] = v[i] * momentum + move;
            move += v[i] * momentum;
        }
        w[i] = w0[i] = w0[i] - move * rate;
    }
};

tutti_status outer(const void *args, void *const buf[], void *queue)
{
    const tutti_outer_desc *d = (const tutti_outer_desc *)args;
    const Outer element = {(float *)buf[0], (float *)buf[1],
        d->momentum > 0 ? (float *)buf[2] : NULL, d->by, d->rate, d->momentum};
    return launch("outer", d->count, element, queue);
}

struct Pair {
    const float *own, *other;
    float *w;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        w[i] += (other[i] - own[i]) * 0.5f;
    }
};

tutti_status pair(const void *args, void *const buf[], void *queue)
{
    const tutti_pair_desc *d = (const tutti_pair_desc *)args;
    const Pair element = {(const float *)buf[0], (const float *)buf[1], (float *)buf[2]};
    return launch("pair", d->count, element, queue);
}

} // namespace

#define ROW(op, dtype, run)                                                                        \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, dtype, tutti_open_##op, run, tutti_cpu_free                    \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(optim)[] = {
    ROW(sgd, TUTTI_F32, sgd<float>),
    ROW(sgd, TUTTI_BF16, sgd<uint16_t>),
    ROW(adam, TUTTI_F32, adam),
    {&tutti_op_lars, TUTTI_CUDA, TUTTI_F32, open_lars, lars, close_with<tutti_lars_desc>},
    {&tutti_op_length, TUTTI_CUDA, TUTTI_F32, open_length, length<float>,
        close_with<tutti_length_desc>},
    {&tutti_op_length, TUTTI_CUDA, TUTTI_BF16, open_length, length<uint16_t>,
        close_with<tutti_length_desc>},
    ROW(lengths, TUTTI_F32, lengths),
    ROW(clip_factor, TUTTI_F32, clip_factor),
    ROW(clip, TUTTI_F32, clip),
    ROW(average, TUTTI_F32, average),
    ROW(divide, TUTTI_F32, divide),
    ROW(outer, TUTTI_F32, outer),
    ROW(pair, TUTTI_F32, pair),
    {},
};
