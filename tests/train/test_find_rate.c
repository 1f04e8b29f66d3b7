/* apps/train/find_rate: what a range test says of losses whose shape is known. */
#include "apps/train/find_rate.h"
#include "tests/support/testing.h"

#include <math.h>

enum { STEPS = 120 };
static double rate[STEPS], loss[STEPS], smoothed[STEPS];
static tutti_report_rates found;

/* From 1e-6 to 1e2: falls from 2.3 to 0.3 around 1e-3, and grows from 1 on; small alternating noise. */
static void make_losses(double noise)
{
    for (int k = 0; k < STEPS; k++) {
        const double x = -6 + 8. * k / (STEPS - 1);
        rate[k] = pow(10, x);
        loss[k] = 0.3 + 2 / (1 + exp(4 * (x + 3))) + (x > 0 ? exp(6 * x) - 1 : 0) +
                  (k % 2 ? noise : -noise);
    }
}

static void judge(int64_t count)
{
    tutti_find_rate_evaluate(count, rate, loss, smoothed, &found);
}

START_TEST(steepest_before_the_lowest)
{
    for (int i = 0; i < 3; i++) {
        make_losses(0.05 * i);
        judge(STEPS);
        ck_assert_double_gt(found.suggested, 0.7e-3);
        ck_assert_double_lt(found.suggested, 1.4e-3);
        ck_assert_double_gt(found.lowest, 1e-2);
        ck_assert_double_lt(found.lowest, 1.1);
        ck_assert_double_gt(found.diverged, 1);
        ck_assert_double_lt(found.diverged, 10);
        ck_assert_int_lt(found.steps, STEPS);
        ck_assert_double_eq_tol(rate[found.steps - 1], found.diverged, 0.2 * found.diverged);
    }
}
END_TEST

/* A loss that is not finite, or enormous, ends the test where it is. */
START_TEST(ends_where_the_loss_is_lost)
{
    const double lost[] = {NAN, INFINITY, 1e300};
    for (int i = 0; i < 3; i++) {
        make_losses(0);
        loss[80] = lost[i];
        judge(STEPS);
        ck_assert_double_eq(found.diverged, rate[80]);
        ck_assert_int_eq(found.steps, isfinite(lost[i]) ? 81 : 80);
        ck_assert_double_gt(found.suggested, 0.7e-3);
        ck_assert_double_lt(found.suggested, 1.4e-3);
    }
    loss[0] = NAN;
    judge(STEPS);
    ck_assert_int_eq(found.steps, 0);
    ck_assert(isnan(found.suggested) && isnan(found.lowest));
}
END_TEST

START_TEST(no_fall_no_suggestion)
{
    make_losses(0);
    for (int k = 0; k < STEPS; k++) loss[k] = 2 + 0.01 * k;
    judge(STEPS);
    ck_assert(isnan(found.suggested) && isnan(found.diverged));
    ck_assert_int_eq(found.steps, STEPS);
    for (int k = 0; k < STEPS; k++) loss[k] = 2 - 0.0005 * k; /* too little */
    judge(STEPS);
    ck_assert(isnan(found.suggested));
    ck_assert_double_eq(found.lowest, rate[STEPS - 1]);
    for (int count = 0; count < 5; count++) {
        judge(count);
        ck_assert_int_eq(found.steps, count);
        ck_assert(isnan(found.suggested));
    }
}
END_TEST

/* What a rank sees ends the run for all: not within the first steps, and not for one high loss. */
START_TEST(a_rank_notices)
{
    tutti_find_rate *f;
    ck_assert_ok(tutti_find_rate_new(20, &f));
    for (int k = 0; k < 3; k++) tutti_find_rate_add(f, 2 * 4, 4);
    tutti_find_rate_add(f, 20 * 4, 4);
    ck_assert(!f->diverged);
    for (int k = 4; k < 12; k++) tutti_find_rate_add(f, 2 * 4, 4);
    ck_assert(!f->diverged);
    tutti_find_rate_add(f, 0, 0); /* a rank without labels */
    ck_assert(!f->diverged);
    tutti_find_rate_add(f, 999 * 4, 4);
    ck_assert(f->diverged);
    ck_assert_double_eq(f->sums[6], 80);
    for (int k = 0; k < 20; k++) tutti_find_rate_add(f, NAN, 4); /* more than it has room for */
    tutti_find_rate_free(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("find_rate");
    TCase *tcase = testing_case(suite, "find_rate");
    tcase_add_test(tcase, steepest_before_the_lowest);
    tcase_add_test(tcase, ends_where_the_loss_is_lost);
    tcase_add_test(tcase, no_fall_no_suggestion);
    tcase_add_test(tcase, a_rank_notices);
    return testing_run(suite);
}
