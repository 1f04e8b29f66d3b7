/* datum: brief tasks run where they are submitted if their data are there, wait for those before them if not, are
 * counted among StarPU's, and keep their order however many there are. */
#include "dag/run/datum.h"

#include "dag/base/clock.h"
#include "dag/run/init_starpu.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <starpu.h>
#include <stdatomic.h>
#include <string.h>

static float value[1];
static tutti_insert_handle data;
static atomic_int released;
static int steps, in_order;
static pthread_t ran_on;

static void start_starpu(void)
{
    struct starpu_conf conf;
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = conf.nopencl = 0;
    conf.catch_signals = 0;
    ck_assert_int_eq(tutti_run_init_starpu(&conf), 0);
    value[0] = 0;
    steps = 0;
    in_order = 1;
    atomic_store(&released, 0);
    ck_assert_ok(tutti_datum_open_in(value, 1, TUTTI_F32, &data));
}

static void stop_starpu(void)
{
    tutti_datum_close(data);
    starpu_shutdown();
}

/* The argument says which one it is, from 1 on. */
static void step(void *arg, void *const buf[])
{
    *(float *)buf[0] += *(const float *)arg;
    in_order = in_order && ++steps == (int)*(const float *)arg;
    ran_on = pthread_self();
}

static void count(void *arg)
{
    (void)arg;
    atomic_fetch_add(&released, 1);
}

static void doze(void *arg, void *const buf[])
{
    (void)arg, (void)buf;
    tutti_clock_sleep(0.2);
}

static void submit(int brief, void (*work)(void *arg, void *const buf[]), const float *number)
{
    const tutti_datum_task task = {.name = "step",
        .brief = brief,
        .work = work,
        .arg = (void *)number,
        .release = count,
        .count = 1,
        .data = {data},
        .mode = {TUTTI_READWRITE}};
    ck_assert_ok(tutti_datum_submit(&task));
}

START_TEST(a_brief_task_needs_no_worker)
{
    static const float one = 1;
    tutti_insert_handle other;
    static float elsewhere[1];
    start_starpu();
    ck_assert_ok(tutti_datum_open_in(elsewhere, 1, TUTTI_F32, &other));
    const tutti_datum_task busy = {
        .name = "doze", .work = doze, .count = 1, .data = {other}, .mode = {TUTTI_WRITE}};
    ck_assert_ok(tutti_datum_submit(&busy)); /* all workers there are */
    submit(1, step, &one);
    ck_assert_int_eq(atomic_load(&released), 1);
    ck_assert(pthread_equal(ran_on, pthread_self()));
    tutti_datum_close(other);
    stop_starpu();
    ck_assert(value[0] >= 1);
}
END_TEST

START_TEST(a_brief_task_waits_for_those_before_it)
{
    static const float one = 1;
    start_starpu();
    submit(0, doze, NULL);
    submit(1, step, &one);
    ck_assert_int_eq(atomic_load(&released), 0);
    ck_assert_int_eq(starpu_task_wait_for_all(), 0);
    ck_assert_int_eq(atomic_load(&released), 2);
    ck_assert(!pthread_equal(ran_on, pthread_self()));
    stop_starpu();
}
END_TEST

START_TEST(many_keep_their_order)
{
    enum { MANY = 3000 };
    static float number[MANY];
    start_starpu();
    submit(0, doze, NULL);
    for (int i = 0; i < MANY; i++) {
        number[i] = (float)(i + 1);
        submit(i % 7 != 0, step, &number[i]);
    }
    ck_assert_int_eq(starpu_task_wait_for_all(), 0);
    ck_assert_int_eq(steps, MANY);
    ck_assert(in_order);
    ck_assert_int_eq(atomic_load(&released), MANY + 1);
    stop_starpu();
    ck_assert(value[0] >= (float)MANY * (MANY + 1) / 2 - 1); /* below 2^24: exact */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("datum");
    TCase *tcase = testing_case(suite, "datum");
    tcase_add_test(tcase, a_brief_task_needs_no_worker);
    tcase_add_test(tcase, a_brief_task_waits_for_those_before_it);
    tcase_add_test(tcase, many_keep_their_order);
    return testing_run(suite);
}
