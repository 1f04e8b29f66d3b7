#include "dag/kernels/mixup.h"

#include "dag/kernels/cpu.h"

#include <inttypes.h>

/* ---- the draw ---- */

TUTTI_CPU_FN(mixup_draw)
{
    const tutti_mixup_draw_desc *d = args;
    const int32_t *labels = buf[0];
    const int64_t *step = buf[1];
    float *part = buf[2];
    (void)queue;
    for (int64_t n = 0; n < d->N; n += 2) {
        int counted = labels[n] >= 0 && labels[n + 1] >= 0;
        part[n] = part[n + 1] = counted ? (float)tutti_mixup_weight(d->alpha, d->seed, d->stream,
                                              *step, (d->offset + n) / 2)
                                        : 1;
    }
    return TUTTI_OK;
}

/* ---- the mean ---- */

TUTTI_INLINE void mix_lanes(
    tutti_dtype dtype, const void *x, void *y, int64_t own, int64_t partner, float part, int lanes)
{
    tutti_lanes a, b;
    tutti_get_lanes(&a, dtype, x, own, lanes);
    tutti_get_lanes(&b, dtype, x, partner, lanes);
    a = part * a + (1 - part) * b;
    tutti_put_lanes(dtype, y, own, &a, lanes);
}

TUTTI_INLINE void mixup(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_mixup_desc *d = args;
    const void *x = buf[0];
    const float *part = buf[1];
    void *y = buf[2];
    for (int64_t n = 0; n < d->N; n++) {
        int64_t own = n * d->each, partner = (n ^ 1) * d->each, i = 0;
        for (; i <= d->each - TUTTI_LANES; i += TUTTI_LANES)
            mix_lanes(dtype, x, y, own + i, partner + i, part[n], TUTTI_LANES);
        if (i < d->each) mix_lanes(dtype, x, y, own + i, partner + i, part[n], (int)(d->each - i));
    }
}

TUTTI_CPU_VALUES_FN(mixup)

/* ---- the box ---- */

TUTTI_CPU_FN(cutmix_draw)
{
    const tutti_cutmix_draw_desc *d = args;
    const int32_t *labels = buf[0];
    const int64_t *step = buf[1];
    float *part = buf[2];
    int32_t *box = buf[3];
    (void)queue;
    for (int64_t n = 0; n < d->draw.N; n += 2, box += TUTTI_BOX) {
        double own = 1;
        memset(box, 0, TUTTI_BOX * sizeof *box);
        if (labels[n] >= 0 && labels[n + 1] >= 0)
            own = tutti_cutmix_box(d, *step, (d->draw.offset + n) / 2, box);
        part[n] = part[n + 1] = (float)own;
    }
    return TUTTI_OK;
}

static void cutmix(const tutti_cutmix_desc *d, void *const buf[], size_t element)
{
    const char *x = buf[0];
    const int32_t *boxes = buf[1];
    char *y = buf[2];
    const size_t pixel = (size_t)d->C * element, row = (size_t)d->W * pixel,
                 image = (size_t)d->H * row;
    for (int64_t n = 0; n < d->N; n++) {
        const int32_t *box = boxes + n / 2 * TUTTI_BOX;
        const size_t at = (size_t)box[2] * pixel, bytes = (size_t)(box[3] - box[2]) * pixel;
        const char *partner = x + (size_t)(n ^ 1) * image;
        char *to = y + (size_t)n * image;
        memcpy(to, x + (size_t)n * image, image);
        for (int64_t h = box[0]; h < box[1]; h++)
            memcpy(to + (size_t)h * row + at, partner + (size_t)h * row + at, bytes);
    }
}

TUTTI_CPU_FN(cutmix)
{
    (void)queue;
    cutmix(args, buf, sizeof(float));
    return TUTTI_OK;
}

TUTTI_CPU_FN(cutmix_bf16)
{
    (void)queue;
    cutmix(args, buf, sizeof(uint16_t));
    return TUTTI_OK;
}

const tutti_kernel TUTTI_CLONE(tutti_kernels_mixup)[] = {
    TUTTI_CPU_LOOP_OF(mixup_draw, TUTTI_I32, tutti_open_mixup_draw, mixup_draw_run),
    TUTTI_CPU_LOOPS(mixup, tutti_open_mixup, mixup, tutti_cpu_free),
    TUTTI_CPU_LOOP_OF(cutmix_draw, TUTTI_I32, tutti_open_cutmix_draw, cutmix_draw_run),
    TUTTI_CPU_LOOPS(cutmix, tutti_open_cutmix, cutmix, tutti_cpu_free),
    {0},
};
