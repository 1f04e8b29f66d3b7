#include "dag/kernels/arith.h"

#include "dag/kernels/cpu.h"

enum { WIDE = 4 }; /* vectors at a time: registers hold their sums while the inputs pass by */

/* The first of those that are added, then the next `inputs` ones. */
TUTTI_INLINE void sum_strip(const void *first, void *const inputs[], int count, int relu, void *y,
    tutti_dtype from, tutti_dtype to, int64_t i, int vectors, int lanes)
{
    tutti_lanes total[WIDE], term;
    TUTTI_EACH (j, vectors) tutti_get_lanes(&total[j], from, first, i + j * TUTTI_LANES, lanes);
    for (int input = 0; input < count; input++) {
        const void *x = inputs[input];
        TUTTI_EACH (j, vectors) {
            tutti_get_lanes(&term, from, x, i + j * TUTTI_LANES, lanes);
            total[j] += term;
        }
    }
    TUTTI_EACH (j, vectors) {
        if (relu) tutti_rectify(&total[j]);
        tutti_put_lanes(to, y, i + j * TUTTI_LANES, &total[j], lanes);
    }
}

TUTTI_INLINE void sum_all(
    const tutti_sum_desc *d, void *const buf[], int relu, tutti_dtype from, tutti_dtype to)
{
    const int64_t count = d->count;
    const int more = d->into ? d->inputs : d->inputs - 1;
    void *y = buf[d->inputs], *const *inputs = d->into ? buf : buf + 1;
    const void *first = d->into ? y : buf[0];
    int64_t i = 0;
    for (; i + WIDE * TUTTI_LANES <= count; i += WIDE * TUTTI_LANES)
        sum_strip(first, inputs, more, relu, y, from, to, i, WIDE, TUTTI_LANES);
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES)
        sum_strip(first, inputs, more, relu, y, from, to, i, 1, TUTTI_LANES);
    if (i < count) sum_strip(first, inputs, more, relu, y, from, to, i, 1, (int)(count - i));
}

TUTTI_INLINE void sum_to(
    const tutti_sum_desc *d, void *const buf[], tutti_dtype from, tutti_dtype to)
{
    if (d->relu)
        sum_all(d, buf, 1, from, to);
    else
        sum_all(d, buf, 0, from, to);
}

TUTTI_INLINE void sum(const void *args, void *const buf[], tutti_dtype dtype)
{
    sum_to(args, buf, dtype, dtype);
}

TUTTI_CPU_VALUES_FN(sum)

static void sum_narrow(const tutti_sum_desc *d, void *const buf[])
{
    sum_to(d, buf, TUTTI_F32, TUTTI_BF16);
}

TUTTI_CPU_FN(sum_narrow)
{
    (void)queue;
    sum_narrow(args, buf);
    return TUTTI_OK;
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
    tutti_get_lanes(&term, TUTTI_BF16, buf[0], i, lanes);
    tutti_get_lanes(&total, TUTTI_F32, buf[1], i, lanes);
    total += term;
    tutti_put_lanes(TUTTI_F32, buf[1], i, &total, lanes);
}

static void accumulate(void *const buf[], int64_t count)
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

TUTTI_CPU_FN(gate)
{
    (void)args;
    (void)buf;
    (void)queue;
    return TUTTI_OK;
}

const tutti_kernel TUTTI_CLONE(tutti_kernels_arith)[] = {
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
