#include "dag/kernels/share.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>

/* ---- shares ---- */

tutti_status tutti_open_share_set(const void *desc, void **args)
{
    const tutti_share_set_desc *d = desc;
    if (!(d->value >= 0 && isfinite(d->value)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "share_set: the share is %g, not a finite number from 0", d->value);
    return tutti_cpu_copy("share_set", d, sizeof *d, args);
}

tutti_status tutti_open_share_halve(const void *desc, void **args)
{
    const tutti_share_halve_desc *d = desc;
    int exponent;
    if (!(d->unit > 0 && isfinite(d->unit)) || frexp(d->unit, &exponent) != 0.5)
        return tutti_fail(
            TUTTI_ERR_INVAL, "share_halve: the unit is %g, not a power of two", d->unit);
    return tutti_cpu_copy("share_halve", d, sizeof *d, args);
}

static tutti_status check_inputs(const char *op, int inputs)
{
    if (inputs >= 1 && inputs <= TUTTI_SHARE_INPUTS) return TUTTI_OK;
    return tutti_fail(
        TUTTI_ERR_INVAL, "%s: %d inputs, not 1 to %d", op, inputs, TUTTI_SHARE_INPUTS);
}

tutti_status tutti_open_share_weigh(const void *desc, void **args)
{
    const tutti_share_weigh_desc *d = desc;
    tutti_status status = check_inputs("share_weigh", d->inputs);
    return status ? status : tutti_cpu_copy("share_weigh", d, sizeof *d, args);
}

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

tutti_status tutti_open_share_mix(const void *desc, void **args)
{
    const tutti_share_mix_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "share_mix: the tensor is empty");
    tutti_status status = check_inputs("share_mix", d->inputs);
    return status ? status : tutti_cpu_copy("share_mix", d, sizeof *d, args);
}

tutti_status tutti_open_share_scale(const void *desc, void **args)
{
    const tutti_share_scale_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "share_scale: the tensor is empty");
    return tutti_cpu_copy("share_scale", d, sizeof *d, args);
}

/* w = factor[0] w + factor[1] near[0] + ..., where factor[1 + k] is above 0. */
TUTTI_INLINE void mix_lanes(
    float *w, const double *factor, int inputs, void *const near[], int64_t i, int lanes)
{
    tutti_lanes v;
    tutti_load(&v, w + i, lanes);
    tutti_dlanes total = __builtin_convertvector(v, tutti_dlanes) * factor[0];
    for (int k = 0; k < inputs; k++) {
        if (!(factor[1 + k] > 0)) continue;
        tutti_load(&v, (const float *)near[k] + i, lanes);
        total += __builtin_convertvector(v, tutti_dlanes) * factor[1 + k];
    }
    v = __builtin_convertvector(total, tutti_lanes);
    tutti_store(w + i, &v, lanes);
}

TUTTI_CLONES static void mix(
    float *w, const double *factor, int inputs, void *const near[], int64_t count)
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

const tutti_op tutti_op_share_set = {.name = "share_set",
    .buffers = "->share",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_share_set_desc)};
const tutti_op tutti_op_share_halve = {.name = "share_halve",
    .buffers = "->share(rw),sent",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_share_halve_desc)};
const tutti_op tutti_op_share_weigh = {.name = "share_weigh",
    .buffers = "heard,...->share(rw),factors",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_share_weigh_desc)};
const tutti_op tutti_op_share_mix = {.name = "share_mix",
    .buffers = "near,...,factors:F64->w(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_share_mix_desc)};
const tutti_op tutti_op_share_scale = {.name = "share_scale",
    .buffers = "share->w:F32(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_share_scale_desc)};

const tutti_kernel tutti_kernels_share_cpu[] = {
    TUTTI_CPU_LOOP_OF(share_set, TUTTI_F64, tutti_open_share_set, share_set_run),
    TUTTI_CPU_LOOP_OF(share_halve, TUTTI_F64, tutti_open_share_halve, share_halve_run),
    TUTTI_CPU_LOOP_OF(share_weigh, TUTTI_F64, tutti_open_share_weigh, share_weigh_run),
    TUTTI_CPU_LOOP(share_mix, tutti_open_share_mix, share_mix_run),
    TUTTI_CPU_LOOP_OF(share_scale, TUTTI_F64, tutti_open_share_scale, share_scale_run),
    {0},
};
