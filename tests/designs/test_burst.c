/* designs: tens of thousands of small collectives submitted at once. However far one rank is behind, the cost of a
 * collective does not grow with the number that wait, and live ranks answer meanwhile. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Quadratic time would take minutes: 40,000 * 40,000 entries visited, twice. */
enum { BURST = 40000, RANKS = 2, COUNT = 3 };
static const double late_s = 0.3, patience_s = 60;

typedef struct sum {
    tutti_token token; /* first */
    struct rank *rank;
    int32_t x[COUNT];
} sum;

typedef struct rank {
    tutti_loop_world *world;
    const tutti_design *design;
    int number, lanes, priorities;
    sum *sums;
    atomic_int ended;
    _Atomic tutti_status status;
    int wrong;
} rank;

static void end(tutti_token *token, tutti_status status)
{
    rank *r = ((sum *)token)->rank;
    if (status) atomic_store(&r->status, status);
    atomic_fetch_add(&r->ended, 1);
}

static void insert_all(rank *r, const tutti_run_hooks *hooks)
{
    const tutti_coll_args args = {
        .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_I32, .op = TUTTI_SUM, .count = COUNT};
    for (int n = 0; n < BURST; n++) {
        sum *s = &r->sums[n];
        const tutti_node node = {.name = "sum",
            .kind = TUTTI_NODE_COLLECTIVE,
            .desc = &args,
            .desc_bytes = sizeof args,
            .place = {.lane = n % r->lanes, .index = n, .priority = r->priorities ? n % 7 - 1 : 0}};
        *s = (sum){.token.finish = end, .rank = r};
        for (int i = 0; i < COUNT; i++) s->x[i] = n + i + r->number;
        const tutti_buffer buf[] = {{.pointer = s->x, .bytes = sizeof s->x}};
        int64_t sequence = hooks->reserve(hooks->ctx, &node);
        hooks->start(hooks->ctx, &node, sequence, buf, &s->token);
    }
}

static void check_sums(rank *r)
{
    for (int n = 0; n < BURST; n++)
        for (int i = 0; i < COUNT; i++) r->wrong += r->sums[n].x[i] != RANKS * (n + i) + 1;
}

static void *run(void *arg)
{
    rank *r = arg;
    tutti_transport *transport;
    tutti_exchange *exchange;
    const tutti_exchange_options options = {.design = r->design,
        .lanes = r->lanes,
        .verify = TUTTI_VERIFY_ON,
        .priorities = {.on = 1},
        .watch = {.on = 1, .warn_s = 0.1},
        .timeout_s = patience_s};
    tutti_status status = tutti_transport_loop(r->world, r->number, r->lanes + 1, &transport);
    if (!status) status = tutti_exchange_open_over(transport, &options, &exchange);
    if (status) {
        r->status = status;
        return NULL;
    }
    if (r->number) tutti_clock_sleep(late_s);
    tutti_run_hooks hooks = tutti_exchange_hooks(exchange);
    double until_s = tutti_clock_s() + patience_s;
    insert_all(r, &hooks);
    while (atomic_load(&r->ended) < BURST && tutti_clock_s() < until_s) tutti_clock_sleep(1e-3);
    status = tutti_exchange_close(exchange);
    if (!r->status) r->status = status;
    check_sums(r);
    return NULL;
}

/* Twice: without priorities, and with. */
START_TEST(a_burst_ends_soon)
{
    const tutti_design *design = tutti_designs[_i / 2];
    int priorities = _i % 2;
    if (!tutti_design_overlaps(design)) return;
    tutti_loop_world *world;
    rank ranks[RANKS];
    pthread_t thread[RANKS];
    double began_s = tutti_clock_s();
    ck_assert_ok(tutti_loop_world_new(RANKS, NULL, &world));
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (rank){.world = world,
            .design = design,
            .number = r,
            .lanes = design->many_lanes ? 3 : 1,
            .priorities = priorities};
        ranks[r].sums = calloc(BURST, sizeof *ranks[r].sums);
        ck_assert_ptr_nonnull(ranks[r].sums);
    }
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run, &ranks[r]), 0);
    for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
    printf("%s%s: %.2f s\n", design->name, priorities ? " with priorities" : "",
        tutti_clock_s() - began_s);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_ok(ranks[r].status);
        ck_assert_int_eq(ranks[r].ended, BURST);
        ck_assert_int_eq(ranks[r].wrong, 0);
        free(ranks[r].sums);
    }
    tutti_loop_world_free(world);
}
END_TEST

int main(void)
{
    int designs = 0;
    while (tutti_designs[designs]) designs++;
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("burst");
    TCase *tcase = testing_case(suite, "burst");
    tcase_add_loop_test(tcase, a_burst_ends_soon, 0, 2 * designs);
    return testing_run(suite);
}
