/* Curves: they grow, give back, are thinned to so many points with the same means, and survive JSON. */
#include "apps/curve/curve.h"
#include "tests/support/testing.h"

#include <math.h>

/* Points at 1, 2, ... of twice as much. */
static tutti_curve line_of(int points)
{
    tutti_curve c = {0};
    for (int i = 1; i <= points; i++) ck_assert_int_eq(tutti_curve_add(&c, i, 2 * i), 1);
    return c;
}

START_TEST(points_are_kept)
{
    tutti_curve c = line_of(1000);
    ck_assert_int_eq(tutti_curve_add(&c, 1001, NAN), 1);
    ck_assert_int_eq(tutti_curve_add(&c, 1001, INFINITY), 1);
    ck_assert_int_eq(c.count, 1000);
    ck_assert_double_eq(c.x[999], 1000);
    ck_assert_double_eq(c.y[999], 2000);
    tutti_curve_free(&c);
    ck_assert_int_eq(c.count, 0);
}
END_TEST

START_TEST(a_resumed_run_takes_points_back)
{
    tutti_curve c = line_of(10);
    tutti_curve_take_back(&c, 10.5);
    ck_assert_int_eq(c.count, 10);
    tutti_curve_take_back(&c, 7);
    ck_assert_int_eq(c.count, 6);
    ck_assert_double_eq(c.x[5], 6);
    tutti_curve_take_back(&c, -1);
    ck_assert_int_eq(c.count, 0);
    tutti_curve_free(&c);
}
END_TEST

/* Of a line the means are on it. No more points than there is room for, whatever the numbers. */
START_TEST(thin_curves_fit)
{
    for (int points = 1; points < 300; points++)
        for (int most = 1; most < 40; most += 13) {
            tutti_curve c = line_of(points), thin = {0};
            ck_assert_int_eq(tutti_curve_thin(&c, most, &thin), 1);
            ck_assert_int_eq(thin.count, points < most ? points : most);
            for (int i = 0; i < thin.count; i++) {
                ck_assert_double_eq_tol(thin.y[i], 2 * thin.x[i], 1e-9);
                ck_assert(i == 0 || thin.x[i] > thin.x[i - 1]);
            }
            tutti_curve_free(&c);
            tutti_curve_free(&thin);
        }
    tutti_curve one_place = {0}, thin = {0};
    for (int i = 0; i < 9; i++) ck_assert_int_eq(tutti_curve_add(&one_place, 5, i), 1);
    ck_assert_int_eq(tutti_curve_thin(&one_place, 4, &thin), 1);
    ck_assert_int_eq(thin.count, 1);
    ck_assert_double_eq(thin.y[0], 4);
    tutti_curve_free(&one_place);
    tutti_curve_free(&thin);
}
END_TEST

START_TEST(json_brings_it_back)
{
    tutti_curve c = line_of(5), read = {0};
    json_t *value = tutti_curve_json(&c), *other = json_string("no curve");
    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(tutti_curve_read(value, 3.5, &read), 1);
    ck_assert_int_eq(read.count, 3);
    ck_assert_double_eq(read.y[2], 6);
    ck_assert_int_eq(tutti_curve_read(other, 9, &read), 1);
    ck_assert_int_eq(tutti_curve_read(NULL, 9, &read), 1);
    ck_assert_int_eq(read.count, 3);
    json_decref(value);
    json_decref(other);
    tutti_curve_free(&c);
    tutti_curve_free(&read);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("curve");
    TCase *tcase = testing_case(suite, "curve");
    tcase_add_test(tcase, points_are_kept);
    tcase_add_test(tcase, a_resumed_run_takes_points_back);
    tcase_add_test(tcase, thin_curves_fit);
    tcase_add_test(tcase, json_brings_it_back);
    return testing_run(suite);
}
