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
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const float factor = *rate * rate_factor;
        const Pack<Value, WIDE> slope = pack_at<WIDE>(g, i);
        Pack<float, WIDE> weight = pack_at<WIDE>(w, i), velocity = {}, step;
        if (momentum > 0) velocity = pack_at<WIDE>(v, i);
        for (int j = 0; j < WIDE; j++) {
            const float gradient = get(slope.value, j) + weight.value[j] * weight_decay;
            step.value[j] = gradient;
            if (momentum > 0) {
                velocity.value[j] = velocity.value[j] * momentum + gradient;
                step.value[j] =
                    nesterov ? gradient + velocity.value[j] * momentum : velocity.value[j];
            }
        }
        for (int j = 0; j < WIDE; j++) weight.value[j] -= step.value[j] * factor;
        if (momentum > 0) put_pack(v, i, velocity);
        put_pack(w, i, weight);
    }
};

template <typename Value> Work<Sgd<Value>> sgd(const void *args, void *const buf[])
{
    const tutti_sgd_desc *d = (const tutti_sgd_desc *)args;
    const Value *g = (const Value *)buf[0] + d->first;
    float *w = (float *)buf[2] + d->first, *v = d->momentum > 0 ? (float *)buf[3] : NULL;
    const Sgd<Value> element = {
        g, (const float *)buf[1], w, v, d->momentum, d->weight_decay, d->rate_factor, d->nesterov};
    return {"sgd", element, d->count, has_packs<WORK_WIDE>(g, w, v)};
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
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<float, WIDE> slope = pack_at<WIDE>(g, i);
        Pack<float, WIDE> weights = pack_at<WIDE>(w, i);
        Pack<float, WIDE> m = pack_at<WIDE>(mean, i), s = pack_at<WIDE>(square, i);
        for (int j = 0; j < WIDE; j++) {
            const float gradient = slope.value[j] + weights.value[j] * decay;
            m.value[j] = m.value[j] * keep_mean + gradient * add_mean;
            s.value[j] = s.value[j] * keep_square + gradient * gradient * add_square;
            weights.value[j] = weights.value[j] * shrink -
                               m.value[j] / (sqrtf(s.value[j]) * scale + epsilon) * rate;
        }
        put_pack(mean, i, m);
        put_pack(square, i, s);
        put_pack(w, i, weights);
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

Work<Adam> adam(const void *args, void *const buf[])
{
    const tutti_adam_desc *d = (const tutti_adam_desc *)args;
    const float *g = (const float *)buf[0] + d->first;
    float *w = (float *)buf[3] + d->first, *mean = (float *)buf[4], *square = (float *)buf[5];
    return {"adam", {g, (const float *)buf[1], (const int64_t *)buf[2], w, mean, square, *d},
        d->count, has_packs<WORK_WIDE>(g, w, mean, square)};
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

/* One thread adds the squares of all lengths. A launch takes up to MOST_INPUTS inputs, and adds to the sum of the one
 * before. */
struct ClipFactor {
    const float *length[MOST_INPUTS];
    double *squares;
    float *factor; /* NULL: more inputs follow */
    int inputs, is_first;
    int64_t each;
    float most;
    TUTTI_BOTH void operator()(int64_t) const
    {
        double sum = is_first ? 0 : *squares;
        for (int i = 0; i < inputs; i++)
            for (int64_t k = 0; k < each; k++) sum += (double)length[i][k] * (double)length[i][k];
        *squares = sum;
        if (!factor) return;
        const double wanted = (double)most / (sqrt(sum) + 1e-6);
        *factor = wanted >= 1 ? 1 : (float)wanted;
    }
};

tutti_status open_clip_factor(const void *desc, void **args)
{
    void *checked = NULL;
    const tutti_status status = tutti_open_clip_factor(desc, &checked);
    if (status) return status;
    tutti_cpu_free(checked);
    return open_with("clip_factor", (const tutti_clip_factor_desc *)desc, sizeof(double), args);
}

tutti_status clip_factor(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_clip_factor_desc> *k = (const Opened<tutti_clip_factor_desc> *)args;
    const tutti_clip_factor_desc *d = &k->desc;
    tutti_status status = TUTTI_OK;
    for (int first = 0; first < d->inputs && !status; first += MOST_INPUTS) {
        const int left = d->inputs - first, here = left < MOST_INPUTS ? left : MOST_INPUTS;
        ClipFactor element = {{}, (double *)k->space->memory,
            here == left ? (float *)buf[d->inputs] : NULL, here, !first, d->each ? d->each : 1,
            d->most};
        for (int i = 0; i < here; i++) element.length[i] = (const float *)buf[first + i];
        status = launch("clip_factor", 1, element, queue);
    }
    return status;
}

struct NoLength {
    float *all;
    TUTTI_BOTH void operator()(int64_t i) const { all[i] = 0; }
};

struct Lengths {
    const float *length[MOST_INPUTS];
    float *all; /* where the first one goes */
    TUTTI_BOTH void operator()(int64_t i) const { all[i] = *length[i]; }
};

tutti_status lengths(const void *args, void *const buf[], void *queue)
{
    const tutti_lengths_desc *d = (const tutti_lengths_desc *)args;
    const NoLength none = {(float *)buf[d->inputs]};
    tutti_status status = launch("lengths", d->count, none, queue);
    for (int first = 0; first < d->inputs && !status; first += MOST_INPUTS) {
        const int left = d->inputs - first, here = left < MOST_INPUTS ? left : MOST_INPUTS;
        Lengths element = {{}, none.all + d->first + first};
        for (int i = 0; i < here; i++) element.length[i] = (const float *)buf[first + i];
        status = launch("lengths", here, element, queue);
    }
    return status;
}

struct Clip {
    const float *factor;
    float *g;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const float by = *factor;
        if (by >= 1) return; /* not where it is NaN */
        Pack<float, WIDE> to = pack_at<WIDE>(g, i);
        for (int j = 0; j < WIDE; j++) to.value[j] *= by;
        put_pack(g, i, to);
    }
};

Work<Clip> clip(const void *args, void *const buf[])
{
    float *g = (float *)buf[1];
    return {"clip", {(const float *)buf[0], g}, ((const tutti_clip_desc *)args)->count,
        has_packs<WORK_WIDE>(g)};
}

/* ---- average ---- */

struct Average {
    const float *w;
    float *average;
    float part;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<float, WIDE> weight = pack_at<WIDE>(w, i);
        Pack<float, WIDE> to = pack_at<WIDE>(average, i);
        for (int j = 0; j < WIDE; j++) to.value[j] += (weight.value[j] - to.value[j]) * part;
        put_pack(average, i, to);
    }
};

Work<Average> average(const void *args, void *const buf[])
{
    const tutti_average_desc *d = (const tutti_average_desc *)args;
    const float *w = (const float *)buf[0];
    float *average = (float *)buf[1];
    return {
        "average", {w, average, (float)(1 - d->decay)}, d->count, has_packs<WORK_WIDE>(w, average)};
}

/* ---- averages over ranks ---- */

struct Divide {
    float *x;
    float by;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        Pack<float, WIDE> to = pack_at<WIDE>(x, i);
        for (int j = 0; j < WIDE; j++) to.value[j] /= by;
        put_pack(x, i, to);
    }
};

Work<Divide> divide(const void *args, void *const buf[])
{
    const tutti_divide_desc *d = (const tutti_divide_desc *)args;
    float *x = (float *)buf[0];
    return {"divide", {x, d->by}, d->count, has_packs<WORK_WIDE>(x)};
}

struct Outer {
    float *w, *w0, *v; /* v: NULL without momentum */
    float by, rate, momentum;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<float, WIDE> weight = pack_at<WIDE>(w, i);
        Pack<float, WIDE> start = pack_at<WIDE>(w0, i), velocity = {};
        if (v) velocity = pack_at<WIDE>(v, i);
        for (int j = 0; j < WIDE; j++) {
            float move = start.value[j] - weight.value[j] / by;
            if (v) {
                velocity.value[j] = velocity.value[j] * momentum + move;
                move += velocity.value[j] * momentum;
            }
            start.value[j] -= move * rate;
        }
        if (v) put_pack(v, i, velocity);
        put_pack(w0, i, start);
        put_pack(w, i, start);
    }
};

Work<Outer> outer(const void *args, void *const buf[])
{
    const tutti_outer_desc *d = (const tutti_outer_desc *)args;
    float *w = (float *)buf[0], *w0 = (float *)buf[1];
    float *v = d->momentum > 0 ? (float *)buf[2] : NULL;
    return {
        "outer", {w, w0, v, d->by, d->rate, d->momentum}, d->count, has_packs<WORK_WIDE>(w, w0, v)};
}

struct Pair {
    const float *own, *other;
    float *w;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<float, WIDE> before = pack_at<WIDE>(own, i), theirs = pack_at<WIDE>(other, i);
        Pack<float, WIDE> to = pack_at<WIDE>(w, i);
        for (int j = 0; j < WIDE; j++) to.value[j] += (theirs.value[j] - before.value[j]) * 0.5f;
        put_pack(w, i, to);
    }
};

Work<Pair> pair(const void *args, void *const buf[])
{
    const tutti_pair_desc *d = (const tutti_pair_desc *)args;
    const float *own = (const float *)buf[0], *other = (const float *)buf[1];
    float *w = (float *)buf[2];
    return {"pair", {own, other, w}, d->count, has_packs<WORK_WIDE>(own, other, w)};
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(optim)[] = {
    WORK(sgd, TUTTI_F32, tutti_open_sgd, sgd<float>),
    WORK(sgd, TUTTI_BF16, tutti_open_sgd, sgd<uint16_t>),
    WORK(adam, TUTTI_F32, tutti_open_adam, adam),
    ROW_WITH(lars, TUTTI_F32, open_lars, tutti_lars_desc, lars),
    ROW_WITH(length, TUTTI_F32, open_length, tutti_length_desc, length<float>),
    ROW_WITH(length, TUTTI_BF16, open_length, tutti_length_desc, length<uint16_t>),
    ROW(lengths, TUTTI_F32, tutti_open_lengths, lengths),
    ROW_WITH(clip_factor, TUTTI_F32, open_clip_factor, tutti_clip_factor_desc, clip_factor),
    WORK(clip, TUTTI_F32, tutti_open_clip, clip),
    WORK(average, TUTTI_F32, tutti_open_average, average),
    WORK(divide, TUTTI_F32, tutti_open_divide, divide),
    WORK(outer, TUTTI_F32, tutti_open_outer, outer),
    WORK(pair, TUTTI_F32, tutti_open_pair, pair),
    {},
};
