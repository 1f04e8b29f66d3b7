/* The families of the kernel tests: the tensors of each op, and the descriptors' fields. */
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
#include "tests/kernels/reference.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void conv_tensors(test_case *c)
{
    const tutti_conv_desc *d = (const void *)c->desc.bytes;
    int64_t P = tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]);
    int64_t Q = tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]);
    int64_t x = d->N * d->H * d->W * d->C, y = d->N * P * Q * d->K;
    int64_t w = d->K * d->R * d->S * d->C / tutti_conv_groups(d);
    test_declare(c, "x", c->values, x);
    test_declare(c, "w", c->values, w);
    test_declare(c, "y", c->values, y);
    test_declare(c, "dy", c->values, y);
    test_declare(c, "dx", c->values, x);
    test_declare(c, "dw", TUTTI_F32, w);
    if (d->bias) test_declare(c, "b", TUTTI_F32, d->K);
    if (d->bias) test_declare(c, "db", TUTTI_F32, d->K);
}

static void dense_tensors(test_case *c)
{
    const tutti_dense_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "x", c->values, d->N * d->C);
    test_declare(c, "w", c->values, d->K * d->C);
    test_declare(c, "y", c->values, d->N * d->K);
    test_declare(c, "dy", c->values, d->N * d->K);
    test_declare(c, "dx", c->values, d->N * d->C);
    test_declare(c, "dw", TUTTI_F32, d->K * d->C);
    if (d->bias) test_declare(c, "b", TUTTI_F32, d->K);
    if (d->bias) test_declare(c, "db", TUTTI_F32, d->K);
}

static void dense_wide_tensors(test_case *c)
{
    const tutti_dense_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "x", TUTTI_BF16, d->N * d->C);
    test_declare(c, "w", TUTTI_BF16, d->K * d->C);
    test_declare(c, "y", TUTTI_F32, d->N * d->K);
    if (d->bias) test_declare(c, "b", TUTTI_F32, d->K);
}

static void norm_tensors(test_case *c)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    int64_t count = d->N * d->H * d->W * d->C;
    test_declare(c, "x", c->values, count);
    test_declare(c, "scaleshift", TUTTI_F32, 2 * d->C);
    test_declare(c, "y", c->values, count);
    test_declare(c, "stats", TUTTI_F32, 2 * d->C);
    test_declare(c, "dy", c->values, count);
    test_declare(c, "dx", c->values, count);
    test_declare(c, "dscaleshift", TUTTI_F32, 2 * d->C);
}

static void norm_add_tensors(test_case *c)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    int64_t count = d->N * d->H * d->W * d->C;
    static const char *const values[] = {"x", "other", "y", "dy", "dx", "dother"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        test_declare(c, values[i], c->values, count);
    test_declare(c, "scaleshift", TUTTI_F32, 2 * d->C);
    test_declare(c, "stats", TUTTI_F32, 2 * d->C);
    test_declare(c, "dscaleshift", TUTTI_F32, 2 * d->C);
}

static void norm_infer_tensors(test_case *c)
{
    const tutti_norm_desc *d = (const void *)c->desc.bytes;
    int64_t count = d->N * d->H * d->W * d->C;
    test_declare(c, "x", c->values, count);
    test_declare(c, "scaleshift", TUTTI_F32, 2 * d->C);
    test_declare(c, "running", TUTTI_F32, 2 * d->C);
    test_declare(c, "y", c->values, count);
}

static void norm_running_tensors(test_case *c)
{
    const tutti_norm_running_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "stats_sum", TUTTI_F32, 2 * d->C);
    test_declare(c, "running", TUTTI_F32, 2 * d->C);
}

static void elementwise_tensors(test_case *c, int64_t count)
{
    test_declare(c, "x", c->values, count);
    test_declare(c, "y", c->values, count);
    test_declare(c, "dy", c->values, count);
    test_declare(c, "dx", c->values, count);
}

static void relu_tensors(test_case *c)
{
    elementwise_tensors(c, ((const tutti_relu_desc *)c->desc.bytes)->count);
}

static void dropout_tensors(test_case *c)
{
    elementwise_tensors(c, ((const tutti_dropout_desc *)c->desc.bytes)->count);
    test_declare(c, "step", TUTTI_I64, 1);
}

static void pool_tensors(test_case *c, int maximum)
{
    const tutti_pool_desc *d = (const void *)c->desc.bytes;
    int64_t P = tutti_pool_height(d), Q = tutti_pool_width(d);
    test_declare(c, "x", c->values, d->N * d->H * d->W * d->C);
    test_declare(c, "y", c->values, d->N * P * Q * d->C);
    if (maximum)
        test_declare(c, "argmax", TUTTI_U8, (int64_t)tutti_pool_argmax_bytes(d, c->values));
    test_declare(c, "dy", c->values, d->N * P * Q * d->C);
    test_declare(c, "dx", c->values, d->N * d->H * d->W * d->C);
}

static void pool_max_tensors(test_case *c)
{
    pool_tensors(c, 1);
}

static void pool_avg_tensors(test_case *c)
{
    pool_tensors(c, 0);
}

static void lrn_tensors(test_case *c)
{
    const tutti_lrn_desc *d = (const void *)c->desc.bytes;
    elementwise_tensors(c, d->N * d->H * d->W * d->C);
}

/* The parts and the whole, with their gradients. */
static void concat_tensors(test_case *c)
{
    static const char *const names[] = {"x", "y", "dx", "dy"};
    const tutti_concat_desc *d = (const void *)c->desc.bytes;
    int split = !strcmp(c->family->name, "split");
    int64_t channels = 0;
    for (int i = 0; i < d->parts; i++) channels += d->C[i];
    for (int n = 0; n < 4; n++) {
        int whole = (names[n][strlen(names[n]) - 1] == 'y') != split;
        char name[16];
        if (whole) test_declare(c, names[n], c->values, d->pixels * channels);
        for (int i = 0; !whole && i < d->parts; i++) {
            snprintf(name, sizeof name, "%s%d", names[n], i);
            test_declare(c, name, c->values, d->pixels * d->C[i]);
        }
    }
}

static void split_tensors(test_case *c)
{
    concat_tensors(c);
}

static void shortcut_tensors(test_case *c)
{
    const tutti_shortcut_desc *d = (const void *)c->desc.bytes;
    int64_t P = (d->H + d->stride - 1) / d->stride, Q = (d->W + d->stride - 1) / d->stride;
    test_declare(c, "x", c->values, d->N * d->H * d->W * d->C);
    test_declare(c, "y", c->values, d->N * P * Q * d->K);
    test_declare(c, "dy", c->values, d->N * P * Q * d->K);
    test_declare(c, "dx", c->values, d->N * d->H * d->W * d->C);
}

static void put_tensors(test_case *c)
{
    const tutti_put_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "x", c->values, d->count);
    test_declare(c, "y", c->values, d->total);
}

static void take_tensors(test_case *c)
{
    const tutti_take_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "x", c->values, d->total);
    test_declare(c, "y", c->values, d->rows * d->parts * d->each);
}

static void sums(test_case *c, tutti_dtype total)
{
    const tutti_sum_desc *d = (const void *)c->desc.bytes;
    for (int i = 0; i < d->inputs; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        test_declare(c, name, c->values, d->count);
    }
    test_declare(c, "y", total, d->count);
}

static void sum_tensors(test_case *c)
{
    sums(c, c->values);
}

static void sum_narrow_tensors(test_case *c)
{
    sums(c, TUTTI_BF16);
}

static void xent_tensors(test_case *c)
{
    const tutti_xent_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "logits", TUTTI_F32, d->N * d->K);
    test_declare(c, "labels", TUTTI_I32, d->N);
    test_declare(c, "dlogits", TUTTI_F32, d->N * d->K);
    test_declare(c, "metrics", TUTTI_F64, TUTTI_METRICS);
}

static void xent_mixed_tensors(test_case *c)
{
    tutti_xent_desc *d = (void *)c->desc.bytes;
    d->mixed = 1;
    xent_tensors(c);
    test_declare(c, "part", TUTTI_F32, d->N);
}

static void mixup_tensors(test_case *c)
{
    const tutti_mixup_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "x", c->values, d->N * d->each);
    test_declare(c, "part", TUTTI_F32, d->N);
    test_declare(c, "y", c->values, d->N * d->each);
}

static void mixup_draw_tensors(test_case *c)
{
    const tutti_mixup_draw_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "labels", TUTTI_I32, d->N);
    test_declare(c, "step", TUTTI_I64, 1);
    test_declare(c, "part", TUTTI_F32, d->N);
}

static void cutmix_tensors(test_case *c)
{
    const tutti_cutmix_desc *d = (const void *)c->desc.bytes;
    const int64_t count = d->N * d->H * d->W * d->C;
    test_declare(c, "x", c->values, count);
    test_declare(c, "box", TUTTI_I32, d->N / 2 * TUTTI_BOX);
    test_declare(c, "y", c->values, count);
}

static void cutmix_draw_tensors(test_case *c)
{
    const tutti_cutmix_draw_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "labels", TUTTI_I32, d->draw.N);
    test_declare(c, "step", TUTTI_I64, 1);
    test_declare(c, "part", TUTTI_F32, d->draw.N);
    test_declare(c, "box", TUTTI_I32, d->draw.N / 2 * TUTTI_BOX);
}

static void pixel_tensors(test_case *c, tutti_dtype values)
{
    const tutti_normalise_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "pixels", TUTTI_U8, d->pixels * d->C);
    test_declare(c, "y", values, d->pixels * d->C);
}

static void normalise_tensors(test_case *c)
{
    pixel_tensors(c, TUTTI_F32);
}

static void normalise_narrow_tensors(test_case *c)
{
    pixel_tensors(c, TUTTI_BF16);
}

static void narrow_tensors(test_case *c)
{
    const tutti_widen_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "x", TUTTI_F32, d->count);
    test_declare(c, "y", TUTTI_BF16, d->count);
}

static void widen_tensors(test_case *c)
{
    const tutti_widen_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "x", TUTTI_BF16, d->count);
    test_declare(c, "y", TUTTI_F32, d->count);
}

static void accumulate_tensors(test_case *c)
{
    widen_tensors(c);
}

static void sgd_of(test_case *c, tutti_dtype gradient)
{
    tutti_sgd_desc *d = (void *)c->desc.bytes;
    if (!strstr(c->text, "rate_factor")) d->rate_factor = 1; /* unless the case says otherwise */
    test_declare(c, "g", gradient, d->count);
    test_declare(c, "rate", TUTTI_F32, 1);
    test_declare(c, "w", TUTTI_F32, d->count);
    test_declare(c, "v", TUTTI_F32, d->count);
}

static void sgd_tensors(test_case *c)
{
    sgd_of(c, TUTTI_F32);
}

static void sgd_bf16_tensors(test_case *c)
{
    sgd_of(c, TUTTI_BF16);
}

static void adam_tensors(test_case *c)
{
    tutti_adam_desc *d = (void *)c->desc.bytes;
    if (!strstr(c->text, "rate_factor")) d->rate_factor = 1;
    test_declare(c, "g", TUTTI_F32, d->count);
    test_declare(c, "rate", TUTTI_F32, 1);
    test_declare(c, "step", TUTTI_I64, 1);
    test_declare(c, "w", TUTTI_F32, d->count);
    test_declare(c, "mean", TUTTI_F32, d->count);
    test_declare(c, "square", TUTTI_F32, d->count);
}

static void lars_tensors(test_case *c)
{
    tutti_lars_desc *d = (void *)c->desc.bytes;
    if (!strstr(c->text, "rate_factor")) d->rate_factor = 1;
    test_declare(c, "g", TUTTI_F32, d->count);
    test_declare(c, "rate", TUTTI_F32, 1);
    test_declare(c, "w", TUTTI_F32, d->count);
    test_declare(c, "v", TUTTI_F32, d->count);
}

static void length_of(test_case *c, tutti_dtype dtype)
{
    test_declare(c, "x", dtype, ((const tutti_length_desc *)c->desc.bytes)->count);
    test_declare(c, "length", TUTTI_F32, 1);
}

static void length_tensors(test_case *c)
{
    length_of(c, TUTTI_F32);
}

static void length_bf16_tensors(test_case *c)
{
    length_of(c, TUTTI_BF16);
}

static void clip_factor_tensors(test_case *c)
{
    const tutti_clip_factor_desc *d = (const void *)c->desc.bytes;
    for (int i = 0; i < d->inputs; i++) {
        char name[24];
        snprintf(name, sizeof name, "length%d", i);
        test_declare(c, name, TUTTI_F32, 1);
    }
    test_declare(c, "factor", TUTTI_F32, 1);
}

static void lengths_tensors(test_case *c)
{
    const tutti_lengths_desc *d = (const void *)c->desc.bytes;
    for (int i = 0; i < d->inputs; i++) {
        char name[24];
        snprintf(name, sizeof name, "length%d", i);
        test_declare(c, name, TUTTI_F32, 1);
    }
    test_declare(c, "all", TUTTI_F32, d->count);
}

static void clip_tensors(test_case *c)
{
    test_declare(c, "factor", TUTTI_F32, 1);
    test_declare(c, "g", TUTTI_F32, ((const tutti_clip_desc *)c->desc.bytes)->count);
}

static void average_tensors(test_case *c)
{
    int64_t count = ((const tutti_average_desc *)c->desc.bytes)->count;
    test_declare(c, "w", TUTTI_F32, count);
    test_declare(c, "average", TUTTI_F32, count);
}

static void gate_tensors(test_case *c)
{
    const tutti_gate_desc *d = (const void *)c->desc.bytes;
    for (int i = 0; i < d->inputs; i++) {
        char name[24];
        snprintf(name, sizeof name, "x%d", i);
        test_declare(c, name, TUTTI_F32, 3);
    }
}

static void divide_tensors(test_case *c)
{
    test_declare(c, "x", TUTTI_F32, ((const tutti_divide_desc *)c->desc.bytes)->count);
}

static void outer_tensors(test_case *c)
{
    const tutti_outer_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "w", TUTTI_F32, d->count);
    test_declare(c, "w0", TUTTI_F32, d->count);
    if (d->momentum > 0) test_declare(c, "v", TUTTI_F32, d->count);
}

static void pair_tensors(test_case *c)
{
    const int64_t count = ((const tutti_pair_desc *)c->desc.bytes)->count;
    test_declare(c, "own", TUTTI_F32, count);
    test_declare(c, "other", TUTTI_F32, count);
    test_declare(c, "w", TUTTI_F32, count);
}

static void share_set_tensors(test_case *c)
{
    test_declare(c, "share", TUTTI_F64, 1);
}

static void share_halve_tensors(test_case *c)
{
    test_declare(c, "share", TUTTI_F64, 1);
    test_declare(c, "sent", TUTTI_F64, 1);
}

static void share_weigh_tensors(test_case *c)
{
    static const char *const received[] = {"received0", "received1"};
    const tutti_share_weigh_desc *d = (const void *)c->desc.bytes;
    for (int i = 0; i < d->inputs; i++) test_declare(c, received[i], TUTTI_F64, 1);
    test_declare(c, "share", TUTTI_F64, 1);
    test_declare(c, "factors", TUTTI_F64, 1 + d->inputs);
}

static void share_mix_tensors(test_case *c)
{
    static const char *const near[] = {"near0", "near1"};
    const tutti_share_mix_desc *d = (const void *)c->desc.bytes;
    for (int i = 0; i < d->inputs; i++) test_declare(c, near[i], TUTTI_F32, d->count);
    test_declare(c, "factors", TUTTI_F64, 1 + d->inputs);
    test_declare(c, "w", TUTTI_F32, d->count);
}

static void share_scale_tensors(test_case *c)
{
    test_declare(c, "share", TUTTI_F64, 1);
    test_declare(c, "w", TUTTI_F32, ((const tutti_share_scale_desc *)c->desc.bytes)->count);
}

static void onebit_tensors(test_case *c)
{
    const tutti_onebit_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "g", TUTTI_F32, d->count);
    test_declare(c, "e", TUTTI_F32, d->count);
    test_declare(c, "code", TUTTI_I32, d->rows.replicas * d->rows.stride);
}

static void topk_tensors(test_case *c)
{
    const tutti_topk_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "g", TUTTI_F32, d->count);
    test_declare(c, "e", TUTTI_F32, d->count);
    test_declare(c, "code", TUTTI_I32, d->rows.replicas * d->rows.stride);
}

static void powersgd_tensors(test_case *c)
{
    const tutti_powersgd_desc *d = (const void *)c->desc.bytes;
    test_declare(c, "g", TUTTI_F32, d->rows * d->columns);
    test_declare(c, "e", TUTTI_F32, d->rows * d->columns);
    test_declare(c, "p", TUTTI_F32, d->rank * d->rows);
    test_declare(c, "q", TUTTI_F32, d->rank * d->columns);
}

/* ---- Tables ---- */

typedef struct field {
    const char *family, *key;
    size_t offset;
    char type;
} field;

#define AT(family, type, key, member, letter)                                                      \
    {                                                                                              \
#family, #key, offsetof(type, member), letter                                              \
    }
#define F(family, type, key, letter) AT(family, type, key, key, letter)
#define WINDOW(family, type)                                                                       \
    F(family, type, N, 'i'), F(family, type, H, 'i'), F(family, type, W, 'i'),                     \
        F(family, type, C, 'i'), F(family, type, R, 'i'), F(family, type, S, 'i'),                 \
        F(family, type, stride, 'p'), F(family, type, pad, 'p'),                                   \
        AT(family, type, stride0, stride[0], 'i'), AT(family, type, stride1, stride[1], 'i'),      \
        AT(family, type, pad0, pad[0], 'i'), AT(family, type, pad1, pad[1], 'i')
#define ROWS(family, type)                                                                         \
    AT(family, type, replica, rows.replica, 'd'), AT(family, type, replicas, rows.replicas, 'd'),  \
        AT(family, type, first, rows.first, 'i'), AT(family, type, stride, rows.stride, 'i')
#define SUM(family)                                                                                \
    F(family, tutti_sum_desc, count, 'i'), F(family, tutti_sum_desc, inputs, 'd'),                 \
        F(family, tutti_sum_desc, relu, 'd'), F(family, tutti_sum_desc, into, 'd')
#define SGD(family)                                                                                \
    F(family, tutti_sgd_desc, first, 'i'), F(family, tutti_sgd_desc, count, 'i'),                  \
        F(family, tutti_sgd_desc, momentum, 'f'), F(family, tutti_sgd_desc, weight_decay, 'f'),    \
        F(family, tutti_sgd_desc, nesterov, 'd'), F(family, tutti_sgd_desc, rate_factor, 'f')
#define XENT(family)                                                                               \
    F(family, tutti_xent_desc, N, 'i'), F(family, tutti_xent_desc, K, 'i'),                        \
        F(family, tutti_xent_desc, weight, 'f'), F(family, tutti_xent_desc, smoothing, 'f'),       \
        F(family, tutti_xent_desc, views, 'd'), F(family, tutti_xent_desc, mixed, 'd')
#define PIXEL(family)                                                                              \
    F(family, tutti_normalise_desc, pixels, 'i'), F(family, tutti_normalise_desc, C, 'i'),         \
        AT(family, tutti_normalise_desc, mean0, mean[0], 'f'),                                     \
        AT(family, tutti_normalise_desc, mean1, mean[1], 'f'),                                     \
        AT(family, tutti_normalise_desc, mean2, mean[2], 'f'),                                     \
        AT(family, tutti_normalise_desc, mean3, mean[3], 'f'),                                     \
        AT(family, tutti_normalise_desc, deviation0, deviation[0], 'f'),                           \
        AT(family, tutti_normalise_desc, deviation1, deviation[1], 'f'),                           \
        AT(family, tutti_normalise_desc, deviation2, deviation[2], 'f'),                           \
        AT(family, tutti_normalise_desc, deviation3, deviation[3], 'f')
#define DENSE(family)                                                                              \
    F(family, tutti_dense_desc, N, 'i'), F(family, tutti_dense_desc, C, 'i'),                      \
        F(family, tutti_dense_desc, K, 'i'), F(family, tutti_dense_desc, bias, 'd')
#define NORM(family)                                                                               \
    F(family, tutti_norm_desc, N, 'i'), F(family, tutti_norm_desc, H, 'i'),                        \
        F(family, tutti_norm_desc, W, 'i'), F(family, tutti_norm_desc, C, 'i'),                    \
        F(family, tutti_norm_desc, eps, 'f'), F(family, tutti_norm_desc, relu, 'd'),               \
        F(family, tutti_norm_desc, limit, 'f')

#define CONCAT(family)                                                                             \
    F(family, tutti_concat_desc, pixels, 'i'), F(family, tutti_concat_desc, parts, 'd'),           \
        AT(family, tutti_concat_desc, C0, C[0], 'i'),                                              \
        AT(family, tutti_concat_desc, C1, C[1], 'i'),                                              \
        AT(family, tutti_concat_desc, C2, C[2], 'i'), AT(family, tutti_concat_desc, C3, C[3], 'i')

static const field fields[] = {
    WINDOW(conv, tutti_conv_desc),
    F(conv, tutti_conv_desc, K, 'i'),
    F(conv, tutti_conv_desc, groups, 'i'),
    F(conv, tutti_conv_desc, bias, 'd'),
    DENSE(dense),
    DENSE(dense_wide),
    NORM(norm),
    NORM(norm_add),
    NORM(norm_infer),
    F(norm_running, tutti_norm_running_desc, C, 'i'),
    F(norm_running, tutti_norm_running_desc, momentum, 'f'),
    F(norm_running, tutti_norm_running_desc, weight, 'f'),
    F(norm_running, tutti_norm_running_desc, unbias, 'f'),
    F(relu, tutti_relu_desc, count, 'i'),
    F(relu, tutti_relu_desc, limit, 'f'),
    F(dropout, tutti_dropout_desc, count, 'i'),
    F(dropout, tutti_dropout_desc, offset, 'i'),
    F(dropout, tutti_dropout_desc, seed, 'u'),
    F(dropout, tutti_dropout_desc, stream, 'u'),
    F(dropout, tutti_dropout_desc, rate, 'f'),
    WINDOW(pool_max, tutti_pool_desc),
    F(pool_max, tutti_pool_desc, ceiling, 'd'),
    WINDOW(pool_avg, tutti_pool_desc),
    F(pool_avg, tutti_pool_desc, ceiling, 'd'),
    F(pool_avg, tutti_pool_desc, counts_padding, 'd'),
    F(lrn, tutti_lrn_desc, N, 'i'),
    F(lrn, tutti_lrn_desc, H, 'i'),
    F(lrn, tutti_lrn_desc, W, 'i'),
    F(lrn, tutti_lrn_desc, C, 'i'),
    F(lrn, tutti_lrn_desc, size, 'i'),
    F(lrn, tutti_lrn_desc, alpha, 'f'),
    F(lrn, tutti_lrn_desc, beta, 'f'),
    F(lrn, tutti_lrn_desc, k, 'f'),
    CONCAT(concat),
    CONCAT(split),
    F(shortcut, tutti_shortcut_desc, N, 'i'),
    F(shortcut, tutti_shortcut_desc, H, 'i'),
    F(shortcut, tutti_shortcut_desc, W, 'i'),
    F(shortcut, tutti_shortcut_desc, C, 'i'),
    F(shortcut, tutti_shortcut_desc, K, 'i'),
    F(shortcut, tutti_shortcut_desc, stride, 'i'),
    F(put, tutti_put_desc, count, 'i'),
    F(put, tutti_put_desc, first, 'i'),
    F(put, tutti_put_desc, total, 'i'),
    F(take, tutti_take_desc, rows, 'i'),
    F(take, tutti_take_desc, parts, 'i'),
    F(take, tutti_take_desc, each, 'i'),
    F(take, tutti_take_desc, first, 'i'),
    F(take, tutti_take_desc, row, 'i'),
    F(take, tutti_take_desc, part, 'i'),
    F(take, tutti_take_desc, total, 'i'),
    SUM(sum),
    SUM(sum_narrow),
    F(widen, tutti_widen_desc, count, 'i'),
    F(narrow, tutti_widen_desc, count, 'i'),
    F(accumulate, tutti_widen_desc, count, 'i'),
    XENT(xent),
    XENT(xent_mixed),
    F(mixup, tutti_mixup_desc, N, 'i'),
    F(mixup, tutti_mixup_desc, each, 'i'),
    F(mixup_draw, tutti_mixup_draw_desc, N, 'i'),
    F(mixup_draw, tutti_mixup_draw_desc, offset, 'i'),
    F(mixup_draw, tutti_mixup_draw_desc, seed, 'u'),
    F(mixup_draw, tutti_mixup_draw_desc, stream, 'u'),
    F(mixup_draw, tutti_mixup_draw_desc, alpha, 'r'),
    F(cutmix, tutti_cutmix_desc, N, 'i'),
    F(cutmix, tutti_cutmix_desc, H, 'i'),
    F(cutmix, tutti_cutmix_desc, W, 'i'),
    F(cutmix, tutti_cutmix_desc, C, 'i'),
    AT(cutmix_draw, tutti_cutmix_draw_desc, N, draw.N, 'i'),
    AT(cutmix_draw, tutti_cutmix_draw_desc, offset, draw.offset, 'i'),
    AT(cutmix_draw, tutti_cutmix_draw_desc, seed, draw.seed, 'u'),
    AT(cutmix_draw, tutti_cutmix_draw_desc, stream, draw.stream, 'u'),
    AT(cutmix_draw, tutti_cutmix_draw_desc, alpha, draw.alpha, 'r'),
    F(cutmix_draw, tutti_cutmix_draw_desc, H, 'i'),
    F(cutmix_draw, tutti_cutmix_draw_desc, W, 'i'),
    PIXEL(normalise),
    PIXEL(normalise_narrow),
    SGD(sgd),
    SGD(sgd_bf16),
    F(adam, tutti_adam_desc, first, 'i'),
    F(adam, tutti_adam_desc, count, 'i'),
    F(adam, tutti_adam_desc, every, 'i'),
    F(adam, tutti_adam_desc, beta1, 'r'),
    F(adam, tutti_adam_desc, beta2, 'r'),
    F(adam, tutti_adam_desc, epsilon, 'f'),
    F(adam, tutti_adam_desc, weight_decay, 'f'),
    F(adam, tutti_adam_desc, rate_factor, 'f'),
    F(adam, tutti_adam_desc, decoupled, 'd'),
    F(lars, tutti_lars_desc, count, 'i'),
    F(lars, tutti_lars_desc, momentum, 'f'),
    F(lars, tutti_lars_desc, weight_decay, 'f'),
    F(lars, tutti_lars_desc, rate_factor, 'f'),
    F(lars, tutti_lars_desc, trust, 'f'),
    F(length, tutti_length_desc, count, 'i'),
    F(length_bf16, tutti_length_desc, count, 'i'),
    F(clip_factor, tutti_clip_factor_desc, inputs, 'd'),
    F(clip_factor, tutti_clip_factor_desc, most, 'f'),
    F(lengths, tutti_lengths_desc, inputs, 'd'),
    F(lengths, tutti_lengths_desc, first, 'i'),
    F(lengths, tutti_lengths_desc, count, 'i'),
    F(clip, tutti_clip_desc, count, 'i'),
    F(average, tutti_average_desc, count, 'i'),
    F(average, tutti_average_desc, decay, 'r'),
    F(gate, tutti_gate_desc, inputs, 'd'),
    F(divide, tutti_divide_desc, count, 'i'),
    F(divide, tutti_divide_desc, by, 'f'),
    F(outer, tutti_outer_desc, count, 'i'),
    F(outer, tutti_outer_desc, by, 'f'),
    F(outer, tutti_outer_desc, rate, 'f'),
    F(outer, tutti_outer_desc, momentum, 'f'),
    F(pair, tutti_pair_desc, count, 'i'),
    F(share_set, tutti_share_set_desc, value, 'r'),
    F(share_halve, tutti_share_halve_desc, unit, 'r'),
    F(share_weigh, tutti_share_weigh_desc, inputs, 'd'),
    F(share_mix, tutti_share_mix_desc, count, 'i'),
    F(share_mix, tutti_share_mix_desc, inputs, 'd'),
    F(share_scale, tutti_share_scale_desc, count, 'i'),
    F(onebit, tutti_onebit_desc, count, 'i'),
    ROWS(onebit, tutti_onebit_desc),
    F(topk, tutti_topk_desc, count, 'i'),
    F(topk, tutti_topk_desc, kept, 'i'),
    ROWS(topk, tutti_topk_desc),
    F(powersgd, tutti_powersgd_desc, rows, 'i'),
    F(powersgd, tutti_powersgd_desc, columns, 'i'),
    F(powersgd, tutti_powersgd_desc, rank, 'd'),
    F(powersgd, tutti_powersgd_desc, seed, 'u'),
    F(powersgd, tutti_powersgd_desc, stream, 'u'),
};

int test_field(const test_family *family, const char *key, size_t *offset, char *type)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i].family, family->name) || strcmp(fields[i].key, key)) continue;
        *offset = fields[i].offset;
        *type = fields[i].type;
        return 1;
    }
    return 0;
}

#define FAMILY_OF(name, halves, ...)                                                               \
    &(const test_family)                                                                           \
    {                                                                                              \
#name, halves, __VA_ARGS__, name##_tensors, test_##name##_reference                        \
    }
#define FAMILY(name, ...) FAMILY_OF(name, 0, __VA_ARGS__)
#define HALVES(name, ...) FAMILY_OF(name, 1, __VA_ARGS__)

const test_family *const test_families[] = {
    HALVES(conv, 3, {&tutti_op_conv, &tutti_op_conv_bwd_data, &tutti_op_conv_bwd_weights}),
    HALVES(dense, 3, {&tutti_op_dense, &tutti_op_dense_bwd_data, &tutti_op_dense_bwd_weights}),
    FAMILY(dense_wide, 1, {&tutti_op_dense_wide}),
    HALVES(norm, 2, {&tutti_op_norm, &tutti_op_norm_bwd}),
    HALVES(norm_add, 2, {&tutti_op_norm_add, &tutti_op_norm_add_bwd}),
    HALVES(norm_infer, 1, {&tutti_op_norm_infer}),
    FAMILY(norm_running, 1, {&tutti_op_norm_running}),
    HALVES(relu, 2, {&tutti_op_relu, &tutti_op_relu_bwd}),
    HALVES(dropout, 2, {&tutti_op_dropout, &tutti_op_dropout_bwd}),
    HALVES(pool_max, 2, {&tutti_op_pool_max, &tutti_op_pool_max_bwd}),
    HALVES(pool_avg, 2, {&tutti_op_pool_avg, &tutti_op_pool_avg_bwd}),
    HALVES(lrn, 2, {&tutti_op_lrn, &tutti_op_lrn_bwd}),
    HALVES(concat, 2, {&tutti_op_concat, &tutti_op_concat_bwd}),
    HALVES(split, 2, {&tutti_op_split, &tutti_op_split_bwd}),
    HALVES(shortcut, 2, {&tutti_op_shortcut, &tutti_op_shortcut_bwd}),
    HALVES(put, 1, {&tutti_op_put}),
    HALVES(take, 1, {&tutti_op_take}),
    HALVES(sum, 1, {&tutti_op_sum}),
    FAMILY(sum_narrow, 1, {&tutti_op_sum_narrow}),
    FAMILY(widen, 1, {&tutti_op_widen}),
    FAMILY(narrow, 1, {&tutti_op_narrow}),
    FAMILY(accumulate, 1, {&tutti_op_accumulate}),
    FAMILY(xent, 2, {&tutti_op_softmax_xent, &tutti_op_xent_eval}),
    FAMILY(xent_mixed, 1, {&tutti_op_softmax_xent}),
    HALVES(mixup, 1, {&tutti_op_mixup}),
    FAMILY(mixup_draw, 1, {&tutti_op_mixup_draw}),
    HALVES(cutmix, 1, {&tutti_op_cutmix}),
    FAMILY(cutmix_draw, 1, {&tutti_op_cutmix_draw}),
    FAMILY(normalise, 1, {&tutti_op_normalise}),
    FAMILY(normalise_narrow, 1, {&tutti_op_normalise_narrow}),
    FAMILY(sgd, 1, {&tutti_op_sgd}),
    FAMILY(sgd_bf16, 1, {&tutti_op_sgd}),
    FAMILY(adam, 1, {&tutti_op_adam}),
    FAMILY(lars, 1, {&tutti_op_lars}),
    FAMILY(length, 1, {&tutti_op_length}),
    FAMILY(length_bf16, 1, {&tutti_op_length}),
    FAMILY(clip_factor, 1, {&tutti_op_clip_factor}),
    FAMILY(lengths, 1, {&tutti_op_lengths}),
    FAMILY(clip, 1, {&tutti_op_clip}),
    FAMILY(average, 1, {&tutti_op_average}),
    FAMILY(gate, 1, {&tutti_op_gate}),
    FAMILY(divide, 1, {&tutti_op_divide}),
    FAMILY(outer, 1, {&tutti_op_outer}),
    FAMILY(pair, 1, {&tutti_op_pair}),
    FAMILY(share_set, 1, {&tutti_op_share_set}),
    FAMILY(share_halve, 1, {&tutti_op_share_halve}),
    FAMILY(share_weigh, 1, {&tutti_op_share_weigh}),
    FAMILY(share_mix, 1, {&tutti_op_share_mix}),
    FAMILY(share_scale, 1, {&tutti_op_share_scale}),
    FAMILY(onebit, 2, {&tutti_op_onebit_encode, &tutti_op_onebit_decode}),
    FAMILY(topk, 2, {&tutti_op_topk_encode, &tutti_op_topk_decode}),
    FAMILY(
        powersgd, 3, {&tutti_op_powersgd_left, &tutti_op_powersgd_right, &tutti_op_powersgd_sum}),
    NULL,
};
