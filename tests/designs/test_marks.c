/* Marks of every intent, in graphs of all designs: ranks as threads over the loop transport, with overlapping groups,
 * whose marks each rank mixes in an order of its own, and messages that answer one another. Then what is refused
 * when a graph is applied. */
#include "collectives/value/args.h"
#include "dag/base/bf16.h"
#include "dag/base/log.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, GROUPS = 6, COUNT = 1001, STEPS = 3, MOST_MARKS = 120 };
static const double patience_s = 30;

/* Overlapping groups in orders of their own, two of them of the same two ranks, one with only rank 2. Group 0 is all
 * ranks. */
static const struct {
    int size, of[RANKS];
    tutti_dtype dtype;
} groups[GROUPS] = {{4, {0, 1, 2, 3}, TUTTI_BF16}, {3, {2, 1, 0}, TUTTI_F32},
    {2, {1, 3}, TUTTI_F64}, {3, {3, 0, 1}, TUTTI_F32}, {1, {2}, TUTTI_F32}, {2, {3, 1}, TUTTI_F32}};

typedef struct item {
    tutti_mark mark;
    int sums_first; /* a REDUCE_SCATTER of the same tensor comes before */
    int vectors, vector[TUTTI_MARK_VECTORS]; /* tensors that its sum adds instead of its own */
    int hops;       /* ranks between the sender of a message and the one that had it first */
    tutti_dtype dtype;
    int64_t count;
} item;

typedef struct rank_job {
    tutti_loop_world *world;
    const tutti_design *design;
    const char *algorithm;
    int rank, lanes;
    int64_t bucket_bytes, chunk_bytes;
    tutti_verify_mode verify;
    int ordered, plain_first;
    uint64_t seed;
    /* For what is refused: changes this rank's graph; NULL: the graph that works. */
    void (*spoil)(tutti_graph *g, int rank);
    tutti_graph *graph;
    item item[MOST_MARKS];
    int items, wrong;
    int named[GROUPS]; /* tensors of each group so far */
    tutti_status status;
    char error[1024];
} rank_job;

static int number_in(int group, int rank)
{
    for (int i = 0; i < groups[group].size; i++)
        if (groups[group].of[i] == rank) return i;
    return -1;
}

/* Small integers, so that sums are exact in every type. */
static double value_of(int rank, int64_t i, int step)
{
    return (rank + 1) * (1 + (double)(i % 5)) + step;
}

static void put(tutti_dtype dtype, void *data, int64_t i, double value)
{
    if (dtype == TUTTI_F64) ((double *)data)[i] = value;
    if (dtype == TUTTI_F32) ((float *)data)[i] = (float)value;
    if (dtype == TUTTI_BF16) ((uint16_t *)data)[i] = tutti_bf16_narrow((float)value);
}

static double get(tutti_dtype dtype, const void *data, int64_t i)
{
    if (dtype == TUTTI_F64) return ((const double *)data)[i];
    if (dtype == TUTTI_F32) return (double)((const float *)data)[i];
    return (double)tutti_bf16_widen(((const uint16_t *)data)[i]);
}

/* ---- the graph ---- */

static void add_vectors(item *it, tutti_graph *g, const char *name, int vectors)
{
    for (char vector[80]; it->vectors < vectors; it->vectors++) {
        snprintf(vector, sizeof vector, "%s.%d", name, it->vectors);
        ck_assert_ok(tutti_graph_tensor(g, vector, TUTTI_ROLE_SCRATCH, it->dtype,
            tutti_shape_of(it->count), &it->vector[it->vectors]));
    }
}

static void add(rank_job *job, tutti_mark mark, tutti_dtype dtype, int64_t count, int sums_first,
    int vectors)
{
    char name[64];
    ck_assert_int_lt(job->items, MOST_MARKS);
    item *it = &job->item[job->items++];
    int message = mark.verb >= TUTTI_MARK_SEND;
    if (message) /* its name is this rank's own */
        snprintf(name, sizeof name, "rank%d.%d", job->rank, job->items);
    else
        snprintf(name, sizeof name, "t%d.%d", mark.group, job->named[mark.group]++);
    ck_assert_ok(tutti_graph_tensor(
        job->graph, name, TUTTI_ROLE_SCRATCH, dtype, tutti_shape_of(count), &mark.tensor));
    *it = (item){.mark = mark, .sums_first = sums_first, .dtype = dtype, .count = count};
    add_vectors(it, job->graph, name, vectors);
    tutti_mark adds = mark;
    if (sums_first) adds.verb = TUTTI_MARK_REDUCE_SCATTER;
    adds.vectors = vectors;
    memcpy(adds.vector, it->vector, sizeof adds.vector);
    ck_assert_ok(tutti_graph_mark(job->graph, &adds, NULL));
    if (sums_first) ck_assert_ok(tutti_graph_mark(job->graph, &mark, NULL));
}

/* Every intent that has a group: lengths differ, so that confusing two of them cannot go unnoticed. */
static void add_group(rank_job *job, int g)
{
    int64_t count = COUNT + 10 * g;
    tutti_dtype dtype = groups[g].dtype;
    if (number_in(g, job->rank) < 0) return;
    for (int verb = 0; verb <= TUTTI_MARK_BROADCAST; verb++) {
        tutti_mark mark = {.verb = (tutti_verb)verb, .group = g};
        if (verb == TUTTI_MARK_REDUCE) mark.root = groups[g].size - 1;
        if (verb == TUTTI_MARK_BROADCAST) mark.root = 1 % groups[g].size;
        add(job, mark, dtype, count + verb, 0, 0);
    }
    for (int i = 0; i < 3; i++)
        add(job, (tutti_mark){.group = g, .priority = i == 2}, dtype, 7 + i, 0, 0);
    add(job, (tutti_mark){.verb = TUTTI_MARK_ALLGATHER, .group = g}, dtype, count + 12, 1, 0);
    if (groups[g].size == 1) return;
    for (int i = 0; i < 4; i++) /* of a bucket: two with 3 vectors */
        add(job, (tutti_mark){.group = g}, dtype, count + 20 + i, 0, i == 3 ? 1 : i == 2 ? 2 : 3);
    add(job, (tutti_mark){.verb = TUTTI_MARK_ALLGATHER, .group = g}, dtype, count + 30, 1, 2);
}

/* Every rank sends to the right what it has, and then, on the same edge, what it has received from
 * the left: the second message waits for the first of another edge. A third goes on an edge of its own, which the
 * receiver expects first. */
static void add_messages(rank_job *job)
{
    const tutti_mark right = {.verb = TUTTI_MARK_SEND, .peer = (job->rank + 1) % RANKS, .edge = 3};
    const tutti_mark left = {
        .verb = TUTTI_MARK_RECV, .peer = (job->rank + RANKS - 1) % RANKS, .edge = 3};
    tutti_mark other[] = {left, right};
    other[0].edge = other[1].edge = 7;
    add(job, other[0], TUTTI_F32, 301, 0, 0);
    add(job, right, TUTTI_F32, 300, 0, 0);
    add(job, other[1], TUTTI_F32, 301, 0, 0);
    add(job, left, TUTTI_F32, 300, 0, 0);
    tutti_mark onward = right;
    onward.tensor = job->item[job->items - 1].mark.tensor;
    ck_assert_ok(tutti_graph_mark(job->graph, &onward, NULL));
    add(job, left, TUTTI_F32, 300, 0, 0);
    job->item[job->items - 1].hops = 1;
}

/* Rank r begins with group r: no two ranks mix their groups in the same way. */
static void build(rank_job *job)
{
    ck_assert_ok(tutti_graph_new(&job->graph));
    for (int k = 0; k < GROUPS; k++) {
        if (k == job->rank) add_messages(job);
        add_group(job, (k + job->rank) % GROUPS);
    }
}

/* ---- what comes out ---- */

/* What element i of a tensor must be on this rank; -1: anything. */
static double wanted(const rank_job *job, const item *it, int64_t i, int step)
{
    const tutti_mark *mark = &it->mark;
    int P = groups[mark->group].size, self = number_in(mark->group, job->rank), owner = 0;
    const int *of = groups[mark->group].of, vectors = it->vectors ? it->vectors : 1;
    double sum = 0;
    for (int r = 0; r < P; r++)
        for (int k = 0; k < vectors; k++) sum += value_of(of[r], i, step) + k;
    for (int64_t offset, length; owner < P; owner++) {
        tutti_coll_block(it->count, P, owner, &offset, &length);
        if (i < offset + length) break;
    }
    switch (mark->verb) {
    case TUTTI_MARK_ALLREDUCE:
        return sum;
    case TUTTI_MARK_REDUCE_SCATTER:
        return owner == self ? sum : -1;
    case TUTTI_MARK_ALLGATHER:
        return it->sums_first ? sum : value_of(of[owner], i, step);
    case TUTTI_MARK_REDUCE:
        return self == mark->root ? sum : -1;
    case TUTTI_MARK_BROADCAST:
        return value_of(of[mark->root], i, step);
    case TUTTI_MARK_RECV:
        return value_of((mark->peer + RANKS - it->hops) % RANKS, i, step);
    default:
        return value_of(job->rank, i, step);
    }
}

/* vector -1: the tensor itself, which counts for nothing where there are vectors. */
static tutti_status fill_tensor(const rank_job *job, const tutti_runner *runner, tutti_run *run,
    const item *it, int vector, int step)
{
    const int tensor = vector < 0 ? it->mark.tensor : it->vector[vector];
    size_t bytes = (size_t)it->count * tutti_dtype_bytes(it->dtype);
    void *data;
    tutti_status status = runner->acquire(run, tensor, TUTTI_WRITE, bytes, &data);
    if (status) return status;
    for (int64_t i = 0; i < it->count; i++)
        put(it->dtype, data, i, value_of(job->rank, i, step) + (vector < 0 ? 0 : vector));
    runner->release(run, tensor);
    return TUTTI_OK;
}

static tutti_status fill(rank_job *job, const tutti_runner *runner, tutti_run *run, int step)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < job->items && !status; k++) {
        const item *it = &job->item[k];
        for (int v = -1; v < it->vectors && !status; v++)
            status = fill_tensor(job, runner, run, it, v, step);
    }
    return status;
}

static tutti_status compare(rank_job *job, const tutti_runner *runner, tutti_run *run, int step)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < job->items && !status; k++) {
        const item *it = &job->item[k];
        size_t bytes = (size_t)it->count * tutti_dtype_bytes(it->dtype);
        void *data;
        status = runner->acquire(run, it->mark.tensor, TUTTI_READ, bytes, &data);
        for (int64_t i = 0; i < it->count && !status; i++) {
            double want = wanted(job, it, i, step), got = get(it->dtype, data, i);
            if (want < 0 || want == got) continue;
            if (!job->wrong++)
                fprintf(stderr, "%s: rank %d, step %d: %s over group %d: [%lld] is %g, not %g\n",
                    job->design->name, job->rank, step, tutti_verb_name(it->mark.verb),
                    it->mark.group, (long long)i, got, want);
        }
        if (!status) runner->release(run, it->mark.tensor);
    }
    return status;
}

/* ---- ranks ---- */

static tutti_status run_steps(rank_job *job, tutti_exchange *exchange)
{
    const tutti_runner *runner = tutti_runner_find("inline");
    tutti_run_options options = {.seed = job->seed, .hooks = tutti_exchange_hooks(exchange)};
    tutti_run *run = NULL;
    tutti_status status = runner->open(job->graph, &options, &run);
    for (int s = 0; s < STEPS && !status; s++) {
        status = fill(job, runner, run, s);
        if (!status) status = runner->submit(run, 0);
        if (!status) status = runner->wait(run, 0, runner->point(run), patience_s);
        if (!status) status = compare(job, runner, run, s);
    }
    runner->close(run);
    return status;
}

static void append(tutti_graph *g, const char *name, int64_t count, tutti_mark mark)
{
    ck_assert_ok(tutti_graph_tensor(
        g, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(count), &mark.tensor));
    ck_assert_ok(tutti_graph_mark(g, &mark, NULL));
}

/* A graph of sums over all ranks, which can follow an agreed order. */
static tutti_status apply_plain(tutti_exchange *exchange, tutti_graph **graph)
{
    tutti_status status = tutti_graph_new(graph);
    if (status) return status;
    append(*graph, "x", 8, (tutti_mark){.verb = TUTTI_MARK_ALLREDUCE});
    append(*graph, "y", 8, (tutti_mark){.verb = TUTTI_MARK_ALLREDUCE});
    return tutti_exchange_apply(exchange, *graph);
}

static void *run_rank(void *arg)
{
    rank_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange = NULL;
    tutti_graph *plain = NULL;
    const tutti_exchange_options options = {.design = job->design,
        .lanes = job->lanes,
        .algorithm = job->algorithm,
        .bucket_bytes = job->bucket_bytes,
        .chunk_bytes = job->chunk_bytes,
        .order.on = job->ordered,
        .verify = job->verify,
        .messages = 1,
        .timeout_s = patience_s};
    int group, verifies = job->verify != TUTTI_VERIFY_OFF;
    job->status =
        tutti_transport_loop(job->world, job->rank, job->lanes + verifies + 1, &transport);
    if (!job->status) job->status = tutti_exchange_open_over(transport, &options, &exchange);
    for (int g = 1; g < GROUPS && !job->status; g++) {
        job->status = tutti_exchange_group(exchange, groups[g].size, groups[g].of, &group);
        if (!job->status && group != g) job->status = TUTTI_ERR_INTERNAL;
    }
    if (!job->status && job->plain_first) job->status = apply_plain(exchange, &plain);
    if (!job->status) {
        build(job);
        if (job->spoil) job->spoil(job->graph, job->rank);
        job->status = tutti_exchange_apply(exchange, job->graph);
        if (job->status) snprintf(job->error, sizeof job->error, "%s", tutti_last_error());
    }
    if (!job->status) job->status = run_steps(job, exchange);
    tutti_graph_free(job->graph);
    tutti_status closed = tutti_exchange_close(exchange);
    tutti_graph_free(plain);
    if (!job->status) job->status = closed;
    return NULL;
}

static void run_world(const rank_job *how, rank_job job[RANKS])
{
    const tutti_loop_options late = {
        .eager_bytes = 256, .delay_s = how->seed ? 100e-6 : 0, .seed = how->seed};
    tutti_loop_world *world;
    pthread_t thread[RANKS];
    ck_assert_ok(tutti_loop_world_new(RANKS, &late, &world));
    for (int r = 0; r < RANKS; r++) {
        job[r] = *how;
        job[r].world = world;
        job[r].rank = r;
        job[r].seed = how->seed ? how->seed * 1000 + (uint64_t)r : 0;
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
    }
    for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(world);
}

START_TEST(every_intent_has_its_result)
{
    static const struct {
        int64_t bucket_bytes, chunk_bytes;
    } rows[] = {{0, 0}, {-1, 0}, {0, 300}, {64, 300}};
    unsigned long seed = testing_seed(21);
    static rank_job job[RANKS];
    for (int d = 0; tutti_designs[d]; d++) {
        const tutti_design *design = tutti_designs[d];
        if (design->unsafe) continue;
        for (int lanes = 1; lanes <= (design->many_lanes ? 3 : 1); lanes++) {
            const rank_job how = {.design = design,
                .lanes = lanes,
                .bucket_bytes = rows[_i].bucket_bytes,
                .chunk_bytes = rows[_i].chunk_bytes,
                .verify = (tutti_verify_mode)((_i + lanes) % TUTTI_VERIFY_MODES),
                .seed = (unsigned long)lanes % 2 ? seed + (unsigned long)_i : 0};
            run_world(&how, job);
            for (int r = 0; r < RANKS; r++) {
                ck_assert_msg(!job[r].status, "%s, %d lanes, row %d: rank %d: %s", design->name,
                    lanes, _i, r, tutti_status_name(job[r].status));
                ck_assert_int_eq(job[r].wrong, 0);
            }
        }
    }
}
END_TEST

/* ---- a group that could not be made ---- */

enum { MEMBERS = 3 };

typedef struct maker {
    tutti_loop_world *world;
    pthread_t thread;
    int rank, number; /* number: in the second group */
    tutti_status first, second;
} maker;

static const tutti_transport_ops *ops_that_work;

static tutti_status fail_once(
    tutti_transport *t, int lanes, const tutti_members *members, int *done)
{
    t->ops = ops_that_work;
    tutti_status status = t->ops->grow(t, lanes, members, done);
    return status ? status : tutti_fail(TUTTI_ERR_NOMEM, "no memory for lanes");
}

static void *make_twice(void *arg)
{
    static const int one[MEMBERS] = {0, 1, 2}, other[MEMBERS] = {2, 0, 1};
    maker *m = arg;
    tutti_transport *transport;
    tutti_transport_ops fails;
    tutti_exchange *exchange = NULL;
    const tutti_exchange_options options = {.design = tutti_design_find("funneled"),
        .lanes = 1,
        .verify = TUTTI_VERIFY_ON,
        .messages = 1,
        .timeout_s = patience_s};
    int group;
    m->first = tutti_transport_loop(m->world, m->rank, 3, &transport);
    if (m->first) return NULL;
    if (m->rank == 1) {
        ops_that_work = transport->ops;
        fails = *transport->ops;
        fails.grow = fail_once;
        transport->ops = &fails;
    }
    m->first = tutti_exchange_open_over(transport, &options, &exchange);
    if (!m->first) m->first = tutti_exchange_group(exchange, MEMBERS, one, &group);
    m->second = exchange ? tutti_exchange_group(exchange, MEMBERS, other, &group) : m->first;
    if (!m->second) m->number = tutti_exchange_members(exchange, group)->rank;
    tutti_exchange_close(exchange);
    return NULL;
}

/* Two ranks have made what the third could not: the next group has nothing of it. */
START_TEST(a_group_that_failed_is_not_the_next_one)
{
    static const int numbers[MEMBERS] = {1, 2, 0};
    maker m[MEMBERS];
    tutti_loop_world *world;
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_ok(tutti_loop_world_new(MEMBERS, NULL, &world));
    for (int r = 0; r < MEMBERS; r++) {
        m[r] = (maker){.world = world, .rank = r, .number = -1};
        ck_assert_int_eq(pthread_create(&m[r].thread, NULL, make_twice, &m[r]), 0);
    }
    for (int r = 0; r < MEMBERS; r++) pthread_join(m[r].thread, NULL);
    for (int r = 0; r < MEMBERS; r++) {
        ck_assert_int_eq(m[r].first, TUTTI_ERR_NOMEM);
        ck_assert_ok(m[r].second);
        ck_assert_int_eq(m[r].number, numbers[r]);
    }
    tutti_loop_world_free(world);
    tutti_log_set_level(TUTTI_LOG_ERROR);
}
END_TEST

/* ---- what is refused ---- */

static void other_count(tutti_graph *g, int rank)
{
    if (number_in(1, rank) >= 0) append(g, "extra", rank == 1 ? 8 : 9, (tutti_mark){.group = 1});
}

static void other_verb(tutti_graph *g, int rank)
{
    tutti_mark mark = {.verb = rank == 3 ? TUTTI_MARK_BROADCAST : TUTTI_MARK_ALLREDUCE, .group = 2};
    if (number_in(2, rank) >= 0) append(g, "extra", 8, mark);
}

static void left_out(tutti_graph *g, int rank)
{
    if (rank == 0 || rank == 3) append(g, "extra", 8, (tutti_mark){.group = 3});
}

static void swapped(tutti_graph *g, int rank)
{
    if (number_in(1, rank) < 0) return;
    append(g, rank == 2 ? "second" : "first", 8, (tutti_mark){.group = 1});
    append(g, rank == 2 ? "first" : "second", 8, (tutti_mark){.group = 1});
}

static void lonely(tutti_graph *g, int rank)
{
    if (rank == 1)
        append(g, "extra", 8, (tutti_mark){.verb = TUTTI_MARK_RECV, .peer = 2, .edge = 4});
}

static void not_in_it(tutti_graph *g, int rank)
{
    if (rank == 0) append(g, "extra", 8, (tutti_mark){.group = 2});
}

static void no_group(tutti_graph *g, int rank)
{
    if (rank == 0) append(g, "extra", 8, (tutti_mark){.group = GROUPS});
}

static void no_root(tutti_graph *g, int rank)
{
    if (number_in(2, rank) >= 0)
        append(g, "extra", 8, (tutti_mark){.verb = TUTTI_MARK_REDUCE, .group = 2, .root = 2});
}

static void other_rows(tutti_graph *g, int rank)
{
    tutti_mark mark = {.verb = TUTTI_MARK_ALLGATHER, .group = 2, .rows = 1};
    if (number_in(2, rank) < 0) return;
    ck_assert_ok(tutti_graph_tensor(
        g, "extra", TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(3, 8), &mark.tensor));
    ck_assert_ok(tutti_graph_mark(g, &mark, NULL));
}

static void to_itself(tutti_graph *g, int rank)
{
    if (rank == 2) append(g, "extra", 8, (tutti_mark){.verb = TUTTI_MARK_SEND, .peer = 2});
}

/* Rank 1 and rank 3 wait for each other: each sends what it has received. */
static void in_a_circle(tutti_graph *g, int rank)
{
    int other = rank == 1 ? 3 : 1, node;
    if (rank % 2 == 0) return;
    tutti_mark in = {.verb = TUTTI_MARK_RECV, .peer = other, .edge = 8}, out = in;
    append(g, "extra", 8, in);
    out.verb = TUTTI_MARK_SEND;
    out.tensor = tutti_graph_find(g, "extra");
    ck_assert_ok(tutti_graph_mark(g, &out, &node));
}

/* What `rank` says; all others fail with the same status. */
static const struct {
    void (*spoil)(tutti_graph *, int);
    int rank;
    tutti_status status;
    const char *says[4];
} refusals[] = {
    {other_count, 3, TUTTI_ERR_MISMATCH, {"group '1 {2, 1, 0}'", "rank 1", "extra"}},
    {other_verb, 0, TUTTI_ERR_MISMATCH, {"group '2 {1, 3}'", "rank 3", "extra.sum"}},
    {left_out, 2, TUTTI_ERR_MISMATCH, {"group '3 {3, 0, 1}'", "rank 1", "extra"}},
    {swapped, 0, TUTTI_ERR_MISMATCH, {"group '1 {2, 1, 0}'", "first", "second"}},
    {lonely, 0, TUTTI_ERR_MISMATCH, {"edge 4 from rank 2 to rank 1"}},
    {not_in_it, 0, TUTTI_ERR_INVAL, {"'extra.sum' names group 2", "rank 0 is not in it"}},
    {not_in_it, 3, TUTTI_ERR_INVAL, {"rank 0 cannot run this graph"}},
    {no_group, 0, TUTTI_ERR_INVAL, {"'extra.sum' names group 6", "make the group first"}},
    {no_root, 1, TUTTI_ERR_INVAL, {"'extra.reduce' has root 2, in a group of 2 ranks"}},
    {other_rows, 3, TUTTI_ERR_INVAL, {"'extra.allgather' gathers 3 rows, in a group of 2 ranks"}},
    {to_itself, 2, TUTTI_ERR_INVAL, {"two different ranks"}},
    {in_a_circle, 2, TUTTI_ERR_MISMATCH, {"edge 8"}},
};

START_TEST(what_ranks_disagree_on_is_refused)
{
    static rank_job job[RANKS];
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (int d = 0; tutti_designs[d]; d++) {
        if (tutti_designs[d]->unsafe) continue;
        const rank_job how = {.design = tutti_designs[d],
            .lanes = 1,
            .verify = TUTTI_VERIFY_ON,
            .spoil = refusals[_i].spoil};
        run_world(&how, job);
        for (int r = 0; r < RANKS; r++) ck_assert_int_eq(job[r].status, refusals[_i].status);
        for (int i = 0; i < 4 && refusals[_i].says[i]; i++)
            ck_assert_msg(strstr(job[refusals[_i].rank].error, refusals[_i].says[i]) != NULL,
                "%s, row %d: not in \"%s\": %s", tutti_designs[d]->name, _i,
                job[refusals[_i].rank].error, refusals[_i].says[i]);
    }
    tutti_log_set_level(TUTTI_LOG_ERROR);
}
END_TEST

/* Only where a design can follow an agreed order. */
START_TEST(an_agreed_order_has_no_groups)
{
    static rank_job job[RANKS];
    tutti_log_set_level(TUTTI_LOG_NONE);
    for (int d = 0; tutti_designs[d]; d++) {
        const tutti_design *design = tutti_designs[d];
        if (design->unsafe) continue;
        run_world(&(rank_job){.design = design,
                      .lanes = 1,
                      .verify = _i % 2 ? TUTTI_VERIFY_ON : TUTTI_VERIFY_OFF,
                      .ordered = 1,
                      .plain_first = _i / 2},
            job);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_int_eq(
                job[r].status, design->start->reorders ? TUTTI_ERR_UNSUPPORTED : TUTTI_OK);
            ck_assert_int_eq(strstr(job[r].error, "agreed order") != NULL, design->start->reorders);
        }
    }
    tutti_log_set_level(TUTTI_LOG_ERROR);
}
END_TEST

/* A rank that is alone has its sums already; a message has nobody to go to. */
START_TEST(a_rank_alone_sends_nothing)
{
    for (int verb = 0; verb < TUTTI_MARK_VERBS; verb++) {
        tutti_loop_world *world;
        tutti_transport *transport;
        tutti_exchange *exchange;
        tutti_graph *g;
        const tutti_exchange_options options = {.design = tutti_design_find("funneled")};
        ck_assert_ok(tutti_loop_world_new(1, NULL, &world));
        ck_assert_ok(tutti_transport_loop(world, 0, 1, &transport));
        ck_assert_ok(tutti_exchange_open_over(transport, &options, &exchange));
        ck_assert_ok(tutti_graph_new(&g));
        append(g, "x", 8, (tutti_mark){.verb = (tutti_verb)verb});
        ck_assert_int_eq(tutti_exchange_apply(exchange, g),
            verb >= TUTTI_MARK_SEND ? TUTTI_ERR_INVAL : TUTTI_OK);
        ck_assert_int_eq(tutti_graph_get_node(g, 0)->kind, TUTTI_NODE_MARK);
        if (verb == TUTTI_MARK_ALLREDUCE) { /* nobody would add them */
            append(g, "y", 8, (tutti_mark){.vectors = 1, .vector = {0}});
            ck_assert_int_eq(tutti_exchange_apply(exchange, g), TUTTI_ERR_INVAL);
        }
        tutti_graph_free(g);
        tutti_exchange_close(exchange);
        tutti_loop_world_free(world);
    }
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("marks");
    TCase *tcase = testing_case(suite, "marks");
    tcase_add_loop_test(tcase, every_intent_has_its_result, 0, 4);
    tcase_add_loop_test(
        tcase, what_ranks_disagree_on_is_refused, 0, (int)(sizeof refusals / sizeof *refusals));
    tcase_add_loop_test(tcase, an_agreed_order_has_no_groups, 0, 4);
    tcase_add_test(tcase, a_rank_alone_sends_nothing);
    tcase_add_test(tcase, a_group_that_failed_is_not_the_next_one);
    return testing_run(suite);
}
