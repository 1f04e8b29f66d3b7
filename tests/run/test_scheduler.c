/* dag/run/scheduler and dag/run/codelets: a worker takes only tasks that it can run, those of higher
 * priority first; and StarPU keeps a performance model for each op. */
#include "dag/base/log.h"
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/run/init_starpu.h"
#include "dag/run/run.h"
#include "dag/run/scheduler.h"
#include "dag/run/starpu.h"
#include "tests/support/testing.h"

#include <glob.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 2, TASKS = 200, COUNT = 5 };

/* ---- Who runs what ---- */

/* A task that only one worker can run. */
typedef struct bound_task {
    unsigned worker; /* who may */
    int ran_on;
} bound_task;

static int only_its_worker(unsigned worker, struct starpu_task *task, unsigned implementation)
{
    (void)implementation;
    return worker == ((const bound_task *)task->cl_arg)->worker;
}

static void run_bound(void *buffers[], void *arg)
{
    (void)buffers;
    ((bound_task *)arg)->ran_on = starpu_worker_get_id();
}

static struct starpu_codelet bound_codelet = {
    .cpu_funcs = {run_bound}, .can_execute = only_its_worker, .name = "bound"};

START_TEST(a_worker_takes_only_what_it_can_run)
{
    struct starpu_conf conf;
    bound_task tasks[TASKS];
    starpu_conf_init(&conf);
    conf.ncpus = WORKERS;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = &tutti_scheduler;
    ck_assert_int_eq(tutti_run_init_starpu(&conf), 0);
    starpu_pause();
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (bound_task){.worker = (unsigned)(i / 7 % WORKERS), .ran_on = -1};
        struct starpu_task *task = starpu_task_create();
        task->cl = &bound_codelet;
        task->cl_arg = &tasks[i];
        task->priority = i % 5;
        ck_assert_int_eq(starpu_task_submit(task), 0);
    }
    starpu_resume();
    starpu_task_wait_for_all();
    for (int i = 0; i < TASKS; i++) ck_assert_int_eq(tasks[i].ran_on, (int)tasks[i].worker);
    starpu_shutdown();
}
END_TEST

/* ---- A model for each op ---- */

static int tensor(tutti_graph *g, const char *name)
{
    int t;
    ck_assert_ok(
        tutti_graph_tensor(g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(COUNT), &t));
    return t;
}

static int models_of(const char *op)
{
    char pattern[512];
    glob_t found;
    const char *home = getenv("STARPU_HOME"); /* the guard's scratch */
    ck_assert_ptr_nonnull(home);
    snprintf(pattern, sizeof pattern, "%s/.starpu/sampling/codelets/*/tutti_%s_f32.*", home, op);
    int models = glob(pattern, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    if (models) globfree(&found);
    return models;
}

/* A sum and a relu. */
static tutti_graph *two_ops(void)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "a"), b = tensor(g, "b"), c = tensor(g, "c");
    const tutti_sum_desc sum = {.count = COUNT, .inputs = 1};
    const tutti_relu_desc relu = {.count = COUNT};
    ck_assert_ok(tutti_graph_kernel(g, "sum", &tutti_op_sum, &sum, sizeof sum, 2,
        (tutti_access[]){{a, TUTTI_READ}, {b, TUTTI_WRITE}}, NULL));
    ck_assert_ok(tutti_graph_kernel(g, "relu", &tutti_op_relu, &relu, sizeof relu, 2,
        (tutti_access[]){{b, TUTTI_READ}, {c, TUTTI_WRITE}}, NULL));
    return g;
}

static tutti_run *open_run(const tutti_graph *g)
{
    tutti_run *run;
    ck_assert_ok(
        tutti_runner_starpu.open(g, &(tutti_run_options){.workers = 1, .region_s = -1}, &run));
    return run;
}

static void run_once(tutti_run *run)
{
    ck_assert_ok(tutti_runner_starpu.submit(run, 0));
    ck_assert_ok(tutti_runner_starpu.wait(run, 0, tutti_runner_starpu.point(run), 20));
}

START_TEST(each_op_has_its_model)
{
    tutti_graph *g = two_ops();
    setenv("STARPU_CALIBRATE", "1", 1);
    tutti_run *run = open_run(g);
    run_once(run);
    tutti_runner_starpu.close(run);
    unsetenv("STARPU_CALIBRATE");
    ck_assert_int_gt(models_of("sum"), 0);
    ck_assert_int_gt(models_of("relu"), 0);
    ck_assert_int_eq(models_of("conv"), 0);
    tutti_graph_free(g);
}
END_TEST

/* StarPU goes on, with the models that the first run has used, until the last run has ended. */
START_TEST(a_run_may_end_before_others)
{
    tutti_graph *g = two_ops();
    for (int round = 0; round < 2; round++) {
        tutti_run *first = open_run(g), *last = open_run(g);
        run_once(first);
        tutti_runner_starpu.close(first);
        run_once(last);
        tutti_run *more = open_run(g);
        run_once(more);
        tutti_runner_starpu.close(last);
        tutti_runner_starpu.close(more);
        ck_assert(!starpu_is_initialized());
    }
    tutti_graph_free(g);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
    Suite *suite = suite_create("scheduler");
    TCase *tcase = testing_case(suite, "scheduler");
    tcase_add_test(tcase, a_worker_takes_only_what_it_can_run);
    tcase_add_test(tcase, each_op_has_its_model);
    tcase_add_test(tcase, a_run_may_end_before_others);
    return testing_run(suite);
}
