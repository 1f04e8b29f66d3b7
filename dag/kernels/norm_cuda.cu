/* Batch normalisation, in the CPU's order: blocks of rows are summed in float32, the blocks of a
 * group in double, and the groups in double, one after another. A thread of the first launch has one
 * channel of a block, one of the second a channel of a group, one of the third a channel. */
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/norm.h"
}

#include <math.h>

namespace
{

/* Two sums of each group and channel, two of each block and channel, four coefficients of each channel. */
struct Space {
    double *group0, *group1;
    float *sum0, *sum1, *scale, *shift, *line, *offset;
    int64_t C, rows, block_rows, blocks, groups;
};

inline Space space_of(const tutti_norm_desc *d, void *space)
{
    const int64_t rows = d->N * d->H * d->W, block_rows = tutti_norm_block_rows(d->C);
    const int64_t blocks = (rows + block_rows - 1) / block_rows;
    const int64_t groups = (blocks + TUTTI_NORM_GROUP - 1) / TUTTI_NORM_GROUP;
    double *group0 = (double *)space, *group1 = group0 + groups * d->C;
    float *sum0 = (float *)(group1 + groups * d->C), *sum1 = sum0 + blocks * d->C;
    float *scale = sum1 + blocks * d->C;
    return {group0, group1, sum0, sum1, scale, scale + d->C, scale + 2 * d->C, scale + 3 * d->C,
        d->C, rows, block_rows, blocks, groups};
}

tutti_status open_norm(const void *desc, void **args)
{
    const tutti_norm_desc *d = (const tutti_norm_desc *)desc;
    const tutti_status status = tutti_check_norm(d);
    if (status) return status;
    const Space s = space_of(d, NULL);
    const int64_t each =
        2 * s.groups * (int64_t)sizeof(double) + (2 * s.blocks + 4) * (int64_t)sizeof(float);
    return open_with("norm", d, (size_t)(each * s.C), args);
}

/* Rows of block b. */
TUTTI_BOTH inline int64_t rows_in(const Space &s, int64_t b)
{
    const int64_t left = s.rows - b * s.block_rows;
    return left < s.block_rows ? left : s.block_rows;
}

/* The block behind group g. */
TUTTI_BOTH inline int64_t end_of(const Space &s, int64_t g)
{
    const int64_t end = (g + 1) * TUTTI_NORM_GROUP;
    return end < s.blocks ? end : s.blocks;
}

/* y = scale * x + shift, of a channel's statistics. */
TUTTI_BOTH inline void set_line(
    const Space &s, const float *scaleshift, const float *stats, float eps, int64_t c)
{
    const float inverse = (float)(1 / sqrt((double)stats[s.C + c] + (double)eps));
    s.scale[c] = scaleshift[c] * inverse;
    s.shift[c] = scaleshift[s.C + c] - stats[c] * s.scale[c];
}

/* ---- Forward ---- */

/* Mean and squared deviations of a block: even rows and odd rows, as far as they are pairs. */
template <typename Value> struct Moments {
    const Value *x;
    Space s;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t b = quotient(i, s.C), rows = rows_in(s, b);
        const int64_t from = b * s.block_rows * s.C + i - b * s.C;
        float even = 0, odd = 0;
        for (int64_t r = 0; r < rows; r++) {
            const float v = get(x, from + r * s.C);
            if (r % 2)
                odd += v;
            else
                even += v;
        }
        const float mean = (even + odd) / (float)rows;
        even = odd = 0;
        for (int64_t r = 0; r < rows; r++) {
            const float v = get(x, from + r * s.C) - mean;
            if (r % 2)
                odd += v * v;
            else
                even += v * v;
        }
        s.sum0[i] = mean;
        s.sum1[i] = even + odd;
    }
};

/* Chan, Golub, LeVeque 1983: `rows` more rows after `seen` rows. */
TUTTI_BOTH inline void merge(double *mean, double *squares, int64_t seen, int64_t rows,
    double more_mean, double more_squares)
{
    const double share = (double)rows / (double)(seen + rows), weight = (double)seen * share;
    const double delta = more_mean - *mean;
    *mean += delta * share;
    *squares += more_squares + delta * delta * weight;
}

struct MergeGroup {
    Space s;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t g = quotient(i, s.C), c = i - g * s.C, end = end_of(s, g);
        double mean = 0, squares = 0;
        int64_t seen = 0;
        for (int64_t b = g * TUTTI_NORM_GROUP; b < end; b++) {
            const int64_t rows = rows_in(s, b), at = b * s.C + c;
            merge(&mean, &squares, seen, rows, (double)s.sum0[at], (double)s.sum1[at]);
            seen += rows;
        }
        s.group0[i] = mean;
        s.group1[i] = squares;
    }
};

struct Merge {
    const float *scaleshift;
    float *stats;
    float eps;
    Space s;
    TUTTI_BOTH void operator()(int64_t c) const
    {
        const int64_t group_rows = TUTTI_NORM_GROUP * s.block_rows;
        double mean = 0, squares = 0;
        for (int64_t g = 0; g < s.groups; g++) {
            const int64_t seen = g * group_rows, left = s.rows - seen, at = g * s.C + c;
            merge(&mean, &squares, seen, left < group_rows ? left : group_rows, s.group0[at],
                s.group1[at]);
        }
        stats[c] = (float)mean;
        stats[s.C + c] = (float)(squares / (double)s.rows);
        set_line(s, scaleshift, stats, eps, c);
    }
};

/* Packs are of channels side by side. */
template <typename Value> struct Apply {
    const Value *x;
    Value *y;
    int relu;
    Space s;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const int64_t c = remainder_of(i * WIDE, s.C);
        const Pack<Value, WIDE> from = pack_at<WIDE>(x, i);
        const Pack<float, WIDE> scale = pack_at<WIDE>(s.scale + c, 0);
        const Pack<float, WIDE> shift = pack_at<WIDE>(s.shift + c, 0);
        Pack<Value, WIDE> to;
        for (int j = 0; j < WIDE; j++) {
            const float v = get(from.value, j) * scale.value[j] + shift.value[j];
            put(to.value, j, relu ? rectified(v) : v);
        }
        put_pack(y, i, to);
    }
};

template <typename Value>
tutti_status apply(const char *op, const Value *x, Value *y, int relu, const Space &s, void *queue)
{
    constexpr int WIDE = WIDEST<Value>;
    const bool packs = s.C % WIDE == 0 && has_packs<WIDE>(x) && has_packs<WIDE>(y);
    const Apply<Value> element = {x, y, relu, s};
    return launch_packs<WIDE>(op, s.rows * s.C, packs, element, queue);
}

template <typename Value> tutti_status norm(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_norm_desc> *k = (const Opened<tutti_norm_desc> *)args;
    const Space s = space_of(&k->desc, k->space->memory);
    const Moments<Value> moments = {(const Value *)buf[0], s};
    const MergeGroup merge_group = {s};
    const Merge merge = {(const float *)buf[1], (float *)buf[3], k->desc.eps, s};
    tutti_status status = launch("norm", s.blocks * s.C, moments, queue);
    if (!status) status = launch("norm", s.groups * s.C, merge_group, queue);
    if (!status) status = launch("norm", s.C, merge, queue);
    return status ? status
                  : apply("norm", (const Value *)buf[0], (Value *)buf[2], k->desc.relu, s, queue);
}

struct SetLine {
    const float *scaleshift, *stats;
    float eps;
    Space s;
    TUTTI_BOTH void operator()(int64_t c) const
    {
        set_line(s, scaleshift, stats, eps, c);
    }
};

template <typename Value> tutti_status norm_infer(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_norm_desc> *k = (const Opened<tutti_norm_desc> *)args;
    const Space s = space_of(&k->desc, k->space->memory);
    const SetLine line = {(const float *)buf[1], (const float *)buf[2], k->desc.eps, s};
    const tutti_status status = launch("norm_infer", s.C, line, queue);
    return status ? status
                  : apply("norm_infer", (const Value *)buf[0], (Value *)buf[3], k->desc.relu, s,
                        queue);
}

/* ---- Gradient ---- */

/* The gradient before the ReLU: zero where y, computed as in the forward pass, is not positive. */
TUTTI_BOTH inline float through(int relu, float dy, float x, float scale, float shift)
{
    return !relu || x * scale + shift > 0.0f ? dy : 0.0f;
}

template <typename Value> struct Sums {
    const Value *x, *dy;
    const float *stats;
    int relu;
    Space s;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t b = quotient(i, s.C), c = i - b * s.C, rows = rows_in(s, b);
        const float scale = s.scale[c], shift = s.shift[c], mean = stats[c];
        float sum = 0, product = 0;
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = (b * s.block_rows + r) * s.C + c;
            const float v = get(x, at), g = through(relu, get(dy, at), v, scale, shift);
            sum += g;
            product += g * (v - mean);
        }
        s.sum0[i] = sum;
        s.sum1[i] = product;
    }
};

struct SumGroup {
    Space s;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        const int64_t g = quotient(i, s.C), c = i - g * s.C, end = end_of(s, g);
        double sum = 0, product = 0;
        for (int64_t b = g * TUTTI_NORM_GROUP; b < end; b++) {
            sum += (double)s.sum0[b * s.C + c];
            product += (double)s.sum1[b * s.C + c];
        }
        s.group0[i] = sum;
        s.group1[i] = product;
    }
};

struct Coefficients {
    const float *stats;
    float *dscaleshift;
    float eps;
    Space s;
    TUTTI_BOTH void operator()(int64_t c) const
    {
        double sum = 0, product = 0;
        for (int64_t g = 0; g < s.groups; g++) {
            sum += s.group0[g * s.C + c];
            product += s.group1[g * s.C + c];
        }
        const double inverse = 1 / sqrt((double)stats[s.C + c] + (double)eps);
        const double dscale = product * inverse, per_row = (double)s.scale[c] / (double)s.rows;
        dscaleshift[c] = (float)dscale;
        dscaleshift[s.C + c] = (float)sum;
        s.line[c] = (float)(per_row * inverse * dscale);
        s.offset[c] = (float)(per_row * sum);
    }
};

template <typename Value> struct Gradient {
    const Value *x, *dy;
    const float *stats;
    Value *dx;
    int relu;
    Space s;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const int64_t c = remainder_of(i * WIDE, s.C);
        const Pack<Value, WIDE> values = pack_at<WIDE>(x, i), slopes = pack_at<WIDE>(dy, i);
        const Pack<float, WIDE> scale = pack_at<WIDE>(s.scale + c, 0);
        const Pack<float, WIDE> shift = pack_at<WIDE>(s.shift + c, 0);
        const Pack<float, WIDE> mean = pack_at<WIDE>(stats + c, 0);
        const Pack<float, WIDE> line = pack_at<WIDE>(s.line + c, 0);
        const Pack<float, WIDE> offset = pack_at<WIDE>(s.offset + c, 0);
        Pack<Value, WIDE> to;
        for (int j = 0; j < WIDE; j++) {
            const float v = get(values.value, j), by = scale.value[j];
            const float g = through(relu, get(slopes.value, j), v, by, shift.value[j]);
            put(to.value, j, g * by - (v - mean.value[j]) * line.value[j] - offset.value[j]);
        }
        put_pack(dx, i, to);
    }
};

template <typename Value> tutti_status norm_bwd(const void *args, void *const buf[], void *queue)
{
    const Opened<tutti_norm_desc> *k = (const Opened<tutti_norm_desc> *)args;
    const Space s = space_of(&k->desc, k->space->memory);
    const int relu = k->desc.relu, out = relu ? 5 : 4;
    const float *stats = (const float *)buf[3], eps = k->desc.eps;
    const Value *x = (const Value *)buf[0], *dy = (const Value *)buf[1];
    Value *dx = (Value *)buf[out];
    const SetLine line = {(const float *)buf[2], stats, eps, s};
    const Sums<Value> sums = {x, dy, stats, relu, s};
    const SumGroup sum_group = {s};
    const Coefficients coefficients = {stats, (float *)buf[out + 1], eps, s};
    const Gradient<Value> gradient = {x, dy, stats, dx, relu, s};
    constexpr int WIDE = WIDEST<Value>;
    const bool packs = s.C % WIDE == 0 && has_packs<WIDE>(x) && has_packs<WIDE>(dy) &&
                       has_packs<WIDE>(dx) && has_packs<WIDE>(stats);
    tutti_status status = launch("norm_bwd", s.C, line, queue);
    if (!status) status = launch("norm_bwd", s.blocks * s.C, sums, queue);
    if (!status) status = launch("norm_bwd", s.groups * s.C, sum_group, queue);
    if (!status) status = launch("norm_bwd", s.C, coefficients, queue);
    return status ? status : launch_packs<WIDE>("norm_bwd", s.rows * s.C, packs, gradient, queue);
}

/* ---- Running statistics ---- */

struct Running {
    const float *stats;
    float *running;
    int64_t C;
    float keep, mean, variance;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        running[i] = keep * running[i] + (i < C ? mean : variance) * stats[i];
    }
};

tutti_status norm_running(const void *args, void *const buf[], void *queue)
{
    const tutti_norm_running_desc *d = (const tutti_norm_running_desc *)args;
    const float mean = d->momentum * d->weight;
    const Running element = {
        (const float *)buf[0], (float *)buf[1], d->C, 1 - d->momentum, mean, mean * d->unbias};
    return launch("norm_running", 2 * d->C, element, queue);
}

} // namespace

#define ROWS(op)                                                                                   \
    {&tutti_op_##op, TUTTI_CUDA, TUTTI_F32, open_norm, op<float>, close_with<tutti_norm_desc>},    \
    {                                                                                              \
        &tutti_op_##op, TUTTI_CUDA, TUTTI_BF16, open_norm, op<uint16_t>,                           \
            close_with<tutti_norm_desc>                                                            \
    }

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(norm)[] = {
    ROWS(norm),
    ROWS(norm_infer),
    ROWS(norm_bwd),
    {&tutti_op_norm_running, TUTTI_CUDA, TUTTI_F32, tutti_open_norm_running, norm_running,
        tutti_cpu_free},
    {},
};
