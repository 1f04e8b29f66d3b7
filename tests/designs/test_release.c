/* designs: when a collective fails or the program gives up waiting for it, its memory belongs to the program
 * again, and no operation in flight touches it. Ranks are threads; messages that the transport does not copy
 * stay in the program's memory until they are received. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { RANKS = 3, COUNT = 5000, MARK = 77 };
static const double patience_s = 20;
static const tutti_loop_options not_eager = {.eager_bytes = 600}; /* control messages are copied */

typedef struct rank {
    tutti_loop_world *world;
    const tutti_design *design;
    int number;
    atomic_int *late; /* how many ranks have given up */
    tutti_status status;
    int spoilt; /* elements written after the program had them back */
} rank;

static tutti_status open_rank(const rank *r, double timeout_s, tutti_exchange **exchange)
{
    tutti_transport *transport;
    const tutti_exchange_options options = {.design = r->design,
        .algorithm = "ring",
        .verify = TUTTI_VERIFY_ON,
        .timeout_s = timeout_s};
    int lanes = r->design->many_lanes ? 4 : 1;
    tutti_status status = tutti_transport_loop(r->world, r->number, lanes + 1, &transport);
    return status ? status : tutti_exchange_open_over(transport, &options, exchange);
}

static void mark(int32_t x[COUNT])
{
    for (int i = 0; i < COUNT; i++) x[i] = MARK;
}

static int count_spoilt(const int32_t x[COUNT])
{
    int spoilt = 0;
    for (int i = 0; i < COUNT; i++) spoilt += x[i] != MARK;
    return spoilt;
}

static void run_all(const tutti_design *design, void *(*body)(void *), rank ranks[RANKS])
{
    tutti_loop_world *world;
    pthread_t thread[RANKS];
    atomic_int late = 0;
    ck_assert_ok(tutti_loop_world_new(RANKS, &not_eager, &world));
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (rank){.world = world, .design = design, .number = r, .late = &late};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, body, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(world);
}

/* All ranks but the last give up waiting and use their memory for something else; then the last one comes. */
static void *call_late(void *arg)
{
    rank *r = arg;
    int is_late = r->number == RANKS - 1;
    tutti_exchange *exchange;
    int32_t *x = calloc(COUNT, sizeof *x), *all = calloc(RANKS * COUNT, sizeof *all);
    const tutti_coll_args sum = {
        .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_I32, .op = TUTTI_SUM, .count = COUNT, .recv = x};
    const tutti_coll_args gather = {.kind = TUTTI_ALLGATHER,
        .dtype = TUTTI_I32,
        .count = COUNT,
        .out_of_place = 1,
        .send = x,
        .recv = all};
    r->status = open_rank(r, is_late ? patience_s : 0.05, &exchange);
    if (r->status) return NULL;
    while (is_late && atomic_load(r->late) < RANKS - 1) tutti_clock_sleep(1e-3);
    tutti_status first = tutti_exchange_call(exchange, "sum", &sum);
    tutti_status second = tutti_exchange_call(exchange, "gather", &gather);
    r->status = first ? first : second;
    mark(x);
    mark(all);
    atomic_fetch_add(r->late, 1);
    /* The last rank completes both calls once the others have contributed their data. */
    while (atomic_load(r->late) < RANKS) tutti_clock_sleep(1e-3);
    tutti_clock_sleep(20e-3);
    r->spoilt = count_spoilt(x) + count_spoilt(all);
    free(x);
    free(all);
    tutti_exchange_close(exchange);
    return NULL;
}

START_TEST(whoever_gives_up_waiting_has_the_memory_back)
{
    const tutti_design *design = tutti_designs[_i];
    rank ranks[RANKS];
    /* A main thread that drives never gives up. */
    if (design->unsafe || design->start->main_drives) return;
    run_all(design, call_late, ranks);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(ranks[r].status, r < RANKS - 1 ? TUTTI_ERR_TIMEOUT : TUTTI_OK);
        ck_assert_int_eq(ranks[r].spoilt, 0);
    }
}
END_TEST

/* ---- after a mismatch ---- */

typedef struct sum {
    tutti_token token; /* first */
    atomic_int ended;
    _Atomic tutti_status status;
    int32_t x[COUNT];
} sum;

static void end(tutti_token *token, tutti_status status)
{
    sum *s = (sum *)token;
    atomic_store(&s->status, status);
    mark(s->x);
    atomic_store(&s->ended, 1);
}

/* In the first sum rank 0 has no partner; in the second, counts differ. All are in flight when ranks learn of it. */
static void insert(rank *r, const tutti_run_hooks *hooks, sum *s, int n)
{
    const tutti_coll_args args = {.kind = TUTTI_ALLREDUCE,
        .dtype = TUTTI_I32,
        .op = TUTTI_SUM,
        .count = COUNT - (n == 1 && r->number == 0)};
    const tutti_node node = {.name = n ? "second" : "first",
        .kind = TUTTI_NODE_COLLECTIVE,
        .desc = &args,
        .desc_bytes = sizeof args};
    const tutti_buffer buf[] = {{.pointer = s->x, .bytes = sizeof s->x}};
    s->token.finish = end;
    hooks->start(hooks->ctx, &node, hooks->reserve(hooks->ctx, &node), buf, &s->token);
}

static void *differ(void *arg)
{
    enum { SUMS = 3 };
    rank *r = arg;
    tutti_exchange *exchange;
    sum *s = calloc(SUMS, sizeof *s);
    r->status = open_rank(r, patience_s, &exchange);
    if (r->status) return NULL;
    tutti_run_hooks hooks = tutti_exchange_hooks(exchange);
    for (int n = 0; n < SUMS; n++) insert(r, &hooks, &s[n], n);
    double until_s = tutti_clock_s() + patience_s;
    for (int n = 0; n < SUMS; n++)
        while (!atomic_load(&s[n].ended) && tutti_clock_s() < until_s)
            if (hooks.main)
                hooks.main(hooks.ctx);
            else
                tutti_clock_sleep(1e-4);
    tutti_clock_sleep(20e-3);
    for (int n = 0; n < SUMS; n++) {
        r->spoilt += count_spoilt(s[n].x);
        if (s[n].status) r->status = s[n].status;
    }
    tutti_status closed = tutti_exchange_close(exchange);
    if (!r->status) r->status = closed;
    free(s);
    return NULL;
}

START_TEST(after_a_mismatch_nothing_is_in_flight)
{
    const tutti_design *design = tutti_designs[_i];
    rank ranks[RANKS];
    double began_s = tutti_clock_s();
    if (design->unsafe) return;
    run_all(design, differ, ranks);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_int_eq(ranks[r].status, TUTTI_ERR_MISMATCH);
        ck_assert_int_eq(ranks[r].spoilt, 0);
    }
    ck_assert_double_lt(tutti_clock_s() - began_s, patience_s);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("release");
    TCase *tcase = testing_case(suite, "release");
    int designs = 0;
    while (tutti_designs[designs]) designs++;
    tcase_add_loop_test(tcase, whoever_gives_up_waiting_has_the_memory_back, 0, designs);
    tcase_add_loop_test(tcase, after_a_mismatch_nothing_is_in_flight, 0, designs);
    return testing_run(suite);
}
