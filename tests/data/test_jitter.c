/* apps/data: colour jitter. What it computes is what Pillow does (tests/golden/jitter). */
#include "apps/data/jitter.h"
#include "apps/data/settings.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ONE = TUTTI_JITTER_ONE, OPERATIONS = TUTTI_JITTER_OPERATIONS, C = TUTTI_JITTER_CHANNELS };

static const char letters[] = "bcs";

static void read_hex(const char *text, size_t count, uint8_t *bytes)
{
    ck_assert_uint_eq(strlen(text), 2 * count);
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        ck_assert_int_eq(sscanf(text + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
}

START_TEST(pixels_are_those_of_pillow)
{
    enum { MOST = 1000, PIXELS = 100 };
    char order[OPERATIONS + 1], before[MOST], after[MOST];
    uint8_t pixels[PIXELS * C], expected[PIXELS * C];
    int width, height, f[OPERATIONS], lines = 0;
    FILE *in = fopen(testing_source("tests/golden/jitter/pillow.txt"), "r");
    ck_assert_ptr_nonnull(in);
    ck_assert_int_eq(fscanf(in, "%d %d Pillow %*s", &width, &height), 2);
    int count = width * height;
    ck_assert_int_le(count, PIXELS);
    while (fscanf(in, "%3s %d %d %d %999s %999s", order, &f[0], &f[1], &f[2], before, after) == 6) {
        tutti_jitter jitter;
        for (int i = 0; i < OPERATIONS; i++) {
            jitter.operation[i] = (tutti_jitter_operation)(strchr(letters, order[i]) - letters);
            jitter.factor[i] = f[i];
        }
        read_hex(before, (size_t)(count * C), pixels);
        read_hex(after, (size_t)(count * C), expected);
        tutti_jitter_apply(&jitter, count, pixels);
        ck_assert_mem_eq(pixels, expected, (size_t)(count * C));
        lines++;
    }
    fclose(in);
    ck_assert_int_eq(lines, 72);
}
END_TEST

/* By the definition, in double precision, for many pixels at once. */
START_TEST(pixels_are_those_of_the_definition)
{
    enum { COUNT = 1003 };
    static uint8_t pixels[COUNT * C], before[COUNT * C];
    for (int i = 0; i < COUNT * C; i++) before[i] = (uint8_t)(i * 7 % 256);
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int factor = 0; factor <= 2 * ONE; factor += 1171) {
            tutti_jitter jitter = {{0, 1, 2}, {ONE, ONE, ONE}};
            jitter.factor[operation] = factor;
            memcpy(pixels, before, sizeof pixels);
            tutti_jitter_apply(&jitter, COUNT, pixels);
            int grey[COUNT], sum = 0;
            for (int i = 0; i < COUNT; i++) {
                const uint8_t *p = before + i * C;
                grey[i] = (19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768) / 65536;
                sum += grey[i];
            }
            int mean = (int)((double)sum / COUNT + 0.5);
            for (int i = 0; i < COUNT * C; i++) {
                int other = operation == 0 ? 0 : operation == 1 ? mean : grey[i / C];
                double moved = other + (double)factor / ONE * (before[i] - other);
                ck_assert_int_eq(pixels[i], moved < 0 ? 0 : moved > 255 ? 255 : (int)moved);
            }
        }
}
END_TEST

START_TEST(draws_are_uniform_and_repeat)
{
    enum { N = 60000, BINS = 10, ORDERS = 27 };
    static const tutti_jitter_range range = {{ONE / 2, ONE / 4, ONE}};
    int bins[OPERATIONS][BINS] = {{0}}, orders[ORDERS] = {0}, differ = 0;
    for (int64_t image = 0; image < N; image++) {
        tutti_jitter a = tutti_jitter_choose(&range, 4, 2, image),
                     b = tutti_jitter_choose(&range, 4, 2, image);
        ck_assert_mem_eq(&a, &b, sizeof a);
        b = tutti_jitter_choose(&range, 4, 3, image);
        differ += memcmp(&a, &b, sizeof a) != 0;
        int seen = 0, order = 0;
        for (int i = 0; i < OPERATIONS; i++) {
            int most = range.most[a.operation[i]], above = a.factor[i] - (ONE - most);
            ck_assert(above >= 0 && above <= 2 * most);
            bins[a.operation[i]][above * BINS / (2 * most + 1)]++;
            seen |= 1 << a.operation[i];
            order = order * OPERATIONS + (int)a.operation[i];
        }
        ck_assert_int_eq(seen, 7);
        orders[order]++;
    }
    ck_assert_int_gt(differ, N - 10);
    for (int o = 0; o < OPERATIONS; o++)
        for (int k = 0; k < BINS; k++)
            ck_assert_int_lt(abs(bins[o][k] - N / BINS), 370); /* 5 sigma */
    for (int k = 0; k < ORDERS; k++) ck_assert(!orders[k] || abs(orders[k] - N / 6) < 460);
}
END_TEST

/* Operations that are not asked for change nothing. */
START_TEST(without_a_range_colours_stay)
{
    enum { COUNT = 50 };
    static const tutti_jitter_range none = {{0}};
    uint8_t pixels[COUNT * C], before[COUNT * C];
    for (int i = 0; i < COUNT * C; i++) pixels[i] = before[i] = (uint8_t)(i * 5);
    for (int64_t image = 0; image < 20; image++) {
        tutti_jitter jitter = tutti_jitter_choose(&none, 1, 0, image);
        tutti_jitter_apply(&jitter, COUNT, pixels);
        ck_assert_mem_eq(pixels, before, sizeof pixels);
    }
}
END_TEST

START_TEST(ranges_are_read)
{
    static const char *const bad[] = {"", "0.4", "0.4,0.4", "0.4,0.4,0.4,0.1", "0.4,0.4,",
        "0.4,,0.4", "1.1,0,0", "-0.1,0,0", "0.4,0.4,x", "0,0,0.00000000000000000000000000000000001",
        "None", "0.4 0.4 0.4", NULL};
    tutti_jitter_range range = {{1, 2, 3}};
    for (int i = 0; bad[i]; i++) ck_assert_msg(!tutti_jitter_read(bad[i], &range), "%s", bad[i]);
    ck_assert(!tutti_jitter_read(NULL, &range));
    ck_assert(range.most[0] == 1 && range.most[1] == 2 && range.most[2] == 3);
    ck_assert(tutti_jitter_read("0.5,0,1", &range));
    ck_assert(range.most[0] == ONE / 2 && range.most[1] == 0 && range.most[2] == ONE);
    ck_assert(tutti_jitter_read("none", &range));
    ck_assert(!range.most[0] && !range.most[1] && !range.most[2]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jitter");
    TCase *tcase = testing_case(suite, "jitter");
    tcase_add_test(tcase, pixels_are_those_of_pillow);
    tcase_add_test(tcase, pixels_are_those_of_the_definition);
    tcase_add_test(tcase, draws_are_uniform_and_repeat);
    tcase_add_test(tcase, without_a_range_colours_stay);
    tcase_add_test(tcase, ranges_are_read);
    return testing_run(suite);
}
