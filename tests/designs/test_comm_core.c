/* designs: which core is chosen for the communication thread, and that the thread runs there. */
#include "dag/base/log.h"
#include "designs/thread/comm_core.h"
#include "tests/support/testing.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { MOST_RANKS = 4 };

/* The CPUs that each rank may use, and the core that it gets. */
static const struct row {
    const char *cpus[MOST_RANKS];
    int ranks, workers, core[MOST_RANKS];
} rows[] = {
    {{"0-3"}, 1, 1, {3}},
    {{"0-1"}, 1, 2, {-1}},
    {{"5"}, 1, 1, {-1}},
    {{"0-3", "0-3"}, 2, 1, {3, 2}},                           /* shared by all */
    {{"0-3", "0-3"}, 2, 2, {-1, -1}},                         /* six threads on four cores */
    {{"0-2", "3-5", "64-66", "67-69"}, 4, 2, {2, 5, 66, 69}}, /* each its own */
    {{"0-1", "2-3", "0-1", "2-3"}, 4, 1, {-1, -1, -1, -1}},   /* in pairs */
    {{"0-7", "8-15", "0-7", "8-15"}, 4, 3, {7, 15, 6, 14}},
    {{"0-7", "4-11"}, 2, 1, {-1, -1}}, /* whose are 4 to 7? */
    {{"1,3,9", "0,2"}, 2, 1, {9, 2}},
};

START_TEST(a_core_is_spared_where_there_is_one)
{
    const struct row *row = &rows[_i];
    tutti_cpus cpus[MOST_RANKS];
    for (int r = 0; r < row->ranks; r++) tutti_cpus_parse(row->cpus[r], &cpus[r]);
    for (int r = 0; r < row->ranks; r++)
        ck_assert_int_eq(tutti_comm_core_spare(cpus, row->ranks, r, row->workers), row->core[r]);
}
END_TEST

static int first_allowed(void)
{
    tutti_cpus allowed = tutti_cpus_allowed();
    int cpu = 0;
    while (!tutti_cpus_has(&allowed, cpu)) cpu++;
    return cpu;
}

START_TEST(words_and_numbers_are_told_apart)
{
    char text[16];
    static const char *const good[] = {NULL, "auto", "none"};
    static const char *const bad[] = {"", "both", "1x", "-1", "1023", "1024", "99999999999999"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_ok(tutti_comm_core_check("comm_core", good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(tutti_comm_core_check("comm_core", bad[i]), TUTTI_ERR_USAGE);
    snprintf(text, sizeof text, "%d", first_allowed());
    ck_assert_ok(tutti_comm_core_check("comm_core", text));
}
END_TEST

/* Runs in a separate thread, which stays bound. */
static void *bind_here(void *arg)
{
    int *cpu = arg;
    if (tutti_cpus_bind(*cpu)) return NULL;
    tutti_cpus allowed = tutti_cpus_allowed();
    return tutti_cpus_count(&allowed) == 1 && tutti_cpus_has(&allowed, *cpu) ? arg : NULL;
}

START_TEST(a_thread_is_bound_and_no_other)
{
    pthread_t thread;
    void *bound;
    int cpu = first_allowed();
    tutti_cpus before = tutti_cpus_allowed();
    ck_assert_int_eq(pthread_create(&thread, NULL, bind_here, &cpu), 0);
    pthread_join(thread, &bound);
    ck_assert_ptr_eq(bound, &cpu);
    tutti_cpus after = tutti_cpus_allowed();
    ck_assert_mem_eq(&before, &after, sizeof before);
    ck_assert_int_eq(tutti_cpus_bind(-1), EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comm core");
    TCase *tcase = testing_case(suite, "comm core");
    tutti_log_set_level(TUTTI_LOG_ERROR);
    tcase_add_loop_test(tcase, a_core_is_spared_where_there_is_one, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tcase, words_and_numbers_are_told_apart);
    tcase_add_test(tcase, a_thread_is_bound_and_no_other);
    return testing_run(suite);
}
