/* The static checker (designs/check/check.h): compared with the bound, and with the explorer on random cases; as
 * text; and between ranks before the first step. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "designs/place.h"
#include "tests/deadlock/explore_case.h"
#include "tests/deadlock/rank.h"
#include "tests/support/loop.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_CASES = 200, TEXT_MAX = 8192 };

/* Appends to text. */
static void say(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, TEXT_MAX - used, format, args);
    va_end(args);
}

static tutti_verdict verdict_of(const deadlock_case *c)
{
    tutti_check *check;
    tutti_verdict verdict;
    ck_assert_ok(deadlock_check_new(c, &check));
    ck_assert_ok(tutti_check_judge(check, c->design, &verdict));
    tutti_check_free(check);
    return verdict;
}

/* ---- W > K(P-1)/P ---- */

/* K unordered sums, each on its own lane; workers wait. */
static tutti_clause clause_of(int P, int K, int W)
{
    char text[TEXT_MAX] = "diagnosis x\ndesign naive\nverdict ok\n";
    deadlock_case *c;
    say(text, "ranks %d\nlanes %d\nworkers %d\n", P, K, W);
    for (int k = 0; k < K; k++) say(text, "allreduce t%d 1\n", k);
    ck_assert_ok(deadlock_case_parse("x_ok.case", text, &c));
    tutti_clause clause = verdict_of(c).clause;
    free(c);
    return clause;
}

START_TEST(workers_are_judged_at_the_bound)
{
    /* Explored while the states are few; otherwise by the bound. */
    static const int sizes[][2] = {{2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 5}, {2, 6}, {3, 2}, {3, 3},
        {3, 4}, {4, 3}, {4, 4}, {2, 16}, {2, 40}, {3, 31}, {8, 20}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int P = sizes[i][0], K = sizes[i][1];
        for (int W = 1; W <= K + 1; W++) {
            int fine = W * P > K * (P - 1);
            ck_assert_msg(clause_of(P, K, W) == (fine ? TUTTI_CLAUSE_NONE : TUTTI_CLAUSE_WORKERS),
                "P=%d K=%d W=%d", P, K, W);
        }
    }
}
END_TEST

/* ---- against the explorer ---- */

typedef struct dice {
    uint64_t seed, round, next;
} dice;

static int roll(dice *d, int bound)
{
    return (int)tutti_rng_below(d->seed, d->round, d->next++, (uint64_t)bound);
}

/* The collectives of one rank in some order; one of them may be left out or changed. */
typedef struct plan {
    int K, groups, order[8], count[8], after[8], group[8], vectors[8];
} plan;

static plan draw_plan(dice *d, int afters)
{
    plan p = {.K = 1 + roll(d, 4), .groups = 1 + roll(d, 2)};
    for (int k = 0; k < p.K; k++) {
        p.order[k] = k;
        p.count[k] = 3 + 2 * roll(d, 2);
        p.after[k] = k && afters && !roll(d, 3) ? roll(d, k) : -1;
        p.group[k] = roll(d, p.groups);
        p.vectors[k] = !roll(d, 4);
    }
    return p;
}

static void swap_two(dice *d, plan *p)
{
    int a = roll(d, p->K), b = roll(d, p->K), kept = p->order[a];
    p->order[a] = p->order[b];
    p->order[b] = kept;
}

/* What one rank does differently. */
static void disturb(dice *d, plan *p)
{
    int k = roll(d, p->K);
    switch (roll(d, 5)) {
    case 0:
        p->count[k]++;
        break;
    case 1:
        p->K--;
        break;
    case 2:
        p->after[k] = -1;
        break;
    default:
        swap_two(d, p);
        break;
    }
}

static void write_program(const plan *p, int rank, char *text)
{
    int written = 0; /* bits */
    for (int i = 0; i < p->K; i++) {
        int k = p->order[i];
        if (p->group[k] && rank > 1) continue; /* not a member of g */
        say(text, "rank %d: allreduce t%d %d%s", rank, k, p->count[k], p->group[k] ? " on g" : "");
        if (p->vectors[k]) say(text, " vectors=%d", 2 - rank % 2); /* ranks differ in it */
        if (p->after[k] >= 0 && written >> p->after[k] & 1) say(text, " after t%d", p->after[k]);
        say(text, "\n");
        written |= 1 << k;
    }
}

/* Designs that are not in the table: any start order with lanes in another sequence, a chain across lanes, workers
 * that are held. The checker knows only what they declare and place. */
static int lanes_reversed(int64_t index, int lanes)
{
    return lanes - 1 - (int)(index % lanes);
}

static int lanes_in_pairs(int64_t index, int lanes)
{
    return (int)(index / 2 % lanes);
}

static tutti_status add_chain(tutti_graph *graph)
{
    int token;
    tutti_status status = tutti_graph_tensor(
        graph, "chain", TUTTI_ROLE_TOKEN, TUTTI_U8, (tutti_shape){.rank = 0}, &token);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++)
        if (tutti_graph_get_node(graph, i)->kind == TUTTI_NODE_COLLECTIVE)
            status = tutti_graph_add_access(graph, i, (tutti_access){token, TUTTI_CHAIN});
    return status;
}

static tutti_status hold_workers(tutti_graph *graph)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        tutti_place place = node->place;
        place.holds = 1;
        if (node->kind == TUTTI_NODE_COLLECTIVE) status = tutti_graph_set_place(graph, i, place);
    }
    return status;
}

#define PLACE(name, lane, chain, holds)                                                            \
    static tutti_status name(tutti_graph *graph, int lanes)                                        \
    {                                                                                              \
        tutti_status status = tutti_place_in_order(graph, lanes, lane);                            \
        if (!status && chain) status = add_chain(graph);                                           \
        if (!status && holds) status = hold_workers(graph);                                        \
        return status;                                                                             \
    }
PLACE(place_reversed, lanes_reversed, 0, 0)
PLACE(place_pairs, lanes_in_pairs, 0, 0)
PLACE(place_pairs_chained, lanes_in_pairs, 1, 0)
PLACE(place_reversed_holding, lanes_reversed, 0, 1)
PLACE(place_pairs_chained_holding, lanes_in_pairs, 1, 1)

static const struct custom_place {
    tutti_status (*place)(tutti_graph *graph, int lanes);
    int chain, holds;
} places[] = {{place_reversed, 0, 0}, {place_pairs, 0, 0}, {place_pairs_chained, 1, 0},
    {place_reversed_holding, 0, 1}, {place_pairs_chained_holding, 1, 1}};

/* *fine: whether a rule covers everything that it declares. */
static tutti_design draw_custom(dice *d, int *fine)
{
    const struct custom_place *place = &places[roll(d, sizeof places / sizeof *places)];
    int rules = 0;
    while (tutti_start_rules[rules]) rules++;
    const tutti_start_rule *start = tutti_start_rules[roll(d, rules)];
    *fine = !(place->chain && place->holds) && (start->at_once || (!place->chain && !place->holds));
    return (tutti_design){.name = "custom",
        .start = start,
        .many_lanes = 1,
        .chain = place->chain,
        .unsafe = 1,
        .needed = TUTTI_THREAD_SERIALIZED,
        .place = place->place};
}

/* Neither the checker nor an exchange accepts it. */
static void expect_refused(const deadlock_case *c)
{
    tutti_check *check;
    tutti_verdict verdict;
    explore_result result;
    ck_assert_ok(deadlock_check_new(c, &check));
    ck_assert_int_eq(tutti_check_judge(check, c->design, &verdict), TUTTI_ERR_INVAL);
    ck_assert_int_eq(explore_case(c, &(explore_options){.most = 1}, &result), TUTTI_ERR_INVAL);
    tutti_check_free(check);
}

/* A design of the table: the naive one, or one that keeps the law. */
static const tutti_design *draw_from_table(dice *d, int naive)
{
    const tutti_design *drawn[16];
    int designs = 0;
    for (int i = 0; tutti_designs[i]; i++)
        if (tutti_designs[i]->unsafe == naive) drawn[designs++] = tutti_designs[i];
    return drawn[naive ? 0 : roll(d, designs)];
}

static deadlock_case *draw_case(dice *d, const tutti_design *custom, char text[TEXT_MAX])
{
    deadlock_case *c = NULL;
    /* In the explorer `after` holds back the collective, in a case's graph the task that computes its input: within
     * one step these are equivalent. */
    int steps = roll(d, 4) ? 1 : 2;
    plan p = draw_plan(d, steps == 1);
    int P = 2 + roll(d, 2), odd = roll(d, 2) ? roll(d, P) : -1;
    int naive = custom || roll(d, 2); /* a custom design is parsed as naive */
    const tutti_design *design = draw_from_table(d, naive);
    text[0] = '\0';
    say(text, "diagnosis x\nverdict ok\nranks %d\ndesign %s\nworkers %d\nverify off\n", P,
        design->name, 1 + roll(d, 2));
    say(text, "lanes %d\nsteps %d\ngroup g 0 1\n",
        design->many_lanes ? naive ? 4 : 1 + roll(d, 2) : 1, steps);
    /* what nothing orders is refused in the naive design, also where no other rank has both */
    if (!naive && roll(d, 2)) say(text, "device_slots 1\n%s", roll(d, 2) ? "edges aside\n" : "");
    plan other = p;
    if (odd >= 0) disturb(d, &other);
    for (int r = 0; r < P; r++) write_program(r == odd ? &other : &p, r, text);
    if (deadlock_case_parse("x_ok.case", text, &c)) return NULL;
    if (custom) c->design = custom;
    return c;
}

/* A world that hangs abandons its run (dag/run/run.h: close): not a leak. Only defined in builds with
 * sanitizers. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void explore(const deadlock_case *c, explore_options options, explore_result *result)
{
    if (__lsan_disable) __lsan_disable();
    ck_assert_ok(explore_case(c, &options, result));
    if (__lsan_enable) __lsan_enable();
}

static int went_wrong(const explore_result *r)
{
    return r->hangs || r->wrong || r->mismatches || r->errors;
}

/* _i: with custom designs. */
START_TEST(random_cases_are_judged_as_they_run)
{
    dice d = {.seed = testing_seed(3 + (unsigned long)_i)};
    tutti_design custom;
    int fine = 1;
    char text[TEXT_MAX];
    const int cases = testing_fewer() ? RANDOM_CASES / 4 : RANDOM_CASES;
    int judged = 0, wrong = 0, open = 0;
    for (d.round = 0; judged < cases; d.round++) {
        explore_result some, all = {0};
        d.next = 0;
        tutti_log_set_level(TUTTI_LOG_ERROR - 1);
        if (_i) custom = draw_custom(&d, &fine);
        deadlock_case *c = draw_case(&d, _i ? &custom : NULL, text);
        if (!c) continue;
        if (!fine) {
            expect_refused(c);
            free(c);
            continue;
        }
        judged++;
        tutti_verdict verdict = verdict_of(c);
        explore(c, (explore_options){.seed = d.round, .most = 24}, &some);
        int bad = went_wrong(&some);
        if (!bad) {
            explore(c, (explore_options){.most = 400, .exhaustive = 1}, &all);
            bad = went_wrong(&all);
        }
        open += !bad && all.cut;
        wrong += bad;
        tutti_log_set_level(TUTTI_LOG_ERROR);
        ck_assert_msg(bad == (verdict.clause != TUTTI_CLAUSE_NONE) || (all.cut && !bad),
            "round %lu, design %s %d, start rule %s: the checker says %s; the explorer: %s\n%s",
            (unsigned long)d.round, c->design->name,
            (int)((c->design->place == place_reversed) + 2 * (c->design->place == place_pairs) +
                  3 * (c->design->place == place_pairs_chained) +
                  4 * (c->design->place == place_reversed_holding) +
                  5 * (c->design->place == place_pairs_chained_holding)),
            c->design->start->name, verdict.text, bad ? some.what : "right", text);
        free(c);
    }
    printf("%d random cases: %d go wrong, %d have more schedules than were tried\n", judged, wrong,
        open);
    ck_assert_int_gt(wrong, cases / 10);
    ck_assert_int_lt(wrong + open, cases * 9 / 10);
}
END_TEST

/* A design without a complete start rule is not judged, and starts nothing. */
START_TEST(a_rule_with_gaps_is_refused)
{
    static const char text[] = "diagnosis x\nverdict ok\nranks 2\nlanes 1\n"
                               "allreduce a 3\nallreduce b 4\n";
    tutti_start_rule blind = tutti_start_queue, unjudged = tutti_start_queue;
    blind.next = NULL;
    unjudged.held_back = NULL;
    const tutti_start_rule *const gaps[] = {NULL, &blind, &unjudged};
    deadlock_case *c;
    ck_assert_ok(deadlock_case_parse("x_ok.case", text, &c));
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        tutti_design custom = *tutti_design_find("funneled");
        custom.start = gaps[i];
        c->design = &custom;
        expect_refused(c);
    }
    tutti_log_set_level(TUTTI_LOG_ERROR);
    free(c);
}
END_TEST

/* Places that the driver and the checker would misinterpret. */
static int lane_too_high(int64_t index, int lanes)
{
    return (int)index % lanes + 1;
}

PLACE(place_too_high, lane_too_high, 0, 0)

static tutti_status place_backwards(tutti_graph *graph, int lanes)
{
    tutti_status status = tutti_place_in_order(graph, lanes, tutti_place_lane_zero);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        tutti_place place = tutti_graph_get_node(graph, i)->place;
        place.index = 1 - place.index;
        if (tutti_graph_get_node(graph, i)->kind == TUTTI_NODE_COLLECTIVE)
            status = tutti_graph_set_place(graph, i, place);
    }
    return status;
}

START_TEST(places_that_are_none_are_refused)
{
    static const char text[] = "diagnosis x\nverdict ok\nranks 2\nlanes 1\n"
                               "allreduce a 3\nallreduce b 4\n";
    tutti_design custom = *tutti_design_find("funneled");
    explore_result result;
    deadlock_case *c;
    custom.place = _i ? place_backwards : place_too_high;
    ck_assert_ok(deadlock_case_parse("x_ok.case", text, &c));
    c->design = &custom;
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    ck_assert_int_eq(explore_case(c, &(explore_options){.most = 1}, &result), TUTTI_ERR_INVAL);
    tutti_log_set_level(TUTTI_LOG_ERROR);
    free(c);
}
END_TEST

/* ---- as text ---- */

START_TEST(a_rank_survives_as_text)
{
    static const char source[] =
        "diagnosis x\nverdict ok\nranks 2\ndesign naive\nlanes 2\nsteps 2\ngroup g 1 0\n"
        "operator twist compose\n"
        "allreduce a 3 op=max\nbroadcast b 4 root=1 dtype=i64 on g after a\nallgather c 2 after "
        "a\nalltoall d 6 apart parts=1,2/0,3\nscan e 3 op=twist\n";
    deadlock_case *c;
    tutti_check *first, *second;
    char *text, *again;
    int group;
    ck_assert_ok(deadlock_case_parse("x_ok.case", source, &c));
    ck_assert_ok(deadlock_check_new(c, &first));
    ck_assert_ok(tutti_check_new(2, &second));
    ck_assert_ok(tutti_check_add_group(second, "g", 2, (int[]){1, 0}, &group));
    for (int r = 0; r < 2; r++) {
        ck_assert_ok(tutti_check_text(first, r, &text));
        ck_assert_ok(tutti_check_read(second, r, text));
        ck_assert_ok(tutti_check_text(second, r, &again));
        ck_assert_str_eq(text, again);
        ck_assert_uint_eq(tutti_check_digest(text), tutti_check_digest(again));
        free(text);
        free(again);
    }
    ck_assert_int_eq(second->rank[0].colls, 10);
    ck_assert_int_eq((int)second->rank[1].coll[6].number, 1);
    ck_assert_int_eq(second->rank[1].coll[3].lengths, 4);
    ck_assert_int_eq((int)second->rank[1].coll[3].length[1], 3);
    ck_assert_uint_ne(second->rank[1].coll[4].own, 0);
    tutti_check_free(first);
    tutti_check_free(second);
    free(c);
}
END_TEST

START_TEST(text_that_is_none_is_refused)
{
    static const char *const bad[] = {"x", "0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0",
        "99 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 a\n", "0 99 0 0 1 0 0 0 0 0 0 0 0 0 0 0 a\n",
        "0 0 0 0 1 -1 0 0 0 0 0 0 0 0 0 0 a\n", "0 0 0 0 1 0 0 1 0 0 0 0 0 0 0 0 a\n",
        "0 0 0 0 -1 0 0 0 0 0 0 0 0 0 0 0 a\n", "0 0 0 0 1 0 0 0 0 0 0 0 0 0 1 0 0 a\n",
        "0 0 0 0 1 0 0 0 0 0 0 0 0 0 99999999999999999999 0 0 a\n",
        "8 0 0 0 0 1 0 0 0 0 0 0 0 0 0 1 3 a\n", "8 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 3 a\n",
        "8 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 3 -3 a\n", "8 0 0 0 0 1 0 0 0 0 0 0 0 0 0 4 1 1 1 1 a\n"};
    static const char good[] = "8 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 3 3 a\n";
    tutti_check *check;
    ck_assert_ok(tutti_check_new(1, &check));
    ck_assert_ok(tutti_check_read(check, 0, good));
    tutti_check_free(check);
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_ok(tutti_check_new(1, &check));
        ck_assert_msg(tutti_check_read(check, 0, bad[i]) == TUTTI_ERR_FORMAT, "%s", bad[i]);
        tutti_check_free(check);
    }
    tutti_log_set_level(TUTTI_LOG_ERROR);
}
END_TEST

/* ---- before the first step ---- */

typedef struct rank_job {
    tutti_loop_world *world;
    const deadlock_case *c;
    int rank;
    tutti_status checked, judged;
    tutti_verdict verdict;
} rank_job;

static void *run_rank(void *arg)
{
    rank_job *job = arg;
    tutti_transport *transport;
    tutti_exchange *exchange;
    deadlock_rank *rank;
    tutti_exchange_options options = {.design = job->c->design, .timeout_s = 30};
    job->checked = job->judged = TUTTI_ERR_INTERNAL;
    if (deadlock_rank_open(job->c, job->rank, &rank)) return NULL;
    if (tutti_transport_loop(job->world, job->rank, 1, &transport)) return NULL;
    if (tutti_exchange_open_over(transport, &options, &exchange)) return NULL;
    const tutti_graph *graph = deadlock_rank_part(rank, 0);
    job->checked = tutti_exchange_check(exchange, graph);
    job->judged = tutti_exchange_check_graph(exchange, graph, 1, &job->verdict);
    tutti_exchange_close(exchange);
    deadlock_rank_close(rank);
    return NULL;
}

/* Three ranks compare their graphs; returns the clause that all of them find broken. */
static tutti_clause compare_ranks(const char *source, tutti_status checked)
{
    deadlock_case *c;
    tutti_loop_world *loop;
    pthread_t thread[3];
    rank_job job[3];
    ck_assert_ok(deadlock_case_parse("x_ok.case", source, &c));
    ck_assert_ok(tutti_loop_world_new(3, NULL, &loop));
    for (int r = 0; r < 3; r++) {
        job[r] = (rank_job){.world = loop, .c = c, .rank = r};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &job[r]), 0);
    }
    for (int r = 0; r < 3; r++) pthread_join(thread[r], NULL);
    tutti_loop_world_free(loop);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(job[r].checked, checked);
        ck_assert_ok(job[r].judged);
        ck_assert_str_eq(job[r].verdict.text, job[0].verdict.text);
    }
    free(c);
    return job[0].verdict.clause;
}

START_TEST(ranks_compare_before_the_first_step)
{
    static const char head[] = "diagnosis x\nverdict ok\nranks 3\n";
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%sallreduce a 3\nallreduce b 4\n", head);
    ck_assert_int_eq(compare_ranks(text, TUTTI_OK), TUTTI_CLAUSE_NONE);
    tutti_log_set_level(TUTTI_LOG_ERROR - 1);
    snprintf(text, sizeof text, "%sallreduce a 3\nrank 0 1: allreduce b 4\n", head);
    ck_assert_int_eq(compare_ranks(text, TUTTI_ERR_MISMATCH), TUTTI_CLAUSE_MISSING);
    snprintf(text, sizeof text, "%srank 1: allreduce a 3\nrank 0 2: allreduce a 4\n", head);
    ck_assert_int_eq(compare_ranks(text, TUTTI_ERR_MISMATCH), TUTTI_CLAUSE_COUNT);
    snprintf(text, sizeof text,
        "%srank 0: operator own xor\noperator turn compose\nrank 1 2: operator own xor\n"
        "rank 0: allreduce a 3 op=own\nrank 1 2: allreduce a 3 op=turn\n",
        head);
    ck_assert_int_eq(compare_ranks(text, TUTTI_ERR_MISMATCH), TUTTI_CLAUSE_OPERATOR);
    snprintf(text, sizeof text,
        "%srank 0 1: alltoall a 9 apart parts=1,1,1/1,1,1/1,1,1\n"
        "rank 2: alltoall a 10 apart parts=1,1,1/1,1,2/1,1,1\n",
        head);
    ck_assert_int_eq(compare_ranks(text, TUTTI_ERR_MISMATCH), TUTTI_CLAUSE_COUNT);
    tutti_log_set_level(TUTTI_LOG_ERROR);
    snprintf(text, sizeof text,
        "%soperator turn compose\nscan a 3 op=turn\n"
        "alltoall b 11 apart parts=1,0,1/2,3,0/1,1,2\n",
        head);
    ck_assert_int_eq(compare_ranks(text, TUTTI_OK), TUTTI_CLAUSE_NONE);
    /* The graphs differ only between collectives, which the law permits. */
    snprintf(text, sizeof text,
        "%srank 0 1: allreduce a 3\nrank 0 1: allreduce b 4 after a\n"
        "rank 2: allreduce a 3\nrank 2: allreduce b 4\n",
        head);
    ck_assert_int_eq(compare_ranks(text, TUTTI_OK), TUTTI_CLAUSE_NONE);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    Suite *suite = suite_create("static checker");
    TCase *tcase = testing_case(suite, "check");
    tcase_add_test(tcase, workers_are_judged_at_the_bound);
    tcase_add_loop_test(tcase, random_cases_are_judged_as_they_run, 0, 2);
    tcase_add_test(tcase, a_rule_with_gaps_is_refused);
    tcase_add_loop_test(tcase, places_that_are_none_are_refused, 0, 2);
    tcase_add_test(tcase, a_rank_survives_as_text);
    tcase_add_test(tcase, text_that_is_none_is_refused);
    tcase_add_test(tcase, ranks_compare_before_the_first_step);
    return testing_run(suite);
}
