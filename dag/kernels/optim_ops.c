#include "dag/kernels/optim.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

#include <math.h>

/* INVAL, logged with the op's name, unless the number is in [0, below). */
static tutti_status check_number(const char *op, const char *what, double number, double below)
{
    if (number >= 0 && number < below) return TUTTI_OK;
    if (below < (double)INFINITY)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: the %s is %g, not in [0, %g)", op, what, number, below);
    return tutti_fail(
        TUTTI_ERR_INVAL, "%s: the %s is %g, not a finite number from 0 on", op, what, number);
}

/* Of what may be a rank's part of a tensor. */
static tutti_status check_part(const char *op, int64_t first, int64_t count)
{
    if (first >= 0 && count >= 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "%s: %lld elements from element %lld on", op,
        (long long)count, (long long)first);
}

static tutti_status check_count(const char *op, int64_t count)
{
    return count >= 1 ? TUTTI_OK : tutti_fail(TUTTI_ERR_INVAL, "%s: the tensor is empty", op);
}

/* ---- sgd ---- */

tutti_status tutti_open_sgd(const void *desc, void **args)
{
    const tutti_sgd_desc *d = desc;
    tutti_status status = check_part("sgd", d->first, d->count);
    if (!status) status = check_number("sgd", "momentum", (double)d->momentum, 1);
    if (!status)
        status = check_number("sgd", "weight decay", (double)d->weight_decay, (double)INFINITY);
    if (!status)
        status =
            check_number("sgd", "factor of the rate", (double)d->rate_factor, (double)INFINITY);
    if (status) return status;
    if (d->nesterov && d->momentum <= 0)
        return tutti_fail(TUTTI_ERR_INVAL, "sgd: Nesterov's momentum needs a momentum above 0");
    return tutti_cpu_copy("sgd", d, sizeof *d, args);
}

/* Without momentum, v is left alone. */
TUTTI_CPU_BYTES(sgd)
{
    const tutti_sgd_desc *d = desc;
    double weights = (d->momentum > 0 ? 4 : 2) * (double)d->count * sizeof(float);
    return (double)d->count * (double)element + weights + sizeof(float);
}

/* ---- adam ---- */

tutti_status tutti_open_adam(const void *desc, void **args)
{
    const tutti_adam_desc *d = desc;
    tutti_status status = check_part("adam", d->first, d->count);
    if (!status) status = check_number("adam", "beta1", d->beta1, 1);
    if (!status) status = check_number("adam", "beta2", d->beta2, 1);
    if (!status) status = check_number("adam", "epsilon", (double)d->epsilon, (double)INFINITY);
    if (!status)
        status = check_number("adam", "weight decay", (double)d->weight_decay, (double)INFINITY);
    if (!status)
        status =
            check_number("adam", "factor of the rate", (double)d->rate_factor, (double)INFINITY);
    if (status) return status;
    if (d->every < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "adam: an update every %lld steps; must be at least 1",
            (long long)d->every);
    return tutti_cpu_copy("adam", d, sizeof *d, args);
}

/* ---- lengths ---- */

tutti_status tutti_check_length(const tutti_length_desc *d)
{
    return check_count("length", d->count);
}

/* ---- lars ---- */

tutti_status tutti_check_lars(const tutti_lars_desc *d)
{
    tutti_status status = check_count("lars", d->count);
    if (!status) status = check_number("lars", "momentum", (double)d->momentum, 1);
    if (!status)
        status = check_number("lars", "weight decay", (double)d->weight_decay, (double)INFINITY);
    if (!status)
        status =
            check_number("lars", "factor of the rate", (double)d->rate_factor, (double)INFINITY);
    if (!status)
        status = check_number("lars", "trust coefficient", (double)d->trust, (double)INFINITY);
    return status;
}

/* ---- clip ---- */

tutti_status tutti_open_lengths(const void *desc, void **args)
{
    const tutti_lengths_desc *d = desc;
    if (d->inputs < 1 || d->first < 0 || d->first > d->count - d->inputs)
        return tutti_fail(TUTTI_ERR_INVAL, "lengths: %d from %lld on, of %lld", d->inputs,
            (long long)d->first, (long long)d->count);
    return tutti_cpu_copy("lengths", d, sizeof *d, args);
}

tutti_status tutti_open_clip_factor(const void *desc, void **args)
{
    const tutti_clip_factor_desc *d = desc;
    if (d->inputs < 1 || d->each < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "clip_factor: there is no length");
    if (!(d->most > 0 && isfinite(d->most)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "clip_factor: the greatest length is %g, not a finite number above 0", (double)d->most);
    return tutti_cpu_copy("clip_factor", d, sizeof *d, args);
}

tutti_status tutti_open_clip(const void *desc, void **args)
{
    const tutti_clip_desc *d = desc;
    tutti_status status = check_count("clip", d->count);
    return status ? status : tutti_cpu_copy("clip", d, sizeof *d, args);
}

TUTTI_CPU_BYTES(clip)
{
    const tutti_clip_desc *d = desc;
    return 2 * (double)d->count * sizeof(float) + (double)element;
}

/* ---- average ---- */

tutti_status tutti_open_average(const void *desc, void **args)
{
    const tutti_average_desc *d = desc;
    tutti_status status = check_count("average", d->count);
    if (!status) status = check_number("average", "decay", d->decay, 1);
    return status ? status : tutti_cpu_copy("average", d, sizeof *d, args);
}

/* ---- averages over ranks ---- */

static tutti_status check_parts(const char *op, int64_t count, float by)
{
    if (!(by >= 1)) return tutti_fail(TUTTI_ERR_INVAL, "%s: a sum of %g parts", op, (double)by);
    return check_count(op, count);
}

tutti_status tutti_open_divide(const void *desc, void **args)
{
    const tutti_divide_desc *d = desc;
    tutti_status status = check_parts("divide", d->count, d->by);
    return status ? status : tutti_cpu_copy("divide", d, sizeof *d, args);
}

tutti_status tutti_open_outer(const void *desc, void **args)
{
    const tutti_outer_desc *d = desc;
    tutti_status status = check_parts("outer", d->count, d->by);
    if (!status) status = check_number("outer", "momentum", d->momentum, 1);
    if (!status && !(d->rate > 0 && isfinite(d->rate)))
        status = tutti_fail(
            TUTTI_ERR_INVAL, "outer: the rate is %g, not a finite number above 0", (double)d->rate);
    return status ? status : tutti_cpu_copy("outer", d, sizeof *d, args);
}

tutti_status tutti_open_pair(const void *desc, void **args)
{
    const tutti_pair_desc *d = desc;
    tutti_status status = check_count("pair", d->count);
    return status ? status : tutti_cpu_copy("pair", d, sizeof *d, args);
}

TUTTI_OP(sgd, "g,rate:F32->w:F32(rw),v:F32(rw)", TUTTI_PART_UPDATE, sizeof(tutti_sgd_desc),
    .bytes = sgd_bytes);
TUTTI_OP(adam, "g,rate:F32,step:I64->w:F32(rw),mean:F32(rw),square:F32(rw)", TUTTI_PART_UPDATE,
    sizeof(tutti_adam_desc));
TUTTI_OP(lars, "g,rate:F32->w:F32(rw),v:F32(rw)", TUTTI_PART_UPDATE, sizeof(tutti_lars_desc));
TUTTI_OP(length, "x->length:F32", TUTTI_PART_UPDATE, sizeof(tutti_length_desc));
TUTTI_OP(lengths, "length,...->all", TUTTI_PART_UPDATE, sizeof(tutti_lengths_desc));
TUTTI_OP(clip_factor, "length,...->factor", TUTTI_PART_UPDATE, sizeof(tutti_clip_factor_desc));
TUTTI_OP(clip, "factor->g(rw)", TUTTI_PART_UPDATE, sizeof(tutti_clip_desc), .bytes = clip_bytes);
TUTTI_OP(average, "w->average(rw)", TUTTI_PART_UPDATE, sizeof(tutti_average_desc));
TUTTI_OP(divide, "->x(rw)", TUTTI_PART_UPDATE, sizeof(tutti_divide_desc));
TUTTI_OP(outer, "->w(rw),w0(rw),[v](rw)", TUTTI_PART_UPDATE, sizeof(tutti_outer_desc));
TUTTI_OP(pair, "own,other->w(rw)", TUTTI_PART_UPDATE, sizeof(tutti_pair_desc));

const tutti_kernel *tutti_optim_kernel(const tutti_op *op, tutti_dtype dtype)
{
    static const tutti_kernel *const rows[TUTTI_ISAS] = TUTTI_OF_EACH_ISA(tutti_kernels_optim);
    for (const tutti_kernel *row = rows[tutti_isa_chosen()]; row->op; row++)
        if (row->op == op && row->dtype == dtype) return row;
    return NULL;
}
