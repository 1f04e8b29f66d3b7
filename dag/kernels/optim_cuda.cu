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
        (float *)buf[2] + d->first,
        (float *)buf[3], d->momentum, d->weight_decay, d->rate_factor, d->nesterov};
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
        (const int64_t *)buf[2],
        (float *)buf[3] + d->first, (float *)buf[4], (float *)buf[5], *d};
    return launch("adam", d->count, element, queue);
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

} // namespace

#define ROW(op, dtype, run)                                                                        \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, dtype, tutti_open_##op, run, tutti_cpu_free                    \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(optim)[] = {
    ROW(sgd, TUTTI_F32, sgd<float>),
    ROW(sgd, TUTTI_BF16, sgd<uint16_t>),
    ROW(adam, TUTTI_F32, adam),
    ROW(lengths, TUTTI_F32, lengths),
    ROW(clip_factor, TUTTI_F32, clip_factor),
    ROW(clip, TUTTI_F32, clip),
    ROW(average, TUTTI_F32, average),
    ROW(divide, TUTTI_F32, divide),
    ROW(outer, TUTTI_F32, outer),
    {},
};
