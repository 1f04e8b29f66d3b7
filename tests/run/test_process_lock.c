/* dag/run/process_lock: one at a time; who waits too long is told, and does not go ahead.
 * dag/run/init_starpu waits so. */
#include "dag/run/process_lock.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/home.h"
#include "dag/run/init_starpu.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <starpu.h>
#include <stdio.h>
#include <unistd.h>

static char name[64]; /* this process's own */

static void *release_later(void *lock)
{
    tutti_clock_sleep(0.2);
    tutti_process_lock_release(*(int *)lock);
    return NULL;
}

START_TEST(who_waits_too_long_does_not_go_ahead)
{
    int first, second = 0;
    ck_assert_ok(tutti_process_lock_take(name, "a test", 0, 1, &first));
    ck_assert_int_ge(first, 0);
    const double began = tutti_clock_s();
    ck_assert_int_eq(tutti_process_lock_take(name, "a test", 0, 0.1, &second), TUTTI_ERR_TIMEOUT);
    ck_assert(tutti_clock_s() - began >= 0.1);
    ck_assert_int_eq(second, -1);
    tutti_process_lock_release(first);
    ck_assert_ok(tutti_process_lock_take(name, "a test", 0, 1, &second));
    ck_assert_int_ge(second, 0);
    tutti_process_lock_release(second);
}
END_TEST

START_TEST(the_next_has_its_turn)
{
    int first, second;
    pthread_t thread;
    ck_assert_ok(tutti_process_lock_take(name, "a test", 0, 1, &first));
    const double began = tutti_clock_s();
    ck_assert_int_eq(pthread_create(&thread, NULL, release_later, &first), 0);
    ck_assert_ok(tutti_process_lock_take(name, "a test", 0, 60, &second));
    ck_assert(tutti_clock_s() - began >= 0.2);
    tutti_process_lock_release(second);
    pthread_join(thread, NULL);
}
END_TEST

/* Its first start writes files, which another's first start would read half written; of processes with a folder of
 * their own, nobody waits. */
START_TEST(starpu_starts_when_it_has_its_turn)
{
    struct starpu_conf conf;
    char here[32], elsewhere[32];
    int lock, other;
    pthread_t thread;
    ck_assert_int_eq(starpu_conf_init(&conf), 0);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    ck_assert_ok(tutti_run_home_prepare());
    snprintf(here, sizeof here, "starpu-%d", tutti_run_home_number());
    snprintf(elsewhere, sizeof elsewhere, "starpu-%d", (tutti_run_home_number() + 1) % 16);
    ck_assert_ok(tutti_process_lock_take(here, "a test", 0, 60, &lock));
    ck_assert_ok(tutti_process_lock_take(elsewhere, "a test", 0, 60, &other));
    const double began = tutti_clock_s();
    ck_assert_int_eq(pthread_create(&thread, NULL, release_later, &lock), 0);
    ck_assert_ok(tutti_run_init_starpu(&conf));
    ck_assert(tutti_clock_s() - began >= 0.2);
    tutti_process_lock_release(other);
    starpu_shutdown();
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(some_share_it)
{
    int first, second, third;
    ck_assert_ok(tutti_process_lock_take(name, "a test", 1, 1, &first));
    ck_assert_ok(tutti_process_lock_take(name, "a test", 1, 1, &second));
    ck_assert_int_eq(tutti_process_lock_take(name, "a test", 0, 0.1, &third), TUTTI_ERR_TIMEOUT);
    tutti_process_lock_release(first);
    tutti_process_lock_release(second);
    ck_assert_ok(tutti_process_lock_take(name, "a test", 0, 1, &third));
    ck_assert_int_eq(tutti_process_lock_take(name, "a test", 1, 0.1, &first), TUTTI_ERR_TIMEOUT);
    tutti_process_lock_release(third);
}
END_TEST

START_TEST(without_a_lock_it_goes_ahead)
{
    int lock = 0;
    ck_assert_ok(tutti_process_lock_take("no/such/folder", "a test", 0, 1, &lock));
    ck_assert_int_eq(lock, -1);
    tutti_process_lock_release(lock);
}
END_TEST

int main(void)
{
    char path[128];
    tutti_log_set_level(TUTTI_LOG_ERROR);
    snprintf(name, sizeof name, "test-%ld", (long)getpid());
    Suite *suite = suite_create("process_lock");
    TCase *tests = testing_case(suite, "process_lock");
    tcase_add_test(tests, who_waits_too_long_does_not_go_ahead);
    tcase_add_test(tests, the_next_has_its_turn);
    tcase_add_test(tests, starpu_starts_when_it_has_its_turn);
    tcase_add_test(tests, some_share_it);
    tcase_add_test(tests, without_a_lock_it_goes_ahead);
    const int status = testing_run(suite);
    snprintf(path, sizeof path, "/tmp/tutti-%s-%lu.lock", name, (unsigned long)getuid());
    unlink(path);
    return status;
}
