/* The transport nccl on the fake device: ranks are threads, each with a GPU, over the transport loop. */
#include "collectives/coll.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/exchange/exchange.h"
#include "tests/device/child.h"
#include "tests/device/fake/fake.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, LANES = 2, COUNT = 1000, ROUNDS = 12 };

typedef struct rank {
    int number, size, device, lanes;
    double timeout_s;
    tutti_loop_world *world;
    tutti_transport *transport; /* the comm's */
    tutti_comm *comm;
    tutti_status opened;
    int wrong, hung;
    pthread_t thread;
    void (*body)(struct rank *r);
} rank;

/* Closes the transport if that fails. */
static tutti_status give_nccl(tutti_transport *transport, const tutti_transport_options *options)
{
    tutti_status status = tutti_transport_nccl(transport, options);
    if (status) tutti_transport_close(transport);
    return status;
}

static void open_rank(rank *r)
{
    cudaSetDevice(r->device);
    const tutti_transport_options options = {
        .device = r->device, .lanes = r->lanes, .timeout_s = r->timeout_s};
    r->opened = tutti_transport_loop(r->world, r->number, r->lanes + 1, &r->transport);
    if (!r->opened) r->opened = give_nccl(r->transport, &options);
    if (!r->opened) r->opened = tutti_comm_new(r->transport, NULL, &r->comm);
}

static void *live(void *arg)
{
    rank *r = arg;
    open_rank(r);
    if (!r->opened && r->body) r->body(r);
    if (!r->opened) tutti_comm_free(r->comm);
    return NULL;
}

static void run(rank r[], int size, const rank *like)
{
    tutti_loop_world *world;
    ck_assert_ok(tutti_loop_world_new(size, NULL, &world));
    for (int i = 0; i < size; i++) {
        int device = r[i].device;
        r[i] = *like;
        r[i].number = r[i].device = i;
        if (device) r[i].device = device - 1;
        r[i].size = size;
        r[i].world = world;
        ck_assert_int_eq(pthread_create(&r[i].thread, NULL, live, &r[i]), 0);
    }
    for (int i = 0; i < size; i++) pthread_join(r[i].thread, NULL);
    tutti_loop_world_free(world);
}

/* ---- every kind that it knows ---- */

static float *device_buffer(const float *from, size_t count)
{
    float *memory = NULL;
    cudaMalloc((void **)&memory, count * sizeof *memory);
    cudaMemcpy(memory, from, count * sizeof *memory, cudaMemcpyDefault);
    cudaDeviceSynchronize(); /* a copy from pageable memory may go on behind the call */
    return memory;
}

static float value(int r, int64_t i)
{
    return (float)((r + 1) * (i % 7 + 1));
}

/* What element i is to be; *known 0: it may be anything. */
static float expected(const rank *r, tutti_coll_kind kind, int64_t i, int *known)
{
    int64_t at, length;
    float sum = 0;
    *known = 1;
    for (int q = 0; q < r->size; q++) sum += value(q, i);
    if (kind == TUTTI_ALLREDUCE) return sum;
    if (kind == TUTTI_BROADCAST) return value(1, i);
    if (kind == TUTTI_ALLGATHER) return value((int)(i / COUNT), i % COUNT);
    if (kind == TUTTI_REDUCE) *known = r->number == 1;
    tutti_coll_block(COUNT, r->size, r->number, &at, &length);
    if (kind == TUTTI_REDUCE_SCATTER) *known = i >= at && i < at + length;
    return sum;
}

static void check_kind(rank *r, tutti_coll_kind kind, int lane)
{
    int gathers = kind == TUTTI_ALLGATHER;
    size_t all = gathers ? (size_t)r->size * COUNT : COUNT;
    float *host = calloc(all, sizeof *host);
    for (int64_t i = 0; i < COUNT; i++)
        host[(gathers ? r->number * COUNT : 0) + i] = value(r->number, i);
    float *device = device_buffer(host, all);
    const tutti_coll_args args = {.kind = kind,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .root = 1,
        .count = COUNT,
        .recv = device,
        .memory = TUTTI_MEMORY_DEVICE};
    tutti_coll_request *request;
    tutti_status status = tutti_coll_post(r->comm, lane, &args, &request);
    if (!status) status = tutti_coll_wait(r->comm, request, 30);
    r->wrong += status != TUTTI_OK || tutti_comm_tags_messages(r->comm, &args);
    if (!status) tutti_coll_free(request);
    cudaMemcpy(host, device, all * sizeof *host, cudaMemcpyDefault);
    for (size_t i = 0; i < all; i++) {
        int known;
        float wanted = expected(r, kind, (int64_t)i, &known);
        r->wrong += known && host[i] != wanted;
    }
    cudaFree(device);
    free(host);
}

enum { KINDS = 5 };
static const tutti_coll_kind kinds[KINDS] = {
    TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE, TUTTI_ALLGATHER, TUTTI_REDUCE_SCATTER};

static void every_kind(rank *r)
{
    for (int lane = 0; lane < LANES; lane++)
        for (size_t k = 0; k < KINDS; k++) check_kind(r, kinds[k], lane);
}

START_TEST(every_kind_ends_right)
{
    for (int size = 1; size <= RANKS; size++) {
        rank r[RANKS] = {{0}};
        run(r, size, &(rank){.lanes = LANES, .timeout_s = 30, .body = every_kind});
        for (int i = 0; i < size; i++) {
            ck_assert_ok(r[i].opened);
            if (size > 1) ck_assert_int_eq(r[i].wrong, 0);
        }
    }
}
END_TEST

/* ---- what they take ---- */

static pthread_barrier_t all_there;

/* Who meets here first forbids, or allows, what a step may not do. */
static void meet(unsigned forbidden)
{
    if (pthread_barrier_wait(&all_there) == PTHREAD_BARRIER_SERIAL_THREAD) fake_forbid(forbidden);
    pthread_barrier_wait(&all_there);
}

static void sum_in_a_step(rank *r)
{
    static const float zeros[COUNT];
    float *device = device_buffer(zeros, COUNT);
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = COUNT,
        .recv = device,
        .memory = TUTTI_MEMORY_DEVICE};
    tutti_coll_request *request;
    meet(1u << FAKE_ALLOCATIONS | 1u << FAKE_FREES | 1u << FAKE_HOST_ALLOCATIONS |
         1u << FAKE_SYNCHRONISATIONS | 1u << FAKE_STREAMS | 1u << FAKE_EVENTS);
    for (int lane = 0; lane < LANES && !r->wrong; lane++) {
        tutti_status status = tutti_coll_post(r->comm, lane, &args, &request);
        if (!status) status = tutti_coll_wait(r->comm, request, 30);
        if (!status) tutti_coll_free(request);
        r->wrong += status != TUTTI_OK;
    }
    meet(0);
    cudaFree(device);
}

/* NCCL has connected the ranks for every algorithm by then, not only for that of its first collective. */
START_TEST(a_sum_allocates_nothing)
{
    rank r[RANKS] = {{0}};
    pthread_barrier_init(&all_there, NULL, RANKS);
    run(r, RANKS, &(rank){.lanes = LANES, .timeout_s = 30, .body = sum_in_a_step});
    for (int i = 0; i < RANKS; i++) ck_assert(!r[i].opened && !r[i].wrong);
    pthread_barrier_destroy(&all_there);
}
END_TEST

/* ---- groups ---- */

enum { GROUPS = 3 };
static const struct {
    int size, of[RANKS];
} groups[GROUPS] = {{2, {2, 0}}, {3, {1, 2, 0}}, {2, {1, 2}}};

/* Makes a group's lane; this rank may be in it or not. */
static tutti_status add_lane(rank *r, const tutti_members *members)
{
    tutti_status status = TUTTI_OK;
    double until_s = tutti_clock_s() + 20;
    for (int done = 0; !done && !status;) {
        status = tutti_transport_grow(r->transport, 1, members, &done);
        if (!done && tutti_clock_s() > until_s) status = TUTTI_ERR_TIMEOUT;
        tutti_clock_sleep(50e-6);
    }
    return status;
}

/* All kinds, with the group's numbers of its ranks. */
static void use_group(rank *r, const tutti_members *members)
{
    rank in_group = *r;
    const tutti_part part = {members, r->transport->lanes - 1, 1, -1};
    tutti_transport *transport;
    in_group.number = members->rank;
    in_group.size = members->size;
    r->wrong += tutti_transport_part(r->transport, &part, &transport) != TUTTI_OK ||
                tutti_comm_new(transport, NULL, &in_group.comm) != TUTTI_OK;
    if (r->wrong) return;
    for (size_t k = 0; k < KINDS; k++) check_kind(&in_group, kinds[k], 0);
    tutti_comm_free(in_group.comm);
    r->wrong = in_group.wrong;
}

static void in_groups(rank *r)
{
    for (int g = 0; g < GROUPS; g++) {
        tutti_members members;
        ck_assert_ok(tutti_members_set(g + 1, groups[g].size, groups[g].of, r->number, &members));
        r->wrong += add_lane(r, &members) != TUTTI_OK;
        if (!r->wrong && members.rank >= 0) use_group(r, &members);
        tutti_members_free(&members);
    }
}

START_TEST(groups_have_communicators_of_their_own)
{
    rank r[RANKS] = {{0}};
    run(r, RANKS, &(rank){.lanes = LANES, .timeout_s = 30, .body = in_groups});
    for (int i = 0; i < RANKS; i++) ck_assert(!r[i].opened && !r[i].wrong);
}
END_TEST

/* The others never make it. */
static void make_alone(rank *r)
{
    static const int of[] = {0, 1};
    tutti_members members;
    int done = 0;
    if (r->number) return;
    ck_assert_ok(tutti_members_set(1, 2, of, r->number, &members));
    for (int i = 0; i < 100 && !r->wrong; i++) {
        r->wrong = tutti_transport_grow(r->transport, 1, &members, &done) || done;
        tutti_clock_sleep(1e-4);
    }
    tutti_members_free(&members);
}

/* Making one waits for nobody, and what is half made is aborted. */
START_TEST(a_group_that_others_do_not_make_is_never_there)
{
    rank r[2] = {{0}};
    run(r, 2, &(rank){.lanes = 1, .timeout_s = 30, .body = make_alone});
    ck_assert(!r[0].opened && !r[1].opened && !r[0].wrong);
}
END_TEST

/* ---- leaving ---- */

static void sum_and_leave(rank *r)
{
    check_kind(r, TUTTI_ALLREDUCE, 0);
}

/* What rank 0 has sent is still on its way to rank 1 when rank 0 has its sum, and closes. */
START_TEST(who_leaves_first_takes_nothing_away)
{
    rank r[2] = {{0}};
    setenv("TUTTI_FAKE_NCCL_TRAVEL_MS", "200", 1);
    run(r, 2, &(rank){.lanes = 1, .timeout_s = 30, .body = sum_and_leave});
    unsetenv("TUTTI_FAKE_NCCL_TRAVEL_MS");
    for (int i = 0; i < 2; i++) ck_assert(!r[i].opened && !r[i].wrong);
}
END_TEST

/* ---- order ---- */

/* Posts on both lanes, several rounds, and waits at the end; rank 1 may begin with the other lane. */
static void post_rounds(rank *r, int crossed)
{
    float *device[LANES];
    tutti_coll_request *request[ROUNDS * LANES];
    float ones[COUNT];
    for (int i = 0; i < COUNT; i++) ones[i] = 1;
    for (int k = 0; k < LANES; k++) device[k] = device_buffer(ones, COUNT);
    for (int n = 0; n < ROUNDS * LANES; n++) {
        int lane = (n + (crossed && r->number == 1)) % LANES;
        const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F32,
            .op = TUTTI_MAX,
            .count = COUNT,
            .recv = device[lane],
            .memory = TUTTI_MEMORY_DEVICE};
        r->wrong += tutti_coll_post(r->comm, lane, &args, &request[n]) != TUTTI_OK;
    }
    for (int n = 0; n < ROUNDS * LANES && !r->hung; n++)
        r->hung = tutti_coll_wait(r->comm, request[n], crossed ? 2 : 30) != TUTTI_OK;
    for (double until_s = tutti_clock_s() + 20; r->hung && !tutti_comm_drain(r->comm);)
        r->wrong += tutti_clock_s() > until_s;
    for (int n = 0; n < ROUNDS * LANES; n++) tutti_coll_free(request[n]);
    for (int k = 0; k < LANES; k++) cudaFree(device[k]);
}

static void in_one_order(rank *r)
{
    post_rounds(r, 0);
}

static void in_crossed_orders(rank *r)
{
    post_rounds(r, 1);
}

START_TEST(lanes_in_one_order_end)
{
    rank r[RANKS] = {{0}};
    run(r, RANKS, &(rank){.lanes = LANES, .timeout_s = 30, .body = in_one_order});
    for (int i = 0; i < RANKS; i++) ck_assert(!r[i].opened && !r[i].wrong && !r[i].hung);
}
END_TEST

/* What the law forbids: nobody gets on, and aborting ends all that hangs. */
START_TEST(lanes_in_crossed_orders_hang)
{
    rank r[2] = {{0}};
    run(r, 2, &(rank){.lanes = LANES, .timeout_s = 30, .body = in_crossed_orders});
    for (int i = 0; i < 2; i++) ck_assert(!r[i].opened && r[i].hung && !r[i].wrong);
}
END_TEST

/* ---- designs ---- */

enum { SUMS = 6, STEPS = 5 };

/* A rank whose sums become ready in an order of its own, at any time. */
typedef struct program {
    rank *r;
    const char *design;
    int swaps; /* rank 1 submits the first two in the other order */
    tutti_exchange *exchange;
    tutti_graph *graph;
    float *sum[SUMS];
} program;

typedef struct end {
    tutti_token token; /* first */
    atomic_int *ended, *passed; /* passed: ends that no sum may have; NULL: it may */
    _Atomic tutti_status *status;
} end;

static void note_end(tutti_token *token, tutti_status status)
{
    const end *e = (const end *)token;
    if (status) atomic_store(e->status, status);
    if (!status && e->passed) atomic_fetch_add(e->passed, 1);
    atomic_fetch_add(e->ended, 1);
}

static tutti_status make_graph(program *p)
{
    int section;
    tutti_status status = tutti_graph_new(&p->graph);
    if (!status) status = tutti_graph_section(p->graph, "step", &section);
    for (int k = 0; k < SUMS && !status; k++) {
        char name[16];
        int tensor, node;
        snprintf(name, sizeof name, "w%d", k);
        status = tutti_graph_tensor(
            p->graph, name, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(COUNT), &tensor);
        if (!status) status = tutti_graph_mark(p->graph, &(tutti_mark){.tensor = tensor}, &node);
    }
    return status ? status : tutti_exchange_apply(p->exchange, p->graph);
}

/* One step: reserves in program order, makes ready in any, and waits. */
static tutti_status run_step(program *p, int step)
{
    tutti_run_hooks hooks = tutti_exchange_hooks(p->exchange);
    int64_t sequence[SUMS];
    end ends[SUMS];
    atomic_int ended = 0, passed = 0;
    _Atomic tutti_status status = TUTTI_OK;
    for (int k = 0; k < SUMS; k++) {
        int swapped = p->swaps && p->r->number == 1 && k < 2 ? 1 - k : k;
        sequence[swapped] = hooks.reserve(hooks.ctx, tutti_graph_get_node(p->graph, swapped));
    }
    for (int i = 0; i < SUMS; i++) {
        int k = (i * 5 + step + 2 * p->r->number) % SUMS;
        const tutti_buffer buffer = {
            p->sum[k], COUNT * sizeof(float), TUTTI_MEMORY_DEVICE, p->r->device};
        ends[k] = (end){.token.finish = note_end, .ended = &ended, .status = &status};
        if (p->swaps && k < 2) ends[k].passed = &passed;
        hooks.start(
            hooks.ctx, tutti_graph_get_node(p->graph, k), sequence[k], &buffer, &ends[k].token);
        if (step % 2) tutti_clock_sleep(1e-3);
    }
    for (double until_s = tutti_clock_s() + 20; atomic_load(&ended) < SUMS;) {
        ck_assert_msg(tutti_clock_s() < until_s, "rank %d hangs in step %d", p->r->number, step);
        tutti_clock_sleep(1e-3);
    }
    return atomic_load(&passed) ? TUTTI_ERR_INTERNAL : atomic_load(&status);
}

static void *run_program(void *arg)
{
    program *p = arg;
    rank *r = p->r;
    tutti_transport *transport;
    const tutti_design *design = tutti_design_find(p->design);
    int lanes = design->many_lanes ? 3 : 1;
    const tutti_transport_options nccl = {.device = r->device, .lanes = lanes, .timeout_s = 30};
    const tutti_exchange_options options = {
        .design = design, .lanes = lanes, .verify = TUTTI_VERIFY_ON, .timeout_s = 30};
    float ones[COUNT];
    for (int i = 0; i < COUNT; i++) ones[i] = 1;
    cudaSetDevice(r->device);
    for (int k = 0; k < SUMS; k++) p->sum[k] = device_buffer(ones, COUNT);
    r->opened = tutti_transport_loop(r->world, r->number, lanes + 1, &transport);
    if (!r->opened) r->opened = give_nccl(transport, &nccl);
    if (!r->opened) r->opened = tutti_exchange_open_over(transport, &options, &p->exchange);
    if (!r->opened) r->opened = make_graph(p);
    for (int s = 0; s < STEPS && !r->opened && !r->hung; s++) r->hung = (int)run_step(p, s);
    tutti_exchange_close(p->exchange);
    tutti_graph_free(p->graph);
    float result[COUNT], wanted = 1;
    for (int s = 0; s < STEPS; s++) wanted *= (float)r->size;
    for (int k = 0; k < SUMS; k++) {
        cudaMemcpy(result, p->sum[k], sizeof result, cudaMemcpyDefault);
        r->wrong += result[0] != wanted || result[COUNT - 1] != wanted;
        cudaFree(p->sum[k]);
    }
    return NULL;
}

static void run_design(const char *design, int size, int swaps, rank r[])
{
    program p[RANKS] = {{0}};
    tutti_loop_world *world;
    ck_assert_ok(tutti_loop_world_new(size, NULL, &world));
    for (int i = 0; i < size; i++) {
        r[i] = (rank){.number = i, .size = size, .device = i, .world = world};
        p[i] = (program){.r = &r[i], .design = design, .swaps = swaps};
        ck_assert_int_eq(pthread_create(&r[i].thread, NULL, run_program, &p[i]), 0);
    }
    for (int i = 0; i < size; i++) pthread_join(r[i].thread, NULL);
    tutti_loop_world_free(world);
}

/* The ranks' sums become ready in different orders, on three communicators, and a GPU has one device slot. */
START_TEST(designs_start_in_one_order)
{
    static const char *const designs[] = {"funneled", "concurrent"};
    for (int size = 2; size <= RANKS; size++) {
        rank r[RANKS];
        run_design(designs[_i], size, 0, r);
        for (int i = 0; i < size; i++)
            ck_assert_msg(!r[i].opened && !r[i].hung && !r[i].wrong, "rank %d of %d: %d %d %d", i,
                size, r[i].opened, r[i].hung, r[i].wrong);
    }
}
END_TEST

/* NCCL adds what has nothing to do with each other, and no token may say that this is a sum: also not on a rank whose
 * neighbours have started the same. */
START_TEST(a_sum_of_different_things_is_never_passed_on)
{
    rank r[RANKS];
    run_design("funneled", _i, 1, r);
    for (int i = 0; i < _i; i++) {
        ck_assert_ok(r[i].opened);
        ck_assert_int_eq(r[i].hung, TUTTI_ERR_MISMATCH);
    }
}
END_TEST

/* ---- refusals ---- */

START_TEST(two_ranks_on_one_gpu_are_refused_everywhere)
{
    rank r[2] = {{.device = 1}, {.device = 1}};
    run(r, 2, &(rank){.lanes = 1, .timeout_s = 30});
    for (int i = 0; i < 2; i++) ck_assert_int_eq(r[i].opened, TUTTI_ERR_USAGE);
}
END_TEST

START_TEST(a_rank_without_its_gpu_is_told_everywhere)
{
    rank r[2] = {{0}, {.device = 100}};
    run(r, 2, &(rank){.lanes = 1, .timeout_s = 30});
    for (int i = 0; i < 2; i++) ck_assert_int_eq(r[i].opened, TUTTI_ERR_COMM);
}
END_TEST

/* The other rank never comes. */
static void come_alone(rank *r)
{
    (void)r;
}

START_TEST(waiting_for_a_rank_has_a_deadline)
{
    tutti_loop_world *world;
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    for (int i = 0; i < 2; i++) {
        rank r = {
            .number = i, .size = 2, .device = i, .lanes = 1, .timeout_s = 0.2, .world = world};
        r.body = come_alone;
        live(&r);
        ck_assert_int_eq(r.opened, TUTTI_ERR_TIMEOUT);
    }
    tutti_loop_world_free(world);
}
END_TEST

/* Ranks that sum different counts. */
static void differ(rank *r)
{
    float zeros[COUNT] = {0};
    float *device = device_buffer(zeros, COUNT);
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = COUNT - r->number,
        .recv = device,
        .memory = TUTTI_MEMORY_DEVICE};
    tutti_coll_request *request;
    tutti_status posted = tutti_coll_post(r->comm, 0, &args, &request);
    r->wrong = posted && posted != TUTTI_ERR_COMM;
    r->hung = posted ==
              TUTTI_ERR_COMM; /* the other rank came first: its memory may be freed nevertheless */
    if (!posted) {
        r->hung = tutti_coll_wait(r->comm, request, 30) == TUTTI_ERR_COMM;
        while (!tutti_comm_drain(r->comm)) tutti_clock_sleep(1e-3);
        tutti_coll_free(request);
    }
    cudaFree(device);
}

START_TEST(an_error_of_nccl_ends_the_collective)
{
    rank r[2] = {{0}};
    run(r, 2, &(rank){.lanes = 1, .timeout_s = 30, .body = differ});
    ck_assert(!r[0].opened && !r[1].opened && !r[0].wrong && !r[1].wrong);
    ck_assert(r[0].hung && r[1].hung);
}
END_TEST

/* Rank 0 cancels what rank 1 never starts. */
static void start_alone(rank *r)
{
    tutti_device_collectives *c = r->transport->device_collectives;
    tutti_device_call *call = NULL;
    float ones[COUNT] = {0};
    int done = 0;
    if (r->number) return;
    float *device = device_buffer(ones, COUNT);
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = COUNT,
        .recv = device,
        .memory = TUTTI_MEMORY_DEVICE};
    r->wrong = c->ops->start(c, 0, &args, &call) != TUTTI_OK || !call;
    if (!r->wrong) r->wrong = c->ops->test(c, call, &done) != TUTTI_OK || done;
    if (!r->wrong) c->ops->cancel(c);
    if (!r->wrong) r->wrong = c->ops->test(c, call, &done) != TUTTI_ERR_COMM || !done;
    cudaFree(device); /* nothing touches it any more */
}

START_TEST(what_was_aborted_has_ended_and_failed)
{
    rank r[2] = {{0}};
    run(r, 2, &(rank){.lanes = 2, .timeout_s = 30, .body = start_alone});
    ck_assert(!r[0].opened && !r[1].opened && !r[0].wrong);
}
END_TEST

static atomic_int has_aborted;

/* Rank 1 starts what rank 0 has no communicator for any more. */
static void start_after_an_abort(rank *r)
{
    float ones[COUNT] = {0};
    start_alone(r);
    if (!r->number) {
        atomic_store(&has_aborted, 1);
        return;
    }
    while (!atomic_load(&has_aborted)) tutti_clock_sleep(1e-3);
    float *device = device_buffer(ones, COUNT);
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_F32,
        .op = TUTTI_SUM,
        .count = COUNT,
        .recv = device,
        .memory = TUTTI_MEMORY_DEVICE};
    tutti_coll_request *request;
    r->wrong = tutti_coll_post(r->comm, 0, &args, &request) != TUTTI_ERR_COMM;
    cudaFree(device); /* what has failed to start is not on a stream */
}

START_TEST(what_cannot_be_launched_is_not_under_way)
{
    rank r[2] = {{0}};
    run(r, 2, &(rank){.lanes = 1, .timeout_s = 30, .body = start_after_an_abort});
    ck_assert(!r[0].opened && !r[1].opened && !r[0].wrong && !r[1].wrong);
}
END_TEST

/* ---- recordings ---- */

/* A rank alone. */
static ncclComm_t comm_new(void)
{
    ncclComm_t comm;
    ncclUniqueId id;
    ncclResult_t error = ncclInProgress;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (ncclGetUniqueId(&id)) fake_fail("no unique id");
    (void)ncclCommInitRankConfig(&comm, 1, id, 0, &config);
    while (error == ncclInProgress) (void)ncclCommGetAsyncError(comm, &error);
    return comm;
}

static void collective_in_a_capture(void *wrong)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    float *memory;
    ncclResult_t error = ncclInProgress;
    const ncclComm_t comm = comm_new();
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc((void **)&memory, 4 * COUNT);
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (!*(int *)wrong) (void)cudaStreamEndCapture(stream, &graph);
    (void)ncclAllReduce(memory, memory, COUNT, ncclFloat, ncclSum, comm, stream);
    while (error == ncclInProgress) (void)ncclCommGetAsyncError(comm, &error);
    (void)cudaStreamSynchronize(stream);
}

START_TEST(no_graph_has_a_collective)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        child c = {.order = "random"};
        child_run(&c, collective_in_a_capture, &wrong);
        if (wrong)
            child_check_fails(&c, "wrong", "NCCL: a collective on a stream that is captured");
        else
            child_check_right(&c, "right");
    }
}
END_TEST

int main(void)
{
    setenv("TUTTI_FAKE_DEVICES", "3", 1);
    setenv("TUTTI_FAKE_MEMORY_MB", "64", 0);
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("nccl");
    TCase *tcase = testing_case(suite, "transport");
    tcase_add_test(tcase, no_graph_has_a_collective); /* first: its children need a device not yet open */
    tcase_add_test(tcase, every_kind_ends_right);
    tcase_add_test(tcase, a_sum_allocates_nothing);
    tcase_add_test(tcase, groups_have_communicators_of_their_own);
    tcase_add_test(tcase, a_group_that_others_do_not_make_is_never_there);
    tcase_add_test(tcase, who_leaves_first_takes_nothing_away);
    tcase_add_test(tcase, lanes_in_one_order_end);
    tcase_add_test(tcase, lanes_in_crossed_orders_hang);
    tcase_add_loop_test(tcase, designs_start_in_one_order, 0, 2);
    tcase_add_loop_test(tcase, a_sum_of_different_things_is_never_passed_on, 2, RANKS + 1);
    tcase_add_test(tcase, two_ranks_on_one_gpu_are_refused_everywhere);
    tcase_add_test(tcase, a_rank_without_its_gpu_is_told_everywhere);
    tcase_add_test(tcase, waiting_for_a_rank_has_a_deadline);
    tcase_add_test(tcase, an_error_of_nccl_ends_the_collective);
    tcase_add_test(tcase, what_was_aborted_has_ended_and_failed);
    tcase_add_test(tcase, what_cannot_be_launched_is_not_under_way);
    return testing_run(suite);
}
