/* Bounds: which of them an op meets, by made-up numbers; and what is measured is plausible. */
#include "apps/bench/bounds.h"
#include "tests/support/testing.h"

#include <string.h>

/* A core of 100 operations a second, 50 of bf16; block i moves 2^-i times as much as block 0. */
static tutti_bounds made_up(void)
{
    tutti_bounds b;
    memset(&b, 0, sizeof b);
    b.flops_per_s[TUTTI_F32] = 100;
    b.flops_per_s[TUTTI_BF16] = 50;
    for (int i = 0; i < TUTTI_BOUNDS_BLOCKS; i++) {
        double part = 1.0 / (1 << i);
        b.read_per_s[i] = 1000 * part;
        b.written_per_s[i] = 400 * part;
        b.moved_per_s[i] = 1200 * part;
    }
    return b;
}

static void is(double value, double expected)
{
    ck_assert_double_eq_tol(value, expected, 1e-9);
}

START_TEST(operations_count_by_type)
{
    tutti_bounds b = made_up();
    is(tutti_bounds_of_flops(&b, TUTTI_F32, 300), 3);
    is(tutti_bounds_of_flops(&b, TUTTI_BF16, 300), 6);
    is(tutti_bounds_of_flops(&b, TUTTI_U8, 300), 3); /* nothing is multiplied in bytes */
}
END_TEST

START_TEST(the_longest_of_reading_writing_and_both)
{
    tutti_bounds b = made_up();
    is(tutti_bounds_of_bytes(&b, 1000, 0, 0), 1);
    is(tutti_bounds_of_bytes(&b, 1000, 400, 0), 1400 / 1200.0);
    is(tutti_bounds_of_bytes(&b, 10, 400, 0), 1);
    is(tutti_bounds_of_bytes(&b, 0, 0, 1e12), 0);
}
END_TEST

/* What fits in a cache is not judged by the memory behind it. */
START_TEST(blocks_no_larger_than_what_is_in_use)
{
    tutti_bounds b = made_up();
    const double least = TUTTI_BOUNDS_LEAST;
    is(tutti_bounds_of_bytes(&b, 1000, 0, least - 1), 1);
    is(tutti_bounds_of_bytes(&b, 1000, 0, 2 * least - 1), 1);
    is(tutti_bounds_of_bytes(&b, 1000, 0, 2 * least), 2);
    is(tutti_bounds_of_bytes(&b, 1000, 0, 1e15), 1 << (TUTTI_BOUNDS_BLOCKS - 1));
}
END_TEST

/* Loose limits: a core slower than this is not one, and none is faster. */
START_TEST(measured_numbers_are_plausible)
{
    tutti_bounds b, again;
    memset(&b, 0, sizeof b);
    ck_assert_ok(tutti_bounds_measure(TUTTI_F32, TUTTI_BOUNDS_TRIALS, &b));
    ck_assert(b.flops_per_s[TUTTI_F32] > 1e8 && b.flops_per_s[TUTTI_F32] < 1e13);
    ck_assert(b.flops_per_s[TUTTI_BF16] == 0);
    for (int i = 0; i < TUTTI_BOUNDS_BLOCKS; i++) {
        ck_assert(b.read_per_s[i] > 1e7 && b.read_per_s[i] < 1e14);
        ck_assert(b.written_per_s[i] > 1e7 && b.written_per_s[i] < 1e14);
        ck_assert(b.moved_per_s[i] >= b.read_per_s[i] && b.moved_per_s[i] >= b.written_per_s[i]);
        ck_assert(b.moved_per_s[i] <= b.read_per_s[i] + b.written_per_s[i]);
        ck_assert(i == 0 || b.read_per_s[i] <= b.read_per_s[i - 1]);
        ck_assert(i == 0 || b.written_per_s[i] <= b.written_per_s[i - 1]);
    }
    /* Once a number is known, a slower trial does not lower it. */
    again = b;
    again.flops_per_s[TUTTI_F32] *= 1000;
    for (int i = 0; i < TUTTI_BOUNDS_BLOCKS; i++) again.read_per_s[i] *= 1000;
    tutti_bounds known = again;
    ck_assert_ok(tutti_bounds_measure(TUTTI_F32, 1, &again));
    ck_assert(again.flops_per_s[TUTTI_F32] == known.flops_per_s[TUTTI_F32]);
    ck_assert(memcmp(again.read_per_s, known.read_per_s, sizeof known.read_per_s) == 0);
    for (int i = 0; i < TUTTI_BOUNDS_BLOCKS; i++)
        ck_assert(again.written_per_s[i] >= known.written_per_s[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bounds");
    TCase *tcase = testing_case(suite, "bounds");
    tcase_add_test(tcase, operations_count_by_type);
    tcase_add_test(tcase, the_longest_of_reading_writing_and_both);
    tcase_add_test(tcase, blocks_no_larger_than_what_is_in_use);
    tcase_add_test(tcase, measured_numbers_are_plausible);
    return testing_run(suite);
}
