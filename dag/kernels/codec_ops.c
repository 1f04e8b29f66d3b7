#include "dag/kernels/codec.h"

#include "dag/base/log.h"
#include "dag/kernels/cpu.h"

static tutti_status check_rows(const char *op, const tutti_compressed_rows *rows, int64_t words)
{
    if (rows->replicas < 1 || rows->replica < 0 || rows->replica >= rows->replicas)
        return tutti_fail(
            TUTTI_ERR_INVAL, "%s: replica %d of %d", op, rows->replica, rows->replicas);
    if (rows->first >= 0 && rows->first <= rows->stride - words) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "%s: %lld words from %lld on, in rows of %lld", op,
        (long long)words, (long long)rows->first, (long long)rows->stride);
}

/* ---- onebit ---- */

tutti_status tutti_open_onebit(const void *desc, void **args)
{
    const tutti_onebit_desc *d = desc;
    tutti_status status = tutti_cpu_check("onebit", "count", d->count, 1);
    if (!status) status = check_rows("onebit", &d->rows, tutti_onebit_words(d->count));
    return status ? status : tutti_cpu_copy("onebit", d, sizeof *d, args);
}

/* The gradient is read, the residual read and written, and a block of the code written. */
TUTTI_CPU_BYTES(onebit_encode)
{
    const tutti_onebit_desc *d = desc;
    return 3.0 * (double)d->count * (double)element +
           (double)tutti_onebit_words(d->count) * (double)sizeof(int32_t);
}

/* ---- topk ---- */

tutti_status tutti_check_topk(const tutti_topk_desc *desc)
{
    tutti_status status = tutti_cpu_check("topk", "count", desc->count, 1);
    if (status) return status;
    if (desc->kept < 1 || desc->kept > desc->count)
        return tutti_fail(TUTTI_ERR_INVAL, "topk: %lld of %lld elements are kept",
            (long long)desc->kept, (long long)desc->count);
    return check_rows("topk", &desc->rows, tutti_topk_words(desc->kept));
}

tutti_status tutti_open_topk(const void *desc, void **args)
{
    const tutti_topk_desc *d = desc;
    tutti_status status = tutti_check_topk(d);
    return status ? status : tutti_cpu_copy("topk", d, sizeof *d, args);
}

/* The elements are read once for each digit, and once more. */
TUTTI_CPU_BYTES(topk_encode)
{
    const tutti_topk_desc *d = desc;
    return 7.0 * (double)d->count * (double)element +
           (double)tutti_topk_words(d->kept) * (double)sizeof(int32_t);
}

/* ---- powersgd ---- */

tutti_status tutti_check_powersgd(const tutti_powersgd_desc *desc)
{
    const int64_t g[] = {desc->rows, desc->columns};
    tutti_status status = tutti_cpu_check("powersgd", "rows", desc->rows, 1);
    if (!status) status = tutti_cpu_check("powersgd", "columns", desc->columns, 1);
    if (!status) status = tutti_cpu_check_count("powersgd", g, 2);
    if (status) return status;
    if (desc->rank >= 1 && desc->rank <= desc->rows && desc->rank <= desc->columns) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "powersgd: a matrix of %lldx%lld has no rank %d",
        (long long)desc->rows, (long long)desc->columns, desc->rank);
}

tutti_status tutti_open_powersgd(const void *desc, void **args)
{
    const tutti_powersgd_desc *d = desc;
    tutti_status status = tutti_check_powersgd(d);
    return status ? status : tutti_cpu_copy("powersgd", d, sizeof *d, args);
}

static double product_flops(const void *desc)
{
    const tutti_powersgd_desc *d = desc;
    return 2.0 * (double)d->rows * (double)d->columns * d->rank;
}

static double products_flops(const void *desc)
{
    return 2 * product_flops(desc);
}

TUTTI_OP(onebit_encode, "g->code:I32,e:F32(rw)", TUTTI_PART_SUM, sizeof(tutti_onebit_desc),
    .bytes = onebit_encode_bytes);
TUTTI_OP(onebit_decode, "code->g:F32", TUTTI_PART_SUM, sizeof(tutti_onebit_desc));
TUTTI_OP(topk_encode, "g->code:I32,e:F32(rw)", TUTTI_PART_SUM, sizeof(tutti_topk_desc),
    .bytes = topk_encode_bytes);
TUTTI_OP(topk_decode, "code->g:F32", TUTTI_PART_SUM, sizeof(tutti_topk_desc));
TUTTI_OP(powersgd_left, "g->p,q(rw),e(rw)", TUTTI_PART_SUM, sizeof(tutti_powersgd_desc),
    .flops = product_flops);
TUTTI_OP(powersgd_right, "->p(rw),e(rw),q", TUTTI_PART_SUM, sizeof(tutti_powersgd_desc),
    .flops = products_flops);
TUTTI_OP(
    powersgd_sum, "p,q->g", TUTTI_PART_SUM, sizeof(tutti_powersgd_desc), .flops = product_flops);
