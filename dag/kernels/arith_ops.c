#include "dag/kernels/arith.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

tutti_status tutti_open_sum(const void *desc, void **args)
{
    const tutti_sum_desc *d = desc;
    if (d->count < 1) return tutti_fail(TUTTI_ERR_INVAL, "sum: the tensor is empty");
    if (d->inputs < 1) return tutti_fail(TUTTI_ERR_INVAL, "sum: there is no input");
    return tutti_cpu_copy("sum", d, sizeof *d, args);
}

tutti_status tutti_open_sum_narrow(const void *desc, void **args)
{
    const tutti_sum_desc *d = desc;
    if (d->into)
        return tutti_fail(TUTTI_ERR_INVAL, "sum_narrow: a sum cannot be added to a rounded one");
    return tutti_open_sum(desc, args);
}

tutti_status tutti_open_widen(const void *desc, void **args)
{
    const tutti_widen_desc *d = desc;
    if (d->count < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "widen, narrow, accumulate: the tensor is empty");
    return tutti_cpu_copy("widen", d, sizeof *d, args);
}

tutti_status tutti_open_shortcut(const void *desc, void **args)
{
    const tutti_shortcut_desc *d = desc;
    const int64_t x[] = {d->N, d->H, d->W, d->K};
    tutti_status status = tutti_cpu_check("shortcut", "N", d->N, 1);
    if (!status) status = tutti_cpu_check("shortcut", "H", d->H, 1);
    if (!status) status = tutti_cpu_check("shortcut", "W", d->W, 1);
    if (!status) status = tutti_cpu_check("shortcut", "C", d->C, 1);
    if (!status) status = tutti_cpu_check("shortcut", "K", d->K, d->C);
    if (!status) status = tutti_cpu_check("shortcut", "stride", d->stride, 1);
    if (!status) status = tutti_cpu_check_count("shortcut", x, 4);
    return status ? status : tutti_cpu_copy("shortcut", d, sizeof *d, args);
}

tutti_status tutti_open_concat(const void *desc, void **args)
{
    const tutti_concat_desc *d = desc;
    int64_t channels = 0;
    tutti_status status = tutti_cpu_check("concat", "pixels", d->pixels, 1);
    if (!status && (d->parts < 1 || d->parts > TUTTI_CONCAT_PARTS))
        status = tutti_fail(
            TUTTI_ERR_INVAL, "concat: %d parts, not 1 to %d", d->parts, TUTTI_CONCAT_PARTS);
    for (int i = 0; !status && i < d->parts; i++) {
        status = tutti_cpu_check("concat", "C", d->C[i], 1);
        channels += d->C[i];
    }
    if (status) return status;
    const int64_t y[] = {d->pixels, channels};
    status = tutti_cpu_check_count("concat", y, 2);
    return status ? status : tutti_cpu_copy("concat", d, sizeof *d, args);
}

tutti_status tutti_open_put(const void *desc, void **args)
{
    const tutti_put_desc *d = desc;
    tutti_status status = tutti_cpu_check("put", "count", d->count, 1);
    if (!status) status = tutti_cpu_check("put", "first", d->first, 0);
    if (!status) status = tutti_cpu_check("put", "total", d->total - d->first, d->count);
    return status ? status : tutti_cpu_copy("put", d, sizeof *d, args);
}

tutti_status tutti_open_take(const void *desc, void **args)
{
    const tutti_take_desc *d = desc;
    const int64_t y[] = {d->rows, d->parts, d->each};
    tutti_status status = tutti_cpu_check("take", "rows", d->rows, 1);
    if (!status) status = tutti_cpu_check("take", "parts", d->parts, 1);
    if (!status) status = tutti_cpu_check("take", "each", d->each, 1);
    if (!status) status = tutti_cpu_check("take", "first", d->first, 0);
    if (!status) status = tutti_cpu_check("take", "row", d->row, 0);
    if (!status) status = tutti_cpu_check("take", "part", d->part, 0);
    if (!status)
        status = tutti_cpu_check("take", "total", d->total,
            d->first + (d->rows - 1) * d->row + (d->parts - 1) * d->part + d->each);
    if (!status) status = tutti_cpu_check_count("take", y, 3);
    return status ? status : tutti_cpu_copy("take", d, sizeof *d, args);
}

/* Of x and y, what is moved. */
TUTTI_CPU_BYTES(put)
{
    return 2.0 * (double)((const tutti_put_desc *)desc)->count * (double)element;
}

TUTTI_CPU_BYTES(take)
{
    const tutti_take_desc *d = desc;
    return 2.0 * (double)(d->rows * d->parts * d->each) * (double)element;
}

/* Every stride-th pixel is read, and all of y is written. */
TUTTI_CPU_BYTES(shortcut)
{
    const tutti_shortcut_desc *d = desc;
    int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    return (double)(d->N * P * Q * (d->C + d->K)) * (double)element;
}

/* The channels of zeros are not read, and all of dx is written. */
TUTTI_CPU_BYTES(shortcut_bwd)
{
    const tutti_shortcut_desc *d = desc;
    int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    return (double)(d->N * (P * Q + d->H * d->W) * d->C) * (double)element;
}

TUTTI_OP(concat, "x,...->y", TUTTI_PART_FORWARD, sizeof(tutti_concat_desc));
TUTTI_OP(concat_bwd, "dy->dx,...", TUTTI_PART_BACKWARD, sizeof(tutti_concat_desc));
TUTTI_OP(split, "x->y,...", TUTTI_PART_FORWARD, sizeof(tutti_concat_desc));
TUTTI_OP(split_bwd, "dy,...->dx", TUTTI_PART_BACKWARD, sizeof(tutti_concat_desc));
TUTTI_OP(
    shortcut, "x->y", TUTTI_PART_FORWARD, sizeof(tutti_shortcut_desc), .bytes = shortcut_bytes);
TUTTI_OP(shortcut_bwd, "dy->dx", TUTTI_PART_BACKWARD, sizeof(tutti_shortcut_desc),
    .bytes = shortcut_bwd_bytes);
TUTTI_OP(sum, "x,...->y", TUTTI_PART_SUM, sizeof(tutti_sum_desc));
TUTTI_OP(sum_narrow, "x,...->y:BF16", TUTTI_PART_SUM, sizeof(tutti_sum_desc));
TUTTI_OP(put, "x->y(rw)", TUTTI_PART_SUM, sizeof(tutti_put_desc), .bytes = put_bytes);
TUTTI_OP(take, "x->y", TUTTI_PART_SUM, sizeof(tutti_take_desc), .bytes = take_bytes);
TUTTI_OP(narrow, "x->y:BF16", TUTTI_PART_UPDATE, sizeof(tutti_widen_desc));
TUTTI_OP(widen, "x->y:F32", TUTTI_PART_UPDATE, sizeof(tutti_widen_desc));
TUTTI_OP(accumulate, "x->y:F32(rw)", TUTTI_PART_SUM, sizeof(tutti_widen_desc));

TUTTI_OP(gate, "->x,...(rw)", TUTTI_PART_UPDATE, sizeof(tutti_gate_desc));

tutti_status tutti_open_gate(const void *desc, void **args)
{
    const tutti_gate_desc *d = desc;
    if (d->inputs < 1) return tutti_fail(TUTTI_ERR_INVAL, "gate: there is no tensor");
    return tutti_cpu_copy("gate", d, sizeof *d, args);
}
