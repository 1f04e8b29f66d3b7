/* apps/train/rate_schedule: the formulas of its header at points with known values. */
#include "apps/train/rate_schedule.h"
#include "tests/support/testing.h"

enum { AUTO = -1 }; /* the kind's default */

static double rate(const char *name, int64_t warmup, int64_t step)
{
    const tutti_rate_schedule_kind *kind = tutti_rate_schedule_find(name);
    if (warmup == AUTO) warmup = tutti_rate_schedule_warmup(kind, 1000);
    tutti_rate_schedule schedule = {kind, 0.4, 1000, warmup};
    return tutti_rate_schedule_at(&schedule, step);
}

START_TEST(known_values)
{
    static const struct {
        const char *name;
        int64_t warmup, step;
        double rate;
    } rows[] = {
        {"constant", AUTO, 0, 0.4},
        {"constant", AUTO, 999, 0.4},
        {"constant", 10, 0, 0.04},
        {"constant", 10, 4, 0.2},
        {"constant", 10, 9, 0.4},
        {"constant", 10, 10, 0.4},
        {"step", AUTO, 499, 0.4},
        {"step", AUTO, 500, 0.04},
        {"step", AUTO, 749, 0.04},
        {"step", AUTO, 750, 0.004},
        {"step", 100, 49, 0.2},
        {"cosine", AUTO, 0, 0.4},
        {"cosine", AUTO, 500, 0.2},
        {"cosine", 200, 600, 0.2},
        {"cosine", 200, 199, 0.4},
        {"onecycle", AUTO, 99, 0.4},
        {"onecycle", AUTO, 100, 0.4},
        {"onecycle", 0, 0, 0.4},
        {"onecycle", AUTO, 49, 0.4 * (0.04 + 0.96 / 2)},
        {"onecycle", AUTO, 550, 0.4 * (1e-4 + (1 - 1e-4) / 2)},
        {"constant", 5000, 999, 0.08},
        {"cosine", 1000, 1000, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_double_eq_tol(
            rate(rows[i].name, rows[i].warmup, rows[i].step), rows[i].rate, 1e-12);
}
END_TEST

START_TEST(never_above_the_peak_or_below_zero)
{
    for (const tutti_rate_schedule_kind *kind = tutti_rate_schedules; kind->name; kind++)
        for (int64_t warmup = AUTO; warmup < 1200; warmup += 400)
            for (int64_t step = 0; step < 1100; step++) {
                double r = rate(kind->name, warmup, step);
                ck_assert_msg(r >= 0 && r <= 0.4 * (1 + 1e-12), "%s warmup %ld step %ld: %g",
                    kind->name, (long)warmup, (long)step, r);
            }
}
END_TEST

START_TEST(tiny_runs)
{
    for (const tutti_rate_schedule_kind *kind = tutti_rate_schedules; kind->name; kind++) {
        tutti_rate_schedule schedule = {kind, 1, 1, tutti_rate_schedule_warmup(kind, 1)};
        ck_assert_double_eq_tol(tutti_rate_schedule_at(&schedule, 0), 1, 1e-12);
    }
    ck_assert_ptr_null(tutti_rate_schedule_find("triangle"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tcase = testing_case(suite, "schedule");
    tcase_add_test(tcase, known_values);
    tcase_add_test(tcase, never_above_the_peak_or_below_zero);
    tcase_add_test(tcase, tiny_runs);
    return testing_run(suite);
}
