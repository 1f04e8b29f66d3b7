/* dag/run on a GPU: steps that are fed, summed over ranks and fetched, with rank 0 on StarPU's CUDA worker
 * and the other ranks on the calling thread, over every design, must leave the bits of ranks without a
 * GPU, in every order that streams may have; and a step may move only what it must. Runs on the fake
 * device (tests/device/fake), which also finds what is not ordered; steps.sh runs it.
 *
 * TUTTI_TEST_ROUNDS: how many schedules of each design (60). */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "designs/exchange/exchange.h"
#include "tests/device/fake/fake.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST_PARAMETERS = 6, STEPS = 4, MOST_RANKS = 4, MOST_COUNT = 600 };
static const double patience_s = 60;

/* What is drawn for one schedule; the same on every rank. */
typedef struct plan {
    const tutti_design *design;
    int ranks, lanes, parameters;
    int64_t count[MOST_PARAMETERS];
    int64_t bucket_bytes, chunk_bytes;
    int regions; /* or each kernel is a task of its own */
    uint64_t seed;
} plan;

typedef struct rank_job {
    const plan *plan;
    tutti_loop_world *world;
    int rank;
    int on_gpu;
    tutti_status status;
    int early; /* fetched values that were not there after the wait */
    float weights[MOST_PARAMETERS][MOST_COUNT];
    float fetched[STEPS][MOST_PARAMETERS][MOST_COUNT];
    uint64_t moved[FAKE_COUNTS]; /* by the steps */
} rank_job;

/* ---- the graph ---- */

/* Of one parameter: x is fed, and m fetched. */
typedef struct tensors {
    int x, h, g, w, n, m;
} tensors;

static int tensor(tutti_graph *g, const char *kind, int p, tutti_role role, int64_t count)
{
    char name[16];
    int t;
    snprintf(name, sizeof name, "%s%d", kind, p);
    ck_assert_ok(tutti_graph_tensor(g, name, role, TUTTI_F32, tutti_shape_of(count), &t));
    return t;
}

static void add_sum(tutti_graph *g, const char *name, int a, int b, int y, int64_t count)
{
    const tutti_sum_desc desc = {.count = count, .inputs = b < 0 ? 1 : 2};
    tutti_access access[] = {{a, TUTTI_READ}, {b, TUTTI_READ}, {y, TUTTI_WRITE}};
    if (b < 0) access[1] = access[2];
    ck_assert_ok(tutti_graph_kernel(
        g, name, &tutti_op_sum, &desc, sizeof desc, desc.inputs + 1, access, NULL));
}

static void add_relu(tutti_graph *g, int x, int y, int64_t count)
{
    const tutti_relu_desc desc = {.count = count};
    const tutti_access access[] = {{x, TUTTI_READ}, {y, TUTTI_WRITE}};
    ck_assert_ok(
        tutti_graph_kernel(g, "relu", &tutti_op_relu, &desc, sizeof desc, 2, access, NULL));
}

/* g = relu(x + w), summed over ranks; w += g; m = w. */
static void build(tutti_graph *graph, const plan *p, tensors t[])
{
    for (int i = 0; i < p->parameters; i++) {
        const int64_t n = p->count[i];
        t[i] = (tensors){.x = tensor(graph, "x", i, TUTTI_ROLE_INPUT, n),
            .h = tensor(graph, "h", i, TUTTI_ROLE_SCRATCH, n),
            .g = tensor(graph, "g", i, TUTTI_ROLE_GRADIENT, n),
            .w = tensor(graph, "w", i, TUTTI_ROLE_PARAMETER, n),
            .n = tensor(graph, "n", i, TUTTI_ROLE_SCRATCH, n),
            .m = tensor(graph, "m", i, TUTTI_ROLE_OUTPUT, n)};
        add_sum(graph, "hidden", t[i].x, t[i].w, t[i].h, n);
        add_relu(graph, t[i].h, t[i].g, n);
        ck_assert_ok(tutti_graph_mark(graph, &(tutti_mark){.tensor = t[i].g}, NULL));
    }
    for (int i = 0; i < p->parameters; i++) {
        add_sum(graph, "new", t[i].w, t[i].g, t[i].n, p->count[i]);
        add_sum(graph, "store", t[i].n, -1, t[i].w, p->count[i]);
        add_sum(graph, "metric", t[i].w, -1, t[i].m, p->count[i]);
    }
}

/* ---- a rank ---- */

static float input(const rank_job *job, int step, int p, int64_t i)
{
    return 0.1f * (float)(job->rank + 1) - 0.3f * (float)step + 0.01f * (float)(i * (p + 1) % 91);
}

/* The program's memory for a feed, spoilt once it may be. */
typedef struct batch {
    int64_t count;
    float value[MOST_COUNT];
} batch;

static void spoil(void *arg)
{
    batch *b = arg;
    for (int64_t i = 0; i < b->count; i++) b->value[i] = NAN;
    free(b);
}

static tutti_status step(
    rank_job *job, const tutti_runner *runner, tutti_run *run, const tensors t[], int s)
{
    const plan *p = job->plan;
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < p->parameters && !status; k++) {
        batch *b = malloc(sizeof *b);
        const size_t bytes = (size_t)p->count[k] * sizeof(float);
        b->count = p->count[k];
        for (int64_t i = 0; i < b->count; i++) b->value[i] = input(job, s, k, i);
        status = runner->feed(run, t[k].x, b->value, bytes, spoil, b);
    }
    if (!status) status = runner->submit(run, 0);
    for (int k = 0; k < p->parameters && !status; k++) {
        for (int64_t i = 0; i < p->count[k]; i++) job->fetched[s][k][i] = NAN;
        status =
            runner->fetch(run, t[k].m, job->fetched[s][k], (size_t)p->count[k] * sizeof(float));
    }
    return status;
}

static void look_for_early(rank_job *job, int s)
{
    for (int k = 0; k < job->plan->parameters; k++)
        for (int64_t i = 0; i < job->plan->count[k]; i++)
            job->early += isnan(job->fetched[s][k][i]);
}

/* Two steps are in flight, as in training. Moves are counted from the first one on. */
static tutti_status run_steps(
    rank_job *job, const tutti_runner *runner, tutti_run *run, const tensors t[])
{
    uint64_t before[FAKE_COUNTS], after[FAKE_COUNTS];
    int64_t point[STEPS];
    tutti_status status = TUTTI_OK;
    if (job->on_gpu) fake_counts(before);
    for (int s = 0; s < STEPS && !status; s++) {
        status = step(job, runner, run, t, s);
        point[s] = runner->point(run);
        if (!status && s) status = runner->wait(run, 0, point[s - 1], patience_s);
        if (!status && s) look_for_early(job, s - 1);
    }
    if (!status) status = runner->wait(run, 0, runner->point(run), patience_s);
    if (!status) look_for_early(job, STEPS - 1);
    if (!job->on_gpu) return status;
    fake_counts(after);
    for (int c = 0; c < FAKE_COUNTS; c++) job->moved[c] = after[c] - before[c];
    return status;
}

static tutti_status run_graph(rank_job *job, tutti_exchange *exchange, tutti_graph *graph)
{
    const plan *p = job->plan;
    const tutti_runner *runner = tutti_runner_find(job->on_gpu ? "starpu" : "inline");
    tutti_run_options options = {.workers = 1,
        .region_s = p->regions ? 0 : -1,
        .seed = p->seed + (uint64_t)job->rank,
        .hooks = tutti_exchange_hooks(exchange)};
    tensors t[MOST_PARAMETERS];
    tutti_run *run = NULL;
    if (job->on_gpu) options.place.device = TUTTI_CUDA;
    build(graph, p, t);
    tutti_status status = tutti_exchange_apply(exchange, graph);
    if (!status) status = runner->open(graph, &options, &run);
    for (int k = 0; k < p->parameters && !status; k++) {
        float start[MOST_COUNT];
        for (int64_t i = 0; i < p->count[k]; i++) start[i] = 0.01f * (float)(i + k);
        status = tutti_run_write(runner, run, t[k].w, start, (size_t)p->count[k] * sizeof(float));
    }
    if (!status) status = run_steps(job, runner, run, t);
    for (int k = 0; k < p->parameters && !status; k++)
        status = tutti_run_read(
            runner, run, t[k].w, job->weights[k], (size_t)p->count[k] * sizeof(float));
    runner->close(run);
    return status;
}

static void *run_rank(void *arg)
{
    rank_job *job = arg;
    const plan *p = job->plan;
    tutti_transport *transport;
    tutti_exchange *exchange = NULL;
    tutti_graph *graph = NULL;
    tutti_status status = tutti_transport_loop(job->world, job->rank, p->lanes + 1, &transport);
    const tutti_exchange_options options = {.design = p->design,
        .lanes = p->lanes,
        .algorithm = "direct", /* sums in the order of ranks, whatever is summed together */
        .bucket_bytes = p->bucket_bytes,
        .chunk_bytes = p->chunk_bytes,
        .timeout_s = patience_s};
    if (!status) status = tutti_exchange_open_over(transport, &options, &exchange);
    if (!status) status = tutti_graph_new(&graph);
    if (!status) status = run_graph(job, exchange, graph);
    tutti_graph_free(graph);
    tutti_exchange_close(exchange);
    job->status = status;
    return NULL;
}

static void run_world(const plan *p, int gpus, rank_job job[])
{
    tutti_loop_world *world;
    pthread_t thread[MOST_RANKS];
    const tutti_loop_options late = {.eager_bytes = 256, .delay_s = 50e-6, .seed = p->seed};
    ck_assert_ok(tutti_loop_world_new(p->ranks, &late, &world));
    for (int r = 0; r < p->ranks; r++) {
        job[r] = (rank_job){.plan = p, .world = world, .rank = r, .on_gpu = r < gpus};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
    }
    for (int r = 0; r < p->ranks; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(world);
    for (int r = 0; r < p->ranks; r++)
        ck_assert_msg(!job[r].status && !job[r].early,
            "%s, %d ranks, seed %lu: rank %d: %s, %d values fetched early", p->design->name,
            p->ranks, (unsigned long)p->seed, r, tutti_status_name(job[r].status), job[r].early);
}

/* ---- what is compared ---- */

static void compare(const rank_job *a, const rank_job *b)
{
    const plan *p = a->plan;
    for (int k = 0; k < p->parameters; k++) {
        const size_t bytes = (size_t)p->count[k] * sizeof(float);
        ck_assert_msg(!memcmp(a->weights[k], b->weights[k], bytes),
            "parameter %d of rank %d with %s differs from the oracle's (seed %lu)", k, a->rank,
            p->design->name, (unsigned long)p->seed);
        for (int s = 0; s < STEPS; s++)
            ck_assert_msg(!memcmp(a->fetched[s][k], b->fetched[s][k], bytes),
                "metric %d of step %d of rank %d with %s differs from the oracle's (seed %lu)", k,
                s, a->rank, p->design->name, (unsigned long)p->seed);
    }
}

/* Each step copies what it is fed and what is summed to the GPU, and what is fetched and summed to
 * main memory: and nothing else moves, is allocated, or waits. (StarPU makes an event for each copy.) */
static void check_moves(const plan *p, const rank_job *job)
{
    const uint64_t steps = STEPS, summed = p->ranks > 1 ? (uint64_t)p->parameters : 0;
    const uint64_t each = (uint64_t)p->parameters + summed;
    uint64_t wanted[FAKE_COUNTS] = {[FAKE_TO_DEVICE] = steps * each, [FAKE_TO_HOST] = steps * each};
    static const fake_count counts[] = {FAKE_ALLOCATIONS, FAKE_FREES, FAKE_HOST_ALLOCATIONS,
        FAKE_HOST_FREES, FAKE_TO_DEVICE, FAKE_TO_HOST, FAKE_ON_DEVICE, FAKE_BETWEEN_DEVICES,
        FAKE_PAGEABLE, FAKE_SYNCHRONISATIONS, FAKE_STREAMS};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        ck_assert_msg(job->moved[counts[c]] == wanted[counts[c]],
            "%lu %s in %lu steps of %s with %d parameters and %d ranks, not %lu (seed %lu)",
            (unsigned long)job->moved[counts[c]], fake_count_name(counts[c]), (unsigned long)steps,
            p->design->name, p->parameters, p->ranks, (unsigned long)wanted[counts[c]],
            (unsigned long)p->seed);
}

static plan draw(const tutti_design *design, uint64_t seed)
{
    plan p = {.design = design, .seed = seed};
    uint64_t n = 0;
    p.ranks = 1 + (int)(tutti_rng_u64(seed, 0, n++) % MOST_RANKS);
    p.lanes = design->many_lanes ? 1 + (int)(tutti_rng_u64(seed, 0, n++) % 3) : 1;
    p.parameters = 1 + (int)(tutti_rng_u64(seed, 0, n++) % MOST_PARAMETERS);
    for (int k = 0; k < p.parameters; k++)
        p.count[k] = 1 + (int64_t)(tutti_rng_u64(seed, 0, n++) % MOST_COUNT);
    p.bucket_bytes = tutti_rng_u64(seed, 0, n++) % 2 ? 1500 : 0;
    p.chunk_bytes = tutti_rng_u64(seed, 0, n++) % 2 ? 400 : 0;
    p.regions = (int)(tutti_rng_u64(seed, 0, n++) % 2);
    return p;
}

/* A run without work, which keeps StarPU from starting with every schedule. */
static tutti_run *hold_starpu(tutti_graph **graph)
{
    const tutti_run_options options = {.workers = 1, .place.device = TUTTI_CUDA};
    tutti_run *run;
    ck_assert_ok(tutti_graph_new(graph));
    ck_assert_ok(tutti_runner_find("starpu")->open(*graph, &options, &run));
    return run;
}

START_TEST(steps_on_a_gpu_leave_the_bits_of_the_cpu)
{
    static rank_job oracle[MOST_RANKS], job[MOST_RANKS];
    const char *text = getenv("TUTTI_TEST_ROUNDS");
    const unsigned long rounds = text ? strtoul(text, NULL, 10) : 60, seed = testing_seed(17);
    unsigned long schedules = 0;
    int designs = 0;
    tutti_graph *graph;
    tutti_run *held = hold_starpu(&graph);
    for (int d = 0; tutti_designs[d]; d++) designs += !tutti_designs[d]->unsafe;
    for (unsigned long k = 0; k < rounds; k++)
        for (int d = 0; tutti_designs[d]; d++) {
            if (tutti_designs[d]->unsafe) continue;
            schedules++;
            const plan p = draw(tutti_designs[d], seed + k);
            run_world(&p, 0, oracle);
            run_world(&p, 1, job);
            for (int r = 0; r < p.ranks; r++) compare(&job[r], &oracle[r]);
            check_moves(&p, &job[0]);
        }
    tutti_runner_find("starpu")->close(held);
    tutti_graph_free(graph);
    printf("%lu schedules of %d designs, of 1 to %d ranks: the bits of the CPU\n", schedules,
        designs, MOST_RANKS);
}
END_TEST

/* With nothing behind it that would wait for it. */
START_TEST(a_value_that_was_written_is_there_when_its_run_is_closed)
{
    const tutti_runner *runner = tutti_runner_find("starpu");
    const tutti_run_options options = {.workers = 1, .place.device = TUTTI_CUDA};
    float value[MOST_COUNT] = {1};
    tutti_graph *graph;
    tutti_run *run;
    ck_assert_ok(tutti_graph_new(&graph));
    const int w = tensor(graph, "w", 0, TUTTI_ROLE_PARAMETER, MOST_COUNT);
    ck_assert_ok(runner->open(graph, &options, &run));
    ck_assert_ok(tutti_run_write(runner, run, w, value, sizeof value));
    runner->close(run);
    tutti_graph_free(graph);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("steps");
    TCase *tcase = testing_case(suite, "steps");
    tcase_add_test(tcase, a_value_that_was_written_is_there_when_its_run_is_closed);
    tcase_add_test(tcase, steps_on_a_gpu_leave_the_bits_of_the_cpu);
    return testing_run(suite);
}
