#include "dag/kernels/share.h"

#include "dag/kernels/cpu.h"

#include <math.h>

/* ---- shares ---- */

TUTTI_CPU_FN(share_set)
{
    (void)queue;
    *(double *)buf[0] = ((const tutti_share_set_desc *)args)->value;
    return TUTTI_OK;
}

TUTTI_CPU_FN(share_halve)
{
    const double unit = ((const tutti_share_halve_desc *)args)->unit;
    double *share = buf[0], *sent = buf[1];
    (void)queue;
    *sent = floor(*share / (2 * unit)) * unit;
    *share -= *sent;
    return TUTTI_OK;
}

TUTTI_CPU_FN(share_weigh)
{
    const int inputs = ((const tutti_share_weigh_desc *)args)->inputs;
    double *share = buf[inputs], *factors = buf[inputs + 1], total = *share;
    (void)queue;
    for (int i = 0; i < inputs; i++) total += *(const double *)buf[i];
    factors[0] = *share / total;
    for (int i = 0; i < inputs; i++) factors[1 + i] = *(const double *)buf[i] / total;
    *share = total;
    return TUTTI_OK;
}

/* ---- weights ---- */

/* w = factor[0] w + factor[1] near[0] + ..., where factor[1 + k] is above 0. */
TUTTI_INLINE void mix_lanes(
    float *w, const double *factor, int inputs, void *const near[], int64_t i, int lanes)
{
    tutti_lanes v;
    tutti_wide total, more;
    tutti_load(&v, w + i, lanes);
    tutti_to_double(&total, &v);
    TUTTI_EACH (h, 2) total.half[h] *= factor[0];
    for (int k = 0; k < inputs; k++) {
        if (!(factor[1 + k] > 0)) continue;
        tutti_load(&v, (const float *)near[k] + i, lanes);
        tutti_to_double(&more, &v);
        TUTTI_EACH (h, 2) total.half[h] += more.half[h] * factor[1 + k];
    }
    tutti_to_float(&v, &total);
    tutti_store(w + i, &v, lanes);
}

static void mix(float *w, const double *factor, int inputs, void *const near[], int64_t count)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        mix_lanes(w, factor, inputs, near, i, TUTTI_LANES);
    if (i < count) mix_lanes(w, factor, inputs, near, i, (int)(count - i));
}

TUTTI_CPU_FN(share_mix)
{
    const tutti_share_mix_desc *d = args;
    (void)queue;
    mix(buf[d->inputs + 1], buf[d->inputs], d->inputs, buf, d->count);
    return TUTTI_OK;
}

TUTTI_CPU_FN(share_scale)
{
    const tutti_share_scale_desc *d = args;
    (void)queue;
    mix(buf[1], buf[0], 0, NULL, d->count);
    return TUTTI_OK;
}

const tutti_kernel TUTTI_CLONE(tutti_kernels_share)[] = {
    TUTTI_CPU_LOOP_OF(share_set, TUTTI_F64, tutti_open_share_set, share_set_run),
    TUTTI_CPU_LOOP_OF(share_halve, TUTTI_F64, tutti_open_share_halve, share_halve_run),
    TUTTI_CPU_LOOP_OF(share_weigh, TUTTI_F64, tutti_open_share_weigh, share_weigh_run),
    TUTTI_CPU_LOOP(share_mix, tutti_open_share_mix, share_mix_run),
    TUTTI_CPU_LOOP_OF(share_scale, TUTTI_F64, tutti_open_share_scale, share_scale_run),
    {0},
};
