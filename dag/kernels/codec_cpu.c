#include "dag/kernels/codec.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t block_at(const tutti_compressed_rows *rows, int replica)
{
    return replica * rows->stride + rows->first;
}

/* e += g */
TUTTI_INLINE void gather(const float *g, float *e, int64_t count)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) {
        tutti_lanes sum, more;
        tutti_load(&sum, e + i, TUTTI_LANES);
        tutti_load(&more, g + i, TUTTI_LANES);
        sum += more;
        tutti_store(e + i, &sum, TUTTI_LANES);
    }
    for (; i < count; i++) e[i] += g[i];
}

/* ---- onebit ---- */

static int64_t group_at(int64_t count, int64_t i)
{
    return count - i < TUTTI_ONEBIT_GROUP ? count - i : TUTTI_ONEBIT_GROUP;
}

/* What stands for the elements of a group that are below 0, and for the others. */
TUTTI_INLINE void means_of(const float *x, int64_t count, float mean[2])
{
    double sum[2] = {0, 0};
    int64_t above = 0;
    for (int64_t i = 0; i < count; i++) {
        const int below = x[i] < 0;
        sum[0] += below ? (double)x[i] : 0;
        sum[1] += below ? 0 : (double)x[i];
        above += !below;
    }
    mean[0] = count > above ? (float)(sum[0] / (double)(count - above)) : 0;
    mean[1] = above ? (float)(sum[1] / (double)above) : 0;
}

/* Writes a group's code, and leaves in x what that does not say. */
TUTTI_INLINE void encode_group(float *x, int64_t count, int32_t *code)
{
    float mean[2];
    means_of(x, count, mean);
    memcpy(code, mean, sizeof mean);
    for (int64_t i = 0; i < count; i += 32) {
        const int bits = count - i < 32 ? (int)(count - i) : 32;
        uint32_t word = 0;
        for (int k = 0; k < bits; k++) {
            const uint32_t above = !(x[i + k] < 0);
            word |= above << k;
            x[i + k] -= mean[above];
        }
        memcpy(&code[2 + i / 32], &word, sizeof word);
    }
}

static void onebit_encode(const tutti_onebit_desc *d, const float *g, int32_t *code, float *e)
{
    code += block_at(&d->rows, d->rows.replica);
    gather(g, e, d->count);
    for (int64_t i = 0; i < d->count; i += TUTTI_ONEBIT_GROUP) {
        const int64_t count = group_at(d->count, i);
        encode_group(e + i, count, code);
        code += tutti_onebit_words(count);
    }
}

TUTTI_CPU_FN(onebit_encode)
{
    (void)queue;
    onebit_encode(args, buf[0], buf[1], buf[2]);
    return TUTTI_OK;
}

/* g, of one group, becomes or gets more by what a replica has sent. */
TUTTI_INLINE void decode_group(const int32_t *code, float *g, int64_t count, int more)
{
    float mean[2];
    memcpy(mean, code, sizeof mean);
    for (int64_t i = 0; i < count; i += 32) {
        const int bits = count - i < 32 ? (int)(count - i) : 32;
        const uint32_t word = (uint32_t)code[2 + i / 32];
        for (int k = 0; k < bits; k++) {
            const float value = word >> k & 1 ? mean[1] : mean[0];
            g[i + k] = more ? g[i + k] + value : value;
        }
    }
}

static void onebit_decode(const tutti_onebit_desc *d, const int32_t *code, float *g)
{
    for (int r = 0; r < d->rows.replicas; r++) {
        const int32_t *block = code + block_at(&d->rows, r);
        for (int64_t i = 0; i < d->count; i += TUTTI_ONEBIT_GROUP) {
            const int64_t count = group_at(d->count, i);
            decode_group(block, g + i, count, r > 0);
            block += tutti_onebit_words(count);
        }
    }
}

TUTTI_CPU_FN(onebit_decode)
{
    (void)queue;
    onebit_decode(args, buf[0], buf[1]);
    return TUTTI_OK;
}

/* ---- topk ---- */

/* Magnitudes as integers, which have the order of the floats; NaN is the largest. */
static uint32_t magnitude(const float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    return bits & 0x7fffffff;
}

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* The `kept`-th largest magnitude, digit by digit: of the elements that have the digits found so far, how many
 * have each next one. *equal: how many of those of that magnitude are kept. */
static uint32_t find_least(const float *x, int64_t count, int64_t kept, int64_t *equal)
{
    int64_t times[DIGITS];
    uint32_t found = 0, known = 0; /* digits found; a mask of them */
    for (int shift = 2 * DIGIT; shift >= 0; shift -= DIGIT) {
        memset(times, 0, sizeof times);
        for (int64_t i = 0; i < count; i++) {
            const uint32_t m = magnitude(x + i);
            if ((m & known) == found) times[m >> shift & (DIGITS - 1)]++;
        }
        uint32_t digit = DIGITS - 1;
        while (times[digit] < kept) kept -= times[digit--];
        found |= digit << shift;
        known |= (uint32_t)(DIGITS - 1) << shift;
    }
    *equal = kept;
    return found;
}

static void topk_encode(const tutti_topk_desc *d, const float *g, int32_t *code, float *e)
{
    int32_t *index = code + block_at(&d->rows, d->rows.replica), *value = index + d->kept;
    int64_t equal, taken = 0;
    gather(g, e, d->count);
    const uint32_t least = find_least(e, d->count, d->kept, &equal);
    for (int64_t i = 0; i < d->count; i++) {
        const uint32_t m = magnitude(e + i);
        if (m < least || (m == least && equal-- <= 0)) continue;
        index[taken] = (int32_t)i;
        memcpy(&value[taken++], e + i, sizeof *e);
        e[i] = 0;
    }
}

TUTTI_CPU_FN(topk_encode)
{
    (void)queue;
    topk_encode(args, buf[0], buf[1], buf[2]);
    return TUTTI_OK;
}

TUTTI_CPU_FN(topk_decode)
{
    const tutti_topk_desc *d = args;
    const int32_t *code = buf[0];
    float *g = buf[1];
    (void)queue;
    memset(g, 0, (size_t)d->count * sizeof *g);
    for (int r = 0; r < d->rows.replicas; r++)
        for (int64_t i = 0; i < d->kept; i++) {
            const int32_t *index = code + block_at(&d->rows, r);
            float value;
            if (index[i] < 0 || index[i] >= d->count)
                return tutti_fail(TUTTI_ERR_INTERNAL,
                    "topk: replica %d sent an element %d, of %lld: what it sent was changed on the "
                    "way",
                    r, (int)index[i], (long long)d->count);
            memcpy(&value, &index[d->kept + i], sizeof value);
            g[index[i]] += value;
        }
    return TUTTI_OK;
}

/* ---- powersgd ---- */

/* Lanes are added in their order. */
TUTTI_INLINE double dot(const float *x, const float *y, int64_t count)
{
    tutti_lanes sum[TUTTI_SUMS / TUTTI_LANES] = {0};
    float part[TUTTI_SUMS];
    double total = 0;
    int64_t i = 0;
    for (; i + TUTTI_SUMS <= count; i += TUTTI_SUMS)
        TUTTI_EACH (j, TUTTI_SUMS / TUTTI_LANES) {
            tutti_lanes a, b;
            tutti_load(&a, x + i + j * TUTTI_LANES, TUTTI_LANES);
            tutti_load(&b, y + i + j * TUTTI_LANES, TUTTI_LANES);
            sum[j] += a * b;
        }
    memcpy(part, sum, sizeof part);
    for (int k = 0; i < count; i++, k++) part[k] += x[i] * y[i];
    for (int k = 0; k < TUTTI_SUMS; k++) total += (double)part[k];
    return total;
}

/* y += a x */
TUTTI_INLINE void add(float a, const float *x, float *y, int64_t count)
{
    int64_t i = 0;
    for (; i + TUTTI_LANES <= count; i += TUTTI_LANES) {
        tutti_lanes v, sum;
        tutti_load(&v, x + i, TUTTI_LANES);
        tutti_load(&sum, y + i, TUTTI_LANES);
        sum += v * a;
        tutti_store(y + i, &sum, TUTTI_LANES);
    }
    for (; i < count; i++) y[i] += x[i] * a;
}

/* Draws a vector anew if it is all 0. */
static void wake(const tutti_powersgd_desc *d, int j, float *q)
{
    for (int64_t i = 0; i < d->columns; i++)
        if (q[i] != 0) return; /* NaN, too */
    for (int64_t i = 0; i < d->columns; i++)
        q[i] =
            (float)(2 * tutti_rng_uniform(d->seed, d->stream, (uint64_t)(j * d->columns + i)) - 1);
}

static void powersgd_left(
    const tutti_powersgd_desc *d, const float *g, float *p, float *q, float *e)
{
    gather(g, e, d->rows * d->columns);
    for (int j = 0; j < d->rank; j++)
        for (int64_t i = 0; i < d->rows; i++)
            p[j * d->rows + i] = (float)dot(e + i * d->columns, q + j * d->columns, d->columns);
}

TUTTI_CPU_FN(powersgd_left)
{
    const tutti_powersgd_desc *d = args;
    float *q = buf[2];
    (void)queue;
    for (int j = 0; j < d->rank; j++) wake(d, j, q + j * d->columns);
    powersgd_left(d, buf[0], buf[1], q, buf[3]);
    return TUTTI_OK;
}

/* A vector of p loses what it has in common with those before it. What is left of one that depends on them is
 * rounding, and no direction: it becomes 0. One whose length overflows becomes NaN, which is not taken for 0. */
TUTTI_INLINE void make_orthonormal(const tutti_powersgd_desc *d, float *p, int j)
{
    float *v = p + j * d->rows;
    const double before = sqrt(dot(v, v, d->rows));
    for (int k = 0; k < j; k++)
        add((float)-dot(p + k * d->rows, v, d->rows), p + k * d->rows, v, d->rows);
    const double length = sqrt(dot(v, v, d->rows));
    if (!isfinite(length))
        for (int64_t i = 0; i < d->rows; i++) v[i] = NAN;
    else if (length <= TUTTI_POWERSGD_ROUNDING * before)
        memset(v, 0, (size_t)d->rows * sizeof *v);
    else
        for (int64_t i = 0; i < d->rows; i++) v[i] = (float)((double)v[i] / length);
}

static void powersgd_right(const tutti_powersgd_desc *d, float *p, float *q, float *e)
{
    const int64_t R = d->rows, C = d->columns;
    for (int j = 0; j < d->rank; j++) make_orthonormal(d, p, j);
    memset(q, 0, (size_t)(d->rank * C) * sizeof *q);
    for (int64_t i = 0; i < R; i++)
        for (int j = 0; j < d->rank; j++) add(p[j * R + i], e + i * C, q + j * C, C);
    for (int64_t i = 0; i < R; i++)
        for (int j = 0; j < d->rank; j++) add(-p[j * R + i], q + j * C, e + i * C, C);
}

TUTTI_CPU_FN(powersgd_right)
{
    (void)queue;
    powersgd_right(args, buf[0], buf[2], buf[1]);
    return TUTTI_OK;
}

static void powersgd_sum(const tutti_powersgd_desc *d, const float *p, const float *q, float *g)
{
    const int64_t R = d->rows, C = d->columns;
    memset(g, 0, (size_t)(R * C) * sizeof *g);
    for (int64_t i = 0; i < R; i++)
        for (int j = 0; j < d->rank; j++) add(p[j * R + i], q + j * C, g + i * C, C);
}

TUTTI_CPU_FN(powersgd_sum)
{
    (void)queue;
    powersgd_sum(args, buf[0], buf[1], buf[2]);
    return TUTTI_OK;
}

const tutti_kernel TUTTI_CLONE(tutti_kernels_codec)[] = {
    TUTTI_CPU_LOOP(onebit_encode, tutti_open_onebit, onebit_encode_run),
    TUTTI_CPU_LOOP_OF(onebit_decode, TUTTI_I32, tutti_open_onebit, onebit_decode_run),
    TUTTI_CPU_LOOP(topk_encode, tutti_open_topk, topk_encode_run),
    TUTTI_CPU_LOOP_OF(topk_decode, TUTTI_I32, tutti_open_topk, topk_decode_run),
    TUTTI_CPU_LOOP(powersgd_left, tutti_open_powersgd, powersgd_left_run),
    TUTTI_CPU_LOOP(powersgd_right, tutti_open_powersgd, powersgd_right_run),
    TUTTI_CPU_LOOP(powersgd_sum, tutti_open_powersgd, powersgd_sum_run), {.op = NULL}};
