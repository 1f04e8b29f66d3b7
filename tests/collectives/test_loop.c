/* collectives over the loop transport: every algorithm on 1 to 9 ranks, each a thread. */
#include "collectives/choose.h"
#include "collectives/coll.h"
#include "collectives/transport/transport.h"
#include "dag/base/clock.h"
#include "tests/collectives/cases.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_RANKS = 9 };

typedef struct rank {
    tutti_comm *comm;
    uint64_t seed;
    int failures;
} rank;

static void *run_cases(void *arg)
{
    rank *r = arg;
    r->failures = cases_run(r->comm) + cases_same_bits(r->comm, r->seed);
    return NULL;
}

static tutti_comm *open_comm(
    tutti_loop_world *world, int rank_index, int lanes, const char *algorithm)
{
    tutti_transport *transport;
    tutti_comm *comm;
    const tutti_comm_options options = {.algorithm = algorithm};
    ck_assert_ok(tutti_transport_loop(world, rank_index, lanes, &transport));
    ck_assert_ok(tutti_comm_new(transport, &options, &comm));
    return comm;
}

static void run_world(
    int P, const char *algorithm, const tutti_loop_options *options, void *(*body)(void *))
{
    tutti_loop_world *world;
    rank ranks[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    ck_assert_ok(tutti_loop_world_new(P, options, &world));
    for (int r = 0; r < P; r++)
        ranks[r] = (rank){.comm = open_comm(world, r, 3, algorithm), .seed = 11};
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

static const char *const algorithms[] = {"auto", "ring", "recursive-doubling", "tree", "rsag"};

START_TEST(every_case)
{
    for (int P = 1; P <= MOST_RANKS; P++) run_world(P, algorithms[_i], NULL, run_cases);
}
END_TEST

START_TEST(every_case_with_messages_overtaking)
{
    const tutti_loop_options rendezvous = {
        .eager_bytes = 0, .delay_s = 300e-6, .seed = testing_seed(5)};
    for (int P = 2; P <= MOST_RANKS; P += 3) run_world(P, algorithms[_i], &rendezvous, run_cases);
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
    float x[4] = {0};
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
        {0, {.count = -1, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.count = 4}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_BROADCAST, .root = 2, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_REDUCE, .root = -1, .count = 4, .recv = x}, TUTTI_ERR_INVAL},
        {0, {.kind = TUTTI_ALLGATHER, .count = INT64_MAX / 2, .recv = x}, TUTTI_ERR_UNSUPPORTED},
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

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tcase = testing_case(suite, "loop");
    int n = sizeof algorithms / sizeof *algorithms;
    tcase_add_loop_test(tcase, every_case, 0, n);
    tcase_add_loop_test(tcase, every_case_with_messages_overtaking, 0, n);
    tcase_add_test(tcase, bad_arguments_are_refused);
    tcase_add_test(tcase, waiting_for_nobody_ends_at_the_deadline);
    tcase_add_test(tcase, different_sizes_are_a_mismatch);
    tcase_add_test(tcase, a_late_rank_is_waited_for);
    return testing_run(suite);
}
