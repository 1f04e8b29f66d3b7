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

TUTTI_INLINE void sum_lanes(const tutti_sum_desc *d, void *const buf[], tutti_dtype from,
    tutti_dtype to, int64_t i, int lanes)
{
    tutti_lanes total, term;
    tutti_get(&total, from, buf[d->into ? d->inputs : 0], i, lanes);
    for (int input = !d->into; input < d->inputs; input++) {
        tutti_get(&term, from, buf[input], i, lanes);
        total += term;
    }
    if (d->relu) tutti_rectify(&total);
    tutti_put(to, buf[d->inputs], i, &total, lanes);
}

TUTTI_INLINE void sum_to(
    const tutti_sum_desc *d, void *const buf[], tutti_dtype from, tutti_dtype to)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= d->count; i += TUTTI_LANES)
        sum_lanes(d, buf, from, to, i, TUTTI_LANES);
    if (i < d->count) sum_lanes(d, buf, from, to, i, (int)(d->count - i));
}

TUTTI_INLINE void sum(const void *args, void *const buf[], tutti_dtype dtype)
{
    sum_to(args, buf, dtype, dtype);
}

TUTTI_CPU_VALUES_FN(sum)

TUTTI_CLONES static void sum_narrow(const tutti_sum_desc *d, void *const buf[])
{
    sum_to(d, buf, TUTTI_F32, TUTTI_BF16);
}

TUTTI_CPU_FN(sum_narrow)
{
    (void)queue;
    sum_narrow(args, buf);
    return TUTTI_OK;
}

tutti_status tutti_open_widen(const void *desc, void **args)
{
    const tutti_widen_desc *d = desc;
    if (d->count < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "widen, narrow, accumulate: the tensor is empty");
    return tutti_cpu_copy("widen", d, sizeof *d, args);
}

TUTTI_CPU_FN(widen)
{
    const tutti_widen_desc *d = args;
    (void)queue;
    tutti_cpu_widen(buf[1], buf[0], d->count);
    return TUTTI_OK;
}

TUTTI_CPU_FN(narrow)
{
    const tutti_widen_desc *d = args;
    (void)queue;
    tutti_cpu_narrow(buf[1], buf[0], d->count);
    return TUTTI_OK;
}

TUTTI_INLINE void accumulate_lanes(void *const buf[], int64_t i, int lanes)
{
    tutti_lanes total, term;
    tutti_get(&term, TUTTI_BF16, buf[0], i, lanes);
    tutti_get(&total, TUTTI_F32, buf[1], i, lanes);
    total += term;
    tutti_put(TUTTI_F32, buf[1], i, &total, lanes);
}

TUTTI_CLONES static void accumulate(void *const buf[], int64_t count)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) accumulate_lanes(buf, i, TUTTI_LANES);
    if (i < count) accumulate_lanes(buf, i, (int)(count - i));
}

TUTTI_CPU_FN(accumulate)
{
    const tutti_widen_desc *d = args;
    (void)queue;
    accumulate(buf, d->count);
    return TUTTI_OK;
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

/* What only moves has no need to know what its elements are: `float` stands for four bytes of one,
 * `uint16_t` for two. */
TUTTI_INLINE size_t bytes_of(tutti_dtype dtype)
{
    return dtype == TUTTI_F32 ? sizeof(float) : sizeof(uint16_t);
}

TUTTI_INLINE void copy(
    tutti_dtype dtype, void *to, int64_t at, const void *from, int64_t first, int64_t count)
{
    const size_t element = bytes_of(dtype);
    char *out = (char *)to + at * (int64_t)element;
    const char *in = (const char *)from + first * (int64_t)element;
    tutti_lanes v;
    int64_t i = 0, bytes = count * (int64_t)element;
    for (; i + (int64_t)sizeof v <= bytes; i += (int64_t)sizeof v) {
        memcpy(&v, in + i, sizeof v);
        memcpy(out + i, &v, sizeof v);
    }
    for (; i < bytes; i += (int64_t)element) memcpy(out + i, in + i, element);
}

TUTTI_INLINE void clear(tutti_dtype dtype, void *to, int64_t at, int64_t count)
{
    memset((char *)to + at * (int64_t)bytes_of(dtype), 0, (size_t)count * bytes_of(dtype));
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

TUTTI_INLINE void concat(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_concat_desc *d = args;
    int64_t at = 0;
    for (int64_t p = 0; p < d->pixels; p++)
        for (int i = 0; i < d->parts; i++) {
            copy(dtype, buf[d->parts], at, buf[i], p * d->C[i], d->C[i]);
            at += d->C[i];
        }
}

TUTTI_CPU_VALUES_FN(concat)

TUTTI_INLINE void split(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_concat_desc *d = args;
    int64_t at = 0;
    for (int64_t p = 0; p < d->pixels; p++)
        for (int i = 0; i < d->parts; i++) {
            copy(dtype, buf[1 + i], p * d->C[i], buf[0], at, d->C[i]);
            at += d->C[i];
        }
}

TUTTI_CPU_VALUES_FN(split)

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

TUTTI_INLINE void put(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_put_desc *d = args;
    copy(dtype, buf[1], d->first, buf[0], 0, d->count);
}

TUTTI_CPU_VALUES_FN(put)

TUTTI_INLINE void take(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_take_desc *d = args;
    int64_t at = 0;
    for (int64_t r = 0; r < d->rows; r++)
        for (int64_t p = 0; p < d->parts; p++, at += d->each)
            copy(dtype, buf[1], at, buf[0], d->first + r * d->row + p * d->part, d->each);
}

TUTTI_CPU_VALUES_FN(take)

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

TUTTI_INLINE void shortcut(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_shortcut_desc *d = args;
    int64_t front = (d->K - d->C) / 2, behind = d->K - d->C - front, at = 0;
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t i = 0; i < d->H; i += d->stride)
            for (int64_t j = 0; j < d->W; j += d->stride) {
                clear(dtype, buf[1], at, front);
                copy(dtype, buf[1], at + front, buf[0], ((n * d->H + i) * d->W + j) * d->C, d->C);
                clear(dtype, buf[1], at + front + d->C, behind);
                at += d->K;
            }
}

TUTTI_CPU_VALUES_FN(shortcut)

TUTTI_INLINE void shortcut_bwd(const void *args, void *const buf[], tutti_dtype dtype)
{
    const tutti_shortcut_desc *d = args;
    int64_t at = (d->K - d->C) / 2;
    clear(dtype, buf[1], 0, d->N * d->H * d->W * d->C);
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t i = 0; i < d->H; i += d->stride)
            for (int64_t j = 0; j < d->W; j += d->stride) {
                copy(dtype, buf[1], ((n * d->H + i) * d->W + j) * d->C, buf[0], at, d->C);
                at += d->K;
            }
}

TUTTI_CPU_VALUES_FN(shortcut_bwd)

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

const tutti_op tutti_op_concat = {.name = "concat",
    .buffers = "x,...->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_concat_bwd = {.name = "concat_bwd",
    .buffers = "dy->dx,...",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_split = {.name = "split",
    .buffers = "x->y,...",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_split_bwd = {.name = "split_bwd",
    .buffers = "dy,...->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_concat_desc)};
const tutti_op tutti_op_shortcut = {.name = "shortcut",
    .buffers = "x->y",
    .part = TUTTI_PART_FORWARD,
    .desc_bytes = sizeof(tutti_shortcut_desc),
    .bytes = shortcut_bytes};
const tutti_op tutti_op_shortcut_bwd = {.name = "shortcut_bwd",
    .buffers = "dy->dx",
    .part = TUTTI_PART_BACKWARD,
    .desc_bytes = sizeof(tutti_shortcut_desc),
    .bytes = shortcut_bwd_bytes};
const tutti_op tutti_op_sum = {.name = "sum",
    .buffers = "x,...->y",
    .part = TUTTI_PART_SUM,
    .desc_bytes = sizeof(tutti_sum_desc)};
const tutti_op tutti_op_sum_narrow = {.name = "sum_narrow",
    .buffers = "x,...->y:BF16",
    .part = TUTTI_PART_SUM,
    .desc_bytes = sizeof(tutti_sum_desc)};
const tutti_op tutti_op_put = {.name = "put",
    .buffers = "x->y(rw)",
    .part = TUTTI_PART_SUM,
    .desc_bytes = sizeof(tutti_put_desc),
    .bytes = put_bytes};
const tutti_op tutti_op_take = {.name = "take",
    .buffers = "x->y",
    .part = TUTTI_PART_SUM,
    .desc_bytes = sizeof(tutti_take_desc),
    .bytes = take_bytes};
const tutti_op tutti_op_narrow = {.name = "narrow",
    .buffers = "x->y:BF16",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_widen_desc)};
const tutti_op tutti_op_widen = {.name = "widen",
    .buffers = "x->y:F32",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_widen_desc)};
const tutti_op tutti_op_accumulate = {.name = "accumulate",
    .buffers = "x->y:F32(rw)",
    .part = TUTTI_PART_SUM,
    .desc_bytes = sizeof(tutti_widen_desc)};

const tutti_op tutti_op_gate = {.name = "gate",
    .buffers = "->x,...(rw)",
    .part = TUTTI_PART_UPDATE,
    .desc_bytes = sizeof(tutti_gate_desc)};

tutti_status tutti_open_gate(const void *desc, void **args)
{
    const tutti_gate_desc *d = desc;
    if (d->inputs < 1) return tutti_fail(TUTTI_ERR_INVAL, "gate: there is no tensor");
    return tutti_cpu_copy("gate", d, sizeof *d, args);
}

TUTTI_CPU_FN(gate)
{
    (void)args;
    (void)buf;
    (void)queue;
    return TUTTI_OK;
}

const tutti_kernel tutti_kernels_arith_cpu[] = {
    TUTTI_CPU_LOOP(gate, tutti_open_gate, gate_run),
    TUTTI_CPU_LOOP_OF(gate, TUTTI_BF16, tutti_open_gate, gate_run),
    TUTTI_CPU_LOOPS(concat, tutti_open_concat, concat, tutti_cpu_free),
    TUTTI_CPU_LOOPS(concat_bwd, tutti_open_concat, split, tutti_cpu_free),
    TUTTI_CPU_LOOPS(split, tutti_open_concat, split, tutti_cpu_free),
    TUTTI_CPU_LOOPS(split_bwd, tutti_open_concat, concat, tutti_cpu_free),
    TUTTI_CPU_LOOPS(shortcut, tutti_open_shortcut, shortcut, tutti_cpu_free),
    TUTTI_CPU_LOOPS(shortcut_bwd, tutti_open_shortcut, shortcut_bwd, tutti_cpu_free),
    TUTTI_CPU_LOOPS(sum, tutti_open_sum, sum, tutti_cpu_free),
    TUTTI_CPU_LOOPS(put, tutti_open_put, put, tutti_cpu_free),
    TUTTI_CPU_LOOPS(take, tutti_open_take, take, tutti_cpu_free),
    TUTTI_CPU_LOOP(sum_narrow, tutti_open_sum_narrow, sum_narrow_run),
    TUTTI_CPU_LOOP(narrow, tutti_open_widen, narrow_run),
    TUTTI_CPU_LOOP_OF(widen, TUTTI_BF16, tutti_open_widen, widen_run),
    TUTTI_CPU_LOOP_OF(accumulate, TUTTI_BF16, tutti_open_widen, accumulate_run),
    {0},
};
