/* collectives over the loop transport: every algorithm on 1 to 9 ranks, each a thread. */
#include "collectives/choose.h"
#include "collectives/coll.h"
#include "dag/base/clock.h"
#include "tests/collectives/cases.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_RANKS = 9 };

static int most_ranks(void)
{
    return testing_fewer() ? 5 : MOST_RANKS;
}

typedef struct rank {
    tutti_comm *comm;
    const char *algorithm;
    uint64_t seed;
    int failures;
} rank;

static void *run_cases(void *arg)
{
    rank *r = arg;
    r->failures = cases_run(r->comm, r->algorithm) + cases_same_bits(r->comm, r->seed, 0) +
                  cases_in_order(r->comm) + cases_whole(r->comm) + cases_extras(r->comm, r->seed) +
                  cases_bf16(r->comm, r->algorithm, r->seed);
    return NULL;
}

static tutti_comm *open_comm_with_credit(
    tutti_loop_world *world, int rank_index, int lanes, const char *algorithm, int credit)
{
    tutti_transport *transport;
    tutti_comm *comm;
    const tutti_comm_options options = {.algorithm = algorithm, .credit = credit};
    ck_assert_ok(tutti_transport_loop(world, rank_index, lanes, &transport));
    ck_assert_ok(tutti_comm_new(transport, &options, &comm));
    return comm;
}

static tutti_comm *open_comm(
    tutti_loop_world *world, int rank_index, int lanes, const char *algorithm)
{
    return open_comm_with_credit(world, rank_index, lanes, algorithm, 0);
}

/* Rank r has a credit of r % credits + 1 messages, or the default if credits is 0. */
static void run_world(int P, const char *algorithm, const tutti_loop_options *options, int credits,
    void *(*body)(void *))
{
    tutti_loop_world *world;
    rank ranks[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    ck_assert_ok(tutti_loop_world_new(P, options, &world));
    for (int r = 0; r < P; r++)
        ranks[r] = (rank){.seed = 11,
            .algorithm = algorithm,
            .comm =
                open_comm_with_credit(world, r, 3, algorithm, credits > 0 ? r % credits + 1 : 0)};
    for (int r = 0; r < P; r++)
        ck_assert_int_eq(pthread_create(&threads[r], NULL, body, &ranks[r]), 0);
    for (int r = 0; r < P; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < P; r++) {
        ck_assert_msg(!ranks[r].failures, "%s on %d ranks: rank %d has %d failures", algorithm, P,
            r, ranks[r].failures);
        tutti_comm_free(ranks[r].comm);
    }
    tutti_loop_world_free(world);
}

static const char *const algorithms[] = {"auto", "ring", "recursive-doubling", "tree", "rsag",
    "direct", "pipelined-chain", "k-nomial:3", "chain-binomial:2", "chain-chain:2", "scatter-ring",
    "hierarchical"};

START_TEST(every_case)
{
    for (int P = 1; P <= most_ranks(); P++) run_world(P, algorithms[_i], NULL, 0, run_cases);
}
END_TEST

static void *run_bf16(void *arg)
{
    rank *r = arg;
    r->failures = cases_bf16(r->comm, r->algorithm, r->seed);
    return NULL;
}

static void *run_long(void *arg)
{
    rank *r = arg;
    r->failures = cases_bf16_long(r->comm, r->seed);
    return NULL;
}

/* Whole blocks at once, or with a credit of one and two. */
START_TEST(long_sums_are_rounded_once)
{
    const tutti_loop_options rendezvous = {
        .eager_bytes = 0, .delay_s = 100e-6, .seed = testing_seed(5)};
    for (int P = 3; P <= most_ranks(); P += 5)
        run_world(P, "direct", _i ? &rendezvous : NULL, 2 * _i, run_long);
}
END_TEST

START_TEST(every_case_with_messages_overtaking)
{
    const tutti_loop_options rendezvous = {
        .eager_bytes = 0, .delay_s = 300e-6, .seed = testing_seed(5)};
    for (int P = 2; P <= most_ranks(); P += 3)
        run_world(P, algorithms[_i], &rendezvous, 0, run_cases);
}
END_TEST

/* Ranks of a host are not next to each other, and there are more on some hosts than on others. */
START_TEST(every_case_on_several_hosts)
{
    for (int P = 2; P <= most_ranks(); P++) {
        const tutti_loop_options options = {
            .eager_bytes = 4096, .seed = testing_seed(5), .hosts = 1 + P / 2};
        run_world(P, "hierarchical", &options, 0, run_cases);
    }
}
END_TEST

/* Nothing is buffered; each channel may have one message in flight on some ranks, two on others. */
START_TEST(every_case_with_little_credit)
{
    const tutti_loop_options rendezvous = {.eager_bytes = 0, .seed = testing_seed(5)};
    for (int P = 2; P <= 5; P += 3) run_world(P, algorithms[_i], &rendezvous, 2, run_cases);
    for (int P = 2; P <= most_ranks(); P++) run_world(P, algorithms[_i], &rendezvous, 2, run_bf16);
}
END_TEST

/* ---- groups ---- */

enum { TEAM = 5, TEAM_LANES = 3 };

typedef struct team_group {
    int size, of[TEAM], lane, channel;
} team_group;

/* One on lanes of its own, and pairs, of which two share a channel and two the rank 3. */
static const team_group team_groups[] = {
    {3, {4, 0, 2}, TEAM_LANES, -1},
    {2, {3, 1}, 2 * TEAM_LANES, 7},
    {2, {2, 3}, 2 * TEAM_LANES, 7},
    {2, {3, 1}, 2 * TEAM_LANES, 4},
    {5, {1, 0, 3, 2, 4}, 2 * TEAM_LANES, TUTTI_CHANNELS - 3},
};
enum { TEAM_GROUPS = sizeof team_groups / sizeof *team_groups };

typedef struct team_rank {
    tutti_transport *whole;
    int self, failures;
} team_rank;

/* The groups' comms are open at the same time; the pairs with two channels run both at once. */
static void *run_groups(void *arg)
{
    team_rank *r = arg;
    tutti_comm *comm[TEAM_GROUPS] = {NULL};
    int done;
    ck_assert_ok(r->whole->ops->grow(r->whole, TEAM_LANES + 1, NULL, &done));
    ck_assert_int_eq(done, 1);
    for (int g = 0; g < TEAM_GROUPS; g++) {
        const team_group *of = &team_groups[g];
        tutti_members members;
        tutti_transport *transport;
        ck_assert_ok(tutti_members_set(g + 1, of->size, of->of, r->self, &members));
        const tutti_part part = {&members, of->lane, TEAM_LANES, of->channel};
        if (members.rank >= 0) {
            ck_assert_ok(tutti_transport_part(r->whole, &part, &transport));
            ck_assert_int_eq(transport->size, of->size);
            ck_assert_int_eq(of->of[transport->rank], r->self);
            ck_assert_ok(tutti_comm_new(transport, NULL, &comm[g]));
        }
        tutti_members_free(&members);
    }
    for (int g = 0; g < TEAM_GROUPS; g++)
        if (comm[g]) r->failures += cases_run(comm[g], NULL) + cases_in_order(comm[g]);
    /* what is posted on one channel and waited for last meets nothing of the other */
    int64_t x[2] = {r->self, 100 + r->self};
    tutti_coll_request *request[2];
    for (int i = 0; i < 2 && comm[1]; i++) {
        int first = (i + r->self / 3) % 2; /* the two ranks post in different orders */
        const tutti_coll_args mine = {.dtype = TUTTI_I64, .count = 1, .recv = &x[first]};
        ck_assert_ok(tutti_coll_post(comm[first ? 3 : 1], 0, &mine, &request[first]));
    }
    for (int i = 0; i < 2 && comm[1]; i++) {
        ck_assert_ok(tutti_coll_wait(comm[i ? 3 : 1], request[i], 10));
        tutti_coll_free(request[i]);
        r->failures += x[i] != (i ? 204 : 4);
    }
    for (int g = 0; g < TEAM_GROUPS; g++) tutti_comm_free(comm[g]);
    return NULL;
}

START_TEST(groups_run_every_case)
{
    tutti_loop_world *world;
    team_rank ranks[TEAM];
    pthread_t threads[TEAM];
    const tutti_loop_options late = {.eager_bytes = 0, .delay_s = 50e-6, .seed = testing_seed(5)};
    ck_assert_ok(tutti_loop_world_new(TEAM, _i ? &late : NULL, &world));
    for (int r = 0; r < TEAM; r++) {
        ranks[r] = (team_rank){.self = r};
        ck_assert_ok(tutti_transport_loop(world, r, TEAM_LANES, &ranks[r].whole));
        ck_assert_int_eq(pthread_create(&threads[r], NULL, run_groups, &ranks[r]), 0);
    }
    for (int r = 0; r < TEAM; r++) {
        pthread_join(threads[r], NULL);
        ck_assert_int_eq(ranks[r].failures, 0);
        ranks[r].whole->ops->close(ranks[r].whole);
    }
    tutti_loop_world_free(world);
}
END_TEST

START_TEST(bad_groups_are_refused)
{
    tutti_loop_world *world;
    tutti_transport *whole, *part;
    tutti_members members;
    char text[64];
    ck_assert_ok(tutti_loop_world_new(3, NULL, &world));
    ck_assert_ok(tutti_transport_loop(world, 1, 2, &whole));
    ck_assert_ok(tutti_members_set(1, 2, (int[]){2, 0}, 1, &members));
    ck_assert_str_eq(tutti_members_name(&members, text, sizeof text), "group 1 {2, 0}");
    ck_assert_int_eq(tutti_transport_part(whole, &(tutti_part){&members, 0, 1, -1}, &part),
        TUTTI_ERR_INVAL); /* not a member */
    tutti_members_free(&members);
    ck_assert_ok(tutti_members_of_edge(tutti_edge_key(2, 1, 9), 1, &members));
    ck_assert_int_eq(members.rank, 1);
    ck_assert_str_eq(
        tutti_members_name(&members, text, sizeof text), "edge 9 from rank 2 to rank 1");
    const tutti_part bad[] = {{&members, 1, 2, -1}, {&members, 2, 1, 0},
        {&members, 0, 1, TUTTI_CHANNELS}, {&members, 0, 0, 0}, {&members, -1, 1, 0}};
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(tutti_transport_part(whole, &bad[i], &part), TUTTI_ERR_INVAL);
    tutti_members_free(&members);
    whole->ops->close(whole);
    tutti_loop_world_free(world);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    tutti_loop_world *world;
    ck_assert_int_eq(tutti_loop_world_new(0, NULL, &world), TUTTI_ERR_INVAL);
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    tutti_transport *transport;
    ck_assert_int_eq(tutti_transport_loop(world, 2, 1, &transport), TUTTI_ERR_INVAL);
    ck_assert_int_eq(tutti_transport_loop(world, 0, 0, &transport), TUTTI_ERR_INVAL);

    tutti_comm *comm;
    ck_assert_ok(tutti_transport_loop(world, 0, 1, &transport));
    const tutti_comm_options unknown = {.algorithm = "bubble"}, library = {.algorithm = "mpi"};
    ck_assert_int_eq(tutti_comm_new(transport, &unknown, &comm), TUTTI_ERR_USAGE);
    ck_assert_ok(tutti_transport_loop(world, 0, 1, &transport));
    ck_assert_int_eq(tutti_comm_new(transport, &library, &comm), TUTTI_ERR_UNSUPPORTED);

    comm = open_comm(world, 0, 2, NULL);
    float x[4] = {0}, y[4] = {0};
    static const int64_t parts[] = {1, 2, 2, 1}, below[] = {2, -1};
    const tutti_coll_args good = {.count = 4, .recv = x};
    struct {
        int lane;
        tutti_coll_args args;
        tutti_status status;
    } rows[] = {
        {2, good, TUTTI_ERR_INVAL},
        {-1, good, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_COLL_KINDS, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.dtype = TUTTI_DTYPE_COUNT, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.op = TUTTI_REDUCE_OPS, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.op = TUTTI_BAND, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.op = TUTTI_USER_OP, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_GATHER, .root = 2, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_SCATTER, .root = 1, .count = 4, .out_of_place = 1}, TUTTI_ERR_INVAL},
        {0, {.count = 4, .out_of_place = 1, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.count = 4, .send = y, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.count = 3, .counts = parts, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_ALLGATHER, .count = 2, .counts = parts, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_GATHER, .count = 1, .counts = below, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_ALLTOALL, .counts = parts, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_ALLTOALL, .counts = parts, .out_of_place = 1, .send = y, .recv = x},
            TUTTI_ERR_INVAL},
        {0, {.count = -1, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.count = 4}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_BROADCAST, .root = 2, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_REDUCE, .root = -1, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_ALLGATHER, .count = INT64_MAX / 2, .recv = x}, TUTTI_ERR_UNSUPPORTED},
        {0, {.count = 4, .recv = x, .extras = -1}, TUTTI_ERR_INVAL},
        {0, {.count = 4, .recv = x, .extras = TUTTI_MOST_EXTRAS + 1}, TUTTI_ERR_INVAL},
        {0, {.count = 4, .recv = x, .extras = 2, .extra = {y}}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_BROADCAST, .count = 4, .recv = x, .extras = 1, .extra = {y}},
            TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_MESSAGE, .count = 4}, TUTTI_ERR_INVAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tutti_coll_request *request = NULL;
        ck_assert_int_eq(
            tutti_coll_post(comm, rows[i].lane, &rows[i].args, &request), rows[i].status);
        ck_assert_ptr_null(request);
    }
    tutti_comm_free(comm);
    tutti_loop_world_free(world);
}
END_TEST

START_TEST(a_message_is_of_two_ranks)
{
    tutti_loop_world *world;
    float x[4] = {0};
    const tutti_coll_args args = {.kind = TUTTI_MESSAGE, .count = 4, .recv = x};
    for (int P = 1; P <= 3; P++) {
        tutti_coll_request *request = NULL;
        ck_assert_ok(tutti_loop_world_new(P, NULL, &world));
        tutti_comm *comm = open_comm(world, 0, 1, NULL);
        ck_assert_int_eq(
            tutti_coll_post(comm, 0, &args, &request), P == 2 ? TUTTI_OK : TUTTI_ERR_INVAL);
        tutti_coll_free(request);
        tutti_comm_free(comm);
        tutti_loop_world_free(world);
    }
}
END_TEST

START_TEST(waiting_for_nobody_ends_at_the_deadline)
{
    tutti_loop_world *world;
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    tutti_comm *comm = open_comm(world, 0, 1, "ring");
    float x[1000] = {0};
    const tutti_coll_args args = {.count = 1000, .recv = x};
    tutti_coll_request *request;
    ck_assert_ok(tutti_coll_post(comm, 0, &args, &request));
    double start_s = tutti_clock_s();
    ck_assert_int_eq(tutti_coll_wait(comm, request, 0.05), TUTTI_ERR_TIMEOUT);
    ck_assert_double_lt(tutti_clock_s() - start_s, 5);
    ck_assert_int_eq(tutti_coll_done(request), 0);
    tutti_coll_free(request);
    tutti_coll_free(NULL);
    tutti_comm_free(comm);
    tutti_loop_world_free(world);
}
END_TEST

/* A list without its end would take the square of their number. */
START_TEST(many_messages_wait)
{
    enum { MANY = 100000 };
    const double most_s = 3;
    tutti_loop_world *world;
    tutti_transport *t[2];
    tutti_message *m;
    clock_t began = clock();
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    for (int r = 0; r < 2; r++) ck_assert_ok(tutti_transport_loop(world, r, 1, &t[r]));
    for (int i = 0; i < MANY; i++) ck_assert_ok(t[0]->ops->isend(t[0], 0, 1, 0, &i, sizeof i, &m));
    for (int i = 0; i < MANY; i++) {
        int got = -1, done = 0;
        ck_assert_ok(t[1]->ops->irecv(t[1], 0, 0, 0, &got, sizeof got, &m));
        ck_assert_ok(t[1]->ops->test(t[1], m, &done));
        ck_assert(done && got == i);
    }
    for (int r = 0; r < 2; r++) t[r]->ops->close(t[r]);
    tutti_loop_world_free(world);
    ck_assert_double_lt((double)(clock() - began) / CLOCKS_PER_SEC, most_s);
}
END_TEST

START_TEST(different_sizes_are_a_mismatch)
{
    tutti_loop_world *world;
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    tutti_comm *comm[2];
    tutti_coll_request *request[2];
    float x[2][1000] = {{0}};
    for (int r = 0; r < 2; r++) {
        comm[r] = open_comm(world, r, 1, "ring");
        const tutti_coll_args args = {.count = 1000 - 10 * r, .recv = x[r]};
        ck_assert_ok(tutti_coll_post(comm[r], 0, &args, &request[r]));
    }
    int failed = 0;
    for (int i = 0; i < 10; i++)
        for (int r = 0; r < 2; r++)
            failed += tutti_coll_progress(comm[r], NULL) == TUTTI_ERR_MISMATCH;
    ck_assert_int_gt(failed, 0);
    ck_assert_int_eq(tutti_coll_done(request[0]) && tutti_coll_done(request[1]), 0);
    for (int r = 0; r < 2; r++) {
        tutti_coll_free(request[r]);
        tutti_comm_free(comm[r]);
    }
    tutti_loop_world_free(world);
}
END_TEST

/* Rank 0 assumes that it sends `thinks` elements to rank 1, which expects two. */
START_TEST(parts_of_other_lengths_are_a_mismatch)
{
    static const int64_t thinks[] = {0, 1, 3, 2};
    tutti_loop_world *world;
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    tutti_comm *comm[2];
    tutti_coll_request *request[2];
    float x[2][8] = {{0}}, y[2][8] = {{0}};
    const int64_t counts[2][4] = {{1, thinks[_i], 1, 0}, {0, 1, 2, 1}};
    for (int r = 0; r < 2; r++) {
        comm[r] = open_comm(world, r, 1, NULL);
        const tutti_coll_args args = {.kind = TUTTI_ALLTOALL,
            .counts = counts[r],
            .out_of_place = 1,
            .send = x[r],
            .recv = y[r]};
        ck_assert_ok(tutti_coll_post(comm[r], 0, &args, &request[r]));
    }
    int failed = 0;
    for (int i = 0; i < 10; i++)
        for (int r = 0; r < 2; r++)
            failed += tutti_coll_progress(comm[r], NULL) == TUTTI_ERR_MISMATCH;
    ck_assert_int_eq(failed > 0, thinks[_i] != 2);
    ck_assert_int_eq(tutti_coll_done(request[1]), thinks[_i] == 2);
    for (int r = 0; r < 2; r++) {
        tutti_coll_free(request[r]);
        tutti_comm_free(comm[r]);
    }
    tutti_loop_world_free(world);
}
END_TEST

START_TEST(a_late_rank_is_waited_for)
{
    tutti_loop_world *world;
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    tutti_comm *comm[2] = {open_comm(world, 0, 1, NULL), open_comm(world, 1, 1, NULL)};
    const tutti_coll_args barrier = {.kind = TUTTI_BARRIER};
    tutti_coll_request *request[2];
    ck_assert_ok(tutti_coll_post(comm[0], 0, &barrier, &request[0]));
    for (int i = 0; i < 100; i++) {
        ck_assert_ok(tutti_coll_progress(comm[0], NULL));
        ck_assert_int_eq(tutti_coll_done(request[0]), 0);
    }
    ck_assert_ok(tutti_coll_post(comm[1], 0, &barrier, &request[1]));
    for (int r = 0; r < 2; r++) ck_assert_ok(tutti_coll_wait(comm[r], request[r], 5));
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(tutti_coll_done(request[r]), 1);
        tutti_coll_free(request[r]);
        tutti_comm_free(comm[r]);
    }
    tutti_loop_world_free(world);
}
END_TEST

/* ---- collectives that are in flight together ---- */

enum { LIVE_RANKS = 3, LIVE_COUNT = 12 };

/* Three ranks on one lane, with so few tags that numbers wrap around after four collectives. */
typedef struct crowd {
    tutti_loop_world *world;
    tutti_comm *comm[LIVE_RANKS];
} crowd;

static void open_crowd(crowd *c, const tutti_loop_options *options, int depth)
{
    const tutti_comm_options comm = {.algorithm = "ring", .depth = depth};
    ck_assert_ok(tutti_loop_world_new(LIVE_RANKS, options, &c->world));
    for (int r = 0; r < LIVE_RANKS; r++) {
        tutti_transport *transport;
        ck_assert_ok(tutti_transport_loop(c->world, r, 1, &transport));
        transport->tags = 32;
        ck_assert_ok(tutti_comm_new(transport, &comm, &c->comm[r]));
    }
}

static void close_crowd(crowd *c)
{
    for (int r = 0; r < LIVE_RANKS; r++) tutti_comm_free(c->comm[r]);
    tutti_loop_world_free(c->world);
}

static int64_t expected_of(int64_t number, int i)
{
    return LIVE_RANKS * (number % 1000 + i) + 3;
}

static void fill_in(int32_t x[LIVE_COUNT], int64_t number, int rank_index)
{
    for (int i = 0; i < LIVE_COUNT; i++) x[i] = (int32_t)(number % 1000) + i + rank_index;
}

/* One collective waits for the other ranks; many behind it wait for nobody. Those end, and their numbers wrap
 * around to that of the first, whose tags the next one would share. */
START_TEST(numbers_do_not_come_around_to_one_that_is_live)
{
    crowd c;
    int32_t x[LIVE_RANKS][LIVE_COUNT];
    tutti_coll_request *first[LIVE_RANKS], *request;
    const tutti_coll_args empty = {.dtype = TUTTI_I32};
    int posted = 0;
    open_crowd(&c, NULL, 0);
    for (int r = 0; r < LIVE_RANKS; r++) {
        fill_in(x[r], 0, r);
        const tutti_coll_args sum = {.dtype = TUTTI_I32, .count = LIVE_COUNT, .recv = x[r]};
        ck_assert_ok(tutti_coll_post(c.comm[r], 0, &sum, &first[r]));
    }
    for (; posted < 40 && tutti_comm_has_room(c.comm[0], 0); posted++) {
        ck_assert_ok(tutti_coll_post(c.comm[0], 0, &empty, &request));
        tutti_coll_free(request);
    }
    ck_assert_int_eq(posted, 3);
    ck_assert_int_eq(tutti_coll_post(c.comm[0], 0, &empty, &request), TUTTI_ERR_INVAL);
    ck_assert_int_eq((int)tutti_comm_posted(c.comm[0], 0), 4);
    for (int turn = 0; turn < 100; turn++)
        for (int r = 0; r < LIVE_RANKS; r++) ck_assert_ok(tutti_coll_progress(c.comm[r], NULL));
    for (int r = 0; r < LIVE_RANKS; r++) {
        ck_assert_int_eq(tutti_coll_done(first[r]), 1);
        tutti_coll_free(first[r]);
        for (int i = 0; i < LIVE_COUNT; i++) ck_assert_int_eq(x[r][i], expected_of(0, i));
    }
    ck_assert_ok(tutti_coll_post(c.comm[0], 0, &empty, &request));
    tutti_coll_free(request);
    close_crowd(&c);
}
END_TEST

enum { CROWD = 600 };

typedef struct crowd_rank {
    tutti_coll_request *request[CROWD];
    int32_t x[CROWD][LIVE_COUNT];
    int posted, ended;
} crowd_rank;

/* Posts as many as have room. */
static void post_more(crowd *c, crowd_rank *k, int r)
{
    for (; k->posted < CROWD && tutti_comm_has_room(c->comm[r], 0); k->posted++) {
        int n = k->posted;
        const tutti_coll_args sum = {
            .dtype = TUTTI_I32, .count = LIVE_COUNT - n % 3, .recv = k->x[n]};
        fill_in(k->x[n], n, r);
        ck_assert_ok(tutti_coll_post(c->comm[r], 0, &sum, &k->request[n]));
    }
}

static void free_ended(crowd_rank *k)
{
    for (int n = 0; n < k->posted; n++) {
        if (!k->request[n] || !tutti_coll_done(k->request[n])) continue;
        tutti_coll_free(k->request[n]);
        k->request[n] = NULL;
        k->ended++;
        for (int i = 0; i < LIVE_COUNT - n % 3; i++)
            ck_assert_int_eq(k->x[n][i], expected_of(n, i));
    }
}

/* Tags are reused all the time, by ranks that progress in random order, with messages that overtake. */
START_TEST(tags_that_come_around_keep_sums_apart)
{
    unsigned long seed = testing_seed(1);
    const tutti_loop_options options = {
        .eager_bytes = _i ? 4096 : 0, .delay_s = 30e-6, .seed = seed};
    crowd c;
    crowd_rank *k = calloc(LIVE_RANKS, sizeof *k);
    ck_assert_ptr_nonnull(k);
    open_crowd(&c, &options, 1 + _i);
    for (int ended = 0; ended < LIVE_RANKS * CROWD;) {
        int r =
            (int)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40) % LIVE_RANKS;
        post_more(&c, &k[r], r);
        ck_assert_ok(tutti_coll_progress(c.comm[r], NULL));
        ended -= k[r].ended;
        free_ended(&k[r]);
        ended += k[r].ended;
    }
    free(k);
    close_crowd(&c);
}
END_TEST

START_TEST(too_few_tags_are_refused)
{
    tutti_loop_world *world;
    tutti_transport *transport;
    tutti_comm *comm;
    ck_assert_ok(tutti_loop_world_new(1, NULL, &world));
    ck_assert_ok(tutti_transport_loop(world, 0, 1, &transport));
    transport->tags = 15;
    ck_assert_int_eq(tutti_comm_new(transport, NULL, &comm), TUTTI_ERR_UNSUPPORTED);
    tutti_loop_world_free(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tcase = testing_case(suite, "loop");
    int n = sizeof algorithms / sizeof *algorithms;
    tcase_add_loop_test(tcase, every_case, 0, n);
    tcase_add_loop_test(tcase, long_sums_are_rounded_once, 0, 2);
    tcase_add_test(tcase, every_case_on_several_hosts);
    tcase_add_loop_test(tcase, every_case_with_messages_overtaking, 0, n);
    tcase_add_loop_test(tcase, every_case_with_little_credit, 0, n);
    tcase_add_loop_test(tcase, groups_run_every_case, 0, 2);
    tcase_add_test(tcase, bad_groups_are_refused);
    tcase_add_test(tcase, bad_arguments_are_refused);
    tcase_add_test(tcase, a_message_is_of_two_ranks);
    tcase_add_test(tcase, waiting_for_nobody_ends_at_the_deadline);
    tcase_add_test(tcase, many_messages_wait);
    tcase_add_test(tcase, different_sizes_are_a_mismatch);
    tcase_add_loop_test(tcase, parts_of_other_lengths_are_a_mismatch, 0, 4);
    tcase_add_test(tcase, a_late_rank_is_waited_for);
    tcase_add_test(tcase, numbers_do_not_come_around_to_one_that_is_live);
    tcase_add_loop_test(tcase, tags_that_come_around_keep_sums_apart, 0, 4);
    tcase_add_test(tcase, too_few_tags_are_refused);
    return testing_run(suite);
}
