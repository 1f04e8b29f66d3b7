/* Tensors that travel lie in memory that other ranks write to: two ranks, each a thread with memory of its own that the
 * other maps. Messages and sums arrive where they belong, whatever is submitted at a time, and after the first step
 * nothing is copied on its way, and no memory is allocated for it. */
#include "collectives/transport/mesh.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "designs/exchange/exchange.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, LANES = 4, COUNT = 30000, SMALL = 100, SUMMED = 40000, STEPS = 4 };
static const double patience_s = 60;

/* Rank 0 sends out, and gets it back as back; rank 1 receives it as out. small is sent, too; x and y are a bucket. */
enum { OUT, BACK, FEW, X, Y, TENSORS };
static const struct {
    const char *name;
    int64_t count;
} tensors[TENSORS] = {
    {"out", COUNT}, {"back", COUNT}, {"few", SMALL}, {"x", SUMMED}, {"y", SUMMED / 4}};

typedef struct rank {
    tutti_transport *transport;
    const tutti_design *design;
    int index, wrong;
    int tensor[TENSORS];
    tutti_status status;
    tutti_exchange_counts counts[STEPS];
    size_t foretold; /* bytes of a step that arrive without a copy */
} rank;

/* Both ranks map the other's memory. arena 0: there is none for tensors. */
static void open_ranks(rank ranks[RANKS], size_t arena)
{
    const tutti_shm_options options = {.rings = RANKS, .ring_bytes = 1 << 12, .arena_bytes = arena};
    tutti_shm *mine[RANKS], *theirs[RANKS][RANKS] = {{NULL}};
    tutti_connection *peer[RANKS][RANKS] = {{NULL}};
    for (int r = 0; r < RANKS; r++) ck_assert_ok(tutti_shm_create(&options, &mine[r]));
    for (int r = 0; r < RANKS; r++) {
        tutti_shm_name name;
        tutti_shm_get_name(mine[!r], &name);
        ck_assert_ok(tutti_shm_map(&name, &theirs[r][!r]));
        ck_assert_ok(
            tutti_shm_connect(mine[r], 0, theirs[r][!r], 0, &tutti_mesh_connection, &peer[r][!r]));
    }
    for (int r = 0; r < RANKS; r++) {
        const tutti_mesh_options mesh = {.rank = r,
            .size = RANKS,
            .lanes = LANES,
            .peer = peer[r],
            .mine = mine[r],
            .theirs = theirs[r],
            .near = 1};
        ck_assert_ok(tutti_transport_mesh(&mesh, &ranks[r].transport));
    }
}

static tutti_status build(rank *k, tutti_graph **graph)
{
    const int other = !k->index;
    const tutti_mark marks[] = {
        {.verb = k->index ? TUTTI_MARK_RECV : TUTTI_MARK_SEND, .tensor = OUT, .peer = other},
        {.verb = k->index ? TUTTI_MARK_RECV : TUTTI_MARK_SEND, .tensor = FEW, .peer = other},
        {.verb = k->index ? TUTTI_MARK_SEND : TUTTI_MARK_RECV,
            .tensor = k->index ? OUT : BACK,
            .peer = other},
        {.tensor = X}, {.tensor = Y}};
    tutti_status status = tutti_graph_new(graph);
    for (int t = 0; t < TENSORS && !status; t++)
        status = tutti_graph_tensor(*graph, tensors[t].name, TUTTI_ROLE_SCRATCH, TUTTI_F32,
            tutti_shape_of(tensors[t].count), &k->tensor[t]);
    for (size_t m = 0; m < sizeof marks / sizeof *marks && !status; m++)
        status = tutti_graph_mark(*graph, &marks[m], NULL);
    return status;
}

/* Writes what each tensor begins with, or reads what it has become. */
static tutti_status look(rank *k, const tutti_runner *runner, tutti_run *run, int step, int reads)
{
    tutti_status status = TUTTI_OK;
    for (int t = 0; t < TENSORS && !status; t++) {
        float *x;
        const int64_t n = tensors[t].count;
        const int summed = t >= X, stays = k->index == 1 && t == BACK;
        status = runner->acquire(
            run, t, reads ? TUTTI_READ : TUTTI_WRITE, (size_t)n * sizeof *x, (void **)&x);
        for (int64_t i = 0; i < n && !status && reads && !stays; i++)
            k->wrong += x[i] != (float)((summed ? 3 : 1) * (i % 100 + step));
        for (int64_t i = 0; i < n && !status && !reads; i++)
            x[i] = (float)((i % 100 + step) * (summed ? 1 + k->index : !k->index));
        if (!status) runner->release(run, t);
    }
    return status;
}

static tutti_status foretell(rank *k, tutti_exchange *exchange, const tutti_graph *graph)
{
    tutti_remote_buffer *found;
    int count;
    tutti_status status = tutti_exchange_remote_buffers(exchange, graph, 0, &count, &found);
    for (int i = 0; i < count && !status; i++)
        if (!found[i].sends && !*found[i].why) k->foretold += found[i].bytes;
    if (!status) free(found);
    return status;
}

static tutti_status run_steps(rank *k, tutti_exchange *exchange, tutti_graph *graph)
{
    const tutti_runner *runner = tutti_runner_find("inline");
    const tutti_run_options options = {.hooks = tutti_exchange_hooks(exchange)};
    tutti_run *run = NULL;
    tutti_status status = runner->open(graph, &options, &run);
    for (int s = 0; s < STEPS && !status; s++) {
        status = look(k, runner, run, s, 0);
        if (!status) status = runner->submit(run, 0);
        if (!status) status = runner->wait(run, 0, runner->point(run), patience_s);
        if (!status) status = look(k, runner, run, s, 1);
        if (!status) status = tutti_exchange_count(exchange, &k->counts[s]);
    }
    runner->close(run);
    return status;
}

static void *run_rank(void *arg)
{
    rank *k = arg;
    tutti_exchange *exchange = NULL;
    tutti_graph *graph = NULL;
    const tutti_exchange_options options = {.design = k->design,
        .lanes = 1,
        .algorithm = "ring",
        .bucket_bytes = 1 << 30,
        .verify = TUTTI_VERIFY_OFF,
        .messages = 1,
        .timeout_s = patience_s};
    k->status = tutti_exchange_open_over(k->transport, &options, &exchange);
    if (!k->status) k->status = build(k, &graph);
    if (!k->status) k->status = tutti_exchange_apply(exchange, graph);
    if (!k->status) k->status = foretell(k, exchange, graph);
    if (!k->status) k->status = run_steps(k, exchange, graph);
    const tutti_status closed = tutti_exchange_close(exchange);
    tutti_graph_free(graph);
    if (!k->status) k->status = closed;
    return NULL;
}

static void run_ranks(rank ranks[RANKS], const tutti_design *design, size_t arena)
{
    pthread_t other;
    memset(ranks, 0, RANKS * sizeof *ranks);
    open_ranks(ranks, arena);
    for (int r = 0; r < RANKS; r++) {
        ranks[r].design = design;
        ranks[r].index = r;
    }
    ck_assert_int_eq(pthread_create(&other, NULL, run_rank, &ranks[1]), 0);
    run_rank(&ranks[0]);
    pthread_join(other, NULL);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_msg(!ranks[r].status, "%s: rank %d: %s", design->name, r,
            tutti_status_name(ranks[r].status));
        ck_assert_int_eq(ranks[r].wrong, 0);
    }
}

START_TEST(nothing_is_copied)
{
    static const int64_t a_step = (COUNT + SUMMED + SUMMED / 4) * (int64_t)sizeof(float);
    rank ranks[RANKS];
    for (int d = 0; tutti_designs[d]; d++) {
        if (tutti_designs[d]->unsafe) continue;
        run_ranks(ranks, tutti_designs[d], 1 << 22);
        for (int r = 0; r < RANKS; r++) {
            const tutti_exchange_counts *first = &ranks[r].counts[0],
                                        *last = &ranks[r].counts[STEPS - 1];
            ck_assert_int_eq(first->received.copied, 0);
            ck_assert_int_eq(last->received.copied, 0);
            ck_assert_int_eq(last->received.placed_bytes, STEPS * a_step);
            ck_assert_uint_eq(ranks[r].foretold, (size_t)a_step);
            ck_assert_int_eq(last->work.copies, 0);
            ck_assert_int_gt(first->work.allocations, 0);
            ck_assert_int_eq(last->work.allocations, first->work.allocations);
            if (r) ck_assert_int_ge(last->received.small, STEPS);
        }
    }
}
END_TEST

/* Where there is too little of such memory, everything arrives, and is copied. */
START_TEST(what_does_not_fit_is_copied)
{
    rank ranks[RANKS];
    for (size_t arena = 0; arena <= 1 << 17; arena += 1 << 17) {
        run_ranks(ranks, tutti_designs[0], arena);
        for (int r = 0; r < RANKS; r++) {
            const tutti_exchange_counts *last = &ranks[r].counts[STEPS - 1];
            ck_assert_int_gt(last->received.copied, 0);
            ck_assert_int_eq(last->received.placed > 0, arena > 0);
        }
    }
}
END_TEST

/* ---- kernels that write where it is received ---- */

/* Rank 0: two kernels write MADE, the second in place, and KEPT is written, sent, and then read. Rank 1 receives both.
 */
enum { INPUT, MADE, KEPT, RESULT, USED };

/* What rank 1 has posted, and rank 0 sent, of large messages. */
static tutti_transport_ops spied[RANKS];
static const tutti_transport_ops *inner;
static atomic_int posted_count, sent_count;
enum { LARGE = COUNT * sizeof(float) };

/* The other rank finds the credit when it looks: the second test has looked at all connections. */
static tutti_status spy_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    int done = 0;
    const int unsent = atomic_load(&sent_count) <= atomic_load(&posted_count);
    tutti_status status = inner->irecv(t, lane, peer, tag, data, bytes, message);
    if (status || bytes != LARGE) return status;
    for (int i = 0; i < 2 && !status && unsent; i++) status = inner->test(t, *message, &done);
    atomic_fetch_add(&posted_count, 1);
    return status;
}

static tutti_status spy_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    tutti_status status = inner->isend(t, lane, peer, tag, data, bytes, message);
    if (bytes == LARGE) atomic_fetch_add(&sent_count, 1);
    return status;
}

static void await_count(atomic_int *count, int wanted)
{
    const double until_s = tutti_clock_s() + patience_s;
    while (atomic_load(count) < wanted && tutti_clock_s() < until_s) tutti_clock_sleep(1e-4);
    ck_assert_int_ge(atomic_load(count), wanted);
}

static tutti_status add_copy(tutti_graph *graph, int from, int to, int into)
{
    const tutti_sum_desc desc = {.count = COUNT, .inputs = 1, .into = into};
    const tutti_access access[] = {{from, TUTTI_READ}, {to, into ? TUTTI_READWRITE : TUTTI_WRITE}};
    return tutti_graph_kernel(graph, "copy", &tutti_op_sum, &desc, sizeof desc, 2, access, NULL);
}

static tutti_status build_writers(const rank *k, tutti_graph **graph)
{
    static const char *const names[USED] = {"input", "made", "kept", "result"};
    const int messages[] = {MADE, KEPT}, sends = !k->index;
    int tensor;
    tutti_status status = tutti_graph_new(graph);
    for (int t = 0; t < USED && !status; t++)
        status = tutti_graph_tensor(
            *graph, names[t], TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(COUNT), &tensor);
    if (!status && sends) status = add_copy(*graph, INPUT, MADE, 0);
    if (!status && sends) status = add_copy(*graph, INPUT, MADE, 1);
    if (!status && sends) status = add_copy(*graph, INPUT, KEPT, 0);
    for (int m = 0; m < 2 && !status; m++) {
        const tutti_mark mark = {.verb = sends ? TUTTI_MARK_SEND : TUTTI_MARK_RECV,
            .tensor = messages[m],
            .peer = !k->index,
            .edge = m};
        status = tutti_graph_mark(*graph, &mark, NULL);
    }
    return status || !sends ? status : add_copy(*graph, KEPT, RESULT, 0);
}

/* k->foretold: rank 1 posts its receives first; else rank 0 sends first. */
static tutti_status write_steps(rank *k, tutti_exchange *exchange, tutti_graph *graph)
{
    const tutti_runner *runner = tutti_runner_find("inline");
    const tutti_run_options options = {.hooks = tutti_exchange_hooks(exchange)};
    tutti_run *run = NULL;
    float *x;
    tutti_status status = runner->open(graph, &options, &run);
    for (int s = 0; s < STEPS && !status; s++) {
        status = runner->acquire(run, INPUT, TUTTI_WRITE, LARGE, (void **)&x);
        for (int i = 0; i < COUNT && !status; i++) x[i] = (float)(i % 100 + s);
        if (!status) runner->release(run, INPUT);
        if (k->index != (int)k->foretold)
            await_count(k->index ? &sent_count : &posted_count, 2 * s + 2);
        if (!status) status = runner->submit(run, 0);
        if (!status) status = runner->wait(run, 0, runner->point(run), patience_s);
        for (int t = MADE; t < USED && !status; t++) {
            if (k->index ? t == RESULT : t != RESULT) continue;
            status = runner->acquire(run, t, TUTTI_READ, LARGE, (void **)&x);
            for (int i = 0; i < COUNT && !status; i++)
                k->wrong += x[i] != (float)((t == MADE ? 2 : 1) * (i % 100 + s));
            if (!status) runner->release(run, t);
        }
        if (!status) status = tutti_exchange_count(exchange, &k->counts[s]);
    }
    runner->close(run);
    return status;
}

static void *run_writer(void *arg)
{
    rank *k = arg;
    tutti_exchange *exchange = NULL;
    tutti_graph *graph = NULL;
    const tutti_exchange_options options = {.design = k->design,
        .lanes = 1,
        .algorithm = "ring",
        .verify = TUTTI_VERIFY_ON,
        .messages = 1,
        .timeout_s = patience_s};
    k->status = tutti_exchange_open_over(k->transport, &options, &exchange);
    if (!k->status) k->status = build_writers(k, &graph);
    if (!k->status) k->status = tutti_exchange_apply(exchange, graph);
    if (!k->status) k->status = write_steps(k, exchange, graph);
    const tutti_status closed = tutti_exchange_close(exchange);
    tutti_graph_free(graph);
    if (!k->status) k->status = closed;
    return NULL;
}

/* Whoever is first, what arrives is right; what nothing else reads is copied only if its receive came later. */
START_TEST(kernels_write_in_place)
{
    for (int d = 0; tutti_designs[d]; d++) {
        rank ranks[RANKS] = {{0}};
        pthread_t other;
        if (tutti_designs[d]->unsafe) continue;
        open_ranks(ranks, 1 << 22);
        inner = ranks[0].transport->ops;
        atomic_store(&posted_count, 0);
        atomic_store(&sent_count, 0);
        for (int r = 0; r < RANKS; r++) {
            spied[r] = *inner;
            if (r)
                spied[r].irecv = spy_irecv;
            else
                spied[r].isend = spy_isend;
            ranks[r].transport->ops = &spied[r];
            ranks[r].design = tutti_designs[d];
            ranks[r].index = r;
            ranks[r].foretold = (size_t)_i;
        }
        ck_assert_int_eq(pthread_create(&other, NULL, run_writer, &ranks[1]), 0);
        run_writer(&ranks[0]);
        pthread_join(other, NULL);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_msg(!ranks[r].status, "%s: rank %d: %s", tutti_designs[d]->name, r,
                tutti_status_name(ranks[r].status));
            ck_assert_int_eq(ranks[r].wrong, 0);
        }
        const tutti_exchange_counts *last = &ranks[0].counts[STEPS - 1];
        ck_assert_int_eq(last->received.written, _i ? STEPS : 0);
        ck_assert_int_eq(last->received.moved, _i ? STEPS : 2 * STEPS);
        ck_assert_int_eq(last->work.allocations, ranks[0].counts[0].work.allocations);
    }
}
END_TEST

/* ---- what is known before the first step ---- */

enum { PRODUCED, RECEIVED, TINY, FIRST, SECOND, ALL };

static int is_near(void *ctx, int other)
{
    return other < *(int *)ctx;
}

static const tutti_members *all_ranks(void *ctx, int group)
{
    static int pair[] = {1, 0};
    static const tutti_members all = {.size = 3}, two = {.key = 1, .size = 2, .of = pair};
    (void)ctx;
    return group ? &two : &all;
}

static void make_collective(tutti_graph *graph, int node, int group)
{
    const tutti_coll_args args = {.group = group};
    ck_assert_ok(tutti_graph_set_collective(graph, node, &args, sizeof args));
    ck_assert_ok(tutti_graph_set_group(graph, node, group, group));
}

/* A kernel writes a tensor, another changes it in place, it is sent, and read once more; two messages, and a bucket. */
static tutti_graph *make_graph(void)
{
    static const int64_t count[ALL] = {5000, 5000, 10, 3200, 3200};
    static const tutti_mode modes[] = {TUTTI_WRITE, TUTTI_READWRITE, 0, TUTTI_READ};
    tutti_graph *graph;
    int marks[4], node[ALL];
    ck_assert_ok(tutti_graph_new(&graph));
    for (int t = 0; t < ALL; t++) {
        char name[] = {(char)('a' + t), 0};
        ck_assert_ok(tutti_graph_tensor(
            graph, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(count[t]), &node[t]));
    }
    const tutti_mark mark[] = {{.verb = TUTTI_MARK_RECV, .tensor = RECEIVED},
        {.verb = TUTTI_MARK_RECV, .tensor = TINY}, {.tensor = FIRST}, {.tensor = SECOND}};
    for (int i = 0; i < 4; i++) {
        const tutti_access access = {PRODUCED, modes[i]};
        const tutti_mark send = {.verb = TUTTI_MARK_SEND, .tensor = PRODUCED};
        int sent;
        if (modes[i])
            ck_assert_ok(tutti_graph_kernel(graph, "kernel", NULL, NULL, 0, 1, &access, NULL));
        else
            ck_assert_ok(tutti_graph_mark(graph, &send, &sent));
        if (!modes[i]) make_collective(graph, sent, 1);
    }
    for (int i = 0; i < 4; i++) ck_assert_ok(tutti_graph_mark(graph, &mark[i], &marks[i]));
    ck_assert_ok(tutti_graph_fuse(graph, 2, marks + 2));
    for (int i = 0; i < 4; i++)
        if (i != 2) make_collective(graph, marks[i], i < 2);
    return graph;
}

START_TEST(copies_are_foretold)
{
    static const struct {
        int near, on_gpu;
        const char *bucket, *message, *tiny;
    } rows[] = {{3, 0, "", "", "it is small"}, {3, 1, "on a GPU", "on a GPU", "on a GPU"},
        {2, 0, "rank 2 of those that take part is on another host", "", "it is small"},
        {0, 0, "'fake' has no memory", "'fake' has no memory", "'fake' has no memory"}};
    int near = rows[_i].near, count;
    const char *const why[] = {"", rows[_i].message, rows[_i].tiny, rows[_i].bucket};
    const tutti_remote_options options = {.on_gpu = rows[_i].on_gpu,
        .small_bytes = 4096,
        .transport = "fake",
        .reaches = is_near,
        .members = all_ranks,
        .ctx = &near};
    tutti_remote_buffer *found;
    tutti_graph *graph = make_graph();
    ck_assert_ok(tutti_remote_buffers_find(graph, &options, &count, &found));
    ck_assert_int_eq(count, 4);
    ck_assert(found[0].sends && found[0].tensor == PRODUCED && found[0].origin == 0);
    ck_assert(found[0].in_place == 1 && found[0].readers == 1 && !found[0].direct);
    for (int i = 1; i < count; i++) {
        ck_assert(!found[i].sends);
        ck_assert_msg(
            strstr(found[i].why, why[i]) && !*found[i].why == !*why[i], "%s", found[i].why);
        ck_assert_int_eq(found[i].small, strstr(why[i], "small") != NULL);
    }
    ck_assert(found[3].tensors == 2 && found[3].tensor == FIRST);
    ck_assert_uint_eq(found[3].bytes, 2 * 3200 * sizeof(float));
    free(found);
    tutti_graph_free(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placed");
    TCase *placed = testing_case(suite, "placed");
    tcase_add_test(placed, nothing_is_copied);
    tcase_add_test(placed, what_does_not_fit_is_copied);
    tcase_add_loop_test(placed, kernels_write_in_place, 0, 2);
    tcase_add_loop_test(placed, copies_are_foretold, 0, 4);
    return testing_run(suite);
}
