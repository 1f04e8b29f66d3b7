/* dag/kernels/codec.h, dag/codecs: what was sent and what is kept are what was there, exactly where numbers are whole;
 * all that is not sent is sent in the end; ties, NaN, words that were changed on the way; how codecs are written. */
#include "dag/codecs/codecs.h"
#include "dag/kernels/codec.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/step/codec.h"
#include "tests/support/testing.h"

#include <math.h>
#include <string.h>

enum { COUNT = 3000, REPLICAS = 3, MOST = COUNT * REPLICAS };

static void run_on(const tutti_op *op, const void *desc, void *const buf[])
{
    const tutti_kernel *kernel = NULL;
    for (int i = 0; !kernel || kernel->op != op; i++) kernel = tutti_kernel_get(i);
    void *args = NULL;
    ck_assert_ok(kernel->open(desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
}

/* A codec that gathers, of REPLICAS replicas. */
typedef struct gathered {
    const tutti_op *encode, *decode;
    int64_t kept; /* of topk */
} gathered;

static const gathered kinds[] = {{&tutti_op_onebit_encode, &tutti_op_onebit_decode, 0},
    {&tutti_op_topk_encode, &tutti_op_topk_decode, 30},
    {&tutti_op_topk_encode, &tutti_op_topk_decode, COUNT}};

static int64_t words_of(const gathered *k)
{
    return k->kept ? tutti_topk_words(k->kept) : tutti_onebit_words(COUNT);
}

static void run(const gathered *k, const tutti_op *op, int replica, void *const buf[])
{
    tutti_compressed_rows rows = {.replica = replica, .replicas = REPLICAS, .stride = words_of(k)};
    const tutti_onebit_desc onebit = {.rows = rows, .count = COUNT};
    const tutti_topk_desc topk = {.rows = rows, .count = COUNT, .kept = k->kept};
    run_on(op, k->kept ? (const void *)&topk : &onebit, buf);
}

/* Numbers about v and about -v - 1 in each group, as many above as below: means are whole, and so are residuals, which
 * grow to 5 and change no sign. */
static float whole(uint64_t seed, int replica, int64_t i)
{
    static const float about[] = {-2, 1, 0, -1};
    const float v = 100 + (float)tutti_rng_below(
                              seed, (uint64_t)replica, (uint64_t)(i / TUTTI_ONEBIT_GROUP), 500);
    return i % 2 ? v + about[i % 4] : about[i % 4] - v;
}

/* Step after step, with gradients of whole numbers: nothing is lost or made. */
START_TEST(what_is_not_sent_is_kept)
{
    static float g[REPLICAS][COUNT], e[REPLICAS][COUNT], sum[COUNT];
    static double given[COUNT], got[COUNT];
    static int32_t code[2 * MOST];
    const gathered *k = &kinds[_i];
    memset(e, 0, sizeof e);
    memset(given, 0, sizeof given);
    memset(got, 0, sizeof got);
    for (uint64_t step = 0; step < 5; step++) {
        for (int r = 0; r < REPLICAS; r++) {
            for (int64_t i = 0; i < COUNT; i++) {
                g[r][i] = whole(step, r, i);
                given[i] += (double)g[r][i];
            }
            run(k, k->encode, r, (void *[]){g[r], code, e[r]});
        }
        run(k, k->decode, 0, (void *[]){code, sum});
        for (int64_t i = 0; i < COUNT; i++) {
            double left = 0;
            got[i] += (double)sum[i];
            for (int r = 0; r < REPLICAS; r++) left += (double)e[r][i];
            ck_assert_msg(got[i] + left == given[i], "%lld: %g and %g are not %g", (long long)i,
                got[i], left, given[i]);
        }
    }
}
END_TEST

/* Whoever reads them: they are added in one order. */
START_TEST(all_replicas_read_the_same_sum)
{
    static float g[COUNT], e[COUNT], sum[REPLICAS][COUNT];
    static int32_t code[2 * MOST];
    const gathered *k = &kinds[_i];
    for (int r = 0; r < REPLICAS; r++) {
        for (int64_t i = 0; i < COUNT; i++)
            g[i] = (float)tutti_rng_normal(1, (uint64_t)r, (uint64_t)i);
        memset(e, 0, sizeof e);
        run(k, k->encode, r, (void *[]){g, code, e});
    }
    for (int r = 0; r < REPLICAS; r++) {
        run(k, k->decode, r, (void *[]){code, sum[r]});
        ck_assert_int_eq(memcmp(sum[r], sum[0], sizeof sum[0]), 0);
    }
}
END_TEST

/* A code is a function of the gradient and of what was left, and of no other replica. */
START_TEST(blocks_are_those_of_their_replicas)
{
    static float g[COUNT], e[COUNT];
    static int32_t code[2 * MOST], alone[2 * MOST];
    const gathered *k = &kinds[_i];
    const int64_t words = words_of(k);
    memset(code, 0x55, sizeof code);
    memcpy(alone, code, sizeof code);
    for (int64_t i = 0; i < COUNT; i++) g[i] = (float)tutti_rng_normal(1, 2, (uint64_t)i);
    memset(e, 0, sizeof e);
    run(k, k->encode, 1, (void *[]){g, code, e});
    for (int64_t i = 0; i < REPLICAS * words; i++) ck_assert(i / words == 1 || code[i] == alone[i]);
    ck_assert_int_ne(memcmp(code + words, alone + words, (size_t)words * sizeof *code), 0);
}
END_TEST

START_TEST(first_of_equals_are_sent)
{
    const tutti_topk_desc desc = {.rows = {.replicas = 1, .stride = 6}, .count = 8, .kept = 3};
    float g[] = {1, -2, 2, -1, 2, 0, -2, 1}, e[8] = {0}, value;
    int32_t code[6];
    run_on(&tutti_op_topk_encode, &desc, (void *[]){g, code, e});
    ck_assert(code[0] == 1 && code[1] == 2 && code[2] == 4);
    memcpy(&value, &code[3], sizeof value);
    ck_assert_float_eq(value, -2);
    ck_assert_float_eq(e[1], 0);
    ck_assert_float_eq(e[6], -2);
}
END_TEST

START_TEST(not_a_number_reaches_all)
{
    const tutti_onebit_desc onebit = {.rows = {.replicas = 1, .stride = 6}, .count = 100};
    const tutti_topk_desc topk = {.rows = {.replicas = 1, .stride = 2}, .count = 100, .kept = 1};
    const tutti_powersgd_desc power = {.rows = 10, .columns = 10, .rank = 1};
    float g[100], e[100] = {0}, sum[100], p[10], q[10] = {0};
    int32_t code[16];
    for (int i = 0; i < 100; i++) g[i] = (float)(i + 1);
    g[7] = NAN;
    run_on(&tutti_op_topk_encode, &topk, (void *[]){g, code, e});
    run_on(&tutti_op_topk_decode, &topk, (void *[]){code, sum});
    ck_assert(isnan(sum[7]));
    memset(e, 0, sizeof e);
    run_on(&tutti_op_onebit_encode, &onebit, (void *[]){g, code, e});
    run_on(&tutti_op_onebit_decode, &onebit, (void *[]){code, sum});
    ck_assert(isnan(sum[7]));
    memset(e, 0, sizeof e);
    run_on(&tutti_op_powersgd_left, &power, (void *[]){g, p, q, e});
    run_on(&tutti_op_powersgd_right, &power, (void *[]){p, e, q});
    run_on(&tutti_op_powersgd_sum, &power, (void *[]){p, q, sum});
    ck_assert(isnan(sum[7]));
    for (int i = 0; i < 10; i++) p[i] = 1e30f; /* their length is more than a float has */
    memset(e, 0, sizeof e);
    run_on(&tutti_op_powersgd_right, &power, (void *[]){p, e, q});
    ck_assert(isnan(p[0]) && isnan(q[0]));
}
END_TEST

START_TEST(changed_indices_are_refused)
{
    const tutti_topk_desc desc = {.rows = {.replicas = 2, .stride = 2}, .count = 4, .kept = 1};
    const tutti_kernel *kernel = tutti_kernel_find(&tutti_op_topk_decode, TUTTI_CPU, TUTTI_I32);
    int32_t code[] = {3, 0, 4, 0};
    float g[4];
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_int_eq(kernel->fn(args, (void *[]){code, g}, NULL), TUTTI_ERR_INTERNAL);
    ck_assert(strstr(tutti_last_error(), "replica 1 sent an element 4") != NULL);
    code[2] = -1;
    ck_assert_int_eq(kernel->fn(args, (void *[]){code, g}, NULL), TUTTI_ERR_INTERNAL);
    tutti_log_set_level(TUTTI_LOG_WARN);
    kernel->close(args);
}
END_TEST

enum { ROWS = 20, COLUMNS = 33 };

/* One step of all replicas, which have residuals of their own; `sum` is what all get. */
static void power_step(const tutti_powersgd_desc *d, float g[][ROWS * COLUMNS],
    float e[][ROWS * COLUMNS], float *q, float *sum)
{
    static float p[REPLICAS][ROWS * 8], own[REPLICAS][COLUMNS * 8];
    for (int r = 0; r < REPLICAS; r++) {
        memcpy(own[r], q, (size_t)(d->rank * COLUMNS) * sizeof *q);
        run_on(&tutti_op_powersgd_left, d, (void *[]){g[r], p[r], own[r], e[r]});
        for (int i = 0; r && i < d->rank * ROWS; i++) p[0][i] += p[r][i];
    }
    for (int r = REPLICAS - 1; r >= 0; r--) {
        if (r) memcpy(p[r], p[0], sizeof p[0]);
        run_on(&tutti_op_powersgd_right, d, (void *[]){p[r], e[r], own[r]});
    }
    memset(q, 0, (size_t)(d->rank * COLUMNS) * sizeof *q);
    for (int r = 0; r < REPLICAS; r++)
        for (int i = 0; i < d->rank * COLUMNS; i++) q[i] += own[r][i];
    run_on(&tutti_op_powersgd_sum, d, (void *[]){p[0], q, sum});
}

/* What all replicas got and what they keep is what they gave, but for rounding; a matrix of the rank arrives whole, and
 * vectors beyond its rank are 0 and drawn anew in the next step. */
START_TEST(low_rank_arrives_whole)
{
    static float g[REPLICAS][ROWS * COLUMNS], e[REPLICAS][ROWS * COLUMNS], sum[ROWS * COLUMNS];
    static double given[ROWS * COLUMNS], got[ROWS * COLUMNS];
    const int rank = _i + 1; /* of what is sent; the gradients have 2 */
    const tutti_powersgd_desc desc = {.rows = ROWS, .columns = COLUMNS, .rank = rank, .seed = 3};
    float q[COLUMNS * 8] = {0};
    memset(e, 0, sizeof e);
    memset(given, 0, sizeof given);
    memset(got, 0, sizeof got);
    for (int step = 0; step < 4; step++) {
        for (int r = 0; r < REPLICAS; r++)
            for (int i = 0; i < ROWS * COLUMNS; i++) {
                const int row = i / COLUMNS, column = i % COLUMNS;
                g[r][i] = (float)((row - 7) * (column % 5) + (r + 1) * (row % 3) * (column - 9));
                given[i] += (double)g[r][i];
            }
        power_step(&desc, g, e, q, sum);
        double most = 0;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double left = 0;
            for (int r = 0; r < REPLICAS; r++) left += (double)e[r][i];
            got[i] += (double)sum[i];
            ck_assert_double_eq_tol(got[i] + left, given[i], 0.05);
            most = fmax(most, fabs(left));
        }
        ck_assert_msg(rank < 2 || most < 0.05, "rank %d, step %d: %g is left", rank, step, most);
    }
}
END_TEST

/* A constant gradient: each sum has what was missing before, so that their mean becomes it. */
START_TEST(what_is_kept_is_sent_later)
{
    static float g[COUNT], e[COUNT], sum[COUNT];
    static double mean[COUNT];
    static int32_t code[2 * MOST];
    enum { STEPS = 400 };
    const gathered *k = &kinds[_i];
    memset(code, 0, sizeof code);
    memset(e, 0, sizeof e);
    memset(mean, 0, sizeof mean);
    for (int64_t i = 0; i < COUNT; i++) g[i] = (float)tutti_rng_normal(1, 3, (uint64_t)i);
    for (int step = 0; step < STEPS; step++) {
        run(k, k->encode, 0, (void *[]){g, code, e});
        run(k, k->decode, 0, (void *[]){code, sum});
        for (int64_t i = 0; i < COUNT; i++) mean[i] += (double)sum[i] / STEPS;
    }
    double distance = 0, length = 0;
    for (int64_t i = 0; i < COUNT; i++) {
        distance += (mean[i] - (double)g[i]) * (mean[i] - (double)g[i]);
        length += (double)g[i] * (double)g[i];
    }
    ck_assert_msg(distance < 0.1 * length, "%g of %g", distance, length);
}
END_TEST

START_TEST(codecs_are_written)
{
    static const struct {
        const char *text, *printed, *fault; /* fault: part of it; NULL: none */
    } rows[] = {{"none", "none", NULL}, {"bf16", "bf16", NULL}, {"onebit", "onebit", NULL},
        {"topk:0.01", "topk:0.01", NULL}, {"topk:1e-3", "topk:0.001", NULL},
        {"powersgd:4", "powersgd:4", NULL},
        {"zip", NULL, "must be none, bf16, onebit, topk:p or powersgd:r"},
        {"", NULL, "must be none"}, {"onebit:2", NULL, "onebit takes no number: write just onebit"},
        {"topk", NULL,
            "topk needs the share of the elements that is sent, a number from 1e-05 to "
            "0.25 behind a colon, such as topk:0.01"},
        {"topk:0", NULL, "topk needs"}, {"topk:0.5", NULL, "topk needs"},
        {"topk:", NULL, "topk needs"}, {"topk:nan", NULL, "topk needs"},
        {"topk:-1", NULL, "topk needs"}, {"topk:0.1x", NULL, "topk needs"},
        {"powersgd:1.5", NULL,
            "powersgd needs the rank of the product, a whole number from 1 to 64"},
        {"powersgd:65", NULL, "powersgd needs"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tutti_codec *codec = NULL;
        double value;
        char fault[256] = "", text[TUTTI_CODEC_TEXT];
        int read = tutti_codec_read(rows[i].text, &codec, &value, fault, sizeof fault);
        ck_assert_msg(read == !rows[i].fault, "%s: %s", rows[i].text, fault);
        if (read)
            ck_assert_str_eq(tutti_codec_print(codec, value, text), rows[i].printed);
        else
            ck_assert_msg(strstr(fault, rows[i].fault) != NULL, "%s: %s", rows[i].text, fault);
    }
    char text[TUTTI_CODEC_TEXT];
    ck_assert_str_eq(tutti_codec_print(NULL, 0, text), "none");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codecs");
    TCase *tcase = testing_case(suite, "codecs");
    const int all = (int)(sizeof kinds / sizeof *kinds);
    tcase_add_loop_test(tcase, what_is_not_sent_is_kept, 0, all);
    tcase_add_loop_test(tcase, blocks_are_those_of_their_replicas, 0, all);
    tcase_add_loop_test(tcase, all_replicas_read_the_same_sum, 0, all);
    tcase_add_test(tcase, first_of_equals_are_sent);
    tcase_add_test(tcase, not_a_number_reaches_all);
    tcase_add_test(tcase, changed_indices_are_refused);
    tcase_add_loop_test(tcase, low_rank_arrives_whole, 0, 4);
    tcase_add_loop_test(tcase, what_is_kept_is_sent_later, 0, all);
    tcase_add_test(tcase, codecs_are_written);
    return testing_run(suite);
}
