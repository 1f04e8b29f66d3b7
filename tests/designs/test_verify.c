/* verify: what ranks compare, the sentence that reports the difference, and whole exchanges over the
 * loop transport whose last rank does something else: every rank learns of it, and no collective that
 * ends well has a wrong sum. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/exchange/exchange.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 5, LANES = 2, COUNT = 8, MOST_ITEMS = 8 };
static const double patience_s = 30;

static const tutti_coll_args sum = {
    .kind = TUTTI_ALLREDUCE, .dtype = TUTTI_F32, .op = TUTTI_SUM, .count = COUNT};

static tutti_fingerprint print_of(
    const char *name, int64_t sequence, int lane, int64_t number, tutti_coll_args args)
{
    const tutti_entry entry = {
        .name = name, .sequence = sequence, .index = sequence, .lane = lane, .args = args};
    tutti_fingerprint f;
    tutti_fingerprint_make(&entry, number, 2, &f);
    return f;
}

/* ---- fingerprints ---- */

START_TEST(a_fingerprint_knows_what_must_agree)
{
    tutti_coll_args changed[] = {sum, sum, sum, sum};
    changed[0].kind = TUTTI_REDUCE_SCATTER;
    changed[1].dtype = TUTTI_I32;
    changed[2].op = TUTTI_MAX;
    changed[3].count = COUNT + 1;
    uint64_t hash = print_of("w", 1, 0, 0, sum).hash;
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        ck_assert_uint_ne(print_of("w", 1, 0, 0, changed[i]).hash, hash);
    ck_assert_uint_ne(print_of("w", 2, 0, 0, sum).hash, hash);
    ck_assert_uint_ne(print_of("v", 1, 0, 0, sum).hash, hash);
    ck_assert_uint_ne(print_of("", 1, 0, 0, sum).hash, hash);
    char name[101] = "", other[101] = "";
    memset(name, 'n', 100);
    memset(other, 'n', 100);
    other[99] = 'm'; /* beyond the part that is kept */
    ck_assert_uint_ne(print_of(name, 1, 0, 0, sum).hash, print_of(other, 1, 0, 0, sum).hash);
    /* Lengths of parts, and user operators by name. */
    const int64_t even[] = {4, 4}, odd[] = {3, 5}, same[] = {3, 5};
    tutti_coll_args gather = sum, by_odd = sum, by_same = sum, by_even = sum;
    gather.kind = by_odd.kind = by_same.kind = by_even.kind = TUTTI_GATHER;
    by_odd.counts = odd;
    by_same.counts = same;
    by_even.counts = even;
    ck_assert_uint_eq(print_of("w", 1, 0, 0, by_odd).hash, print_of("w", 1, 0, 0, by_same).hash);
    ck_assert_uint_ne(print_of("w", 1, 0, 0, by_odd).hash, print_of("w", 1, 0, 0, by_even).hash);
    ck_assert_uint_ne(print_of("w", 1, 0, 0, gather).hash, print_of("w", 1, 0, 0, by_even).hash);
    int sequence = 0;
    const tutti_user_op one = {.name = "one"}, two = {.name = "two"},
                        too = {.name = "two", .commutes = 0, .ctx = &sequence};
    tutti_coll_args by_one = sum, by_two = sum, by_too = sum;
    by_one.op = by_two.op = by_too.op = TUTTI_USER_OP;
    by_one.user = &one;
    by_two.user = &two;
    by_too.user = &too;
    ck_assert_uint_ne(print_of("w", 1, 0, 0, by_one).hash, print_of("w", 1, 0, 0, by_two).hash);
    ck_assert_uint_eq(print_of("w", 1, 0, 0, by_too).hash, print_of("w", 1, 0, 0, by_two).hash);
    /* Arguments that a kind ignores do not count. */
    tutti_coll_args barrier = {.kind = TUTTI_BARRIER}, full = sum, broadcast = sum, from = sum;
    full.kind = TUTTI_BARRIER;
    ck_assert_uint_eq(print_of("w", 1, 0, 0, barrier).hash, print_of("w", 1, 0, 0, full).hash);
    broadcast.kind = from.kind = TUTTI_BROADCAST;
    broadcast.op = TUTTI_PROD;
    ck_assert_uint_eq(print_of("w", 1, 0, 0, broadcast).hash, print_of("w", 1, 0, 0, from).hash);
    from.root = 1;
    ck_assert_uint_ne(print_of("w", 1, 0, 0, broadcast).hash, print_of("w", 1, 0, 0, from).hash);
    ck_assert_int_eq(tutti_verify_mode_find("full"), TUTTI_VERIFY_FULL);
    ck_assert_int_eq(tutti_verify_mode_find("maybe"), TUTTI_VERIFY_MODES);
    ck_assert_ptr_null(tutti_verify_mode_name(TUTTI_VERIFY_MODES));
}
END_TEST

START_TEST(a_fingerprint_is_written)
{
    char text[TUTTI_FINGERPRINT_TEXT];
    tutti_coll_args a = sum;
    tutti_fingerprint f = print_of("fc.weight", 17, 1, 4, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text),
        "#17 'fc.weight', allreduce of 8 F32 (sum)");
    f = print_of("allreduce", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3, allreduce of 8 F32 (sum)");
    a.kind = TUTTI_REDUCE;
    a.root = 2;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', reduce of 8 F32 (sum) to rank 2");
    a.kind = TUTTI_BROADCAST;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', broadcast of 8 F32 from rank 2");
    const int64_t parts[] = {3, 5};
    a.kind = TUTTI_GATHER;
    a.counts = parts;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text),
        "#3 'w', gather of 8 F32 in parts of given lengths to rank 2");
    const tutti_user_op join = {.name = "join"};
    a = sum;
    a.op = TUTTI_USER_OP;
    a.user = &join;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(
        tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', allreduce of 8 F32 (join)");
    a.kind = TUTTI_BARRIER;
    f = print_of("w", 3, 0, 0, a);
    ck_assert_str_eq(tutti_fingerprint_write(&f, text, sizeof text), "#3 'w', barrier");
}
END_TEST

/* ---- verify itself, all ranks on one thread ---- */

typedef struct end {
    tutti_transport *transport;
    tutti_control *control;
    tutti_verify *verify;
    char sentence[TUTTI_CONTROL_TEXT];
} end;

typedef struct group {
    tutti_loop_world *world;
    int ranks;
    end end[MOST_RANKS];
} group;

static void open_group_with(group *g, int ranks, tutti_verify_options options)
{
    *g = (group){.ranks = ranks};
    ck_assert_ok(tutti_loop_world_new(ranks, NULL, &g->world));
    for (int r = 0; r < ranks; r++) {
        end *e = &g->end[r];
        ck_assert_ok(tutti_transport_loop(g->world, r, LANES + 1, &e->transport));
        ck_assert_ok(tutti_control_open(e->transport, LANES, &e->control));
        ck_assert_ok(tutti_verify_open(&options, e->control, LANES, &e->verify));
    }
}

static void open_group(group *g, int ranks, tutti_verify_mode mode)
{
    open_group_with(g, ranks, (tutti_verify_options){.mode = mode, .at_once = 1});
}

static void close_group(group *g)
{
    for (int r = 0; r < g->ranks; r++) {
        end *e = &g->end[r];
        tutti_control_stop(e->control);
        e->transport->ops->close(e->transport);
        tutti_verify_close(e->verify);
        tutti_control_free(e->control);
    }
    tutti_loop_world_free(g->world);
}

static void pass_all(group *g)
{
    for (int turn = 0; turn < 20; turn++)
        for (int r = 0; r < g->ranks; r++) {
            end *e = &g->end[r];
            const char *sentence;
            int moved = 0;
            ck_assert_ok(tutti_control_poll(e->control, 1, &moved));
            ck_assert_ok(tutti_verify_pass(e->verify, &sentence));
            if (sentence) snprintf(e->sentence, sizeof e->sentence, "%s", sentence);
        }
}

static int admit(group *g, int rank, tutti_fingerprint f)
{
    int may_start;
    ck_assert_ok(tutti_verify_admit(g->end[rank].verify, &f, &may_start));
    return may_start;
}

/* One rank runs far ahead of the others, beyond the initial room. */
START_TEST(ranks_that_agree_are_left_alone)
{
    enum { FAR = 1000 };
    group g;
    open_group(&g, 3, TUTTI_VERIFY_ON);
    for (int r = 0; r < 3; r++) {
        for (int64_t n = 0; n < FAR; n++)
            ck_assert(admit(&g, r, print_of("w", n, (int)(n % LANES), n / LANES, sum)));
        pass_all(&g);
    }
    for (int r = 0; r < 3; r++) {
        ck_assert_str_eq(g.end[r].sentence, "");
        ck_assert(!tutti_verify_curious(g.end[r].verify));
    }
    close_group(&g);
}
END_TEST

/* Either mode names the difference that comes first in the program. */
START_TEST(a_difference_is_named_with_all_ranks)
{
    static const char expected[] = "the ranks' collectives differ (number 1 on lane 1): ranks 0, "
                                   "1: #3 'b', allreduce of 8 F32 "
                                   "(sum); rank 2: #3 'c', allreduce of 8 F32 (sum). Every rank "
                                   "must start the same collectives "
                                   "in the same order";
    group g;
    open_group(&g, 3, _i ? TUTTI_VERIFY_FULL : TUTTI_VERIFY_ON);
    for (int turn = 0; turn < 3; turn++) { /* full takes two rounds for three ranks */
        for (int r = 0; r < 3; r++) admit(&g, r, print_of("a", 1, 1, 0, sum));
        pass_all(&g);
    }
    for (int r = 0; r < 3; r++) ck_assert(admit(&g, r, print_of("a", 1, 1, 0, sum)));
    for (int turn = 0; turn < 3; turn++) {
        for (int r = 0; r < 3; r++) {
            int may_start = admit(&g, r, print_of(r == 2 ? "c" : "b", 3, 1, 1, sum));
            if (_i) ck_assert(!may_start);
        }
        pass_all(&g);
    }
    int told = 0;
    for (int r = 0; r < 3; r++) {
        if (!*g.end[r].sentence) continue;
        ck_assert_str_eq(g.end[r].sentence, expected);
        ck_assert(!admit(&g, r, print_of("d", 4, 0, 0, sum)));
        told++;
    }
    ck_assert_int_gt(told, 0);
    close_group(&g);
}
END_TEST

/* One extra collective on a lane shifts the sequence numbers of later ones on other lanes: if the shift is
 * seen there first, verify waits for the cause. */
START_TEST(the_cause_of_a_shift_is_named)
{
    group g;
    const char *told = "";
    open_group_with(&g, 3, (tutti_verify_options){.mode = TUTTI_VERIFY_ON});
    for (int r = 0; r < 3; r++) admit(&g, r, print_of("w", r == 2 ? 2 : 1, 0, 0, sum));
    for (int turn = 0; turn < 10; turn++) {
        tutti_clock_sleep(5e-3);
        pass_all(&g);
    }
    for (int r = 0; r < 3; r++) ck_assert_str_eq(g.end[r].sentence, "");
    for (int r = 0; r < 3; r++) admit(&g, r, print_of(r == 2 ? "extra" : "x", 0, 1, 0, sum));
    for (double end_s = tutti_clock_s() + 20; !*told && tutti_clock_s() < end_s;) {
        tutti_clock_sleep(1e-3);
        pass_all(&g);
        for (int r = 0; r < 3; r++) told = *g.end[r].sentence ? g.end[r].sentence : told;
    }
    ck_assert_msg(
        strstr(told, "(number 0 on lane 1)") && strstr(told, "rank 2: #0 'extra'"), "%s", told);
    close_group(&g);
}
END_TEST

/* If the cause does not come, the shift is reported. */
START_TEST(a_shift_without_a_cause_is_told)
{
    group g;
    open_group(&g, 2, TUTTI_VERIFY_ON);
    for (int r = 0; r < 2; r++) admit(&g, r, print_of("w", r, 0, 0, sum));
    pass_all(&g);
    ck_assert_ptr_nonnull(
        strstr(g.end[0].sentence, "On another lane a rank has started a collective too few"));
    close_group(&g);
}
END_TEST

/* A rank that has not reached the collective does not delay the others' answer. */
START_TEST(ranks_that_are_late_are_told_apart)
{
    group g;
    open_group(&g, 4, TUTTI_VERIFY_ON);
    admit(&g, 0, print_of("a", 0, 0, 0, sum));
    admit(&g, 1, print_of("b", 0, 0, 0, sum));
    pass_all(&g);
    ck_assert_str_eq(g.end[1].sentence,
        "the ranks' collectives differ (number 0 on lane 0): rank 0: #0 'a', allreduce of 8 F32 "
        "(sum); rank 1: #0 'b', allreduce of 8 F32 (sum); ranks 2, 3 not there yet. Every rank "
        "must "
        "start the same collectives in the same order");
    close_group(&g);
}
END_TEST

START_TEST(a_rank_that_leaves_early_is_named)
{
    group g;
    open_group(&g, 2, _i ? TUTTI_VERIFY_FULL : TUTTI_VERIFY_ON);
    for (int turn = 0; turn < 2; turn++) {
        for (int r = 0; r < 2; r++) admit(&g, r, print_of("a", 0, 1, 0, sum));
        pass_all(&g);
    }
    ck_assert_ok(tutti_verify_leave(g.end[1].verify, 0));
    pass_all(&g);
    char ranks[16];
    ck_assert(!tutti_verify_left(g.end[1].verify, 0));
    ck_assert_str_eq(tutti_verify_missing(g.end[1].verify, ranks, sizeof ranks), "0");
    ck_assert_str_eq(g.end[0].sentence, "");
    admit(&g, 0, print_of("b", 1, 1, 1, sum));
    pass_all(&g);
    ck_assert_str_eq(g.end[0].sentence,
        "rank 1 has ended after 1 collectives on lane 1, but rank 0 starts one more: #1 'b', "
        "allreduce of 8 F32 (sum). Every rank must start the same number of collectives: does rank "
        "1 make "
        "fewer "
        "steps?");
    ck_assert_ok(tutti_verify_leave(g.end[0].verify, 1));
    pass_all(&g);
    ck_assert(tutti_verify_left(g.end[0].verify, 1));
    ck_assert(!tutti_verify_left(g.end[0].verify, 0));
    ck_assert(tutti_verify_left(g.end[1].verify, 0)); /* a rank that failed does not count */
    close_group(&g);
}
END_TEST

/* ---- whole exchanges, one thread per rank ---- */

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
    void *buf[] = {i->data};
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
    Suite *suite = suite_create("verify");
    TCase *tcase = testing_case(suite, "verify");
    tcase_add_test(tcase, a_fingerprint_knows_what_must_agree);
    tcase_add_test(tcase, a_fingerprint_is_written);
    tcase_add_test(tcase, ranks_that_agree_are_left_alone);
    tcase_add_loop_test(tcase, a_difference_is_named_with_all_ranks, 0, 2);
    tcase_add_test(tcase, ranks_that_are_late_are_told_apart);
    tcase_add_test(tcase, the_cause_of_a_shift_is_named);
    tcase_add_test(tcase, a_shift_without_a_cause_is_told);
    tcase_add_loop_test(tcase, a_rank_that_leaves_early_is_named, 0, 2);
    tcase_add_loop_test(tcase, a_rank_that_does_not_leave_is_not_waited_for, 0, 2);
    tcase_add_test(tcase, comparing_needs_a_lane);
    tcase_add_loop_test(
        tcase, no_difference_stays_unseen, 0, (int)(sizeof programs / sizeof *programs));
    return testing_run(suite);
}
