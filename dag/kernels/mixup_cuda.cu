#include "dag/kernels/cuda.cuh"
#include "dag/kernels/rng.cuh"

extern "C" {
#include "dag/kernels/mixup.h"
}

namespace
{

/* ---- The draw: mixup_cpu.c says how ---- */

enum { GAMMAS = 2, TRIES = 31, EACH = 2 * (TRIES + 1) };

TUTTI_BOTH inline double log_gamma(double alpha, uint64_t key, uint64_t stream, uint64_t first)
{
    const double d = alpha + 2.0 / 3, c = 1 / sqrt(9 * d);
    double v = 1;
    for (uint64_t n = 0; n < 2 * TRIES; n += 2) {
        const double x = drawn_normal(key, stream, first + n), t = 1 + c * x, cube = t * t * t;
        const double u = drawn_uniform(key, stream, first + n + 1);
        if (t <= 0 || log(u) >= x * x / 2 + d * (1 - cube + log(cube))) continue;
        v = cube;
        break;
    }
    const double boost = 1 - drawn_uniform(key, stream, first + 2 * TRIES);
    return log(d * v) + log(boost) / alpha;
}

/* Of a pair. */
struct MixupDraw {
    const int32_t *labels;
    const int64_t *step;
    float *part;
    tutti_mixup_draw_desc desc;
    TUTTI_BOTH void operator()(int64_t pair) const
    {
        const int64_t n = 2 * pair;
        float own = 1;
        if (labels[n] >= 0 && labels[n + 1] >= 0) {
            const uint64_t key = desc.seed + (uint64_t)*step;
            const uint64_t first = (uint64_t)((desc.offset + n) / 2) * GAMMAS * EACH;
            const double a = log_gamma(desc.alpha, key, desc.stream, first);
            const double b = log_gamma(desc.alpha, key, desc.stream, first + EACH);
            own = (float)(1 / (1 + exp(b - a)));
        }
        part[n] = part[n + 1] = own;
    }
};

tutti_status mixup_draw(const void *args, void *const buf[], void *queue)
{
    const tutti_mixup_draw_desc *d = (const tutti_mixup_draw_desc *)args;
    const MixupDraw element = {
        (const int32_t *)buf[0], (const int64_t *)buf[1], (float *)buf[2], *d};
    return launch("mixup_draw", d->N / 2, element, queue);
}

/* ---- The mean ---- */

template <typename Value> struct Mixup {
    const Value *x;
    const float *part;
    Value *y;
    int64_t each;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t n = i / each, partner = (n ^ 1) * each + i % each;
        put(y, i, part[n] * get(x, i) + (1 - part[n]) * get(x, partner));
    }
};

template <typename Value> tutti_status mixup(const void *args, void *const buf[], void *queue)
{
    const tutti_mixup_desc *d = (const tutti_mixup_desc *)args;
    const Mixup<Value> element = {
        (const Value *)buf[0], (const float *)buf[1], (Value *)buf[2], d->each};
    return launch("mixup", d->N * d->each, element, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(mixup)[] = {
    {&tutti_op_mixup_draw, TUTTI_CUDA, TUTTI_I32, tutti_open_mixup_draw, mixup_draw, tutti_cpu_free,
        NULL},
    {&tutti_op_mixup, TUTTI_CUDA, TUTTI_F32, tutti_open_mixup, mixup<float>, tutti_cpu_free, NULL},
    {&tutti_op_mixup, TUTTI_CUDA, TUTTI_BF16, tutti_open_mixup, mixup<uint16_t>, tutti_cpu_free,
        NULL},
    {},
};
