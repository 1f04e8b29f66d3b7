/* dag/run: all runners give the same result in any legal order, nodes that end later do not hold a worker, waits
 * have a deadline, the ledger and the meter count correctly. Each case runs on every runner of the table. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"
#include "dag/kernels/loss.h"
#include "dag/run/blocker.h"
#include "dag/run/latch.h"
#include "dag/run/ledger.h"
#include "dag/run/run.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 5 };
static const double patience_s = 20;

static int tensor(tutti_graph *g, const char *name, tutti_role role)
{
    int t;
    ck_assert_ok(tutti_graph_tensor(g, name, role, TUTTI_F32, tutti_shape_of(COUNT), &t));
    return t;
}

/* y = a + b */
static void add(tutti_graph *g, const char *name, int a, int b, int y)
{
    tutti_sum_desc desc = {.count = COUNT, .inputs = 2};
    tutti_access access[] = {{a, TUTTI_READ}, {b, TUTTI_READ}, {y, TUTTI_WRITE}};
    ck_assert_ok(tutti_graph_kernel(g, name, &tutti_op_sum, &desc, sizeof desc, 3, access, NULL));
}

static tutti_run *open_run(const tutti_runner *runner, const tutti_graph *g, int workers,
    uint64_t seed, tutti_run_hooks hooks, tutti_meter *meter)
{
    tutti_run_options options = {.workers = workers, .seed = seed, .hooks = hooks, .meter = meter};
    tutti_run *run;
    ck_assert_ok(runner->open(g, &options, &run));
    return run;
}

/* The first element of a tensor. */
static float first(const tutti_runner *runner, tutti_run *run, int tensor)
{
    float x[COUNT];
    ck_assert_ok(tutti_run_read(runner, run, tensor, x, sizeof x));
    return x[0];
}

/* f(n) = f(n-1) + f(n-2), on three tensors in turn: any wrong order changes the result. Fed, submitted
 * twice, fetched. */
static void fibonacci(const tutti_runner *runner, int workers, uint64_t seed)
{
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int t[3] = {tensor(g, "a", TUTTI_ROLE_INPUT), tensor(g, "b", TUTTI_ROLE_INPUT),
        tensor(g, "c", TUTTI_ROLE_OUTPUT)};
    for (int i = 0; i < 9; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        add(g, name, t[i % 3], t[(i + 1) % 3], t[(i + 2) % 3]);
    }
    tutti_run *run = open_run(runner, g, workers, seed, (tutti_run_hooks){0}, NULL);
    float one[COUNT] = {1, 1, 1, 1, 1}, got[3][COUNT];
    ck_assert_ok(runner->feed(run, t[0], one, sizeof one, NULL, NULL));
    ck_assert_ok(runner->feed(run, t[1], one, sizeof one, NULL, NULL));
    for (int step = 0; step < 2; step++) {
        ck_assert_ok(runner->submit(run, 0));
        ck_assert_ok(runner->fetch(run, t[1], got[step], sizeof got[step]));
    }
    ck_assert_int_eq(runner->feed(run, t[0], one, 4, NULL, NULL), TUTTI_ERR_INVAL);
    ck_assert_int_eq(runner->fetch(run, t[0], one, 4), TUTTI_ERR_INVAL);
    ck_assert_ok(runner->wait(run, 0, runner->point(run), patience_s));
    for (int i = 0; i < COUNT; i++) {
        ck_assert_float_eq(got[0][i], 89);
        ck_assert_float_eq(got[1][i], 6765);
    }
    ck_assert_float_eq(first(runner, run, t[1]), 6765);
    runner->close(run);
    tutti_graph_free(g);
}

START_TEST(every_runner_keeps_the_order)
{
    for (int workers = 1; workers <= 2; workers++) fibonacci(tutti_runners[_i], workers, 0);
    for (uint64_t seed = 1; seed <= 50 && !strcmp(tutti_runners[_i]->name, "inline"); seed++)
        fibonacci(tutti_runners[_i], 1, seed);
}
END_TEST

/* Hooks that end collectives on a separate thread, in reverse order of readiness, once all `expected`
 * are ready. */
typedef struct reverse_ender {
    pthread_mutex_t lock;
    int expected, ready;
    tutti_token *token[16];
    float *data[16];
    int64_t sequence[16], next;
    pthread_t thread;
} reverse_ender;

static void *end_all(void *arg)
{
    reverse_ender *e = arg;
    for (int i = e->expected; i-- > 0;) {
        for (int k = 0; k < COUNT; k++) e->data[i][k] *= 10; /* the "collective" */
        tutti_token_finish(e->token[i], TUTTI_OK);
    }
    return NULL;
}

static int64_t reserve(void *ctx, const tutti_node *node)
{
    (void)node;
    return ((reverse_ender *)ctx)->next++;
}

static void start(void *ctx, const tutti_node *node, int64_t sequence, const tutti_buffer buf[],
    tutti_token *token)
{
    reverse_ender *e = ctx;
    (void)node;
    pthread_mutex_lock(&e->lock);
    e->data[e->ready] = buf[0].pointer;
    e->sequence[e->ready] = sequence;
    e->token[e->ready++] = token;
    if (e->ready == e->expected) pthread_create(&e->thread, NULL, end_all, e);
    pthread_mutex_unlock(&e->lock);
}

/* Collectives, links of a chain or not, that end only once all are in flight together. */
static void fly_together(const tutti_runner *runner, int workers, uint64_t seed, int linked)
{
    enum { COLLECTIVES = 6 };
    reverse_ender e = {.lock = PTHREAD_MUTEX_INITIALIZER, .expected = COLLECTIVES};
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int one = tensor(g, "one", TUTTI_ROLE_INPUT), out[COLLECTIVES], chain;
    ck_assert_ok(
        tutti_graph_tensor(g, "chain", TUTTI_ROLE_TOKEN, TUTTI_U8, (tutti_shape){0}, &chain));
    for (int i = 0; i < COLLECTIVES; i++) {
        char name[32];
        snprintf(name, sizeof name, "g%d", i);
        int gradient = tensor(g, name, TUTTI_ROLE_GRADIENT), mark;
        tutti_sum_desc desc = {.count = COUNT, .inputs = 1};
        tutti_access access[] = {{one, TUTTI_READ}, {gradient, TUTTI_WRITE}};
        ck_assert_ok(
            tutti_graph_kernel(g, "copy", &tutti_op_sum, &desc, sizeof desc, 2, access, NULL));
        ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = gradient}, &mark));
        ck_assert_ok(tutti_graph_set_collective(g, mark, "", 1));
        if (linked)
            ck_assert_ok(tutti_graph_add_access(g, mark, (tutti_access){chain, TUTTI_CHAIN}));
        snprintf(name, sizeof name, "out%d", i);
        out[i] = tensor(g, name, TUTTI_ROLE_OUTPUT);
        add(g, "use", gradient, one, out[i]);
    }
    tutti_meter *meter;
    ck_assert_ok(tutti_meter_new(&meter));
    tutti_run_hooks hooks = {.ctx = &e, .reserve = reserve, .start = start};
    tutti_run *run = open_run(runner, g, workers, seed, hooks, meter);
    float ones[COUNT] = {1, 1, 1, 1, 1};
    ck_assert_ok(runner->feed(run, one, ones, sizeof ones, NULL, NULL));
    ck_assert_ok(runner->submit(run, 0));
    ck_assert_ok(runner->wait(run, 0, runner->point(run), patience_s));
    pthread_join(e.thread, NULL);
    for (int i = 0; i < COLLECTIVES; i++) ck_assert_float_eq(first(runner, run, out[i]), 11);
    ck_assert_int_eq((int)e.next, COLLECTIVES);
    for (int i = 0; i < COLLECTIVES && linked; i++) ck_assert_int_eq((int)e.sequence[i], i);
    runner->close(run);
    ck_assert_double_gt(tutti_meter_read(meter).compute_s, 0);
    tutti_meter_free(meter);
    tutti_graph_free(g);
}

/* With one worker, all collectives can be in flight together only if none of them holds the worker. */
START_TEST(a_node_that_ends_later_holds_no_worker)
{
    fly_together(tutti_runners[_i], 1, 3, 0);
}
END_TEST

/* The links of a chain start in program order, each as soon as its predecessor has started, and readers of
 * their data wait for their ends. */
START_TEST(a_chain_is_handed_on_at_the_start)
{
    const tutti_runner *runner = tutti_runners[_i];
    for (int workers = 1; workers <= 3; workers++) fly_together(runner, workers, 0, 1);
    for (uint64_t seed = 1; seed <= 50 && !strcmp(runner->name, "inline"); seed++)
        fly_together(runner, 1, seed, 1);
}
END_TEST

/* A mark that no exchange has touched costs nothing and changes nothing. */
START_TEST(marks_are_skipped)
{
    const tutti_runner *runner = tutti_runners[_i];
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "a", TUTTI_ROLE_INPUT), mark;
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = a}, &mark));
    tutti_run *run = open_run(runner, g, 1, 0, (tutti_run_hooks){0}, NULL);
    ck_assert_ok(runner->submit(run, 0));
    ck_assert_int_eq(runner->point(run), 0);
    ck_assert_ok(runner->wait(run, 0, 0, patience_s));
    runner->close(run);
    tutti_graph_free(g);
}
END_TEST

static void start_and_forget(void *ctx, const tutti_node *node, int64_t sequence,
    const tutti_buffer buf[], tutti_token *token)
{
    (void)node, (void)sequence, (void)buf;
    atomic_store((_Atomic(tutti_token *) *)ctx, token);
}

static int64_t reserve_zero(void *ctx, const tutti_node *node)
{
    (void)ctx, (void)node;
    return 0;
}

START_TEST(a_wait_ends_at_its_deadline)
{
    const tutti_runner *runner = tutti_runners[_i];
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "lost", TUTTI_ROLE_GRADIENT), mark;
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = a}, &mark));
    ck_assert_ok(tutti_graph_set_collective(g, mark, "", 1));
    _Atomic(tutti_token *) kept = NULL;
    tutti_run_hooks hooks = {.ctx = &kept, .reserve = reserve_zero, .start = start_and_forget};
    tutti_run *run = open_run(runner, g, 1, 0, hooks, NULL);
    ck_assert_ok(runner->submit(run, 0));
    double begin = tutti_clock_s();
    ck_assert_int_eq(runner->wait(run, 0, runner->point(run), 0.2), TUTTI_ERR_TIMEOUT);
    double took = tutti_clock_s() - begin;
    ck_assert_msg(took > 0.15 && took < 5, "waited %g s", took);
    tutti_token *token = atomic_load(&kept);
    ck_assert_ptr_nonnull(token);
    tutti_token_finish(token, TUTTI_ERR_COMM); /* the next wait returns a late failure */
    ck_assert_int_eq(runner->wait(run, 0, runner->point(run), patience_s), TUTTI_ERR_COMM);
    runner->close(run);
    tutti_graph_free(g);
}
END_TEST

/* What was submitted behind a point is waited for while what came before goes on, and by itself: a failure of that is
 * told all the same. */
START_TEST(what_came_before_may_go_on)
{
    const tutti_runner *runner = tutti_runners[_i];
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "a", TUTTI_ROLE_GRADIENT), c = tensor(g, "c", TUTTI_ROLE_INPUT),
        d = tensor(g, "d", TUTTI_ROLE_INPUT), b = tensor(g, "b", TUTTI_ROLE_OUTPUT), mark, section;
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = a}, &mark));
    ck_assert_ok(tutti_graph_set_collective(g, mark, "", 1));
    ck_assert_ok(tutti_graph_section(g, "later", &section));
    add(g, "b = c + d", c, d, b);
    _Atomic(tutti_token *) kept = NULL;
    tutti_run_hooks hooks = {.ctx = &kept, .reserve = reserve_zero, .start = start_and_forget};
    tutti_run *run = open_run(runner, g, 1, 0, hooks, NULL);
    ck_assert_ok(runner->submit(run, 0));
    for (int i = 0; i < 3; i++) {
        const int64_t from = runner->point(run);
        ck_assert_ok(runner->submit(run, section));
        ck_assert_ok(runner->wait(run, from, runner->point(run), patience_s));
    }
    ck_assert_int_eq(runner->wait(run, 0, runner->point(run), 0.1), TUTTI_ERR_TIMEOUT);
    const int64_t from = runner->point(run);
    tutti_token_finish(atomic_load(&kept), TUTTI_ERR_COMM);
    ck_assert_int_eq(runner->wait(run, from, from, patience_s), TUTTI_ERR_COMM);
    runner->close(run);
    tutti_graph_free(g);
}
END_TEST

/* A label out of range makes a kernel fail: wait returns the failure. */
START_TEST(a_kernel_failure_comes_out_of_wait)
{
    const tutti_runner *runner = tutti_runners[_i];
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int logits, labels, metrics;
    ck_assert_ok(tutti_graph_tensor(
        g, "logits", TUTTI_ROLE_INPUT, TUTTI_F32, tutti_shape_of(1, 2), &logits));
    ck_assert_ok(
        tutti_graph_tensor(g, "labels", TUTTI_ROLE_INPUT, TUTTI_I32, tutti_shape_of(1), &labels));
    ck_assert_ok(tutti_graph_tensor(
        g, "metrics", TUTTI_ROLE_OUTPUT, TUTTI_F64, tutti_shape_of(TUTTI_METRICS), &metrics));
    tutti_xent_desc desc = {.N = 1, .K = 2, .weight = 1};
    tutti_access access[] = {{logits, TUTTI_READ}, {labels, TUTTI_READ}, {metrics, TUTTI_WRITE}};
    ck_assert_ok(
        tutti_graph_kernel(g, "loss", &tutti_op_xent_eval, &desc, sizeof desc, 3, access, NULL));
    tutti_run *run = open_run(runner, g, 1, 0, (tutti_run_hooks){0}, NULL);
    int32_t label = 2;
    ck_assert_ok(runner->feed(run, labels, &label, sizeof label, NULL, NULL));
    ck_assert_ok(runner->submit(run, 0));
    ck_assert_int_eq(runner->wait(run, 0, runner->point(run), patience_s), TUTTI_ERR_KERNEL);
    runner->close(run);
    tutti_graph_free(g);
}
END_TEST

/* A node whose tensors are not those of its op is refused before anything runs. */
START_TEST(tensors_of_another_type_are_refused)
{
    static const struct {
        tutti_dtype label, metric;
        int accesses;
        const char *says;
    } rows[] = {{TUTTI_I64, TUTTI_F64, 3, "labels of xent_eval must be I32, but 'labels' is I64"},
        {TUTTI_I32, TUTTI_F32, 3, "metrics of xent_eval must be F64, but 'metrics' is F32"},
        {TUTTI_I32, TUTTI_F64, 2, "not 2 buffers"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        tutti_graph *g;
        tutti_run *run;
        int logits, labels, metrics;
        ck_assert_ok(tutti_graph_new(&g));
        ck_assert_ok(tutti_graph_tensor(
            g, "logits", TUTTI_ROLE_INPUT, TUTTI_F32, tutti_shape_of(1, 2), &logits));
        ck_assert_ok(tutti_graph_tensor(
            g, "labels", TUTTI_ROLE_INPUT, rows[r].label, tutti_shape_of(1), &labels));
        ck_assert_ok(tutti_graph_tensor(g, "metrics", TUTTI_ROLE_OUTPUT, rows[r].metric,
            tutti_shape_of(TUTTI_METRICS), &metrics));
        const tutti_xent_desc desc = {.N = 1, .K = 2, .weight = 1};
        const tutti_access access[] = {
            {logits, TUTTI_READ}, {labels, TUTTI_READ}, {metrics, TUTTI_WRITE}};
        ck_assert_ok(tutti_graph_kernel(
            g, "loss", &tutti_op_xent_eval, &desc, sizeof desc, rows[r].accesses, access, NULL));
        const tutti_run_options options = {.workers = 1};
        ck_assert_int_eq(tutti_runner_find("inline")->open(g, &options, &run), TUTTI_ERR_INTERNAL);
        ck_assert_msg(strstr(tutti_last_error(), rows[r].says) != NULL, "%s", tutti_last_error());
        tutti_graph_free(g);
    }
}
END_TEST

static void count_release(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

START_TEST(feeds_release_their_data)
{
    const tutti_runner *runner = tutti_runners[_i];
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "a", TUTTI_ROLE_INPUT);
    tutti_run *run = open_run(runner, g, 1, 0, (tutti_run_hooks){0}, NULL);
    float data[3][COUNT] = {{1}, {2}, {3}};
    atomic_int released = 0;
    for (int i = 0; i < 3; i++)
        ck_assert_ok(runner->feed(run, a, data[i], sizeof data[i], count_release, &released));
    ck_assert_ok(runner->wait(run, 0, runner->point(run), patience_s));
    ck_assert_int_eq(atomic_load(&released), 3);
    ck_assert_float_eq(first(runner, run, a), 3);
    runner->close(run);
    runner->close(NULL);
    tutti_graph_free(g);
}
END_TEST

typedef struct arrivals {
    sem_t may_go;
    atomic_int ended;
} arrivals;

static void hold_worker(void *arg)
{
    while (sem_wait(&((arrivals *)arg)->may_go)) {
    }
}

typedef struct arrival {
    arrivals *all;
    int place;
} arrival;

static void note_place(void *arg)
{
    arrival *one = arg;
    one->place = atomic_fetch_add(&one->all->ended, 1);
}

/* The only worker is held while three feeds are submitted, of which the last is urgent. */
START_TEST(an_urgent_feed_goes_first)
{
    const tutti_runner *runner = tutti_runner_find("starpu");
    arrivals all = {.ended = 0};
    ck_assert_int_eq(sem_init(&all.may_go, 0, 0), 0);
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int held = tensor(g, "held", TUTTI_ROLE_INPUT), first = tensor(g, "first", TUTTI_ROLE_INPUT),
        second = tensor(g, "second", TUTTI_ROLE_INPUT), urgent = tensor(g, "u", TUTTI_ROLE_INPUT);
    tutti_graph_set_urgent(g, urgent);
    tutti_run *run = open_run(runner, g, 1, 0, (tutti_run_hooks){0}, NULL);
    float data[COUNT] = {1};
    arrival a = {.all = &all}, b = a, c = a;
    ck_assert_ok(runner->feed(run, held, data, sizeof data, hold_worker, &all));
    ck_assert_ok(runner->feed(run, first, data, sizeof data, note_place, &a));
    ck_assert_ok(runner->feed(run, second, data, sizeof data, note_place, &b));
    ck_assert_ok(runner->feed(run, urgent, data, sizeof data, note_place, &c));
    sem_post(&all.may_go);
    ck_assert_ok(runner->wait(run, 0, runner->point(run), patience_s));
    ck_assert_int_eq(c.place, 0);
    ck_assert_int_lt(a.place, b.place);
    runner->close(run);
    tutti_graph_free(g);
    sem_destroy(&all.may_go);
}
END_TEST

/* The main thread gets a tensor once everything submitted has ended, and not before. */
START_TEST(a_tensor_is_had_after_the_wait)
{
    const tutti_runner *runner = tutti_runners[_i];
    tutti_graph *g;
    ck_assert_ok(tutti_graph_new(&g));
    int a = tensor(g, "a", TUTTI_ROLE_GRADIENT), c = tensor(g, "c", TUTTI_ROLE_INPUT),
        b = tensor(g, "b", TUTTI_ROLE_OUTPUT), mark;
    ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = a}, &mark));
    ck_assert_ok(tutti_graph_set_collective(g, mark, "", 1));
    add(g, "b = a + c", a, c, b);
    _Atomic(tutti_token *) kept = NULL;
    tutti_run_hooks hooks = {.ctx = &kept, .reserve = reserve_zero, .start = start_and_forget};
    tutti_run *run = open_run(runner, g, 1, 0, hooks, NULL);
    const float ones[COUNT] = {1, 2, 3, 4, 5};
    float got[COUNT];
    void *data;
    ck_assert_ok(tutti_run_write(runner, run, a, ones, sizeof ones));
    ck_assert_ok(tutti_run_write(runner, run, c, ones, sizeof ones));
    ck_assert_ok(runner->submit(run, 0));
    ck_assert_int_eq(tutti_run_read(runner, run, b, got, sizeof got), TUTTI_ERR_INVAL);
    ck_assert_int_eq(runner->wait(run, 0, runner->point(run), 0.1), TUTTI_ERR_TIMEOUT);
    ck_assert_int_eq(tutti_run_write(runner, run, a, ones, sizeof ones), TUTTI_ERR_INVAL);
    tutti_token_finish(atomic_load(&kept), TUTTI_OK);
    ck_assert_ok(runner->wait(run, 0, runner->point(run), patience_s));
    ck_assert_int_eq(tutti_run_read(runner, run, b, got, 4), TUTTI_ERR_INVAL);
    ck_assert_ok(runner->acquire(run, a, TUTTI_READ, sizeof got, &data));
    ck_assert_ok(tutti_run_read(runner, run, b, got, sizeof got)); /* both at once */
    for (int i = 0; i < COUNT; i++) ck_assert_float_eq(got[i], 2 * ((float *)data)[i]);
    runner->release(run, a);
    runner->close(run);
    tutti_graph_free(g);
}
END_TEST

START_TEST(ledger_points)
{
    tutti_ledger *l;
    ck_assert_ok(tutti_ledger_new(&l));
    int64_t id[3000];
    const tutti_task task = {.name = "n", .sequence = -1};
    for (int i = 0; i < 3000; i++) ck_assert_ok(tutti_ledger_enter(l, &task, &id[i]));
    tutti_ledger_begin(l, id[0]);
    ck_assert_int_eq(tutti_ledger_see(l).running, 1);
    ck_assert_int_eq(tutti_ledger_point(l), 3000);
    for (int i = 2999; i > 0; i--) tutti_ledger_leave(l, id[i], TUTTI_OK);
    ck_assert(!tutti_ledger_reached(l, 0, 1));
    ck_assert(tutti_ledger_reached(l, 0, 0));
    ck_assert(tutti_ledger_reached(l, 1, 3000));
    ck_assert_int_eq(tutti_ledger_report_timeout(l, 0, 3000, 1), TUTTI_ERR_TIMEOUT);
    tutti_ledger_leave(l, id[0], TUTTI_ERR_IO);
    ck_assert(tutti_ledger_reached(l, 0, 3000));
    ck_assert_int_eq(tutti_ledger_see(l).running, 0);
    ck_assert_int_eq(tutti_ledger_see(l).ended, 3000);
    ck_assert_int_eq(tutti_ledger_failure(l), TUTTI_ERR_IO);
    tutti_ledger_fail(l, TUTTI_ERR_TIMEOUT); /* the first failure stays */
    ck_assert_int_eq(tutti_ledger_failure(l), TUTTI_ERR_IO);
    tutti_ledger_free(l);
}
END_TEST

/* The chain  a -> b -> c0 -> d -> c1  through tensors 0..3, or four data that have no numbers, and e, which nobody
 * waits for. */
static tutti_ledger *chain_ledger(int numbered, int64_t id[6])
{
    static const char datum[4];
    static const void *data[6][2];
    static tutti_access nameless[6][2]; /* whose numbers say nothing */
    static const tutti_access access[6][2] = {{{0, TUTTI_WRITE}},
        {{0, TUTTI_READ}, {1, TUTTI_WRITE}}, {{1, TUTTI_READWRITE}},
        {{1, TUTTI_READ}, {2, TUTTI_WRITE}}, {{2, TUTTI_READWRITE}}, {{3, TUTTI_WRITE}}};
    static const struct {
        const char *name;
        int accesses;
        int64_t sequence;
    } rows[6] = {
        {"a", 1, -1}, {"b", 2, -1}, {"c0", 1, 40}, {"d", 2, -1}, {"c1", 1, 41}, {"e", 1, -1}};
    tutti_ledger *l;
    ck_assert_ok(tutti_ledger_new(&l));
    for (int i = 0; i < 6; i++) {
        const tutti_task task = {rows[i].name, rows[i].accesses, numbered ? access[i] : nameless[i],
            rows[i].sequence, numbered ? NULL : data[i]};
        for (int a = 0; a < 2; a++) {
            data[i][a] = &datum[3 - access[i][a].tensor];
            nameless[i][a].mode = access[i][a].mode;
        }
        ck_assert_ok(tutti_ledger_enter(l, &task, &id[i]));
    }
    return l;
}

START_TEST(a_blocker_is_named)
{
    int64_t id[6];
    char running[64];
    tutti_blocker b;
    tutti_ledger *l = chain_ledger(_i, id);
    double now_s = tutti_clock_s();
    ck_assert_ok(tutti_blocker_find(l, 41, now_s, &b));
    ck_assert(b.found && !b.begun);
    ck_assert_int_eq((int)b.collective, -1);
    ck_assert_str_eq(b.text, "task \"d\", which waits, through 2 others, for task \"a\", which no "
                             "worker has begun");
    tutti_ledger_begin(l, id[5]);
    ck_assert_ok(tutti_blocker_find(l, 40, now_s + 3, &b));
    ck_assert_str_eq(b.text, "task \"b\", which waits for task \"a\", for which no worker is free "
                             "(they run \"e\" (3.0 s))");
    tutti_ledger_begin(l, id[0]);
    ck_assert_ok(tutti_blocker_find(l, 40, now_s + 5, &b));
    ck_assert_str_eq(b.text, "task \"b\", which waits for task \"a\", running for 5.0 s");
    ck_assert_str_eq(tutti_blocker_running(l, now_s + 5, running, sizeof running),
        "\"a\" (5.0 s), \"e\" (5.0 s)");
    for (int i = 0; i < 2; i++) tutti_ledger_leave(l, id[i], TUTTI_OK);
    tutti_ledger_begin(l, id[2]);
    ck_assert_ok(tutti_blocker_find(l, 40, now_s, &b));
    ck_assert(b.found && b.begun);
    ck_assert_str_eq(b.text, "");
    ck_assert_ok(tutti_blocker_find(l, 41, now_s + 2, &b));
    ck_assert_int_eq((int)b.collective, 40);
    ck_assert_str_eq(b.text, "task \"d\", which waits for collective #40 \"c0\", posted 2.0 s ago");
    ck_assert_ok(tutti_blocker_find(l, 99, now_s, &b));
    ck_assert(!b.found);
    tutti_ledger_free(l);
}
END_TEST

START_TEST(meter_counts_unions)
{
    tutti_meter *m;
    ck_assert_ok(tutti_meter_new(&m));
    double a = tutti_meter_enter(m, TUTTI_METER_COMM);
    tutti_clock_sleep(0.02);
    double b = tutti_meter_enter(m, TUTTI_METER_COMPUTE),
           c = tutti_meter_enter(m, TUTTI_METER_COMPUTE);
    tutti_clock_sleep(0.02);
    tutti_meter_leave(m, TUTTI_METER_COMPUTE, b);
    tutti_meter_leave(m, TUTTI_METER_COMM, a);
    tutti_clock_sleep(0.02);
    tutti_meter_leave(m, TUTTI_METER_COMPUTE, c);
    double d = tutti_meter_enter(m, TUTTI_METER_COMM);
    tutti_meter_leave(m, TUTTI_METER_COMM, d);
    tutti_meter_reading r = tutti_meter_read(m);
    ck_assert_double_ge(r.comm_s, 0.04);
    ck_assert_double_ge(r.compute_s, 0.04);
    ck_assert_double_ge(r.hidden_s, 0.02);
    ck_assert_double_le(r.hidden_s, r.comm_s - 0.02);
    ck_assert_int_eq((int)r.collectives, 2);
    ck_assert_int_eq((int)r.hidden_collectives, 1);
    ck_assert_double_eq(tutti_meter_enter(NULL, TUTTI_METER_COMM), 0);
    tutti_meter_free(m);
}
END_TEST

static void *open_late(void *latch)
{
    tutti_clock_sleep(0.02);
    tutti_latch_open(latch, TUTTI_ERR_COMM);
    return NULL;
}

START_TEST(a_latch_opens_once_for_who_waits)
{
    tutti_latch latch;
    pthread_t other;
    tutti_latch_init(&latch);
    ck_assert_int_eq(tutti_latch_wait(&latch, 0), 0);
    double begun = tutti_clock_s();
    ck_assert_int_eq(tutti_latch_wait(&latch, 0.02), 0);
    ck_assert_double_ge(tutti_clock_s() - begun, 0.02);
    ck_assert_int_eq(pthread_create(&other, NULL, open_late, &latch), 0);
    ck_assert_int_eq(tutti_latch_wait(&latch, patience_s), 1);
    ck_assert_int_eq(latch.status, TUTTI_ERR_COMM);
    ck_assert_int_eq(tutti_latch_wait(&latch, 0), 1);
    pthread_join(other, NULL);
    tutti_latch_destroy(&latch);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("run");
    TCase *tcase = testing_case(suite, "runners");
    int runners = 0;
    while (tutti_runners[runners]) runners++;
    tcase_add_loop_test(tcase, every_runner_keeps_the_order, 0, runners);
    tcase_add_loop_test(tcase, a_node_that_ends_later_holds_no_worker, 0, runners);
    tcase_add_loop_test(tcase, a_chain_is_handed_on_at_the_start, 0, runners);
    tcase_add_loop_test(tcase, marks_are_skipped, 0, runners);
    tcase_add_loop_test(tcase, a_wait_ends_at_its_deadline, 0, runners);
    tcase_add_loop_test(tcase, what_came_before_may_go_on, 0, runners);
    tcase_add_loop_test(tcase, a_kernel_failure_comes_out_of_wait, 0, runners);
    tcase_add_loop_test(tcase, feeds_release_their_data, 0, runners);
    tcase_add_test(tcase, an_urgent_feed_goes_first);
    tcase_add_loop_test(tcase, a_tensor_is_had_after_the_wait, 0, runners);
    tcase = testing_case(suite, "ledger and meter");
    tcase_add_test(tcase, tensors_of_another_type_are_refused);
    tcase_add_test(tcase, ledger_points);
    tcase_add_loop_test(tcase, a_blocker_is_named, 0, 2);
    tcase_add_test(tcase, meter_counts_unions);
    tcase_add_test(tcase, a_latch_opens_once_for_who_waits);
    return testing_run(suite);
}
