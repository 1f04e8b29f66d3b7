#include "dag/kernels/share.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>

/* ---- shares ---- */

tutti_status tutti_open_share_set(const void *desc, void **args)
{
    const tutti_share_set_desc *d = desc;
    if (!(d->value >= 0 && isfinite(d->value)))
        return tutti_fail(
            TUTTI_ERR_INVAL, "share_set: the share is %g, not a finite number from 0", d->value);
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

TUTTI_OP(share_set, "->share", TUTTI_PART_UPDATE, sizeof(tutti_share_set_desc));
TUTTI_OP(share_halve, "->share(rw),sent", TUTTI_PART_UPDATE, sizeof(tutti_share_halve_desc));
TUTTI_OP(share_weigh, "received,...->share(rw),factors", TUTTI_PART_UPDATE,
    sizeof(tutti_share_weigh_desc));
TUTTI_OP(share_mix, "near,...,factors:F64->w(rw)", TUTTI_PART_UPDATE, sizeof(tutti_share_mix_desc));
TUTTI_OP(share_scale, "share->w:F32(rw)", TUTTI_PART_UPDATE, sizeof(tutti_share_scale_desc));
