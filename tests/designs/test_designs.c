/* designs: ranks as threads, each with an inline runner in random order (or one of them on StarPU), exchange
 * over the loop transport with every design; the result must equal the oracle's, bit for bit, in any
 * order. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/kernel.h"
#include "designs/exchange/exchange.h"
#include "designs/queue/queue.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { PARAMETERS = 7, STEPS = 3, MOST_RANKS = 5 };
static const double patience_s = 30;

/* Sizes differ, so that confusing two collectives cannot go unnoticed. */
static int64_t count_of(int parameter)
{
    return 1 + 37 * parameter;
}

/* How the sums of a step are cut and ordered. */
typedef struct variant {
    int64_t bucket_bytes, chunk_bytes;
    tutti_order_options order;
    /* Number of long kernels between rank 1's first gradient and the others; each step is waited for. */
    int heavy;
} variant;

typedef struct rank_job {
    tutti_loop_world *world;
    const tutti_design *design;
    tutti_verify_mode verify;
    int rank, ranks, lanes;
    int workers; /* of StarPU; 0: the inline runner */
    variant variant;
    uint64_t seed;
    tutti_status status;
    int64_t collectives;
    tutti_outlook outlook;
    float *weights[PARAMETERS]; /* the result */
} rank_job;

static tutti_status add_sum(
    tutti_graph *g, const char *name, int inputs, const int input[], int output, int64_t count)
{
    tutti_sum_desc desc = {.count = count, .inputs = inputs};
    tutti_access access[3];
    for (int i = 0; i < inputs; i++) access[i] = (tutti_access){input[i], TUTTI_READ};
    access[inputs] = (tutti_access){output, TUTTI_WRITE};
    return tutti_graph_kernel(g, name, &tutti_op_sum, &desc, sizeof desc, inputs + 1, access, NULL);
}

/* Kernels that nothing depends on, one after another: milliseconds each. */
static tutti_status add_heavy(tutti_graph *g, int kernels)
{
    enum { HEAVY = 4 << 20 };
    int t[2];
    tutti_status status = tutti_graph_tensor(
        g, "heavy0", TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(HEAVY), &t[0]);
    if (!status)
        status = tutti_graph_tensor(
            g, "heavy1", TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(HEAVY), &t[1]);
    for (int i = 0; i < kernels && !status; i++)
        status = add_sum(g, "heavy", 1, &t[i % 2], t[1 - i % 2], HEAVY);
    return status;
}

/* For each parameter: g = w + c; sum over ranks; then for each: n = w + g; w = n. Parameters are not
 * ordered among each other. */
static tutti_status build_graph(tutti_graph *g, int heavy, int weights[], int constants[])
{
    tutti_status status = TUTTI_OK;
    int t[PARAMETERS][4];
    for (int p = 0; p < PARAMETERS && !status; p++) {
        static const char *const kinds[] = {"w", "c", "g", "n"};
        for (int k = 0; k < 4 && !status; k++) {
            char name[16];
            snprintf(name, sizeof name, "%s%d", kinds[k], p);
            status = tutti_graph_tensor(
                g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(count_of(p)), &t[p][k]);
        }
        weights[p] = t[p][0];
        constants[p] = t[p][1];
        if (!status && p == 1 && heavy) status = add_heavy(g, heavy);
        if (!status)
            status = add_sum(g, "gradient", 2, (int[]){t[p][0], t[p][1]}, t[p][2], count_of(p));
        if (!status) status = tutti_graph_mark(g, &(tutti_mark){.tensor = t[p][2]}, NULL);
    }
    for (int p = 0; p < PARAMETERS && !status; p++) {
        status = add_sum(g, "update", 2, (int[]){t[p][0], t[p][2]}, t[p][3], count_of(p));
        if (!status) status = add_sum(g, "store", 1, (int[]){t[p][3]}, t[p][0], count_of(p));
    }
    return status;
}

static tutti_status run_steps(
    rank_job *job, tutti_exchange *exchange, tutti_graph *graph, int weights[], int constants[])
{
    const tutti_runner *runner = tutti_runner_find(job->workers ? "starpu" : "inline");
    tutti_run_options options = {
        .workers = job->workers, .seed = job->seed, .hooks = tutti_exchange_hooks(exchange)};
    tutti_run *run = NULL;
    tutti_status status = tutti_exchange_apply(exchange, graph);
    if (!status) status = runner->open(graph, &options, &run);
    for (int p = 0; p < PARAMETERS && !status; p++) {
        size_t bytes = (size_t)count_of(p) * sizeof(float);
        void *data;
        status = runner->acquire(run, constants[p], TUTTI_WRITE, bytes, &data);
        if (status) break;
        for (int64_t i = 0; i < count_of(p); i++)
            ((float *)data)[i] = 0.1f * (float)(job->rank + 1) + 0.01f * (float)i;
        runner->release(run, constants[p]);
    }
    for (int s = 0; s < STEPS && !status; s++) {
        status = runner->submit(run, 0);
        if (!status && (job->variant.heavy || s == STEPS - 1))
            status = runner->wait(run, 0, runner->point(run), patience_s);
    }
    job->outlook = tutti_exchange_outlook(exchange);
    for (int p = 0; p < PARAMETERS && !status; p++) {
        size_t bytes = (size_t)count_of(p) * sizeof(float);
        job->weights[p] = malloc(bytes);
        status = tutti_run_read(runner, run, weights[p], job->weights[p], bytes);
    }
    runner->close(run);
    return status;
}

static void *run_rank(void *arg)
{
    rank_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange = NULL;
    tutti_graph *graph = NULL;
    tutti_meter *meter = NULL;
    int weights[PARAMETERS], constants[PARAMETERS], who;
    tutti_status status = tutti_meter_new(&meter);
    if (!status) status = tutti_transport_loop(job->world, job->rank, job->lanes + 1, &transport);
    tutti_exchange_options options = {.design = job->design,
        .lanes = job->lanes,
        .algorithm = "ring",
        .bucket_bytes = job->variant.bucket_bytes,
        .chunk_bytes = job->variant.chunk_bytes,
        .order = job->variant.order,
        .verify = job->verify,
        .timeout_s = patience_s,
        .meter = meter};
    if (!status) status = tutti_exchange_open_over(transport, &options, &exchange);
    if (!status) status = tutti_exchange_agree(exchange, TUTTI_OK, &who);
    if (!status && who != -1) status = TUTTI_ERR_INTERNAL;
    if (!status) status = tutti_graph_new(&graph);
    if (!status)
        status = build_graph(graph, job->rank == 1 ? job->variant.heavy : 0, weights, constants);
    if (!status) status = run_steps(job, exchange, graph, weights, constants);
    tutti_graph_free(graph);
    tutti_exchange_close(exchange);
    if (meter) job->collectives = tutti_meter_read(meter).collectives;
    tutti_meter_free(meter);
    job->status = status;
    return NULL;
}

/* workers: of rank 0, which runs on StarPU (one StarPU per process); 0: all ranks are inline. */
static void run_world_on(int workers, const tutti_design *design, int ranks, int lanes,
    const variant *how, uint64_t seed, rank_job job[])
{
    tutti_loop_world *world;
    pthread_t thread[MOST_RANKS];
    tutti_loop_options late = {.eager_bytes = 256, .delay_s = seed ? 200e-6 : 0, .seed = seed};
    ck_assert_ok(tutti_loop_world_new(ranks, &late, &world));
    for (int r = 0; r < ranks; r++) {
        job[r] = (rank_job){.world = world,
            .design = design,
            .verify = (tutti_verify_mode)(seed % TUTTI_VERIFY_MODES),
            .rank = r,
            .ranks = ranks,
            .lanes = lanes,
            .workers = r ? 0 : workers,
            .variant = *how,
            .seed = seed ? seed * 1000 + (uint64_t)r : 0};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(world);
    for (int r = 0; r < ranks; r++)
        ck_assert_msg(!job[r].status, "%s, %d ranks, seed %lu: rank %d: %s", design->name, ranks,
            (unsigned long)seed, r, tutti_status_name(job[r].status));
}

static void run_world(const tutti_design *design, int ranks, int lanes, const variant *how,
    uint64_t seed, rank_job job[])
{
    run_world_on(0, design, ranks, lanes, how, seed, job);
}

static const variant plain;

static void compare(const rank_job *a, const rank_job *b)
{
    for (int p = 0; p < PARAMETERS; p++)
        ck_assert_msg(!memcmp(a->weights[p], b->weights[p], (size_t)count_of(p) * sizeof(float)),
            "parameter %d of rank %d with %s differs from rank %d with %s (seed %lu)", p, a->rank,
            a->design->name, b->rank, b->design->name, (unsigned long)a->seed);
}

static void free_results(rank_job job[], int ranks)
{
    for (int r = 0; r < ranks; r++)
        for (int p = 0; p < PARAMETERS; p++) free(job[r].weights[p]);
}

START_TEST(every_design_equals_the_oracle)
{
    int ranks = _i;
    unsigned long seed = testing_seed(11);
    rank_job oracle[MOST_RANKS], job[MOST_RANKS];
    run_world(tutti_design_find("sequential"), ranks, 1, &plain, 0, oracle);
    /* And the oracle is right: rank 0's first element by the recurrence w += sum over ranks of (w +
     * c). */
    double w = 0, c = 0;
    for (int r = 0; r < ranks; r++) c += 0.1 * (r + 1);
    for (int s = 0; s < STEPS; s++) w += ranks * w + c;
    ck_assert_double_eq_tol(oracle[0].weights[0][0], w, 1e-4 * w);
    for (int d = 0; tutti_designs[d]; d++) {
        if (tutti_designs[d]->unsafe) continue;
        for (int lanes = 1; lanes <= (tutti_designs[d]->many_lanes ? 3 : 1); lanes++) {
            for (unsigned long k = 0; k < 4; k++) {
                run_world(tutti_designs[d], ranks, lanes, &plain, seed + k, job);
                for (int r = 0; r < ranks; r++) {
                    compare(&job[r], &oracle[0]);
                    /* One call to agree and, with several ranks, the nodes and, if they verify, a
                     * comparison before the first step. */
                    int64_t compared = job[r].verify != TUTTI_VERIFY_OFF;
                    int64_t expected = 1 + (ranks > 1 ? PARAMETERS * STEPS + compared : 0);
                    ck_assert_int_eq(job[r].collectives, expected);
                }
                free_results(job, ranks);
            }
        }
    }
    free_results(oracle, ranks);
}
END_TEST

/* Two ranks: a + b has only one result, whatever block of a bucket an element falls into. The tensors have
 * 4, 152, 300, 448, 596, 744 and 892 bytes. */
START_TEST(buckets_give_the_same_sums)
{
    static const struct {
        int64_t bytes;
        int collectives;
    } rows[] = {{500, 5}, {1500, 3}, {600, 5}, {-1, 1}, {1, 7}};
    unsigned long seed = testing_seed(12);
    rank_job oracle[MOST_RANKS], job[MOST_RANKS];
    run_world(tutti_design_find("sequential"), 2, 1, &plain, 0, oracle);
    for (int d = 0; tutti_designs[d]; d++) {
        if (tutti_designs[d]->unsafe) continue;
        run_world(tutti_designs[d], 2, 1, &(variant){.bucket_bytes = rows[_i].bytes}, seed, job);
        for (int r = 0; r < 2; r++) {
            compare(&job[r], &oracle[0]);
            ck_assert_int_eq(job[r].collectives, 1 + rows[_i].collectives * STEPS);
        }
        free_results(job, 2);
    }
    free_results(oracle, 2);
}
END_TEST

/* Rank 0 makes the order from the slowest rank's observations. */
START_TEST(an_order_minds_the_slowest_rank)
{
    const variant slow = {.order = {.on = 1, .at = 2}, .heavy = 60};
    rank_job job[MOST_RANKS];
    run_world(tutti_design_find("funneled"), 3, 1, &slow, 0, job);
    ck_assert(job[0].outlook.known && !job[1].outlook.known);
    ck_assert_msg(job[0].outlook.backward_s > 5e-3, "%g s", job[0].outlook.backward_s);
    free_results(job, 3);
}
END_TEST

/* Chunks of at most 100 bytes, 34 of them. */
static const variant chunkd = {.chunk_bytes = 100};
enum { CHUNKS = 34 };

/* How an order is made: slots reversed, or shuffled by steps coprime to their number. */
static void turn_around(void *ctx, int slots, int32_t order[])
{
    (void)ctx;
    for (int i = 0; i < slots; i++) order[i] = slots - 1 - i;
}

static void shuffle(void *ctx, int slots, int32_t order[])
{
    (void)ctx;
    for (int i = 0; i < slots; i++) order[i] = i * 11 % slots;
}

/* Some chunk twice: rank 0 sends program order instead. */
static void no_order(void *ctx, int slots, int32_t order[])
{
    (void)ctx;
    for (int i = 0; i < slots; i++) order[i] = i / 2;
}

START_TEST(chunks_and_orders_give_the_same_bits)
{
    int ranks = _i;
    static void (*const make[])(void *, int, int32_t *) = {NULL, turn_around, shuffle, no_order};
    unsigned long seed = testing_seed(13);
    rank_job oracle[MOST_RANKS], job[MOST_RANKS];
    run_world(tutti_design_find("sequential"), ranks, 1, &chunkd, 0, oracle);
    for (int d = 0; tutti_designs[d]; d++) {
        const tutti_design *design = tutti_designs[d];
        if (design->unsafe) continue;
        for (unsigned long k = 0; k < (design->many_lanes ? 6 : 4); k++) {
            int lanes = design->many_lanes ? 1 + (int)k % 3 : 1;
            variant v = chunkd;
            v.order = (tutti_order_options){.on = k > 0, .at = 1, .make = make[k % 4]};
            run_world(design, ranks, lanes, &v, seed + k, job);
            int agrees = ranks > 1 && v.order.on && design->start->reorders ? 2 : 0;
            for (int r = 0; r < ranks; r++) {
                compare(&job[r], &oracle[0]);
                int64_t compared = job[r].verify != TUTTI_VERIFY_OFF;
                ck_assert_int_eq(
                    job[r].collectives, 1 + (ranks > 1 ? CHUNKS * STEPS + compared + agrees : 0));
            }
            free_results(job, ranks);
        }
    }
    free_results(oracle, ranks);
}
END_TEST

START_TEST(a_rank_on_starpu_equals_the_oracle)
{
    int workers = _i, ranks = 3;
    unsigned long seed = testing_seed(11);
    rank_job oracle[MOST_RANKS], job[MOST_RANKS];
    run_world(tutti_design_find("sequential"), ranks, 1, &plain, 0, oracle);
    for (int d = 0; tutti_designs[d]; d++) {
        const tutti_design *design = tutti_designs[d];
        if (design->unsafe) continue;
        run_world_on(workers, design, ranks, design->many_lanes ? 3 : 1, &plain, seed, job);
        for (int r = 0; r < ranks; r++) compare(&job[r], &oracle[0]);
        free_results(job, ranks);
    }
    free_results(oracle, ranks);
}
END_TEST

START_TEST(the_table_is_complete)
{
    char names[256], small[8];
    tutti_design_names(names, sizeof names);
    ck_assert_uint_lt(strlen(tutti_design_names(small, sizeof small)), sizeof small);
    ck_assert_ptr_null(tutti_design_find("careless"));
    for (int d = 0; tutti_designs[d]; d++) {
        ck_assert_ptr_eq(tutti_design_find(tutti_designs[d]->name), tutti_designs[d]);
        ck_assert_ptr_nonnull(tutti_designs[d]->place);
        ck_assert_ok(tutti_design_check(tutti_designs[d]));
        ck_assert_msg(strstr(names, tutti_designs[d]->name) != NULL, "%s", names);
    }
}
END_TEST

START_TEST(places_are_written)
{
    for (int d = 0; tutti_designs[d]; d++) {
        const tutti_design *design = tutti_designs[d];
        tutti_graph *g;
        int weights[PARAMETERS], constants[PARAMETERS], seen = 0;
        ck_assert_ok(tutti_graph_new(&g));
        ck_assert_ok(build_graph(g, 0, weights, constants));
        for (int i = 0; i < tutti_graph_nodes(g); i++)
            if (tutti_graph_get_node(g, i)->kind == TUTTI_NODE_MARK)
                ck_assert_ok(tutti_graph_set_collective(g, i, "", 1));
        ck_assert_ok(design->place(g, 3));
        for (int i = 0; i < tutti_graph_nodes(g); i++) {
            const tutti_node *node = tutti_graph_get_node(g, i);
            if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
            ck_assert_int_eq((int)node->place.index, seen);
            ck_assert_int_eq(node->place.lane, design->many_lanes ? seen % 3 : 0);
            ck_assert_int_eq(node->accesses, design->chain ? 2 : 1);
            seen++;
        }
        ck_assert_int_eq(seen, PARAMETERS);
        tutti_graph_free(g);
    }
}
END_TEST

/* Sequential runs sums when all of them are ready; what is computed from one of them is not ready before. */
START_TEST(sums_of_sums_begin_anew)
{
    static const char *const names[] = {"p2", "p1", "q2", "q1"};
    static const int64_t wanted[] = {0, 1, 0, 1};
    tutti_graph *g;
    int tensor[4], sum[4];
    ck_assert_ok(tutti_graph_new(&g));
    for (int i = 0; i < 4; i++) {
        ck_assert_ok(tutti_graph_tensor(
            g, names[i], TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(3), &tensor[i]));
        const tutti_access access[] = {
            {tensor[i], TUTTI_WRITE}, {tensor[i < 2 ? i : i - 2], TUTTI_READ}};
        ck_assert_ok(tutti_graph_kernel(g, names[i], NULL, "", 1, i < 2 ? 1 : 2, access, NULL));
        ck_assert_ok(tutti_graph_mark(g, &(tutti_mark){.tensor = tensor[i]}, &sum[i]));
        ck_assert_ok(tutti_graph_set_collective(g, sum[i], "", 1));
    }
    ck_assert_ok(tutti_design_find("sequential")->place(g, 1));
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(tutti_graph_get_node(g, sum[i])->place.index, wanted[i]);
    tutti_graph_free(g);
}
END_TEST

START_TEST(a_queue_lets_only_the_next_of_a_lane_start)
{
    tutti_queue q;
    int64_t s[600];
    ck_assert_ok(tutti_queue_open(&q, 2, 2));
    for (int i = 0; i < 600; i++)
        ck_assert_ok(
            tutti_queue_reserve(&q, &(tutti_place){.lane = i % 2, .index = i % 6}, "c", &s[i]));
    ck_assert_ptr_null(tutti_queue_startable(&q, 0));
    tutti_queue_ready(&q, tutti_queue_get(&q, 2)); /* lane 0's second */
    ck_assert_ptr_null(tutti_queue_startable(&q, 0));
    tutti_queue_ready(&q, tutti_queue_get(&q, 1)); /* lane 1's first */
    ck_assert_int_eq((int)tutti_queue_startable(&q, 1)->sequence, 1);
    tutti_queue_ready(&q, tutti_queue_get(&q, 0));
    ck_assert_int_eq((int)tutti_queue_startable(&q, 0)->sequence, 0);
    tutti_queue_start(&q, tutti_queue_get(&q, 0));
    ck_assert_int_eq((int)tutti_queue_startable(&q, 0)->sequence, 2);
    ck_assert_int_eq((int)tutti_queue_first_started(&q)->sequence, 0);
    ck_assert_ptr_null(tutti_queue_after(&q, tutti_queue_first_started(&q)));
    ck_assert_int_eq((int)tutti_queue_first_ready(&q, 0)->sequence, 2);
    ck_assert_int_eq((int)tutti_queue_first_ready(&q, 1)->sequence, 1);
    tutti_queue_forget(&q, tutti_queue_get(&q, 0));
    ck_assert_int_eq((int)q.lowest, 1);
    ck_assert_int_eq(q.started, 0);
    ck_assert_int_eq((int)tutti_queue_ready_group(&q), 0);
    for (int i = 3; i < 6; i++) tutti_queue_ready(&q, tutti_queue_get(&q, i));
    /* 1..5: the next group begins at index 0. */
    ck_assert_int_eq((int)tutti_queue_ready_group(&q), 5);
    tutti_queue_close(&q);
}
END_TEST

START_TEST(bad_options_are_refused)
{
    static const struct {
        const char *design, *algorithm;
        int lanes;
        tutti_status wanted;
    } rows[] = {/* designs by name */ {"funneled", "ring", 2, TUTTI_ERR_USAGE},
        {"chained", "ring", 3, TUTTI_ERR_USAGE}, {"concurrent", "ring", -1, TUTTI_ERR_USAGE},
        {"concurrent", "mpi", 2, TUTTI_ERR_UNSUPPORTED}, /* this transport has none */
        {"funneled", "no such algorithm", 1, TUTTI_ERR_USAGE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_loop_world *world;
        tutti_transport *transport;
        tutti_exchange *exchange;
        ck_assert_ok(tutti_loop_world_new(1, NULL, &world));
        ck_assert_ok(tutti_transport_loop(world, 0, 1, &transport));
        tutti_exchange_options options = {.design = tutti_design_find(rows[i].design),
            .lanes = rows[i].lanes,
            .algorithm = rows[i].algorithm};
        ck_assert_int_eq(tutti_exchange_open_over(transport, &options, &exchange), rows[i].wanted);
        tutti_loop_world_free(world);
    }
    tutti_exchange_close(NULL);
}
END_TEST

/* "k-nomial:8" is not "k-nomial": the caller's text may go, what it says stays. */
START_TEST(algorithms_keep_their_numbers)
{
    char name[] = "k-nomial:8";
    tutti_loop_world *world;
    tutti_transport *transport;
    tutti_exchange *exchange;
    ck_assert_ok(tutti_loop_world_new(1, NULL, &world));
    ck_assert_ok(tutti_transport_loop(world, 0, 1, &transport));
    const tutti_exchange_options options = {
        .design = tutti_design_find("funneled"), .lanes = 1, .algorithm = name};
    ck_assert_ok(tutti_exchange_open_over(transport, &options, &exchange));
    memset(name, 'x', sizeof name - 1);
    ck_assert_str_eq(tutti_exchange_algorithm(exchange), "k-nomial:8");
    tutti_exchange_close(exchange);
    tutti_loop_world_free(world);
}
END_TEST

typedef struct agree_job {
    tutti_loop_world *world;
    int rank, who;
    tutti_status said, heard;
    const char *design;
} agree_job;

static void *agree(void *arg)
{
    agree_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange;
    tutti_exchange_options options = {
        .design = tutti_design_find(job->design), .timeout_s = patience_s};
    if (tutti_transport_loop(job->world, job->rank, 1, &transport)) return NULL;
    if (tutti_exchange_open_over(transport, &options, &exchange)) return NULL;
    job->heard = tutti_exchange_agree(exchange, job->said, &job->who);
    tutti_exchange_close(exchange);
    return NULL;
}

START_TEST(all_ranks_hear_of_the_first_failure)
{
    tutti_loop_world *world;
    pthread_t thread[3];
    agree_job job[3];
    ck_assert_ok(tutti_loop_world_new(3, NULL, &world));
    for (int r = 0; r < 3; r++) {
        job[r] = (agree_job){world, r, -2,
            r == 0   ? TUTTI_OK
            : r == 1 ? TUTTI_ERR_IO
                     : TUTTI_ERR_USAGE,
            TUTTI_OK, "funneled"};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, agree, &job[r]), 0);
    }
    for (int r = 0; r < 3; r++) {
        pthread_join(thread[r], NULL);
        ck_assert_int_eq(job[r].heard, TUTTI_ERR_IO);
        ck_assert_int_eq(job[r].who, 1);
    }
    tutti_loop_world_free(world);
}
END_TEST

/* A rank that gave up would be out of step with the late one, and its next collective would be told to differ. */
static void *come_late(void *arg)
{
    agree_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange;
    const tutti_exchange_options options = {
        .design = tutti_design_find(job->design), .verify = TUTTI_VERIFY_ON, .timeout_s = 0.1};
    if (tutti_transport_loop(job->world, job->rank, 2, &transport)) return NULL;
    if (tutti_exchange_open_over(transport, &options, &exchange)) return NULL;
    tutti_exchange_set_timeout(exchange, INFINITY);
    if (job->rank) tutti_clock_sleep(0.5);
    job->heard = tutti_exchange_agree(exchange, TUTTI_OK, NULL);
    if (!job->heard) job->heard = tutti_exchange_agree(exchange, job->said, NULL);
    tutti_exchange_close(exchange);
    return NULL;
}

START_TEST(a_late_rank_is_waited_for)
{
    tutti_loop_world *world;
    pthread_t thread[2];
    agree_job job[2];
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    for (int r = 0; r < 2; r++) {
        job[r] = (agree_job){
            world, r, 0, r ? TUTTI_ERR_IO : TUTTI_OK, TUTTI_OK, _i ? "sequential" : "funneled"};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, come_late, &job[r]), 0);
    }
    for (int r = 0; r < 2; r++) {
        pthread_join(thread[r], NULL);
        ck_assert_int_eq(job[r].heard, TUTTI_ERR_IO);
    }
    tutti_loop_world_free(world);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("designs");
    TCase *tcase = testing_case(suite, "designs");
    tcase_add_loop_test(tcase, buckets_give_the_same_sums, 0, 5);
    tcase_add_test(tcase, the_table_is_complete);
    tcase_add_test(tcase, a_queue_lets_only_the_next_of_a_lane_start);
    tcase_add_test(tcase, bad_options_are_refused);
    tcase_add_test(tcase, algorithms_keep_their_numbers);
    tcase_add_test(tcase, all_ranks_hear_of_the_first_failure);
    tcase_add_loop_test(tcase, a_late_rank_is_waited_for, 0, 2);
    tcase_add_loop_test(tcase, every_design_equals_the_oracle, 1, MOST_RANKS + 1);
    tcase_add_test(tcase, an_order_minds_the_slowest_rank);
    tcase_add_loop_test(tcase, chunks_and_orders_give_the_same_bits, 1, MOST_RANKS + 1);
    tcase_add_loop_test(tcase, a_rank_on_starpu_equals_the_oracle, 1, 5);
    TCase *places = testing_case(suite, "places"); /* for the mutants */
    tcase_add_test(places, places_are_written);
    tcase_add_test(places, sums_of_sums_begin_anew);
    return testing_run(suite);
}
