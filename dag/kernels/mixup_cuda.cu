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

TUTTI_BOTH inline double weight_of(const tutti_mixup_draw_desc &d, uint64_t key, uint64_t first)
{
    const double a = log_gamma(d.alpha, key, d.stream, first);
    const double b = log_gamma(d.alpha, key, d.stream, first + EACH);
    return 1 / (1 + exp(b - a));
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
            own = (float)weight_of(desc, key, first);
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

/* Of a pair; mixup_ops.c says how. */
struct CutmixDraw {
    const int32_t *labels;
    const int64_t *step;
    float *part;
    int32_t *box;
    tutti_cutmix_draw_desc desc;
    static TUTTI_BOTH void cut_off(int64_t centre, int64_t half, int64_t size, int32_t *edge)
    {
        edge[0] = (int32_t)(centre > half ? centre - half : 0);
        edge[1] = (int32_t)(centre + half < size ? centre + half : size);
    }
    TUTTI_BOTH void operator()(int64_t pair) const
    {
        const int64_t n = 2 * pair;
        const double H = (double)desc.H, W = (double)desc.W;
        int32_t *own = box + TUTTI_BOX * pair;
        for (int i = 0; i < TUTTI_BOX; i++) own[i] = 0;
        if (labels[n] >= 0 && labels[n + 1] >= 0) {
            const uint64_t key = desc.draw.seed + (uint64_t)*step, stream = desc.draw.stream;
            const uint64_t first = (uint64_t)((desc.draw.offset + n) / 2) * GAMMAS * EACH;
            const uint64_t last = first + EACH - 1;
            const double half = sqrt(1 - weight_of(desc.draw, key, first)) / 2;
            const double row = drawn_uniform(key, stream, last);
            const double column = drawn_uniform(key, stream, last + EACH);
            cut_off((int64_t)(row * H), (int64_t)(half * H), desc.H, own);
            cut_off((int64_t)(column * W), (int64_t)(half * W), desc.W, own + 2);
        }
        const double area = (double)(own[1] - own[0]) * (double)(own[3] - own[2]);
        part[n] = part[n + 1] = (float)(1 - area / (H * W));
    }
};

tutti_status cutmix_draw(const void *args, void *const buf[], void *queue)
{
    const tutti_cutmix_draw_desc *d = (const tutti_cutmix_draw_desc *)args;
    const CutmixDraw element = {(const int32_t *)buf[0], (const int64_t *)buf[1], (float *)buf[2],
        (int32_t *)buf[3], *d};
    return launch("cutmix_draw", d->draw.N / 2, element, queue);
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

/* ---- The box ---- */

template <typename Value> struct Cutmix {
    const Value *x;
    const int32_t *box;
    Value *y;
    int64_t H, W, C;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t w = i / C % W, h = i / C / W % H, image = H * W * C, n = i / image;
        const int32_t *own = box + n / 2 * TUTTI_BOX;
        const bool inside = h >= own[0] && h < own[1] && w >= own[2] && w < own[3];
        y[i] = x[inside ? (n ^ 1) * image + i % image : i];
    }
};

template <typename Value> tutti_status cutmix(const void *args, void *const buf[], void *queue)
{
    const tutti_cutmix_desc *d = (const tutti_cutmix_desc *)args;
    const Cutmix<Value> element = {
        (const Value *)buf[0], (const int32_t *)buf[1], (Value *)buf[2], d->H, d->W, d->C};
    return launch("cutmix", d->N * d->H * d->W * d->C, element, queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(mixup)[] = {
    ROW(mixup_draw, TUTTI_I32, tutti_open_mixup_draw, mixup_draw),
    ROWS(mixup, tutti_open_mixup, mixup),
    ROW(cutmix_draw, TUTTI_I32, tutti_open_cutmix_draw, cutmix_draw),
    ROWS(cutmix, tutti_open_cutmix, cutmix),
    {},
};
