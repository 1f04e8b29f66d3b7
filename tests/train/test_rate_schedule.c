/* apps/train/rate_schedule: the formulas of its header at points with known values. */
#include "apps/train/rate_schedule.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { AUTO = -1 }; /* the kind's default */

static double rate(const char *name, int64_t warmup, int64_t step)
{
    const tutti_rate_schedule_kind *kind = tutti_rate_schedule_find(name);
    if (warmup == AUTO) warmup = tutti_rate_schedule_warmup(kind, 1000);
    tutti_rate_schedule schedule = {.kind = kind,
        .rate = 0.4,
        .total = 1000,
        .warmup = warmup,
        .power = 0.5,
        .milestones = 3,
        .milestone = {300, 600, 800},
        .factor = 0.1};
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
        {"milestones", AUTO, 299, 0.4},
        {"milestones", AUTO, 300, 0.04},
        {"milestones", AUTO, 799, 0.004},
        {"milestones", AUTO, 999, 0.0004},
        {"milestones", 400, 399, 0.4},
        {"milestones", 400, 400, 0.04},
        {"poly", AUTO, 0, 0.4},
        {"poly", AUTO, 750, 0.2},
        {"poly", 200, 800, 0.2},
        {"poly", AUTO, 1000, 0},
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
        tutti_rate_schedule schedule = {.kind = kind,
            .rate = 1,
            .total = 1,
            .warmup = tutti_rate_schedule_warmup(kind, 1),
            .power = 1};
        ck_assert_double_eq_tol(tutti_rate_schedule_at(&schedule, 0), 1, 1e-12);
    }
    ck_assert_ptr_null(tutti_rate_schedule_find("triangle"));
}
END_TEST

/* Every rate that tests/golden/rates/make.py has got from PyTorch. */
START_TEST(as_pytorch)
{
    FILE *file = fopen(testing_source("tests/golden/rates/pytorch.txt"), "r");
    ck_assert_ptr_nonnull(file);
    char name[32], from[32], milestones[64];
    long total, warmup, step;
    double peak, power, factor, theirs;
    int rows = 0, read;
    while ((read = fscanf(file, "%31s %lf %ld %ld %31s %lf %lf %63s %ld %lf", name, &peak, &total,
                &warmup, from, &power, &factor, milestones, &step, &theirs)) == 10) {
        tutti_rate_schedule s = {.kind = tutti_rate_schedule_find(name),
            .rate = peak,
            .total = total,
            .warmup = warmup,
            .from_given = *from != '-',
            .from = atof(from),
            .power = power,
            .factor = factor};
        ck_assert_ptr_nonnull(s.kind);
        if (*milestones != '-') s.milestones = tutti_rate_schedule_read(milestones, s.milestone);
        double ours = tutti_rate_schedule_at(&s, step);
        ck_assert_msg(fabs(ours - theirs) <= 1e-12, "%s, step %ld: %.15g, PyTorch has %.15g", name,
            step, ours, theirs);
        rows++;
    }
    fclose(file);
    ck_assert_int_eq(read, EOF);
    ck_assert_int_gt(rows, 200);
}
END_TEST

/* The first rate of warm-up is never above the peak. */
START_TEST(warmup_from)
{
    tutti_rate_schedule s = {.kind = tutti_rate_schedule_find("constant"),
        .rate = 0.05,
        .total = 100,
        .warmup = 10,
        .from_given = 1,
        .from = 0.1};
    for (int64_t step = 0; step < 100; step++)
        ck_assert_double_eq(tutti_rate_schedule_at(&s, step), 0.05);
    s.from = 0;
    ck_assert_double_eq(tutti_rate_schedule_at(&s, 0), 0);
}
END_TEST

/* Two evaluations in a row without a loss lower by a ten-thousandth lower the rate; those of warm-up do not count. */
START_TEST(plateau)
{
    static const struct {
        double loss, rate;
    } rows[] = {{2, 0.4}, {3, 0.4}, {1.9997, 0.4}, {1, 0.4}, {1, 0.4}, {0.99995, 0.04},
        {0.99995, 0.04}, {1, 0.004}, {0.5, 0.004}, {0.6, 0.004}, {0.4, 0.004}, {0.7, 0.004},
        {0.7, 0.0004}};
    tutti_rate_schedule s = {.kind = tutti_rate_schedule_find("plateau"),
        .rate = 0.4,
        .total = 1000,
        .warmup = 20,
        .factor = 0.1,
        .patience = 2,
        .plateau.since = -1};
    for (int64_t step = 10; step <= 20; step += 10)
        ck_assert(!tutti_rate_schedule_evaluated(&s, step, 0.1));
    double before = 0.4;
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        const int64_t done = 30 + 10 * i;
        const int lower = tutti_rate_schedule_evaluated(&s, done, rows[i].loss);
        ck_assert_int_eq(lower, rows[i].rate < before);
        ck_assert_double_eq_tol(tutti_rate_schedule_at(&s, done), rows[i].rate, 1e-12);
        before = rows[i].rate;
    }
    char text[TUTTI_RATE_TEXT];
    ck_assert_str_eq(tutti_rate_schedule_print(&s, text), "plateau 2 x 0.1, warm-up 20");
    s.kind = tutti_rate_schedule_find("cosine");
    for (int i = 0; i < 9; i++) ck_assert(!tutti_rate_schedule_evaluated(&s, 500, 9));
}
END_TEST

START_TEST(milestones_as_text)
{
    static const char *const bad[] = {"", ",", "1,", ",1", "0", "-1", "3,3", "3,2", "1x", "1 ,2",
        "1,2,3,4,5,6,7,8,9", "1000001", "1.5", "1;2"};
    int64_t list[TUTTI_RATE_MILESTONES];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(tutti_rate_schedule_read(bad[i], list) == 0, "\"%s\" is accepted", bad[i]);
    ck_assert_int_eq(tutti_rate_schedule_read("1,2,3,4,5,6,7,1000000", list), 8);
    ck_assert_int_eq(list[7], 1000000);
    char text[TUTTI_RATE_TEXT];
    tutti_rate_schedule s = {.kind = tutti_rate_schedule_find("milestones"),
        .rate = 1,
        .total = 9,
        .warmup = 2,
        .from_given = 1,
        .from = 0.25,
        .milestones = 2,
        .milestone = {3, 5},
        .factor = 0.1};
    ck_assert_str_eq(
        tutti_rate_schedule_print(&s, text), "milestones 3,5 x 0.1, warm-up 2 from 0.25");
    s.kind = tutti_rate_schedule_find("cosine");
    s.from_given = 0;
    ck_assert_str_eq(tutti_rate_schedule_print(&s, text), "cosine, warm-up 2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tcase = testing_case(suite, "schedule");
    tcase_add_test(tcase, known_values);
    tcase_add_test(tcase, never_above_the_peak_or_below_zero);
    tcase_add_test(tcase, tiny_runs);
    tcase_add_test(tcase, as_pytorch);
    tcase_add_test(tcase, warmup_from);
    tcase_add_test(tcase, plateau);
    tcase_add_test(tcase, milestones_as_text);
    return testing_run(suite);
}
