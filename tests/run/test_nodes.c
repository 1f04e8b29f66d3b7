/* dag/run on a StarPU with two memory nodes (NUMA nodes simulated by hwloc): collectives get the data that tasks wrote
 * last, on whatever node, neighbours stay neighbours, and nothing moves or copies data in flight. Skipped if hwloc or
 * StarPU do not provide two nodes. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"
#include "dag/run/handle.h"
#include "dag/run/init_starpu.h"
#include "dag/run/insert.h"
#include "dag/run/run.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <starpu.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, WORKERS = 2, COUNT = 4 };
static const double patience_s = 20;

/* ---- a StarPU with two nodes ---- */

/* Before StarPU starts: one processor and one memory node for each of two workers. */
static void choose_nodes(void)
{
    unsetenv("HWLOC_COMPONENTS"); /* where it is set, hwloc makes nothing up */
    setenv("HWLOC_SYNTHETIC", "numa:2 core:1 pu:1", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    setenv("STARPU_USE_NUMA", "1", 1);
    setenv("STARPU_HOSTNAME", "two-nodes", 1); /* keeps StarPU's measurements separate */
    setenv("STARPU_WORKERS_NOBIND", "1", 1);
}

static int start_starpu(void)
{
    struct starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = WORKERS;
    conf.ncuda = conf.nopencl = 0;
    conf.catch_signals = 0;
    return tutti_run_init_starpu(&conf);
}

static int has_two_nodes(void)
{
    if (start_starpu()) return 0;
    int nodes = (int)starpu_memory_nodes_get_count(), workers = (int)starpu_cpu_worker_get_count();
    starpu_shutdown();
    if (nodes < 2 || workers < WORKERS)
        printf("SKIPPED: StarPU has %d memory nodes and %d workers in HWLOC_SYNTHETIC='%s'\n",
            nodes, workers, getenv("HWLOC_SYNTHETIC"));
    return nodes >= 2 && workers >= WORKERS;
}

/* ---- collectives that end when the test ends them ---- */

typedef struct late {
    atomic_int started;
    double lingers_s; /* ends a collective at its start, and stays there for so long */
    atomic_int left;  /* has left what lingers */
    float *data[2];
    tutti_token *token;
    int64_t next;
    tutti_ledger *ledger; /* of what is inserted */
    double ends_s;        /* when it ends; 0: not yet */
} late;

static int64_t reserve(void *ctx, const tutti_node *node)
{
    (void)node;
    return ((late *)ctx)->next++;
}

static void start(void *ctx, const tutti_node *node, int64_t sequence, const tutti_buffer buf[],
    tutti_token *token)
{
    late *l = ctx;
    (void)sequence;
    for (int i = 0; i < *(const int *)node->desc; i++) l->data[i] = buf[i].pointer;
    l->token = token;
    atomic_fetch_add(&l->started, 1);
    if (!(l->lingers_s > 0)) return;
    tutti_token_finish(token, TUTTI_OK);
    tutti_clock_sleep(l->lingers_s);
    atomic_store(&l->left, 1);
}

static void observe(void *ctx, tutti_ledger *ledger, int whole)
{
    (void)whole;
    ((late *)ctx)->ledger = ledger;
}

/* In the waits of a main thread that drives. */
static tutti_status ends_late(void *ctx)
{
    late *l = ctx;
    if (!(l->ends_s > 0) || tutti_clock_s() < l->ends_s) return TUTTI_OK;
    l->ends_s = 0;
    tutti_token_finish(l->token, TUTTI_ERR_TIMEOUT);
    return TUTTI_OK;
}

static void *end_late(void *ctx)
{
    const late *l = ctx;
    tutti_clock_sleep(l->ends_s - tutti_clock_s());
    tutti_token_finish(l->token, TUTTI_ERR_TIMEOUT);
    return NULL;
}

static void await_start(late *l, int collectives)
{
    double end = tutti_clock_s() + patience_s;
    while (atomic_load(&l->started) < collectives && tutti_clock_s() < end) tutti_clock_sleep(1e-4);
    ck_assert_int_eq(atomic_load(&l->started), collectives);
}

static late the_late;
static tutti_insert *insert;

static void open_driven(int chain, tutti_status (*drive)(void *ctx))
{
    the_late = (late){0};
    ck_assert_int_eq(start_starpu(), 0);
    tutti_run_hooks hooks = {
        .ctx = &the_late, .reserve = reserve, .start = start, .main = drive, .observe = observe};
    ck_assert_ok(tutti_insert_open(&hooks, chain, &insert));
}

static void open_insert(int chain)
{
    open_driven(chain, NULL);
}

static void close_insert(void)
{
    tutti_insert_close(insert);
    starpu_shutdown();
}

static void insert_on(starpu_data_handle_t handle, tutti_mode mode)
{
    const int handles = 1;
    const tutti_insert_node node = {.name = "late", .desc = &handles, .desc_bytes = sizeof handles};
    ck_assert_ok(tutti_insert_collective(insert, &node, 1, &handle, &mode));
}

/* The collective's work: sets all elements to `value`, then ends. */
static void end_with(float value)
{
    for (int i = 0; i < COUNT; i++) the_late.data[0][i] = value;
    tutti_token_finish(the_late.token, TUTTI_OK);
}

/* ---- tasks of the program ---- */

/* An element of a vector, or of a matrix with rows of two. */
static float *element(void *buffer, int i)
{
    if (*(enum starpu_data_interface_id *)buffer == STARPU_MATRIX_INTERFACE_ID)
        return (float *)STARPU_MATRIX_GET_PTR(buffer) + i / 2 * (int)STARPU_MATRIX_GET_LD(buffer) +
               i % 2;
    return (float *)STARPU_VECTOR_GET_PTR(buffer) + i;
}

static void write_all(void *buffers[], void *arg)
{
    for (int i = 0; i < COUNT; i++) *element(buffers[0], i) = *(const float *)arg + (float)i;
}

static void sum_all(void *buffers[], void *arg)
{
    float sum = 0;
    for (int i = 0; i < COUNT; i++) sum += *element(buffers[0], i);
    *(float *)arg = sum;
}

static struct starpu_codelet writer = {
    .cpu_funcs = {write_all}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet reader = {.cpu_funcs = {sum_all}, .nbuffers = 1, .modes = {STARPU_R}};

static void run_on(
    int worker, struct starpu_codelet *codelet, starpu_data_handle_t handle, float *arg)
{
    struct starpu_task *task = starpu_task_create();
    task->cl = codelet;
    task->cl_arg = arg;
    task->handles[0] = handle;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker;
    ck_assert_int_eq(starpu_task_submit(task), 0);
}

/* ---- the tests ---- */

/* A task on alternating nodes writes; the collective must see its data, and both nodes the collective's result. */
static void write_sum_read(starpu_data_handle_t handle)
{
    for (int k = 0; k < 6; k++) {
        float from = (float)(100 * k), seen[WORKERS] = {0};
        run_on(k % WORKERS, &writer, handle, &from);
        insert_on(handle, TUTTI_READWRITE);
        for (int w = 0; w < WORKERS; w++) run_on(w, &reader, handle, &seen[w]);
        await_start(&the_late, k + 1);
        for (int i = 0; i < COUNT; i++) ck_assert_float_eq(the_late.data[0][i], from + (float)i);
        end_with(from + 7);
        ck_assert_ok(tutti_insert_wait(insert, patience_s));
        starpu_task_wait_for_all();
        for (int w = 0; w < WORKERS; w++) ck_assert_float_eq(seen[w], COUNT * (from + 7));
    }
}

START_TEST(a_collective_has_what_was_written_on_any_node)
{
    float home[COUNT] = {0};
    starpu_data_handle_t handle;
    open_insert(_i);
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)home, COUNT, sizeof home[0]);
    write_sum_read(handle);
    starpu_data_unregister(handle);
    ck_assert_float_eq(home[0], 507);
    close_insert();
}
END_TEST

START_TEST(data_may_be_where_starpu_puts_them)
{
    float gaps[2][5] = {{0}};
    starpu_data_handle_t vector, matrix, far;
    const tutti_handle_use use = {.what = "data", .dtype = TUTTI_F32};
    int64_t count;
    open_insert(_i);
    starpu_vector_data_register(&vector, -1, 0, COUNT, sizeof(float));
    starpu_matrix_data_register(&matrix, -1, 0, 2, 2, 2, sizeof(float));
    /* home is the other node, with gaps that main memory's copy does not have */
    starpu_matrix_data_register(&far, 1, (uintptr_t)gaps, 5, 2, 2, sizeof(float));
    starpu_data_handle_t handles[] = {vector, matrix, far};
    for (int h = 0; h < 3; h++) {
        atomic_store(&the_late.started, 0);
        ck_assert_ok(tutti_handle_count(handles[h], &use, &count));
        ck_assert_int_eq((int)count, COUNT);
        write_sum_read(handles[h]);
        starpu_data_unregister(handles[h]);
    }
    ck_assert_float_eq(gaps[0][1], 507);
    ck_assert_float_eq(gaps[0][2], 0);
    ck_assert_float_eq(gaps[1][1], 507);
    starpu_matrix_data_register(&matrix, STARPU_MAIN_RAM, (uintptr_t)gaps, 5, 2, 2, sizeof(float));
    ck_assert_int_eq(tutti_handle_count(matrix, &use, &count), TUTTI_ERR_INVAL);
    starpu_data_unregister(matrix);
    close_insert();
}
END_TEST

START_TEST(who_receives_needs_no_value)
{
    starpu_data_handle_t handle;
    float seen = 0;
    open_insert(_i);
    starpu_vector_data_register(&handle, -1, 0, COUNT, sizeof(float));
    insert_on(handle, TUTTI_WRITE);
    run_on(1, &reader, handle, &seen);
    await_start(&the_late, 1);
    end_with(3);
    ck_assert_ok(tutti_insert_wait(insert, patience_s));
    starpu_data_unregister(handle);
    ck_assert_float_eq(seen, 3 * COUNT);
    close_insert();
}
END_TEST

/* While a collective is in flight, StarPU is asked in every way to copy its data to the other node. A copy made before
 * the end would be mistaken for the result. */
START_TEST(nothing_copies_what_is_in_flight)
{
    static const double time_to_go_wrong_s = 0.05;
    float home[COUNT] = {0}, from = 1, seen[WORKERS] = {0};
    starpu_data_handle_t handle;
    open_insert(_i);
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)home, COUNT, sizeof home[0]);
    starpu_data_set_wt_mask(handle, 3); /* written through to both nodes */
    run_on(1, &writer, handle, &from);
    insert_on(handle, TUTTI_READWRITE);
    await_start(&the_late, 1);
    tutti_clock_sleep(time_to_go_wrong_s);
    starpu_data_prefetch_on_node(handle, 1, 1);
    starpu_data_idle_prefetch_on_node(handle, 1, 1);
    starpu_data_wont_use(handle);
    tutti_clock_sleep(time_to_go_wrong_s);
    float *data = the_late.data[0];
    int allocated = 0, valid = 0;
    starpu_data_query_status(handle, 1, &allocated, &valid, NULL);
    ck_assert_msg(!valid, "the other node has a copy of what is in flight");
    ck_assert_ptr_eq(starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM), data);
    end_with(5);
    for (int w = 0; w < WORKERS; w++) run_on(w, &reader, handle, &seen[w]);
    ck_assert_ok(tutti_insert_wait(insert, patience_s));
    starpu_task_wait_for_all();
    for (int w = 0; w < WORKERS; w++) ck_assert_float_eq(seen[w], 5 * COUNT);
    starpu_data_unregister(handle);
    close_insert();
}
END_TEST

typedef struct waiting {
    pthread_t thread;
    atomic_int over;
} waiting;

static void *wait_for_tasks(void *arg)
{
    starpu_task_wait_for_all();
    atomic_store(&((waiting *)arg)->over, 1);
    return NULL;
}

/* starpu_task_wait_for_all waits for collectives as it does for tasks. */
START_TEST(starpu_counts_a_collective)
{
    float home[COUNT] = {0}, from = 1;
    starpu_data_handle_t handle;
    waiting w = {0};
    open_insert(_i);
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)home, COUNT, sizeof home[0]);
    run_on(1, &writer, handle, &from);
    insert_on(handle, TUTTI_READWRITE);
    ck_assert_int_eq(pthread_create(&w.thread, NULL, wait_for_tasks, &w), 0);
    await_start(&the_late, 1);
    tutti_clock_sleep(0.02);
    ck_assert_int_eq(atomic_load(&w.over), 0);
    end_with(5);
    pthread_join(w.thread, NULL);
    starpu_data_unregister(handle);
    ck_assert_float_eq(home[0], 5);
    close_insert();
}
END_TEST

/* A collective may end, and with it all that was inserted, before the worker that has started it leaves the design,
 * which is freed next. */
START_TEST(closing_waits_for_who_still_starts)
{
    float home[COUNT] = {0};
    starpu_data_handle_t handle;
    open_insert(_i);
    the_late.lingers_s = 0.1;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)home, COUNT, sizeof home[0]);
    insert_on(handle, TUTTI_READWRITE);
    ck_assert_ok(tutti_insert_wait(insert, patience_s));
    tutti_insert_close(insert);
    ck_assert_int_eq(atomic_load(&the_late.left), 1);
    starpu_data_unregister(handle);
    starpu_shutdown();
}
END_TEST

/* A wait whose own deadline passes ends there. One that a stall ends lasts until what is in flight has ended, as after
 * any failure: the data are the program's again. */
static void wait_after_a_stall(int for_data, int drives)
{
    static const double later_s = 0.05;
    float home[COUNT] = {0};
    starpu_data_handle_t handle;
    pthread_t thread;
    open_driven(0, drives ? ends_late : NULL);
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)home, COUNT, sizeof home[0]);
    insert_on(handle, TUTTI_READWRITE);
    await_start(&the_late, 1);
    tutti_status status =
        for_data ? tutti_insert_wait_for(insert, handle, 0) : tutti_insert_wait(insert, 0);
    ck_assert_int_eq(status, TUTTI_ERR_TIMEOUT);
    ck_assert(!tutti_insert_ended(insert));
    the_late.ends_s = tutti_clock_s() + later_s;
    if (!drives) ck_assert_int_eq(pthread_create(&thread, NULL, end_late, &the_late), 0);
    tutti_ledger_fail(the_late.ledger, TUTTI_ERR_TIMEOUT);
    status = for_data ? tutti_insert_wait_for(insert, handle, patience_s)
                      : tutti_insert_wait(insert, patience_s);
    ck_assert_int_eq(status, TUTTI_ERR_TIMEOUT);
    ck_assert(tutti_insert_ended(insert));
    if (!drives) pthread_join(thread, NULL);
    starpu_data_unregister(handle);
    close_insert();
}

START_TEST(a_wait_that_a_stall_ends_leaves_nothing_in_flight)
{
    wait_after_a_stall(0, _i);
}
END_TEST

START_TEST(a_wait_for_data_that_a_stall_ends_leaves_nothing_in_flight)
{
    wait_after_a_stall(1, _i);
}
END_TEST

/* ---- the runner ---- */

enum { GRADIENTS = 5, STEPS = 4 };

/* Elements of a gradient: from a few bytes to several cache lines, so that neighbours have gaps in between or not. */
static int64_t length_of(int gradient)
{
    return 3 + 13 * gradient;
}

static int add_tensor(tutti_graph *g, tutti_role role, const char *name, int i)
{
    char text[32];
    int t;
    snprintf(text, sizeof text, "%s%d", name, i);
    ck_assert_ok(tutti_graph_tensor(g, text, role, TUTTI_F32, tutti_shape_of(length_of(i)), &t));
    return t;
}

static void add_sum(tutti_graph *g, const char *name, int i, int a, int b, int y)
{
    tutti_sum_desc desc = {.count = length_of(i), .inputs = 2};
    tutti_access access[] = {{a, TUTTI_READ}, {b, TUTTI_READ}, {y, TUTTI_WRITE}};
    ck_assert_ok(tutti_graph_kernel(g, name, &tutti_op_sum, &desc, sizeof desc, 3, access, NULL));
}

typedef struct bucket {
    tutti_graph *graph;
    int weight[GRADIENTS], gradient[GRADIENTS];
    int64_t elements; /* of the bucket's block */
} bucket;

/* A step: gradient = weight + weight, for all; the bucket of all gradients is "summed"; weight = gradient + rest. */
static void build_bucket(bucket *b, int chain)
{
    int rest[GRADIENTS], mark[GRADIENTS], token;
    ck_assert_ok(tutti_graph_new(&b->graph));
    tutti_graph *g = b->graph;
    for (int i = 0; i < GRADIENTS; i++) {
        b->weight[i] = add_tensor(g, TUTTI_ROLE_PARAMETER, "w", i);
        b->gradient[i] = add_tensor(g, TUTTI_ROLE_GRADIENT, "dw", i);
        rest[i] = add_tensor(g, TUTTI_ROLE_SCRATCH, "rest", i);
    }
    for (int i = 0; i < GRADIENTS; i++) {
        add_sum(g, "rest", i, b->weight[i], b->gradient[i], rest[i]); /* the last step's */
        add_sum(g, "backward", i, b->weight[i], rest[i], b->gradient[i]);
        ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = b->gradient[i]}, &mark[i]));
    }
    ck_assert_ok(tutti_graph_fuse(g, GRADIENTS, mark));
    b->elements = (int64_t)tutti_graph_get_tensor(g, b->gradient[0])->block_bytes / 4;
    ck_assert_ok(
        tutti_graph_set_collective(g, mark[GRADIENTS - 1], &b->elements, sizeof b->elements));
    ck_assert_ok(
        tutti_graph_tensor(g, "chain", TUTTI_ROLE_TOKEN, TUTTI_U8, (tutti_shape){0}, &token));
    if (chain)
        ck_assert_ok(
            tutti_graph_add_access(g, mark[GRADIENTS - 1], (tutti_access){token, TUTTI_CHAIN}));
    for (int i = 0; i < GRADIENTS; i++)
        add_sum(g, "update", i, b->gradient[i], rest[i], b->weight[i]);
}

typedef struct halving {
    pthread_t thread;
    int started;
    float *data;
    int64_t elements;
    tutti_token *token;
} halving;

static void *halve(void *arg)
{
    halving *h = arg;
    tutti_clock_sleep(1e-3);
    for (int64_t i = 0; i < h->elements; i++) h->data[i] = h->data[i] / 2 + (float)i;
    tutti_token_finish(h->token, TUTTI_OK);
    return NULL;
}

/* A collective that changes the whole block without StarPU's knowledge. */
static void start_halving(void *ctx, const tutti_node *node, int64_t sequence,
    const tutti_buffer buf[], tutti_token *token)
{
    halving *h = (halving *)ctx + sequence;
    *h =
        (halving){.data = buf[0].pointer, .elements = *(const int64_t *)node->desc, .token = token};
    h->started = !pthread_create(&h->thread, NULL, halve, h);
    if (!h->started) tutti_token_finish(token, TUTTI_ERR_NOMEM);
}

static int64_t reserve_next(void *ctx, const tutti_node *node)
{
    halving *h = ctx;
    (void)node;
    for (int64_t i = 0;; i++)
        if (!h[i].elements) return h[i].elements = 1, i;
}

/* Runs some steps and reads the weights. */
static void run_bucket(const bucket *b, const char *name, float *weights)
{
    halving all[STEPS] = {{0}};
    const tutti_runner *runner = tutti_runner_find(name);
    tutti_run_options options = {
        .workers = WORKERS, .hooks = {.ctx = all, .reserve = reserve_next, .start = start_halving}};
    tutti_run *run;
    ck_assert_ok(runner->open(b->graph, &options, &run));
    for (int i = 0; i < GRADIENTS; i++) {
        float start[3 + 13 * GRADIENTS];
        for (int64_t e = 0; e < length_of(i); e++) start[e] = (float)(i + 1) / (float)(e + 2);
        ck_assert_ok(tutti_run_write(
            runner, run, b->weight[i], start, (size_t)length_of(i) * sizeof *start));
    }
    for (int s = 0; s < STEPS; s++) ck_assert_ok(runner->submit(run, 0));
    ck_assert_ok(runner->wait(run, 0, runner->point(run), patience_s));
    for (int s = 0; s < STEPS; s++)
        if (all[s].started) pthread_join(all[s].thread, NULL);
    for (int i = 0; i < GRADIENTS; weights += length_of(i++))
        ck_assert_ok(tutti_run_read(
            runner, run, b->weight[i], weights, (size_t)length_of(i) * sizeof *weights));
    runner->close(run);
}

/* A bucket's tensors are computed on both nodes, summed together as neighbours, and used on both: the weights equal
 * those of the inline runner in every run, whichever worker did what. */
START_TEST(a_bucket_is_summed_where_its_tensors_are_neighbours)
{
    enum { ALL = 3 * GRADIENTS + 13 * GRADIENTS * (GRADIENTS - 1) / 2, RUNS = 3 };
    float wanted[ALL], got[ALL];
    bucket b;
    build_bucket(&b, _i);
    run_bucket(&b, "inline", wanted);
    for (int r = 0; r < RUNS; r++) {
        run_bucket(&b, "starpu", got);
        for (int i = 0; i < ALL; i++)
            ck_assert_msg(got[i] == wanted[i], "run %d: element %d is %g, not %g", r, i,
                (double)got[i], (double)wanted[i]);
    }
    tutti_graph_free(b.graph);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    choose_nodes();
    if (!has_two_nodes()) return SKIPPED;
    Suite *suite = suite_create("nodes");
    /* One case per test, for CK_RUN_CASE: StarPU does not survive a failure. Without and with a chain. */
#define TWICE(name) tcase_add_loop_test(testing_case(suite, #name), name, 0, 2)
    TWICE(a_collective_has_what_was_written_on_any_node);
    TWICE(data_may_be_where_starpu_puts_them);
    TWICE(who_receives_needs_no_value);
    TWICE(nothing_copies_what_is_in_flight);
    TWICE(starpu_counts_a_collective);
    TWICE(closing_waits_for_who_still_starts);
    TWICE(a_wait_that_a_stall_ends_leaves_nothing_in_flight);
    TWICE(a_wait_for_data_that_a_stall_ends_leaves_nothing_in_flight);
    TWICE(a_bucket_is_summed_where_its_tensors_are_neighbours);
    return testing_run(suite);
}
