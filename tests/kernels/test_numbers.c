/* dag/kernels: what numbers have to come out where rounding, NaNs, zeros or chance decide. */
#include "dag/base/bf16.h"
#include "dag/base/rng.h"
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/mixup.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pixel.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tutti_kernel *kernel_of(const tutti_op *op)
{
    const tutti_kernel *kernel = tutti_kernel_find(op, TUTTI_CPU, TUTTI_F32);
    if (!kernel) kernel = tutti_kernel_find(op, TUTTI_CPU, TUTTI_U8);
    ck_assert_msg(kernel != NULL, "%s", op->name);
    return kernel;
}
/* Weights are those of Beta(alpha, alpha), whose mean is 1/2 and variance 1 / (4 (2 alpha + 1)), alike
 * for a small alpha and a large one; and another draw in another step. */
START_TEST(mixed_parts_have_their_distribution)
{
    static const double alphas[] = {0.001, 0.2, 1, 8, 1000};
    enum { N = 20000, BINS = 10 };
    double alpha = alphas[_i], sum = 0, squares = 0, bins[BINS] = {0};
    for (int64_t pair = 0; pair < N; pair++) {
        double w = tutti_mixup_weight(alpha, 5, 77, pair % 3, pair);
        ck_assert(w >= 0 && w <= 1);
        ck_assert(pair < 10 || alpha < 0.1 || w != tutti_mixup_weight(alpha, 5, 77, 3, pair));
        sum += w;
        squares += (w - 0.5) * (w - 0.5);
        bins[w < 1 ? (int)(w * BINS) : BINS - 1]++;
    }
    double variance = 1 / (4 * (2 * alpha + 1));
    ck_assert_double_eq_tol(sum / N, 0.5, 5 * sqrt(variance / N));
    ck_assert_double_eq_tol(squares / N, variance, 0.05 * variance);
    for (int b = 0; b < BINS && alpha == 1; b++) /* uniform */
        ck_assert_double_eq_tol(bins[b], N / BINS, 5 * sqrt(N / BINS));
}
END_TEST

/* Boxes are within the image, of its shape as far as they are not cut off, and around any pixel; the part outside is
 * what they leave. A box ends before half of it behind its centre: the mirror of pixel 0 is H - 2. */
START_TEST(boxes_fit_their_parts)
{
    enum { N = 20000, H = 32, W = 24, PIXELS = H * W };
    const tutti_cutmix_draw_desc d = {
        .draw = {.N = 2, .seed = 5, .stream = 77, .alpha = 1}, .H = H, .W = W};
    int seen[H][W] = {{0}}, whole = 0;
    for (int64_t pair = 0; pair < N; pair++) {
        int32_t box[TUTTI_BOX];
        const double part = tutti_cutmix_box(&d, 3, pair, box),
                     side = sqrt(1 - tutti_mixup_weight(1, 5, 77, 3, pair));
        const int high = box[1] - box[0], wide = box[3] - box[2];
        ck_assert(
            box[0] >= 0 && high >= 0 && box[1] <= H && box[2] >= 0 && wide >= 0 && box[3] <= W);
        ck_assert_double_eq_tol(part, 1 - (double)(high * wide) / PIXELS, 1e-12);
        ck_assert(high <= side * H && wide <= side * W);
        if (box[0] > 0 && box[1] < H) ck_assert(high > side * H - 2);
        if (box[2] > 0 && box[3] < W) ck_assert(wide > side * W - 2);
        whole += high == H && wide == W;
        for (int h = box[0]; h < box[1]; h++)
            for (int w = box[2]; w < box[3]; w++) seen[h][w]++;
    }
    ck_assert_int_lt(whole, N / 100);
    ck_assert_double_eq_tol(seen[0][0], seen[H - 2][W - 2], 0.1 * seen[0][0]);
    ck_assert_double_eq_tol(seen[0][W - 2], seen[H - 2][0], 0.1 * seen[0][0]);
    ck_assert_int_gt(seen[H / 2][W / 2], 2 * seen[0][0]);
}
END_TEST

/* A mean of a thousand deviations: plain sums of squares would lose the variance. */
START_TEST(variance_survives_a_large_mean)
{
    enum { ROWS = 3000, C = 16 };
    const tutti_norm_desc desc = {.N = ROWS, .H = 1, .W = 1, .C = C, .eps = 1e-5f};
    float *x = malloc(ROWS * C * sizeof *x), *y = malloc(ROWS * C * sizeof *y);
    float scaleshift[2 * C], stats[2 * C];
    double sum = 0, squares = 0;
    void *buf[] = {x, scaleshift, y, stats}, *args = NULL;
    ck_assert(x && y);
    for (int i = 0; i < ROWS * C; i++) x[i] = 1000 + (float)tutti_rng_normal(7, 1, (uint64_t)i);
    for (int c = 0; c < 2 * C; c++) scaleshift[c] = c < C;
    ck_assert_ok(kernel_of(&tutti_op_norm)->open(&desc, &args));
    ck_assert_ok(kernel_of(&tutti_op_norm)->fn(args, buf, NULL));
    kernel_of(&tutti_op_norm)->close(args);
    for (int r = 0; r < ROWS; r++) sum += (double)x[r * C];
    for (int r = 0; r < ROWS; r++)
        squares += ((double)x[r * C] - sum / ROWS) * ((double)x[r * C] - sum / ROWS);
    ck_assert_double_eq_tol((double)stats[0], sum / ROWS, 1e-3);
    ck_assert_double_eq_tol((double)stats[C], squares / ROWS, 1e-4);
    free(x);
    free(y);
}
END_TEST

/* ---- norm_add ---- */

/* Of either type: sizes that are whole vectors and others, more than a block of rows; in bf16 what the norm writes is
 * rounded before it is added. */
typedef struct added {
    tutti_norm_desc desc;
    tutti_dtype dtype;
    size_t bytes, pair; /* of a tensor; of scales and shifts */
    void *x, *other, *dy, *scaleshift;
} added;

static void *filled(tutti_dtype dtype, int64_t count, uint64_t stream)
{
    float *wide = malloc((size_t)count * sizeof *wide);
    uint16_t *half = (uint16_t *)wide;
    ck_assert_ptr_nonnull(wide);
    for (int64_t i = 0; i < count; i++) {
        const float v = (float)tutti_rng_normal(11, stream, (uint64_t)i);
        if (dtype == TUTTI_BF16)
            half[i] = tutti_bf16_narrow(v);
        else
            wide[i] = v;
    }
    return wide;
}

static void compute(const tutti_op *op, tutti_dtype dtype, const void *desc, void *const buf[])
{
    const tutti_kernel *kernel = tutti_kernel_find(op, TUTTI_CPU, dtype);
    void *args = NULL;
    ck_assert_ok(kernel->open(desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
}

static void compare_added(const added *a)
{
    enum { Y, DX, DOTHER, NORMED, TENSORS };
    const int64_t count = a->desc.N * a->desc.H * a->desc.W * a->desc.C;
    void *tensor[2][TENSORS], *stats[2], *dscaleshift[2];
    for (int i = 0; i < 2; i++) {
        for (int t = 0; t < TENSORS; t++) ck_assert((tensor[i][t] = calloc(1, a->bytes)) != NULL);
        ck_assert((stats[i] = calloc(1, a->pair)) && (dscaleshift[i] = calloc(1, a->pair)));
    }
    void **one = tensor[0], **apart = tensor[1];
    compute(&tutti_op_norm_add, a->dtype, &a->desc,
        (void *[]){a->x, a->scaleshift, a->other, one[Y], stats[0]});
    compute(&tutti_op_norm_add_bwd, a->dtype, &a->desc,
        (void *[]){
            a->x, one[Y], a->dy, a->scaleshift, stats[0], one[DX], one[DOTHER], dscaleshift[0]});
    compute(&tutti_op_norm, a->dtype, &a->desc,
        (void *[]){a->x, a->scaleshift, apart[NORMED], stats[1]});
    compute(&tutti_op_sum, a->dtype, &(tutti_sum_desc){.count = count, .inputs = 2, .relu = 1},
        (void *[]){apart[NORMED], a->other, apart[Y]});
    compute(&tutti_op_relu_bwd, a->dtype, &(tutti_relu_desc){.count = count},
        (void *[]){apart[Y], a->dy, apart[DOTHER]});
    compute(&tutti_op_norm_bwd, a->dtype, &a->desc,
        (void *[]){a->x, apart[DOTHER], a->scaleshift, stats[1], apart[DX], dscaleshift[1]});
    ck_assert(!memcmp(stats[0], stats[1], a->pair));
    ck_assert(!memcmp(dscaleshift[0], dscaleshift[1], a->pair));
    for (int t = 0; t < NORMED; t++) ck_assert(!memcmp(one[t], apart[t], a->bytes));
    for (int i = 0; i < 2; i++) {
        for (int t = 0; t < TENSORS; t++) free(tensor[i][t]);
        free(stats[i]);
        free(dscaleshift[i]);
    }
}

START_TEST(an_added_norm_has_the_bits_of_a_norm_and_a_sum)
{
    static const int64_t channels[] = {1, 16, 19, 64, 70, 256};
    for (size_t i = 0; i < 2 * sizeof channels / sizeof *channels; i++) {
        const int64_t C = channels[i / 2], count = 2 * 9 * 7 * C;
        added a = {.desc = {.N = 2, .H = 9, .W = 7, .C = C, .eps = 1e-5f},
            .dtype = i % 2 ? TUTTI_BF16 : TUTTI_F32,
            .pair = (size_t)C * 2 * sizeof(float)};
        a.bytes = (size_t)count * tutti_dtype_bytes(a.dtype);
        a.x = filled(a.dtype, count, 1);
        a.other = filled(a.dtype, count, 2);
        a.dy = filled(a.dtype, count, 3);
        a.scaleshift = filled(TUTTI_F32, 2 * C, 4);
        compare_added(&a);
        free(a.x);
        free(a.other);
        free(a.dy);
        free(a.scaleshift);
    }
}
END_TEST

/* The weights of a run depend on every bit of its images: not x * (1/255), nor x/255 * (1/deviation). */
START_TEST(pixels_are_normalised_in_one_order)
{
    const tutti_normalise_desc desc = {.pixels = 256,
        .C = 3,
        .mean = {0.4914f, 0.4822f, 0.4465f},
        .deviation = {0.247f, 0.2435f, 0.2616f}};
    uint8_t x[256 * 3];
    float y[256 * 3];
    uint16_t half[256 * 3];
    void *buf[] = {x, y}, *narrowed[] = {x, half}, *args = NULL;
    for (int i = 0; i < 256 * 3; i++) x[i] = (uint8_t)(i / 3);
    ck_assert_ok(kernel_of(&tutti_op_normalise_narrow)->open(&desc, &args));
    ck_assert_ok(kernel_of(&tutti_op_normalise_narrow)->fn(args, narrowed, NULL));
    kernel_of(&tutti_op_normalise_narrow)->close(args);
    ck_assert_ok(kernel_of(&tutti_op_normalise)->open(&desc, &args));
    ck_assert_ok(kernel_of(&tutti_op_normalise)->fn(args, buf, NULL));
    kernel_of(&tutti_op_normalise)->close(args);
    for (int i = 0; i < 256 * 3; i++) {
        volatile float expected = (float)x[i];
        expected = expected / 255.0f;
        expected = expected - desc.mean[i % 3];
        expected = expected / desc.deviation[i % 3];
        ck_assert_msg(y[i] == expected, "%d: %.9g, not %.9g", x[i], (double)y[i], (double)expected);
        ck_assert_uint_eq(half[i], tutti_bf16_narrow(y[i]));
    }
}
END_TEST

/* The loops' loads and stores are those of dag/base/bf16.h, which is tested for every value: a sum of
 * one input stores each rounding, and in bf16 it copies what is neither a NaN nor a denormal number
 * of float32. */
START_TEST(loops_round_as_one_does)
{
    enum { COUNT = 1 << 16 };
    float *x = malloc(COUNT * sizeof *x);
    uint16_t *y = malloc(COUNT * sizeof *y), *same = malloc(COUNT * sizeof *same);
    ck_assert(x && y && same);
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    const tutti_sum_desc sum = {.count = COUNT - 1, .inputs = 1};
    for (size_t l = 0; l < sizeof lower / sizeof *lower; l++) {
        void *narrow[] = {x, y}, *copy[] = {y, same}, *args = NULL;
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t bits = i << 16 | lower[l];
            memcpy(&x[i], &bits, sizeof bits);
        }
        const tutti_kernel *bf16 = tutti_kernel_find(&tutti_op_sum, TUTTI_CPU, TUTTI_BF16);
        ck_assert_ok(kernel_of(&tutti_op_sum_narrow)->open(&sum, &args));
        ck_assert_ok(kernel_of(&tutti_op_sum_narrow)->fn(args, narrow, NULL));
        ck_assert_ok(bf16->fn(args, copy, NULL));
        bf16->close(args);
        for (int i = 0; i < COUNT - 1; i++) {
            ck_assert_msg(y[i] == tutti_bf16_narrow(x[i]), "%#x is rounded to %#x, not %#x",
                (unsigned)i << 16 | lower[l], y[i], tutti_bf16_narrow(x[i]));
            ck_assert_msg(same[i] == tutti_bf16_narrow(tutti_bf16_widen(y[i])), "%#x", y[i]);
        }
    }
    free(x);
    free(y);
    free(same);
}
END_TEST

START_TEST(not_a_number_is_not_hidden)
{
    const tutti_sum_desc sum = {.count = 2, .inputs = 1, .relu = 1};
    float x[] = {NAN, -1}, y[2];
    void *buf[] = {x, y}, *args = NULL;
    ck_assert_ok(kernel_of(&tutti_op_sum)->open(&sum, &args));
    ck_assert_ok(kernel_of(&tutti_op_sum)->fn(args, buf, NULL));
    kernel_of(&tutti_op_sum)->close(args);
    ck_assert(isnan(y[0]));
    ck_assert(y[1] >= 0 && y[1] <= 0);
}
END_TEST

static void run_on(const tutti_op *op, const void *desc, void *const buf[])
{
    const tutti_kernel *kernel = kernel_of(op);
    void *args = NULL;
    ck_assert_ok(kernel->open(desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
}

/* One NaN among the gradients reaches all of them, and is found; lengths that overflow float32 when
 * squared do not matter. */
START_TEST(clipping_hides_nothing)
{
    const tutti_clip_factor_desc three = {.inputs = 3, .most = 1};
    const tutti_length_desc length = {.count = 2};
    const tutti_clip_desc clip = {.count = 2};
    float large[] = {3e30f, 4e30f}, small[] = {1, 2}, lengths[] = {0, 1, 1}, factor;
    run_on(&tutti_op_length, &length, (void *[]){large, &lengths[0]});
    ck_assert_float_eq_tol(lengths[0], 5e30f, 1e25f);
    run_on(
        &tutti_op_clip_factor, &three, (void *[]){&lengths[0], &lengths[1], &lengths[2], &factor});
    ck_assert_float_eq_tol(factor, 2e-31f, 1e-36f);
    lengths[0] = NAN;
    run_on(
        &tutti_op_clip_factor, &three, (void *[]){&lengths[0], &lengths[1], &lengths[2], &factor});
    run_on(&tutti_op_clip, &clip, (void *[]){&factor, small});
    ck_assert(isnan(small[0]) && isnan(small[1]));
}
END_TEST

/* Two ranks' lengths, put in their places and added, clip as all of them do on one rank. */
START_TEST(lengths_are_collected)
{
    const tutti_clip_factor_desc apart = {.inputs = 3, .most = 1},
                                 together = {.inputs = 1, .each = 3, .most = 1};
    const tutti_lengths_desc one = {.inputs = 1, .count = 3},
                             two = {.inputs = 2, .first = 1, .count = 3},
                             wrong = {.inputs = 2, .first = 2, .count = 3};
    float length[] = {1.1f, 2.3f, 0.7f}, part[2][3], want, factor;
    void *args = NULL;
    run_on(&tutti_op_lengths, &one, (void *[]){&length[0], part[0]});
    run_on(&tutti_op_lengths, &two, (void *[]){&length[1], &length[2], part[1]});
    for (int i = 0; i < 3; i++) part[0][i] += part[1][i];
    run_on(&tutti_op_clip_factor, &together, (void *[]){part[0], &factor});
    run_on(&tutti_op_clip_factor, &apart, (void *[]){&length[0], &length[1], &length[2], &want});
    ck_assert_float_eq(factor, want);
    ck_assert_int_eq(kernel_of(&tutti_op_lengths)->open(&wrong, &args), TUTTI_ERR_INVAL);
}
END_TEST

/* Weights that are all zero (biases at the start) move at the given rate. */
START_TEST(lars_moves_zeros)
{
    const tutti_lars_desc lars = {.count = 2, .rate_factor = 1, .trust = 0.02f};
    float g[] = {1, -2}, w[] = {0, 0}, v[] = {0, 0}, rate = 0.5f;
    run_on(&tutti_op_lars, &lars, (void *[]){g, &rate, w, v});
    ck_assert_float_eq(w[0], -0.5f);
    ck_assert_float_eq(w[1], 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numbers");
    TCase *tcase = testing_case(suite, "numbers");
    tcase_add_loop_test(tcase, mixed_parts_have_their_distribution, 0, 5);
    tcase_add_test(tcase, boxes_fit_their_parts);
    tcase_add_test(tcase, variance_survives_a_large_mean);
    tcase_add_test(tcase, an_added_norm_has_the_bits_of_a_norm_and_a_sum);
    tcase_add_test(tcase, pixels_are_normalised_in_one_order);
    tcase_add_test(tcase, loops_round_as_one_does);
    tcase_add_test(tcase, not_a_number_is_not_hidden);
    tcase_add_test(tcase, clipping_hides_nothing);
    tcase_add_test(tcase, lengths_are_collected);
    tcase_add_test(tcase, lars_moves_zeros);
    return testing_run(suite);
}
