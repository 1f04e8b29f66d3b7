#include "dag/kernels/mixup.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/cpu.h"

#include <inttypes.h>
#include <math.h>

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

const tutti_kernel TUTTI_CLONE(tutti_kernels_mixup)[] = {
    TUTTI_CPU_LOOP_OF(mixup_draw, TUTTI_I32, tutti_open_mixup_draw, mixup_draw_run),
    TUTTI_CPU_LOOPS(mixup, tutti_open_mixup, mixup, tutti_cpu_free),
    {0},
};
