/* verify in whole exchanges over the loop transport, one thread per rank. The last rank does something else: every rank
 * learns of it, and no collective that ends well has a wrong sum. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/exchange/exchange.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST_RANKS = 5, LANES = 2, COUNT = 8, MOST_ITEMS = 8 };
static const double patience_s = 30;

static const tutti_coll_args sum = {
    .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_F32, .op = TUTTI_SUM, .count = COUNT};

/* A program: names of sums, in order, and a barrier unless it `just_ends`. Capitals and small letters have
 * different arguments. */
typedef struct program {
    const char *title, *usual, *last; /* `last`: of the last rank */
    int just_ends;
} program;

static const program programs[] = {
    {"same", "abcd", "abcd", 0},
    {"order swapped", "abcd", "acbd", 0},
    {"order swapped, and counts", "abLc", "aLbc", 0},
    {"count", "abcd", "aLcd", 0},
    {"kind", "abcd", "aRcd", 0},
    {"operator", "abcd", "aMcd", 0},
    {"type", "abcd", "aIcd", 0},
    {"root", "aRcd", "aScd", 0},
    {"extra", "abcd", "aebcd", 0},
    {"missing", "abcd", "acd", 0},
    {"ends early", "abcd", "abc", 1},
    {"ends late", "abcd", "abcde", 1},
};

static tutti_coll_args args_of(char name)
{
    tutti_coll_args a = sum;
    if (name == 'L') a.count = COUNT / 2;
    if (name == 'R' || name == 'S') a.kind = TUTTI_BROADCAST;
    if (name == 'S') a.root = 1;
    if (name == 'M') a.op = TUTTI_MAX;
    if (name == 'I') a.dtype = TUTTI_I32;
    return a;
}

typedef struct rank_job rank_job;

typedef struct item {
    tutti_token token; /* first */
    rank_job *job;
    tutti_node node;
    tutti_coll_args args;
    char name[2];
    tutti_status status;
    float data[COUNT];
} item;

struct rank_job {
    tutti_loop_world *world;
    const tutti_design *design;
    tutti_verify_mode verify;
    const program *program;
    const char *text;
    int rank, lanes;
    atomic_int ended;
    int items;
    item item[MOST_ITEMS];
    tutti_status opened, barrier;
    double waited_s;
};

static void end_item(tutti_token *token, tutti_status status)
{
    item *i = (item *)token;
    i->status = status;
    atomic_fetch_add(&i->job->ended, 1);
}

static void submit(rank_job *job, const tutti_run_hooks *hooks, item *i)
{
    const tutti_buffer buf[] = {{.pointer = i->data, .bytes = sizeof i->data}};
    int64_t sequence = hooks->reserve(hooks->ctx, &i->node);
    hooks->start(hooks->ctx, &i->node, sequence, buf, &i->token);
    int chain = job->design->chain;
    while (chain && atomic_load(&job->ended) < (int)(i - job->item) + 1) tutti_clock_sleep(20e-6);
}

static void run_program(rank_job *job, tutti_exchange *exchange)
{
    const tutti_run_hooks hooks = tutti_exchange_hooks(exchange);
    double start_s = tutti_clock_s();
    job->items = (int)strlen(job->text);
    for (int k = 0; k < job->items; k++) {
        item *i = &job->item[k];
        *i = (item){.token.finish = end_item,
            .job = job,
            .args = args_of(job->text[k]),
            .name = {job->text[k]}};
        i->node = (tutti_node){.name = i->name,
            .kind = TUTTI_NODE_COLLECTIVE,
            .desc = &i->args,
            .desc_bytes = sizeof i->args,
            .place = {.lane = k % job->lanes, .index = k}};
        for (int n = 0; n < COUNT; n++) i->data[n] = (float)(job->rank + 1) * (float)i->name[0];
        submit(job, &hooks, i);
    }
    while (atomic_load(&job->ended) < job->items && tutti_clock_s() < start_s + patience_s)
        if (hooks.main)
            hooks.main(hooks.ctx);
        else
            tutti_clock_sleep(50e-6);
    if (!job->program->just_ends)
        job->barrier =
            tutti_exchange_call(exchange, "barrier", &(tutti_coll_args){.kind = TUTTI_BARRIER});
    job->waited_s = tutti_clock_s() - start_s;
}

static void *run_rank(void *arg)
{
    rank_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange = NULL;
    const tutti_exchange_options options = {
        .design = job->design, .lanes = job->lanes, .verify = job->verify, .timeout_s = patience_s};
    job->opened = tutti_transport_loop(job->world, job->rank, job->lanes + 1, &transport);
    if (!job->opened) job->opened = tutti_exchange_open_over(transport, &options, &exchange);
    if (!job->opened) run_program(job, exchange);
    tutti_exchange_close(exchange);
    return NULL;
}

/* A sum that ended well is the sum of all ranks' inputs under its name. */
static void check_rank(const program *p, const rank_job *job, int ranks)
{
    int bad = job->barrier != TUTTI_OK;
    ck_assert_ok(job->opened);
    ck_assert_msg(atomic_load(&job->ended) == job->items, "%s, %s, %s, %d ranks: rank %d hangs",
        p->title, job->design->name, tutti_verify_mode_name((int)job->verify), ranks, job->rank);
    for (int k = 0; k < job->items; k++) {
        const item *i = &job->item[k];
        bad += i->status != TUTTI_OK;
        if (i->status) ck_assert_int_eq(i->status, TUTTI_ERR_MISMATCH);
        if (i->status || i->name[0] < 'a') continue;
        float expected = (float)i->name[0] * (float)(ranks * (ranks + 1) / 2);
        ck_assert_msg(i->data[0] == expected, "%s, %s: rank %d: sum of %s is %g, not %g", p->title,
            job->design->name, job->rank, i->name, i->data[0], expected);
    }
    /* A rank that just ends may have nothing left that can fail. */
    size_t longest = strlen(strlen(p->last) > strlen(p->usual) ? p->last : p->usual);
    int differs = strcmp(p->usual, p->last) != 0, is_over = strlen(job->text) < longest;
    if (!p->just_ends || !is_over)
        ck_assert_msg((bad > 0) == differs, "%s, %s, %s, %d ranks: rank %d is told of %d", p->title,
            job->design->name, tutti_verify_mode_name((int)job->verify), ranks, job->rank, bad);
    ck_assert_msg(job->waited_s < patience_s / 2, "%s took %g s", p->title, job->waited_s);
}

static void run_world(
    const program *p, const tutti_design *design, tutti_verify_mode verify, int ranks)
{
    static const tutti_loop_options late = {.eager_bytes = 16, .delay_s = 100e-6, .seed = 3};
    tutti_loop_world *world;
    pthread_t thread[MOST_RANKS];
    static rank_job job[MOST_RANKS];
    ck_assert_ok(tutti_loop_world_new(ranks, &late, &world));
    for (int r = 0; r < ranks; r++) {
        job[r] = (rank_job){.world = world,
            .design = design,
            .verify = verify,
            .program = p,
            .text = r == ranks - 1 ? p->last : p->usual,
            .rank = r,
            .lanes = design->many_lanes ? LANES : 1};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
    }
    for (int r = 0; r < ranks; r++) pthread_join(thread[r], NULL);
    for (int r = 0; r < ranks; r++) check_rank(p, &job[r], ranks);
    tutti_loop_world_free(world);
}

START_TEST(no_difference_stays_unseen)
{
    const program *p = &programs[_i];
    for (int d = 0; tutti_designs[d]; d++) {
        if (tutti_designs[d]->unsafe) continue;
        for (int verify = TUTTI_VERIFY_ON; verify < TUTTI_VERIFY_MODES; verify++)
            for (int ranks = 2; ranks <= MOST_RANKS; ranks += ranks)
                run_world(p, tutti_designs[d], (tutti_verify_mode)verify, ranks);
    }
}
END_TEST

typedef struct leave_job {
    tutti_loop_world *world;
    const tutti_design *design;
    int rank;
    atomic_int *gone; /* rank 0 has left */
    double left_s;
} leave_job;

static void *leave(void *arg)
{
    leave_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange;
    const tutti_exchange_options options = {
        .design = job->design, .verify = TUTTI_VERIFY_ON, .setup_timeout_s = 0.3};
    if (tutti_transport_loop(job->world, job->rank, 2, &transport)) return NULL;
    if (tutti_exchange_open_over(transport, &options, &exchange)) return NULL;
    while (job->rank && !atomic_load(job->gone)) tutti_clock_sleep(1e-3);
    double start_s = tutti_clock_s();
    tutti_exchange_close(exchange);
    job->left_s = tutti_clock_s() - start_s;
    if (!job->rank) atomic_store(job->gone, 1);
    return NULL;
}

/* Rank 1 disappears: rank 0 waits for its goodbye as long as for setting up, and not at all if it has
 * come. */
START_TEST(a_rank_that_does_not_leave_is_not_waited_for)
{
    tutti_loop_world *world;
    pthread_t thread[2];
    leave_job job[2];
    atomic_int gone = 0;
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    for (int r = 0; r < 2; r++) {
        job[r] = (leave_job){world, tutti_design_find(_i ? "sequential" : "funneled"), r, &gone, 0};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, leave, &job[r]), 0);
    }
    for (int r = 0; r < 2; r++) pthread_join(thread[r], NULL);
    ck_assert_double_ge(job[0].left_s, 0.3);
    ck_assert_double_le(job[0].left_s, 10);
    ck_assert_double_le(job[1].left_s, 0.29);
    tutti_loop_world_free(world);
}
END_TEST

/* An exchange that verifies is refused without the control lane. */
START_TEST(comparing_needs_a_lane)
{
    tutti_loop_world *world;
    tutti_transport *transport;
    tutti_exchange *exchange;
    const tutti_exchange_options options = {
        .design = tutti_design_find("sequential"), .verify = TUTTI_VERIFY_ON};
    ck_assert_ok(tutti_loop_world_new(2, NULL, &world));
    ck_assert_ok(tutti_transport_loop(world, 0, 1, &transport));
    ck_assert_int_eq(tutti_exchange_open_over(transport, &options, &exchange), TUTTI_ERR_INVAL);
    tutti_loop_world_free(world);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    Suite *suite = suite_create("mismatch");
    TCase *tcase = testing_case(suite, "mismatch");
    tcase_add_loop_test(tcase, a_rank_that_does_not_leave_is_not_waited_for, 0, 2);
    tcase_add_test(tcase, comparing_needs_a_lane);
    tcase_add_loop_test(
        tcase, no_difference_stays_unseen, 0, (int)(sizeof programs / sizeof *programs));
    return testing_run(suite);
}
