/* Batch normalisation in our own loops rather than the library's: it is memory-bound, and these
 * make as few passes over the tensors as possible. Mean and variance come from one pass (blocks
 * that stay in the first-level cache, merged in double precision into groups, and these into all:
 * Chan, Golub, LeVeque 1983). The second pass walks backwards to use what is still cached, and the
 * ReLU's sign is recomputed from x, which is cheaper than storing a mask. */
#include "dag/kernels/norm.h"

#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/kernels/cpu.h"

#include <math.h>
#include <stdlib.h>

/* A loop over the channels of a block takes some vectors at a time (a strip): as many sums as 16 registers have room
 * for, while some coefficients come from the cache. Fewer vectors read too little of a row at a time. A strip reads
 * whole cache lines of each row, and asks for those of the next block, which the processor does not foresee. */
enum { WIDE = 4 };

/* Arrays have one number per channel and are padded to whole vectors. */
typedef struct norm {
    tutti_norm_desc desc;
    int64_t rows, block_rows, padded;
    double *sum0, *sum1; /* of a group: mean and squared deviations, or the gradient's sums */
    double *all0, *all1; /* of all groups so far */
    float *scale, *shift, *mean, *line; /* coefficients of the pass that writes */
    float *offset;
} norm;

static tutti_status make(const tutti_norm_desc *d, void **args)
{
    size_t channels = (size_t)(d->C + TUTTI_LANES - 1) / TUTTI_LANES * TUTTI_LANES;
    size_t bytes = channels * (4 * sizeof(double) + 5 * sizeof(float));
    norm *k = calloc(1, sizeof *k);
    double *scratch = tutti_mem_aligned(bytes);
    if (!k || !scratch) {
        free(scratch);
        free(k);
        return tutti_fail(TUTTI_ERR_NOMEM, "norm: no memory to open the kernel");
    }
    memset(scratch, 0, bytes); /* what pads them is computed with, but not used */
    k->desc = *d;
    k->rows = d->N * d->H * d->W;
    k->padded = (int64_t)channels;
    k->block_rows = tutti_norm_block_rows(d->C);
    k->sum0 = scratch;
    k->sum1 = k->sum0 + channels;
    k->all0 = k->sum1 + channels;
    k->all1 = k->all0 + channels;
    k->scale = (float *)(k->all1 + channels);
    k->shift = k->scale + channels;
    k->mean = k->shift + channels;
    k->line = k->mean + channels;
    k->offset = k->line + channels;
    *args = k;
    return TUTTI_OK;
}

TUTTI_CPU_OPEN(norm)
{
    tutti_status status = tutti_check_norm(desc);
    return status ? status : make(desc, args);
}

TUTTI_CPU_OPEN(norm_add)
{
    tutti_status status = tutti_check_norm_add(desc);
    return status ? status : make(desc, args);
}

TUTTI_CPU_CLOSE(norm)
{
    norm *k = args;
    if (!k) return;
    free(k->sum0);
    free(k);
}

static void clear_sums(const norm *k, double *sum0, double *sum1)
{
    memset(sum0, 0, (size_t)k->padded * sizeof *sum0);
    memset(sum1, 0, (size_t)k->padded * sizeof *sum1);
}

/* Rows from `first` on, at most as many. */
static int64_t rows_at(const norm *k, int64_t first, int64_t most)
{
    return k->rows - first < most ? k->rows - first : most;
}

/* Reduces the formula to y = scale * x + shift for given statistics (mean, variance). */
static void set_line(const norm *k, const float *scaleshift, const float *stats)
{
    int64_t C = k->desc.C;
    for (int64_t c = 0; c < C; c++) {
        float inverse = (float)(1 / sqrt((double)stats[C + c] + (double)k->desc.eps));
        k->mean[c] = stats[c];
        k->scale[c] = scaleshift[c] * inverse;
        k->shift[c] = scaleshift[C + c] - stats[c] * k->scale[c];
    }
}

/* ---- Strips ---- */

/* strip(..., c, vectors, lanes) for all channels, from channel c on, WIDE vectors at a time, then 2,
 * then 1; lanes: of the last vector. */
#define ALL_STRIPS(k, strip, ...)                                                                  \
    do {                                                                                           \
        int64_t c_ = 0, C_ = (k)->desc.C;                                                          \
        for (; c_ + WIDE * TUTTI_LANES <= C_; c_ += WIDE * TUTTI_LANES)                            \
            strip(k, __VA_ARGS__, c_, WIDE, TUTTI_LANES);                                          \
        for (; c_ + 2 * TUTTI_LANES <= C_; c_ += 2 * TUTTI_LANES)                                  \
            strip(k, __VA_ARGS__, c_, 2, TUTTI_LANES);                                             \
        for (; c_ + TUTTI_LANES <= C_; c_ += TUTTI_LANES)                                          \
            strip(k, __VA_ARGS__, c_, 1, TUTTI_LANES);                                             \
        if (c_ < C_) strip(k, __VA_ARGS__, c_, 1, (int)(C_ - c_));                                 \
    } while (0)

/* What follows the norm. LIMITED: a ReLU with a limit. */
typedef enum after { NOTHING, RELU, LIMITED, ADD_RELU } after;

TUTTI_INLINE after follower(const norm *k)
{
    return !k->desc.relu ? NOTHING : k->desc.limit > 0 ? LIMITED : RELU;
}

/* The limit in all lanes, as values of this type have it. */
TUTTI_INLINE void get_limit(tutti_lanes *limit, const norm *k, tutti_dtype dtype)
{
    *limit = (tutti_lanes){0} + k->desc.limit;
    tutti_round(dtype, limit);
}

/* Asks for a strip's row: once for each line. */
TUTTI_INLINE void ask(tutti_dtype dtype, const void *from, int64_t i, int j, int writes)
{
    if (j * TUTTI_LANES * 4 % 64 == 0) tutti_ask(dtype, from, i, writes);
}

/* ---- Statistics ---- */

/* Merges the mean and the squared deviations of `rows` more rows after `seen` rows. */
TUTTI_INLINE void merge_moments(double *mean, double *squares, int64_t seen, int64_t rows,
    const tutti_wide *more_mean, const tutti_wide *more_squares)
{
    double share = (double)rows / (double)(seen + rows), weight = (double)seen * share;
    tutti_wide m, s;
    tutti_load_wide(&m, mean);
    tutti_load_wide(&s, squares);
    TUTTI_EACH (i, 2) {
        const tutti_dlanes delta = more_mean->half[i] - m.half[i];
        m.half[i] += delta * share;
        s.half[i] += more_squares->half[i] + delta * delta * weight;
    }
    tutti_store_wide(mean, &m);
    tutti_store_wide(squares, &s);
}

/* Merges a block's moments into those of its group, after `seen` rows of it. */
TUTTI_INLINE void strip_moments(const norm *k, tutti_dtype dtype, int64_t first, int64_t rows,
    const void *x, int64_t seen, int64_t c, int vectors, int lanes)
{
    int64_t C = k->desc.C, from = first * C + c, r = 0;
    tutti_lanes v, a[WIDE], b[WIDE], mean[WIDE];
    TUTTI_EACH (j, vectors) a[j] = b[j] = (tutti_lanes){0};
    for (; r + 2 <= rows; r += 2)
        TUTTI_EACH (j, vectors) {
            int64_t at = from + r * C + j * TUTTI_LANES;
            tutti_get_lanes(&v, dtype, x, at, lanes);
            a[j] += v;
            tutti_get_lanes(&v, dtype, x, at + C, lanes);
            b[j] += v;
        }
    if (r < rows)
        TUTTI_EACH (j, vectors) {
            tutti_get_lanes(&v, dtype, x, from + r * C + j * TUTTI_LANES, lanes);
            a[j] += v;
        }
    TUTTI_EACH (j, vectors) {
        mean[j] = (a[j] + b[j]) / (float)rows;
        a[j] = b[j] = (tutti_lanes){0};
    }
    for (r = 0; r + 2 <= rows; r += 2)
        TUTTI_EACH (j, vectors) {
            int64_t at = from + r * C + j * TUTTI_LANES;
            ask(dtype, x, at + rows * C, j, 0);
            ask(dtype, x, at + rows * C + C, j, 0);
            tutti_get_lanes(&v, dtype, x, at, lanes);
            v -= mean[j];
            a[j] += v * v;
            tutti_get_lanes(&v, dtype, x, at + C, lanes);
            v -= mean[j];
            b[j] += v * v;
        }
    if (r < rows)
        TUTTI_EACH (j, vectors) {
            tutti_get_lanes(&v, dtype, x, from + r * C + j * TUTTI_LANES, lanes);
            v -= mean[j];
            a[j] += v * v;
        }
    TUTTI_EACH (j, vectors) {
        int64_t channel = c + j * TUTTI_LANES;
        a[j] += b[j];
        tutti_wide m, squares;
        tutti_to_double(&m, &mean[j]);
        tutti_to_double(&squares, &a[j]);
        merge_moments(k->sum0 + channel, k->sum1 + channel, seen, rows, &m, &squares);
    }
}

/* Merges a group of `rows` after `seen` rows of others. */
TUTTI_INLINE void merge_group(const norm *k, int64_t seen, int64_t rows)
{
    for (int64_t c = 0; c < k->padded; c += TUTTI_LANES) {
        tutti_wide mean, squares;
        tutti_load_wide(&mean, k->sum0 + c);
        tutti_load_wide(&squares, k->sum1 + c);
        merge_moments(k->all0 + c, k->all1 + c, seen, rows, &mean, &squares);
    }
}

TUTTI_INLINE void moments(const norm *k, tutti_dtype dtype, const void *x)
{
    const int64_t group_rows = TUTTI_NORM_GROUP * k->block_rows;
    clear_sums(k, k->all0, k->all1);
    for (int64_t group = 0; group < k->rows; group += group_rows) {
        const int64_t in_group = rows_at(k, group, group_rows);
        clear_sums(k, k->sum0, k->sum1);
        for (int64_t seen = 0; seen < in_group; seen += k->block_rows) {
            const int64_t first = group + seen, rows = rows_at(k, first, k->block_rows);
            ALL_STRIPS(k, strip_moments, dtype, first, rows, x, seen);
        }
        merge_group(k, group, in_group);
    }
}

/* ---- y = scale * x + shift ---- */

TUTTI_INLINE void strip_apply(const norm *k, tutti_dtype dtype, int64_t first, int64_t rows,
    const void *x, const void *other, void *y, after what, int64_t c, int vectors, int lanes)
{
    int64_t C = k->desc.C;
    tutti_lanes scale[WIDE], shift[WIDE], limit;
    get_limit(&limit, k, dtype);
    TUTTI_EACH (j, vectors) {
        int64_t channel = c + j * TUTTI_LANES;
        tutti_load(&scale[j], k->scale + channel, TUTTI_LANES);
        tutti_load(&shift[j], k->shift + channel, TUTTI_LANES);
    }
    for (int64_t r = first; r < first + rows; r++)
        TUTTI_EACH (j, vectors) {
            int64_t at = r * C + c + j * TUTTI_LANES;
            tutti_lanes v, more;
            ask(dtype, x, at - rows * C, j, 0);
            if (what == ADD_RELU) ask(dtype, other, at - rows * C, j, 0);
            ask(dtype, y, at - rows * C, j, 1);
            tutti_get_lanes(&v, dtype, x, at, lanes);
            v = v * scale[j] + shift[j];
            if (what == ADD_RELU) {
                tutti_get_lanes(&more, dtype, other, at, lanes);
                tutti_round(dtype, &v);
                v += more;
            }
            if (what != NOTHING) tutti_rectify(&v);
            if (what == LIMITED) tutti_limit(&v, &limit);
            tutti_put_lanes(dtype, y, at, &v, lanes);
        }
}

TUTTI_INLINE void apply(const norm *k, tutti_dtype dtype, const void *x, const void *other, void *y)
{
    for (int64_t end = k->rows; end > 0; end -= k->block_rows) {
        int64_t rows = end < k->block_rows ? end : k->block_rows;
        if (other)
            ALL_STRIPS(k, strip_apply, dtype, end - rows, rows, x, other, y, ADD_RELU);
        else if (follower(k) == RELU)
            ALL_STRIPS(k, strip_apply, dtype, end - rows, rows, x, NULL, y, RELU);
        else if (follower(k) == LIMITED)
            ALL_STRIPS(k, strip_apply, dtype, end - rows, rows, x, NULL, y, LIMITED);
        else
            ALL_STRIPS(k, strip_apply, dtype, end - rows, rows, x, NULL, y, NOTHING);
    }
}

TUTTI_INLINE void set_statistics(
    const norm *k, tutti_dtype dtype, const void *x, const float *scaleshift, float *stats)
{
    moments(k, dtype, x);
    for (int64_t c = 0; c < k->desc.C; c++) {
        stats[c] = (float)k->all0[c];
        stats[k->desc.C + c] = (float)(k->all1[c] / (double)k->rows);
    }
    set_line(k, scaleshift, stats);
}

TUTTI_INLINE void norm_train(const void *args, void *const buf[], tutti_dtype dtype)
{
    set_statistics(args, dtype, buf[0], buf[1], buf[3]);
    apply(args, dtype, buf[0], NULL, buf[2]);
}

TUTTI_CPU_VALUES_FN(norm_train)

TUTTI_INLINE void norm_add(const void *args, void *const buf[], tutti_dtype dtype)
{
    set_statistics(args, dtype, buf[0], buf[1], buf[4]);
    apply(args, dtype, buf[0], buf[2], buf[3]);
}

TUTTI_CPU_VALUES_FN(norm_add)

TUTTI_INLINE void norm_infer(const void *args, void *const buf[], tutti_dtype dtype)
{
    const norm *k = args;
    set_line(k, buf[1], buf[2]);
    apply(k, dtype, buf[0], NULL, buf[3]);
}

TUTTI_CPU_VALUES_FN(norm_infer)

/* ---- Gradient ---- */

/* The gradient before the ReLU: zero where y, computed as in the forward pass, is not positive, or has reached the
 * limit. */
TUTTI_INLINE void through_relu(const norm *k, tutti_dtype dtype, after what, tutti_lanes *dy,
    const tutti_lanes *x, const tutti_lanes *scale, const tutti_lanes *shift)
{
    tutti_lanes y = *x * *scale + *shift, limit;
    tutti_ilanes alive = y > 0.0f;
    if (what == LIMITED) {
        get_limit(&limit, k, dtype);
        tutti_round(dtype, &y);
        alive = (y > 0.0f) & (y < limit);
    }
    if (what != NOTHING) tutti_keep(dy, &alive);
}

TUTTI_INLINE void add_doubles(double *to, const tutti_lanes *v)
{
    tutti_wide sum, more;
    tutti_load_wide(&sum, to);
    tutti_to_double(&more, v);
    TUTTI_EACH (i, 2) sum.half[i] += more.half[i];
    tutti_store_wide(to, &sum);
}

/* Adds a block's sums of g and g * (x - mean) to its group's. */
TUTTI_INLINE void strip_sums(const norm *k, tutti_dtype dtype, int64_t first, int64_t rows,
    const void *x, const void *dy, after what, int64_t c, int vectors, int lanes)
{
    int64_t C = k->desc.C;
    tutti_lanes scale[WIDE], shift[WIDE], mean[WIDE], v, g, a[WIDE], b[WIDE];
    TUTTI_EACH (j, vectors) {
        int64_t channel = c + j * TUTTI_LANES;
        tutti_load(&scale[j], k->scale + channel, TUTTI_LANES);
        tutti_load(&shift[j], k->shift + channel, TUTTI_LANES);
        tutti_load(&mean[j], k->mean + channel, TUTTI_LANES);
        a[j] = b[j] = (tutti_lanes){0};
    }
    for (int64_t r = first; r < first + rows; r++)
        TUTTI_EACH (j, vectors) {
            int64_t at = r * C + c + j * TUTTI_LANES;
            ask(dtype, x, at + rows * C, j, 0);
            ask(dtype, dy, at + rows * C, j, 0);
            tutti_get_lanes(&v, dtype, x, at, lanes);
            tutti_get_lanes(&g, dtype, dy, at, lanes);
            through_relu(k, dtype, what, &g, &v, &scale[j], &shift[j]);
            a[j] += g;
            b[j] += g * (v - mean[j]);
        }
    TUTTI_EACH (j, vectors) {
        add_doubles(k->sum0 + c + j * TUTTI_LANES, &a[j]);
        add_doubles(k->sum1 + c + j * TUTTI_LANES, &b[j]);
    }
}

TUTTI_INLINE void keep_lanes(
    tutti_dtype dtype, const void *y, const void *dy, void *dother, int64_t i, int lanes)
{
    tutti_lanes out, g;
    tutti_get_lanes(&out, dtype, y, i, lanes);
    tutti_get_lanes(&g, dtype, dy, i, lanes);
    const tutti_ilanes alive = out > 0.0f;
    tutti_keep(&g, &alive);
    tutti_put_lanes(dtype, dother, i, &g, lanes);
}

/* dother = dy where y is positive, else 0: of a block, which the strips then find in the cache. With four tensors in
 * strips, rows that are a multiple of 4 KiB apart would drive each other out of it. */
TUTTI_INLINE void keep_positive(
    tutti_dtype dtype, int64_t first, int64_t count, const void *y, const void *dy, void *dother)
{
    const int64_t end = first + count;
    int64_t i = first;
    for (; i + TUTTI_LANES <= end; i += TUTTI_LANES)
        keep_lanes(dtype, y, dy, dother, i, TUTTI_LANES);
    if (i < end) keep_lanes(dtype, y, dy, dother, i, (int)(end - i));
}

/* y: NULL, or dother is written first, and takes the place of dy. */
TUTTI_INLINE void gradient_sums(
    const norm *k, tutti_dtype dtype, const void *x, const void *dy, const void *y, void *dother)
{
    const int64_t group_rows = TUTTI_NORM_GROUP * k->block_rows, C = k->desc.C;
    clear_sums(k, k->all0, k->all1);
    for (int64_t group = 0; group < k->rows; group += group_rows) {
        const int64_t end = group + rows_at(k, group, group_rows);
        clear_sums(k, k->sum0, k->sum1);
        for (int64_t first = group; first < end; first += k->block_rows) {
            const int64_t rows = rows_at(k, first, k->block_rows);
            if (y) keep_positive(dtype, first * C, rows * C, y, dy, dother);
            if (follower(k) == RELU)
                ALL_STRIPS(k, strip_sums, dtype, first, rows, x, dy, RELU);
            else if (follower(k) == LIMITED)
                ALL_STRIPS(k, strip_sums, dtype, first, rows, x, dy, LIMITED);
            else
                ALL_STRIPS(k, strip_sums, dtype, first, rows, x, y ? dother : dy, NOTHING);
        }
        for (int64_t c = 0; c < k->padded; c++) {
            k->all0[c] += k->sum0[c];
            k->all1[c] += k->sum1[c];
        }
    }
}

/* dx = scale * g - line * (x - mean) - offset */
TUTTI_INLINE void strip_gradient(const norm *k, tutti_dtype dtype, int64_t first, int64_t rows,
    const void *x, const void *dy, void *dx, after what, int64_t c, int vectors, int lanes)
{
    int64_t C = k->desc.C;
    tutti_lanes scale[WIDE], shift[WIDE], mean[WIDE], line[WIDE], offset[WIDE], v, g;
    TUTTI_EACH (j, vectors) {
        int64_t channel = c + j * TUTTI_LANES;
        tutti_load(&scale[j], k->scale + channel, TUTTI_LANES);
        tutti_load(&shift[j], k->shift + channel, TUTTI_LANES);
        tutti_load(&mean[j], k->mean + channel, TUTTI_LANES);
        tutti_load(&line[j], k->line + channel, TUTTI_LANES);
        tutti_load(&offset[j], k->offset + channel, TUTTI_LANES);
    }
    for (int64_t r = first; r < first + rows; r++)
        TUTTI_EACH (j, vectors) {
            int64_t at = r * C + c + j * TUTTI_LANES;
            ask(dtype, x, at - rows * C, j, 0);
            ask(dtype, dy, at - rows * C, j, 0);
            ask(dtype, dx, at - rows * C, j, 1);
            tutti_get_lanes(&v, dtype, x, at, lanes);
            tutti_get_lanes(&g, dtype, dy, at, lanes);
            through_relu(k, dtype, what, &g, &v, &scale[j], &shift[j]);
            g = g * scale[j] - (v - mean[j]) * line[j] - offset[j];
            tutti_put_lanes(dtype, dx, at, &g, lanes);
        }
}

TUTTI_INLINE void gradient(
    const norm *k, tutti_dtype dtype, const void *x, const void *dy, void *dx)
{
    for (int64_t end = k->rows; end > 0; end -= k->block_rows) {
        int64_t rows = end < k->block_rows ? end : k->block_rows;
        if (follower(k) == RELU)
            ALL_STRIPS(k, strip_gradient, dtype, end - rows, rows, x, dy, dx, RELU);
        else if (follower(k) == LIMITED)
            ALL_STRIPS(k, strip_gradient, dtype, end - rows, rows, x, dy, dx, LIMITED);
        else
            ALL_STRIPS(k, strip_gradient, dtype, end - rows, rows, x, dy, dx, NOTHING);
    }
}

/* Once the sums are complete. */
TUTTI_INLINE void set_coefficients(const norm *k, const float *stats, float *dscaleshift)
{
    int64_t C = k->desc.C;
    for (int64_t c = 0; c < C; c++) {
        double inverse = 1 / sqrt((double)stats[C + c] + (double)k->desc.eps);
        double dscale = k->all1[c] * inverse, per_row = (double)k->scale[c] / (double)k->rows;
        dscaleshift[c] = (float)dscale;
        dscaleshift[C + c] = (float)k->all0[c];
        k->line[c] = (float)(per_row * inverse * dscale);
        k->offset[c] = (float)(per_row * k->all0[c]);
    }
}

TUTTI_INLINE void norm_bwd(const void *args, void *const buf[], tutti_dtype dtype)
{
    const norm *k = args;
    set_line(k, buf[2], buf[3]);
    gradient_sums(k, dtype, buf[0], buf[1], NULL, NULL);
    set_coefficients(k, buf[3], buf[5]);
    gradient(k, dtype, buf[0], buf[1], buf[4]);
}

TUTTI_CPU_VALUES_FN(norm_bwd)

TUTTI_INLINE void norm_add_bwd(const void *args, void *const buf[], tutti_dtype dtype)
{
    const norm *k = args;
    void *dother = buf[6];
    set_line(k, buf[3], buf[4]);
    gradient_sums(k, dtype, buf[0], buf[2], buf[1], dother);
    set_coefficients(k, buf[4], buf[7]);
    gradient(k, dtype, buf[0], dother, buf[5]);
}

TUTTI_CPU_VALUES_FN(norm_add_bwd)

/* ---- Running statistics ---- */

TUTTI_CPU_FN(norm_running)
{
    const tutti_norm_running_desc *d = args;
    const float *stats = buf[0];
    float *running = buf[1], keep = 1 - d->momentum, mean = d->momentum * d->weight;
    float variance = mean * d->unbias;
    (void)queue;
    for (int64_t c = 0; c < d->C; c++) {
        running[c] = keep * running[c] + mean * stats[c];
        running[d->C + c] = keep * running[d->C + c] + variance * stats[d->C + c];
    }
    return TUTTI_OK;
}

const tutti_kernel TUTTI_CLONE(tutti_kernels_norm)[] = {
    TUTTI_CPU_LOOPS(norm, norm_open, norm_train, norm_close),
    TUTTI_CPU_LOOPS(norm_infer, norm_open, norm_infer, norm_close),
    TUTTI_CPU_LOOPS(norm_bwd, norm_open, norm_bwd, norm_close),
    TUTTI_CPU_LOOPS(norm_add, norm_add_open, norm_add, norm_close),
    TUTTI_CPU_LOOPS(norm_add_bwd, norm_add_open, norm_add_bwd, norm_close),
    TUTTI_CPU_LOOP(norm_running, tutti_open_norm_running, norm_running_run),
    {0},
};
