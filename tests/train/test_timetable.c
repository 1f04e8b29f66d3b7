/* apps/train/timetable: checkpoints come about when they are due, with few decisions, whatever a step takes. */
#include "apps/train/timetable.h"
#include "tests/support/testing.h"

/* Runs 100,000 steps of this length; returns how many checkpoints there are, and counts decisions. */
static int run(double step_s, double every_s, int64_t first, int *decisions, double *longest_s)
{
    tutti_timetable t = {.every_s = every_s};
    int64_t look = first + TUTTI_TIMETABLE_FIRST;
    int saves = 0;
    *decisions = 0;
    *longest_s = 0;
    tutti_timetable_saved(&t, first, 50);
    for (int64_t step = first + 1; step <= first + 100000; step++) {
        double now_s = 50 + step_s * (double)(step - first);
        if (step != look) continue;
        ++*decisions;
        if (tutti_timetable_decide(&t, step, now_s, &look)) {
            saves++;
            if (now_s - t.saved_s > *longest_s) *longest_s = now_s - t.saved_s;
            tutti_timetable_saved(&t, step, now_s);
        }
        ck_assert_int_gt(look, step);
    }
    return saves;
}

START_TEST(when_it_is_due)
{
    static const double steps_s[] = {0.001, 0.01, 0.37, 1, 30};
    for (size_t i = 0; i < sizeof steps_s / sizeof *steps_s; i++)
        for (int64_t first = 0; first < 2000; first += 1999) {
            int decisions;
            double longest_s, every_s = 60;
            int saves = run(steps_s[i], every_s, first, &decisions, &longest_s);
            double all_s = 100000 * steps_s[i];
            ck_assert_msg(saves >= (int)(0.9 * all_s / (every_s + 8 * steps_s[i])),
                "%d checkpoints in %g s of steps of %g s", saves, all_s, steps_s[i]);
            ck_assert_double_le(longest_s, every_s + 8 * steps_s[i] + 1e-6);
            ck_assert_msg(
                decisions <= 20 + 4 * saves, "%d decisions for %d checkpoints", decisions, saves);
        }
}
END_TEST

START_TEST(no_time_passes)
{
    tutti_timetable t = {.every_s = 1};
    int64_t next;
    tutti_timetable_saved(&t, 5, 7);
    ck_assert_int_eq(tutti_timetable_decide(&t, 5, 7, &next), 0);
    ck_assert_int_gt(next, 5);
    ck_assert_int_eq(tutti_timetable_decide(&t, 6, 1000, &next), 1);
    ck_assert_int_eq(next, 7);
}
END_TEST

/* When the ranks have changed, steps take another time from then on, and the checkpoint is due as before. */
START_TEST(a_change_of_ranks_does_not_put_it_off)
{
    tutti_timetable t = {.every_s = 60};
    int64_t next;
    tutti_timetable_saved(&t, 100, 1000);
    t.saved_s = 950;
    ck_assert_int_eq(tutti_timetable_decide(&t, 108, 1008, &next), 0);
    ck_assert_int_eq(next, 110);
    ck_assert_int_eq(tutti_timetable_decide(&t, 110, 1010, &next), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timetable");
    TCase *tcase = testing_case(suite, "timetable");
    tcase_add_test(tcase, when_it_is_due);
    tcase_add_test(tcase, no_time_passes);
    tcase_add_test(tcase, a_change_of_ranks_does_not_put_it_off);
    return testing_run(suite);
}
