#include "tests/kernels/reference.h"

#include "dag/base/rng.h"
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/codec.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/lrn.h"
#include "dag/kernels/mixup.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pixel.h"
#include "dag/kernels/pool.h"
#include "dag/kernels/share.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void zero(const test_case *c, const char *name)
{
    const test_tensor *t = test_find(c, name);
    if (t) memset(t->value, 0, (size_t)t->count * sizeof *t->value);
}

/* ---- conv, dense ---- */

/* One output pixel and filter: the products over its window, and its contribution to dx and dw. */
static void conv_pixel(const test_case *c, int64_t n, int64_t i, int64_t j, int64_t k, int64_t at)
{
    const tutti_conv_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *w = test_value(c, "w"), *dy = test_value(c, "dy");
    double *y = test_value(c, "y"), *dx = test_value(c, "dx"), *dw = test_value(c, "dw");
    int64_t each = d->C / tutti_conv_groups(d);
    int64_t first = k / (d->K / tutti_conv_groups(d)) * each; /* the group's first channel */
    for (int64_t r = 0; r < d->R; r++)
        for (int64_t s = 0; s < d->S; s++) {
            int64_t h = i * d->stride[0] + r - d->pad[0], v = j * d->stride[1] + s - d->pad[1];
            if (h < 0 || h >= d->H || v < 0 || v >= d->W) continue;
            for (int64_t e = 0; e < each; e++) {
                int64_t in = ((n * d->H + h) * d->W + v) * d->C + first + e;
                int64_t weight = ((k * d->R + r) * d->S + s) * each + e;
                y[at] += x[in] * w[weight];
                dx[in] += w[weight] * dy[at];
                dw[weight] += x[in] * dy[at];
            }
        }
    if (d->bias) y[at] += test_value(c, "b")[k];
    if (d->bias) test_value(c, "db")[k] += dy[at];
}

void test_conv_reference(const test_case *c)
{
    const tutti_conv_desc *d = (const void *)c->desc.bytes;
    int64_t P = tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]), at = 0;
    int64_t Q = tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]);
    zero(c, "y"), zero(c, "dx"), zero(c, "dw"), zero(c, "db");
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < Q; j++)
                for (int64_t k = 0; k < d->K; k++) conv_pixel(c, n, i, j, k, at++);
}

void test_dense_reference(const test_case *c)
{
    const tutti_dense_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *w = test_value(c, "w"), *dy = test_value(c, "dy");
    double *y = test_value(c, "y"), *dx = test_value(c, "dx"), *dw = test_value(c, "dw");
    zero(c, "dx"), zero(c, "dw"), zero(c, "db");
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t k = 0; k < d->K; k++) {
            double gradient = dy[n * d->K + k], total = d->bias ? test_value(c, "b")[k] : 0;
            for (int64_t e = 0; e < d->C; e++) {
                total += x[n * d->C + e] * w[k * d->C + e];
                dx[n * d->C + e] += w[k * d->C + e] * gradient;
                dw[k * d->C + e] += x[n * d->C + e] * gradient;
            }
            y[n * d->K + k] = total;
            if (d->bias) test_value(c, "db")[k] += gradient;
        }
}

void test_dense_wide_reference(const test_case *c)
{
    const tutti_dense_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *w = test_value(c, "w");
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t k = 0; k < d->K; k++) {
            double *y = &test_value(c, "y")[n * d->K + k];
            *y = d->bias ? test_value(c, "b")[k] : 0;
            for (int64_t e = 0; e < d->C; e++) *y += x[n * d->C + e] * w[k * d->C + e];
        }
}

/* ---- norm ---- */

static void norm_apply(const test_case *c, const double *stats)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *scale = test_value(c, "scaleshift");
    double *y = test_value(c, "y");
    for (int64_t i = 0; i < d->N * d->H * d->W * d->C; i++) {
        int64_t k = i % d->C;
        double root = sqrt(stats[d->C + k] + (double)d->eps);
        y[i] = scale[k] * (x[i] - stats[k]) / root + scale[d->C + k];
        if (d->relu && y[i] < 0) y[i] = 0;
        if (d->limit > 0 && y[i] > (double)d->limit) y[i] = (double)d->limit;
    }
}

void test_norm_infer_reference(const test_case *c)
{
    norm_apply(c, test_value(c, "running"));
}

/* g: the gradient of what the norm itself writes. */
static void norm_channel_backward(const test_case *c, int64_t k, const double *g)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x");
    const double *stats = test_value(c, "stats"), *scale = test_value(c, "scaleshift");
    double *dx = test_value(c, "dx"), *dscale = test_value(c, "dscaleshift");
    double root = sqrt(stats[d->C + k] + (double)d->eps), g0 = 0, g1 = 0;
    int64_t rows = d->N * d->H * d->W;
    for (int64_t i = k; i < rows * d->C; i += d->C) {
        g0 += g[i];
        g1 += g[i] * (x[i] - stats[k]) / root;
    }
    for (int64_t i = k; i < rows * d->C; i += d->C) {
        double normal = (x[i] - stats[k]) / root;
        dx[i] = scale[k] / root * (g[i] - g0 / (double)rows - normal * g1 / (double)rows);
    }
    dscale[k] = g1;
    dscale[d->C + k] = g0;
}

static void norm_forward(const test_case *c)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x");
    double *stats = test_value(c, "stats");
    int64_t rows = d->N * d->H * d->W;
    for (int64_t k = 0; k < d->C; k++) {
        double sum = 0, squares = 0;
        for (int64_t r = 0; r < rows; r++) sum += x[r * d->C + k];
        double mean = sum / (double)rows;
        for (int64_t r = 0; r < rows; r++)
            squares += (x[r * d->C + k] - mean) * (x[r * d->C + k] - mean);
        stats[k] = mean;
        stats[d->C + k] = squares / (double)rows;
    }
    norm_apply(c, stats);
}

/* The gradient of the ReLU's input. limit: 0: none. */
static void through_relu(const test_case *c, int relu, double limit, double g[])
{
    const test_tensor *dy = test_find(c, "dy");
    const double *y = test_value(c, "y");
    for (int64_t i = 0; i < dy->count; i++)
        g[i] = relu && (y[i] <= 0 || (limit > 0 && y[i] >= limit)) ? 0 : dy->value[i];
}

void test_norm_reference(const test_case *c)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    double *g = calloc((size_t)test_find(c, "dy")->count, sizeof *g);
    ck_assert_ptr_nonnull(g);
    norm_forward(c);
    through_relu(c, d->relu, (double)d->limit, g);
    for (int64_t k = 0; k < d->C; k++) norm_channel_backward(c, k, g);
    free(g);
}

/* What the norm writes is rounded before it is added, which decides about what is close to 0. */
void test_norm_add_reference(const test_case *c)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    const test_tensor *other = test_find(c, "other");
    double *y = test_value(c, "y"), *dother = test_value(c, "dother");
    norm_forward(c);
    for (int64_t i = 0; i < other->count; i++) {
        y[i] = (c->values == TUTTI_BF16 ? test_bf16(y[i]) : y[i]) + other->value[i];
        if (y[i] < 0) y[i] = 0;
    }
    through_relu(c, 1, 0, dother);
    for (int64_t k = 0; k < d->C; k++) norm_channel_backward(c, k, dother);
}

void test_norm_running_reference(const test_case *c)
{
    const tutti_norm_running_desc *d = (const void *)c->desc.bytes;
    const double *sum = test_value(c, "stats_sum");
    double *running = test_value(c, "running"), m = (double)d->momentum;
    for (int64_t i = 0; i < 2 * d->C; i++) {
        double stat = sum[i] * (double)d->weight * (i < d->C ? 1 : (double)d->unbias);
        running[i] = (1 - m) * running[i] + m * stat;
    }
}

/* ---- relu, dropout ---- */

void test_relu_reference(const test_case *c)
{
    const tutti_relu_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *dy = test_value(c, "dy");
    double *y = test_value(c, "y"), *dx = test_value(c, "dx");
    const double limit = d->limit > 0 ? (double)d->limit : HUGE_VAL;
    for (int64_t i = 0; i < d->count; i++) {
        y[i] = fmin(fmax(x[i], 0), limit);
        dx[i] = x[i] > 0 && x[i] < limit ? dy[i] : 0;
    }
}

void test_dropout_reference(const test_case *c)
{
    const tutti_dropout_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *dy = test_value(c, "dy");
    double *y = test_value(c, "y"), *dx = test_value(c, "dx");
    uint64_t key = d->seed + (uint64_t)*test_value(c, "step");
    for (int64_t i = 0; i < d->count; i++) {
        double drawn = tutti_rng_uniform(key, d->stream, (uint64_t)(d->offset + i));
        double factor = drawn >= (double)d->rate ? 1 / (1 - (double)d->rate) : 0;
        y[i] = x[i] * factor;
        dx[i] = dy[i] * factor;
    }
}

/* ---- pool ---- */

/* The elements of one channel of x under one window. */
static int window(
    const tutti_pool_desc *d, int64_t n, int64_t i, int64_t j, int64_t e, int64_t in[])
{
    int count = 0;
    for (int64_t r = 0; r < d->R; r++)
        for (int64_t s = 0; s < d->S; s++) {
            int64_t h = i * d->stride[0] + r - d->pad[0], v = j * d->stride[1] + s - d->pad[1];
            if (h >= 0 && h < d->H && v >= 0 && v < d->W)
                in[count++] = ((n * d->H + h) * d->W + v) * d->C + e;
        }
    return count;
}

static void pool_pixel(const test_case *c, int maximum, const int64_t in[], int count, int64_t at)
{
    const double *x = test_value(c, "x"), *dy = test_value(c, "dy");
    double *y = test_value(c, "y"), *dx = test_value(c, "dx"), sum = 0;
    const tutti_pool_desc *d = (const void *)c->desc.bytes;
    double share = d->counts_padding ? (double)(d->R * d->S) : count;
    int64_t best = in[0];
    for (int i = 0; i < count; i++) {
        sum += x[in[i]];
        if (x[in[i]] > x[best]) best = in[i];
        if (!maximum) dx[in[i]] += dy[at] / share;
    }
    y[at] = maximum ? x[best] : sum / share;
    if (maximum) dx[best] += dy[at];
}

static void pool_reference(const test_case *c, int maximum)
{
    const tutti_pool_desc *d = (const void *)c->desc.bytes;
    int64_t P = tutti_pool_height(d), Q = tutti_pool_width(d), at = 0, in[64];
    zero(c, "dx");
    for (int64_t n = 0; n < d->N; n++)
        for (int64_t i = 0; i < P; i++)
            for (int64_t j = 0; j < Q; j++)
                for (int64_t e = 0; e < d->C; e++)
                    pool_pixel(c, maximum, in, window(d, n, i, j, e, in), at++);
}

void test_pool_max_reference(const test_case *c)
{
    pool_reference(c, 1);
}

void test_pool_avg_reference(const test_case *c)
{
    pool_reference(c, 0);
}

/* ---- lrn ---- */

/* k + alpha/size * the sum of squares, for each channel of a pixel. */
static double lrn_base(const tutti_lrn_desc *d, const double *x, int64_t e)
{
    double squares = 0;
    for (int64_t o = e - d->size / 2; o <= e + d->size / 2; o++)
        if (o >= 0 && o < d->C) squares += x[o] * x[o];
    return (double)d->k + (double)d->alpha / (double)d->size * squares;
}

void test_lrn_reference(const test_case *c)
{
    const tutti_lrn_desc *d = (const void *)c->desc.bytes;
    double alpha = (double)d->alpha / (double)d->size, beta = (double)d->beta;
    for (int64_t at = 0; at < d->N * d->H * d->W * d->C; at += d->C) {
        const double *x = test_value(c, "x") + at, *dy = test_value(c, "dy") + at;
        double *y = test_value(c, "y") + at, *dx = test_value(c, "dx") + at;
        for (int64_t e = 0; e < d->C; e++) {
            y[e] = x[e] * pow(lrn_base(d, x, e), -beta);
            dx[e] = dy[e] * pow(lrn_base(d, x, e), -beta);
            for (int64_t o = e - d->size / 2; o <= e + d->size / 2; o++)
                if (o >= 0 && o < d->C)
                    dx[e] -=
                        2 * alpha * beta * x[e] * dy[o] * x[o] * pow(lrn_base(d, x, o), -beta - 1);
        }
    }
}

/* ---- concat, split, shortcut, put, take, sum ---- */

/* Element by element: the pixel and channel of the whole, then where the parts have it. */
static void deal(const test_case *c, const char *whole, const char *part, int to_parts)
{
    const tutti_concat_desc *d = (const void *)c->desc.bytes;
    double *all = test_value(c, whole);
    int64_t channels = test_find(c, whole)->count / d->pixels;
    for (int64_t e = 0; e < d->pixels * channels; e++) {
        int64_t pixel = e / channels, channel = e % channels;
        int i = 0;
        while (channel >= d->C[i]) channel -= d->C[i++];
        char name[16];
        snprintf(name, sizeof name, "%s%d", part, i);
        double *one = &test_value(c, name)[pixel * d->C[i] + channel];
        *(to_parts ? one : &all[e]) = *(to_parts ? &all[e] : one);
    }
}

void test_concat_reference(const test_case *c)
{
    deal(c, "y", "x", 0);
    deal(c, "dy", "dx", 1);
}

void test_split_reference(const test_case *c)
{
    deal(c, "x", "y", 1);
    deal(c, "dx", "dy", 0);
}

void test_shortcut_reference(const test_case *c)
{
    const tutti_shortcut_desc *d = (const void *)c->desc.bytes;
    int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    const double *x = test_value(c, "x"), *dy = test_value(c, "dy");
    double *y = test_value(c, "y"), *dx = test_value(c, "dx");
    zero(c, "y"), zero(c, "dx");
    for (int64_t i = 0; i < d->N * P * Q; i++) {
        int64_t n = i / (P * Q), h = i / Q % P * d->stride, w = i % Q * d->stride;
        for (int64_t e = 0; e < d->C; e++) {
            int64_t in = ((n * d->H + h) * d->W + w) * d->C + e;
            y[i * d->K + (d->K - d->C) / 2 + e] = x[in];
            dx[in] = dy[i * d->K + (d->K - d->C) / 2 + e];
        }
    }
}

void test_put_reference(const test_case *c)
{
    const tutti_put_desc *d = (const void *)c->desc.bytes;
    for (int64_t i = 0; i < d->count; i++) test_value(c, "y")[d->first + i] = test_value(c, "x")[i];
}

void test_take_reference(const test_case *c)
{
    const tutti_take_desc *d = (const void *)c->desc.bytes;
    for (int64_t e = 0; e < d->rows * d->parts * d->each; e++) {
        int64_t i = e % d->each, p = e / d->each % d->parts, r = e / d->each / d->parts;
        test_value(c, "y")[e] = test_value(c, "x")[d->first + r * d->row + p * d->part + i];
    }
}

void test_sum_reference(const test_case *c)
{
    const tutti_sum_desc *d = (const void *)c->desc.bytes;
    double *y = test_value(c, "y");
    for (int64_t i = 0; i < d->count; i++) {
        if (!d->into) y[i] = 0;
        for (int input = 0; input < d->inputs; input++) y[i] += c->tensor[input].value[i];
        if (d->relu && y[i] < 0) y[i] = 0;
    }
}

/* ---- pixel ---- */

void test_normalise_reference(const test_case *c)
{
    const tutti_normalise_desc *d = (const void *)c->desc.bytes;
    const double *pixel = test_value(c, "pixels");
    double *y = test_value(c, "y");
    for (int64_t i = 0; i < d->pixels * d->C; i++)
        y[i] = (pixel[i] / 255 - (double)d->mean[i % d->C]) / (double)d->deviation[i % d->C];
}

void test_normalise_narrow_reference(const test_case *c)
{
    test_normalise_reference(c);
}

/* Float32 holds the sums of a few inputs exactly, so that there is only one rounding. */
void test_sum_narrow_reference(const test_case *c)
{
    const tutti_sum_desc *d = (const void *)c->desc.bytes;
    double *y = test_value(c, "y");
    test_sum_reference(c);
    for (int64_t i = 0; i < d->count; i++) y[i] = test_bf16(y[i]);
}

void test_widen_reference(const test_case *c)
{
    const test_tensor *x = test_find(c, "x");
    for (int64_t i = 0; i < x->count; i++) test_value(c, "y")[i] = x->value[i];
}

void test_narrow_reference(const test_case *c)
{
    const test_tensor *x = test_find(c, "x");
    for (int64_t i = 0; i < x->count; i++) test_value(c, "y")[i] = test_bf16(x->value[i]);
}

void test_accumulate_reference(const test_case *c)
{
    const test_tensor *x = test_find(c, "x");
    for (int64_t i = 0; i < x->count; i++) test_value(c, "y")[i] += x->value[i];
}

/* ---- loss, optim ---- */

/* The row's target is `label`, and with weight 1 - part `other`. */
static void xent_row(const tutti_xent_desc *d, const double *logits, int64_t label, int64_t other,
    double part, double *dlogits, double *metrics)
{
    double total = 0, views = d->views > 1 ? d->views : 1;
    int64_t best = 0;
    for (int64_t k = 0; k < d->K; k++) {
        total += exp(logits[k] / views);
        if (logits[k] > logits[best]) best = k;
    }
    if (label >= 0) metrics[0] += log(total);
    for (int64_t k = 0; k < d->K; k++) {
        double s = (double)d->smoothing, t = part * (k == label) + (1 - part) * (k == other);
        double q = (1 - s) * t + s / (double)d->K;
        dlogits[k] =
            label < 0 ? 0 : (double)d->weight / views * (exp(logits[k] / views) / total - q);
        if (label >= 0) metrics[0] -= q * logits[k] / views;
    }
    if (label < 0) return;
    metrics[1] += best == (part >= 0.5 ? label : other);
    metrics[2] += 1;
}

void test_xent_reference(const test_case *c)
{
    const tutti_xent_desc *d = (const void *)c->desc.bytes;
    const double *logits = test_value(c, "logits"), *labels = test_value(c, "labels");
    zero(c, "metrics");
    for (int64_t n = 0; n < d->N; n++) {
        int mixed = d->mixed && labels[n ^ 1] >= 0;
        xent_row(d, logits + n * d->K, (int64_t)labels[n], mixed ? (int64_t)labels[n ^ 1] : -1,
            mixed ? test_value(c, "part")[n] : 1, test_value(c, "dlogits") + n * d->K,
            test_value(c, "metrics"));
    }
}

void test_xent_mixed_reference(const test_case *c)
{
    test_xent_reference(c);
}

void test_mixup_reference(const test_case *c)
{
    const tutti_mixup_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *part = test_value(c, "part");
    for (int64_t i = 0; i < d->N * d->each; i++) {
        int64_t n = i / d->each, partner = (n % 2 ? n - 1 : n + 1) * d->each + i % d->each;
        test_value(c, "y")[i] = part[n] * x[i] + (1 - part[n]) * x[partner];
    }
}

/* What is drawn has a test of its own. */
void test_mixup_draw_reference(const test_case *c)
{
    const tutti_mixup_draw_desc *d = (const void *)c->desc.bytes;
    const double *labels = test_value(c, "labels");
    for (int64_t n = 0; n < d->N; n++)
        test_value(c, "part")[n] = labels[n] < 0 || labels[n ^ 1] < 0
                                       ? 1
                                       : tutti_mixup_weight(d->alpha, d->seed, d->stream,
                                             (int64_t)*test_value(c, "step"), (d->offset + n) / 2);
}

void test_cutmix_reference(const test_case *c)
{
    const tutti_cutmix_desc *d = (const void *)c->desc.bytes;
    const double *x = test_value(c, "x"), *box = test_value(c, "box");
    double *y = test_value(c, "y");
    for (int64_t n = 0; n < d->N; n++, box += n % 2 ? 0 : TUTTI_BOX)
        for (double h = 0; h < (double)d->H; h++)
            for (double w = 0; w < (double)d->W; w++) {
                const int other = h >= box[0] && h < box[1] && w >= box[2] && w < box[3];
                const int64_t from = other ? (n % 2 ? n - 1 : n + 1) : n,
                              pixel = (int64_t)h * d->W + (int64_t)w;
                for (int64_t k = 0; k < d->C; k++)
                    y[(n * d->H * d->W + pixel) * d->C + k] =
                        x[(from * d->H * d->W + pixel) * d->C + k];
            }
}

/* What is drawn has a test of its own. */
void test_cutmix_draw_reference(const test_case *c)
{
    const tutti_cutmix_draw_desc *d = (const void *)c->desc.bytes;
    const double *labels = test_value(c, "labels");
    double *part = test_value(c, "part");
    for (int64_t n = 0; n < d->draw.N; n += 2) {
        int32_t box[TUTTI_BOX] = {0};
        part[n] = labels[n] < 0 || labels[n + 1] < 0
                      ? 1
                      : tutti_cutmix_box(
                            d, (int64_t)*test_value(c, "step"), (d->draw.offset + n) / 2, box);
        part[n + 1] = part[n];
        for (int i = 0; i < TUTTI_BOX; i++) test_value(c, "box")[n / 2 * TUTTI_BOX + i] = box[i];
    }
}

void test_sgd_reference(const test_case *c)
{
    const tutti_sgd_desc *d = (const void *)c->desc.bytes;
    const double *g = test_value(c, "g"), m = (double)d->momentum;
    double rate = *test_value(c, "rate") * (double)d->rate_factor;
    double *w = test_value(c, "w"), *v = test_value(c, "v");
    for (int64_t i = 0; i < d->count; i++) {
        double gradient = g[i] + (double)d->weight_decay * w[i];
        if (m > 0) v[i] = m * v[i] + gradient;
        w[i] -= rate * (m <= 0 ? gradient : d->nesterov ? gradient + m * v[i] : v[i]);
    }
}

void test_sgd_bf16_reference(const test_case *c)
{
    test_sgd_reference(c);
}

void test_adam_reference(const test_case *c)
{
    const tutti_adam_desc *d = (const void *)c->desc.bytes;
    const double *g = test_value(c, "g"), decay = (double)d->weight_decay;
    double *w = test_value(c, "w"), *mean = test_value(c, "mean");
    double *square = test_value(c, "square");
    double rate = *test_value(c, "rate") * (double)d->rate_factor;
    double t = floor(*test_value(c, "step") / (double)d->every) + 1;
    for (int64_t i = 0; i < d->count; i++) {
        double gradient = d->decoupled ? g[i] : g[i] + decay * w[i];
        if (d->decoupled) w[i] -= rate * decay * w[i];
        mean[i] = d->beta1 * mean[i] + (1 - d->beta1) * gradient;
        square[i] = d->beta2 * square[i] + (1 - d->beta2) * gradient * gradient;
        double root = sqrt(square[i] / (1 - pow(d->beta2, t)));
        w[i] -= rate * mean[i] / (1 - pow(d->beta1, t)) / (root + (double)d->epsilon);
    }
}

static double length_of(const double *x, int64_t count)
{
    double squares = 0;
    for (int64_t i = 0; i < count; i++) squares += x[i] * x[i];
    return sqrt(squares);
}

void test_lars_reference(const test_case *c)
{
    const tutti_lars_desc *d = (const void *)c->desc.bytes;
    const double *g = test_value(c, "g"), decay = (double)d->weight_decay;
    double *w = test_value(c, "w"), *v = test_value(c, "v");
    double weight = length_of(w, d->count), gradient = length_of(g, d->count);
    double rate = *test_value(c, "rate") * (double)d->rate_factor;
    if (d->trust > 0) rate *= (double)d->trust * weight / (gradient + decay * weight);
    for (int64_t i = 0; i < d->count; i++) {
        v[i] = (double)d->momentum * v[i] + rate * (g[i] + decay * w[i]);
        w[i] -= v[i];
    }
}

void test_length_reference(const test_case *c)
{
    const test_tensor *x = test_find(c, "x");
    *test_value(c, "length") = length_of(x->value, x->count);
}

void test_length_bf16_reference(const test_case *c)
{
    test_length_reference(c);
}

void test_clip_factor_reference(const test_case *c)
{
    const tutti_clip_factor_desc *d = (const void *)c->desc.bytes;
    double length[MAX_TENSORS];
    for (int i = 0; i < d->inputs; i++) length[i] = *c->tensor[i].value;
    double factor = (double)d->most / (length_of(length, d->inputs) + 1e-6);
    *test_value(c, "factor") = factor < 1 ? factor : 1;
}

void test_lengths_reference(const test_case *c)
{
    const tutti_lengths_desc *d = (const void *)c->desc.bytes;
    const test_tensor *all = test_find(c, "all");
    for (int64_t i = 0; i < d->count; i++) {
        int own = i >= d->first && i < d->first + d->inputs;
        all->value[i] = own ? *c->tensor[i - d->first].value : 0;
    }
}

void test_clip_reference(const test_case *c)
{
    const test_tensor *g = test_find(c, "g");
    for (int64_t i = 0; i < g->count; i++) g->value[i] *= *test_value(c, "factor");
}

void test_average_reference(const test_case *c)
{
    const test_tensor *w = test_find(c, "w");
    double decay = ((const tutti_average_desc *)c->desc.bytes)->decay;
    double *average = test_value(c, "average");
    for (int64_t i = 0; i < w->count; i++)
        average[i] = decay * average[i] + (1 - decay) * w->value[i];
}

void test_gate_reference(const test_case *c)
{
    (void)c; /* every tensor stays as it is */
}

void test_divide_reference(const test_case *c)
{
    const test_tensor *x = test_find(c, "x");
    for (int64_t i = 0; i < x->count; i++)
        x->value[i] /= (double)((const tutti_divide_desc *)c->desc.bytes)->by;
}

void test_outer_reference(const test_case *c)
{
    const tutti_outer_desc *d = (const void *)c->desc.bytes;
    const test_tensor *w = test_find(c, "w");
    double *start = test_value(c, "w0"), *v = d->momentum > 0 ? test_value(c, "v") : NULL;
    for (int64_t i = 0; i < w->count; i++) {
        double move = start[i] - w->value[i] / (double)d->by;
        if (v) {
            v[i] = (double)d->momentum * v[i] + move;
            move += (double)d->momentum * v[i];
        }
        w->value[i] = start[i] = start[i] - (double)d->rate * move;
    }
}

void test_pair_reference(const test_case *c)
{
    const test_tensor *w = test_find(c, "w");
    const double *own = test_value(c, "own"), *other = test_value(c, "other");
    for (int64_t i = 0; i < w->count; i++) w->value[i] += other[i] / 2 - own[i] / 2;
}

/* ---- shares ---- */

void test_share_set_reference(const test_case *c)
{
    *test_value(c, "share") = ((const tutti_share_set_desc *)c->desc.bytes)->value;
}

/* By counting units. */
void test_share_halve_reference(const test_case *c)
{
    const double unit = ((const tutti_share_halve_desc *)c->desc.bytes)->unit;
    double *share = test_value(c, "share"), *sent = test_value(c, "sent");
    const int64_t units = (int64_t)(*share / unit);
    *sent = (double)(units / 2) * unit;
    *share -= *sent;
}

void test_share_weigh_reference(const test_case *c)
{
    const tutti_share_weigh_desc *d = (const void *)c->desc.bytes;
    double *share = test_value(c, "share"), *factors = test_value(c, "factors"), total = *share;
    for (int i = 0; i < d->inputs; i++) total += *c->tensor[i].value;
    factors[0] = *share / total;
    for (int i = 0; i < d->inputs; i++) factors[1 + i] = *c->tensor[i].value / total;
    *share = total;
}

void test_share_mix_reference(const test_case *c)
{
    const tutti_share_mix_desc *d = (const void *)c->desc.bytes;
    const double *factors = test_value(c, "factors");
    double *w = test_value(c, "w");
    for (int64_t e = 0; e < d->count; e++) {
        w[e] *= factors[0];
        for (int i = 0; i < d->inputs; i++)
            if (factors[1 + i] > 0) w[e] += factors[1 + i] * c->tensor[i].value[e];
    }
}

void test_share_scale_reference(const test_case *c)
{
    const test_tensor *w = test_find(c, "w");
    for (int64_t e = 0; e < w->count; e++) w->value[e] *= *test_value(c, "share");
}

/* ---- codecs: what other replicas have sent is 0 ---- */

/* The word whose bits are those of the float. */
static double word_of(double value)
{
    const float number = (float)value;
    int32_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}

/* e += g */
static double *gather(const test_case *c)
{
    const test_tensor *g = test_find(c, "g");
    double *e = test_value(c, "e");
    for (int64_t i = 0; i < g->count; i++) e[i] += g->value[i];
    return e;
}

void test_onebit_reference(const test_case *c)
{
    const tutti_onebit_desc *d = (const void *)c->desc.bytes;
    double *e = gather(c), *g = test_value(c, "g");
    zero(c, "code");
    double *code = test_value(c, "code") + d->rows.replica * d->rows.stride + d->rows.first;
    for (int64_t first = 0; first < d->count; first += TUTTI_ONEBIT_GROUP) {
        const int64_t left = d->count - first;
        const int64_t count = left < TUTTI_ONEBIT_GROUP ? left : TUTTI_ONEBIT_GROUP;
        double sum[2] = {0, 0}, times[2] = {0, 0};
        for (int64_t i = 0; i < count; i++) {
            sum[e[first + i] >= 0] += e[first + i];
            times[e[first + i] >= 0]++;
        }
        for (int k = 0; k < 2; k++) {
            sum[k] /= times[k] > 0 ? times[k] : 1;
            *code++ = word_of(sum[k]);
        }
        for (int64_t i = 0; i < count; i += 32) {
            uint32_t word = 0;
            for (int64_t k = i; k < i + 32 && k < count; k++) {
                word |= (uint32_t)(e[first + k] >= 0) << (k - i);
                g[first + k] = sum[e[first + k] >= 0];
            }
            *code++ = (int32_t)word;
        }
        for (int64_t i = 0; i < count; i++) e[first + i] -= g[first + i];
    }
}

/* The largest one that is left, `kept` times. */
void test_topk_reference(const test_case *c)
{
    const tutti_topk_desc *d = (const void *)c->desc.bytes;
    double *e = gather(c), *g = test_value(c, "g");
    zero(c, "code");
    zero(c, "g");
    double *index = test_value(c, "code") + d->rows.replica * d->rows.stride + d->rows.first;
    for (int64_t k = 0; k < d->kept; k++) {
        int64_t largest = -1;
        for (int64_t i = 0; i < d->count; i++)
            if (g[i] == 0 && (largest < 0 || fabs(e[i]) > fabs(e[largest]))) largest = i;
        g[largest] = e[largest];
        e[largest] = 0;
    }
    for (int64_t i = 0, taken = 0; i < d->count; i++) {
        if (g[i] == 0) continue;
        index[taken] = (double)i;
        index[d->kept + taken++] = word_of(g[i]);
    }
}

void test_powersgd_reference(const test_case *c)
{
    const tutti_powersgd_desc *d = (const void *)c->desc.bytes;
    const int64_t R = d->rows, C = d->columns;
    double *e = gather(c), *g = test_value(c, "g"), *p = test_value(c, "p"),
           *q = test_value(c, "q");
    for (int j = 0; j < d->rank; j++) {
        double *v = p + j * R, square = 0;
        for (int64_t i = 0; i < R; i++) {
            v[i] = 0;
            for (int64_t k = 0; k < C; k++) v[i] += e[i * C + k] * q[j * C + k];
        }
        for (int k = 0; k < j; k++) {
            double common = 0;
            for (int64_t i = 0; i < R; i++) common += p[k * R + i] * v[i];
            for (int64_t i = 0; i < R; i++) v[i] -= common * p[k * R + i];
        }
        for (int64_t i = 0; i < R; i++) square += v[i] * v[i];
        for (int64_t i = 0; i < R; i++) v[i] /= sqrt(square);
    }
    zero(c, "q");
    zero(c, "g");
    for (int j = 0; j < d->rank; j++)
        for (int64_t k = 0; k < C; k++)
            for (int64_t i = 0; i < R; i++) q[j * C + k] += p[j * R + i] * e[i * C + k];
    for (int j = 0; j < d->rank; j++)
        for (int64_t i = 0; i < R; i++)
            for (int64_t k = 0; k < C; k++) g[i * C + k] += p[j * R + i] * q[j * C + k];
    for (int64_t i = 0; i < R * C; i++) e[i] -= g[i];
}
