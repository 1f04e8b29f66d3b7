#include "apps/bench/library.h"
#include "apps/bench/result.h"
#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/world.h"
#include "apps/tune/race.h"
#include "collectives/choose.h"
#include "collectives/links/topology_text.h"
#include "collectives/priced.h"
#include "collectives/rules_text.h"
#include "collectives/transport/transport.h"
#include "config.h"
#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/median.h"
#include "dag/base/mem.h"
#include "dag/base/number.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_CELLS = 4096,
    MOST_NUMBERS = 64,
    MOST_ROUNDS = 10000,
    LEAST_CUT = 64 << 10, /* bytes from which segments are tried */
    KIB = 1 << 10,
    CHUNK = 1 << 20, /* designs/passes/chunk.h */
};

typedef struct options {
    const char *file, *kinds, *ranks, *topology, *json, *csv;
    tutti_conf_real link_mbit;
    int64_t from, to, factor;
    double block_s, timeout_s;
    int library;
} options;

#define AT(member) .offset = offsetof(options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "write", "FILE", .flags = TUTTI_CONF_REQUIRED | TUTTI_CONF_LOCAL, AT(file),
        .help = "the rules, for --algorithm rules:FILE"},
    {TUTTI_CONF_TEXT, "kinds", "LIST", .fallback = "allreduce,broadcast,reduce", AT(kinds),
        .help = "kinds of collectives"},
    {TUTTI_CONF_TEXT, "ranks", "LIST", .fallback = "all", AT(ranks),
        .help = "numbers of ranks, such as 2,4,8: the first ones; all: those of the run"},
    TUTTI_BENCH_SETTINGS_SIZES("1024", "16777216", options),
    {TUTTI_CONF_REAL, "block-s", "S", .fallback = "0.1", .low = 1e-4, .high = 1e3, AT(block_s),
        .help = "duration of a block in seconds; a block has at least one round"},
    {TUTTI_CONF_FLAG, "library", NULL, AT(library),
        .help = "compares broadcasts and reduces with the fastest of the MPI library's own "
                "algorithms, in turns"},
    TUTTI_SETTING_TOPOLOGY(AT(topology)),
    TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    TUTTI_BENCH_SETTINGS_RUN("120", options),
    {0},
};
static const tutti_conf conf = {
    .program = "tutti-bench tune-collectives",
    .usage = "--write FILE [OPTION]...",
    .summary = "Measures which algorithm is the fastest for each kind of collective, number of "
               "ranks and size "
               "(tutti-run -n P tutti-bench tune-collectives ...), in turns, after checking that "
               "every one is right, "
               "and writes rules for --algorithm rules:FILE. Prints how far each rule is from the "
               "best, what auto "
               "would take, and, with --topology, what prices would.",
    .settings = settings,
};

/* What is timed: one rule, on a communicator of its own, or a way of the MPI library's. */
typedef struct contestant {
    const tutti_library_way *way; /* NULL: the rule */
    tutti_rule rule;
    tutti_rules rules; /* that rule, or all that have been found */
    tutti_comm *comm;
    int64_t chunk; /* bytes that each collective has; 0: all */
    int64_t rounds;
} contestant;

/* A size of a kind on some ranks, and what came of it. */
typedef struct cell {
    tutti_coll_kind kind;
    int ranks;
    int64_t bytes;
    tutti_rule rule;
    double us, over, over_auto, over_priced; /* ratios to the best; 0: not known */
    double over_own, over_library;           /* to the MPI library's own choice, and its best */
    char library[TUTTI_LIBRARY_NAME];        /* its name */
} cell;

typedef struct bench {
    options o;
    tutti_world world, part; /* part: the ranks that measure; comm NULL: it is the world */
    tutti_world *ranks;      /* one of these */
    int near;                /* they share a machine's memory */
    const int *host;         /* as in tutti_transport */
    struct {
        tutti_sched_builder build;
        int as;              /* the contestant */
    } same[TUTTI_RACE_MOST]; /* [algorithms] of a kind */
    int algorithms;
    tutti_priced *priced; /* NULL: the links are not known */
    tutti_result *result; /* rank 0's */
    float *data;
    contestant contestant[TUTTI_RACE_MOST];
    tutti_library library;           /* of the kind that is measured */
    tutti_rule rule[2 * MOST_CELLS]; /* found so far */
    int rules;
    cell cell[MOST_CELLS];
    int cells;
    int kinds, numbers;
    int kind[TUTTI_COLL_KINDS], number[MOST_NUMBERS];
} bench;

static int P(const bench *b)
{
    return b->ranks->boot.size;
}

/* ---- one round ---- */

/* Roots take turns: a root that sends the next vector before the last one has arrived would hide how long that
 * takes. */
static tutti_status run_round(bench *b, contestant *c, const cell *at, int64_t round)
{
    enum { MOST_CHUNKS = TUTTI_COMM_DEPTH };
    tutti_coll_request *request[MOST_CHUNKS] = {NULL};
    const int64_t count = at->bytes / 4, each = c->chunk ? c->chunk / 4 : count;
    tutti_status status = TUTTI_OK;
    int n = 0;
    if (c->way) return tutti_library_run(c->way, at->kind, b->data, count, (int)(round % P(b)));
    for (int64_t done = 0; done < count && !status; done += each, n++) {
        const tutti_coll_args args = {.kind = at->kind,
            .dtype = TUTTI_F32,
            .op = TUTTI_SUM,
            .root = (int)(round % P(b)),
            .count = count - done < each ? count - done : each,
            .recv = b->data + done};
        status = tutti_coll_post(c->comm, 0, &args, &request[n]);
    }
    for (int i = 0; i < n && !status; i++)
        status = tutti_world_spin(c->comm, request[i], b->o.timeout_s);
    for (int i = 0; i < n; i++) tutti_coll_free(request[i]);
    return status;
}

/* Small integers, whose sums are exact in any order. */
static float value_of(int rank, int64_t i)
{
    return (float)((i * 7 + rank * 3) % 64);
}

static float wanted(const bench *b, tutti_coll_kind kind, int64_t i)
{
    float sum = 0;
    if (kind == TUTTI_BROADCAST) return value_of(0, i);
    for (int r = 0; r < P(b); r++) sum += value_of(r, i);
    return sum;
}

static tutti_status verify(bench *b, contestant *c, const cell *at)
{
    const int64_t count = at->bytes / 4;
    const int rank = b->ranks->boot.rank;
    for (int64_t i = 0; i < count; i++) b->data[i] = value_of(rank, i);
    tutti_status status = run_round(b, c, at, 0);
    int has_result = at->kind != TUTTI_REDUCE || rank == 0;
    for (int64_t i = 0; has_result && i < count && !status; i++)
        if (b->data[i] != wanted(b, at->kind, i))
            status = tutti_fail(TUTTI_ERR_INTERNAL,
                "%s %s: element %" PRId64 " of %" PRId64 " is %g, not %g",
                tutti_coll_kind_name(at->kind),
                c->way              ? c->way->name
                : c->rule.algorithm ? c->rule.algorithm->name
                                    : "",
                i, count, (double)b->data[i], (double)wanted(b, at->kind, i));
    memset(b->data, 0, (size_t)at->bytes); /* sums of sums stay what they are */
    return tutti_world_agree(b->ranks, status);
}

/* ---- a race ---- */

/* Seconds for a round on the slowest rank. */
static tutti_status time_rounds(
    bench *b, contestant *c, const cell *at, int64_t rounds, double *seconds)
{
    tutti_status status = tutti_world_barrier(b->ranks);
    double begun = tutti_clock_s();
    for (int64_t i = 0; i < rounds && !status; i++) status = run_round(b, c, at, i);
    *seconds = tutti_clock_s() - begun;
    return status ? status : tutti_world_max(b->ranks, 1, seconds);
}

/* From a trial, which also warms up; the same on all ranks. */
static tutti_status plan_rounds(bench *b, contestant *c, const cell *at)
{
    double seconds = 0;
    tutti_status status = TUTTI_OK;
    for (c->rounds = 1; !status; c->rounds *= 2) {
        status = time_rounds(b, c, at, c->rounds, &seconds);
        if (seconds >= b->o.block_s / 4 || c->rounds >= MOST_ROUNDS) break;
    }
    double rounds = (double)c->rounds * b->o.block_s / seconds;
    c->rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : (int64_t)rounds;
    return status;
}

/* Times n contestants in turns until there is a winner. */
static tutti_status run_race(bench *b, const cell *at, int n, tutti_race *race)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < n && !status; i++) {
        status = verify(b, &b->contestant[i], at);
        if (!status) status = plan_rounds(b, &b->contestant[i], at);
    }
    tutti_race_begin(race, n);
    for (int turn = 0; !status && turn >= 0; turn = tutti_race_next(race)) { /* one alone, too */
        contestant *c = &b->contestant[turn];
        double seconds;
        status = time_rounds(b, c, at, c->rounds, &seconds);
        if (!status) tutti_race_time(race, seconds / (double)c->rounds);
    }
    return status;
}

/* The one with the least median of those that were timed to the end. */
static int fastest(const tutti_race *race)
{
    int best = tutti_race_winner(race);
    for (int c = 0; c < race->candidates; c++)
        if (!race->out[c] && tutti_race_median(race, c) < tutti_race_median(race, best)) best = c;
    return best;
}

/* ---- a cell ---- */

static void set_rule(contestant *c, const tutti_rule *rule)
{
    c->rule = *rule;
    c->rules = (tutti_rules){.rule = &c->rule, .n = 1};
    c->chunk = 0;
    c->way = NULL;
}

static tutti_choice_key key_of(const bench *b, const cell *at)
{
    return (tutti_choice_key){
        .kind = at->kind, .P = P(b), .near = b->near, .count = at->bytes / 4, .element = 4};
}

static tutti_rule rule_of(const bench *b, const cell *at, const tutti_algorithm *algorithm)
{
    const tutti_choice_key key = key_of(b, at);
    tutti_rule otherwise = {.segment = 0};
    tutti_rules_apply(&tutti_rules_built_in, &key, &otherwise);
    return (tutti_rule){.kind = at->kind,
        .least_P = P(b),
        .most_P = P(b),
        .element = 4,
        .wide = TUTTI_IF_NOT,
        .algorithm = algorithm,
        .radix = algorithm->radix,
        .segment = otherwise.segment};
}

/* ---- schedules that are the same: a chain of chains of four ranks, and a chain ---- */

static int is_same_spot(tutti_spot a, tutti_spot b)
{
    return a.space == b.space && a.offset == b.offset;
}

static int is_same_schedule(const tutti_sched *a, const tutti_sched *b)
{
    int same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) {
        const tutti_sched_step *s = &a->step[i], *t = &b->step[i];
        same = s->kind == t->kind && s->peer == t->peer && s->count == t->count &&
               is_same_spot(s->src, t->src) && is_same_spot(s->dst, t->dst);
    }
    return same;
}

/* This rank's schedule of an algorithm. */
static tutti_status build_schedule(
    const bench *b, const cell *at, const tutti_algorithm *algorithm, tutti_sched **sched)
{
    tutti_choice_key key = key_of(b, at);
    key.radix = algorithm->radix;
    const tutti_choice choice = tutti_coll_choose(algorithm, &key);
    const tutti_sched_shape shape = {.kind = at->kind,
        .rank = b->ranks->boot.rank,
        .P = P(b),
        .count = key.count,
        .segment = choice.segment,
        .radix = choice.radix,
        .host = b->host,
        .in_place = 1};
    return choice.build(&shape, sched);
}

/* Leaves out the candidates that do on every rank what an earlier one does; b->same says which. */
static tutti_status drop_doubles(
    bench *b, const cell *at, const tutti_algorithm *candidate[], int *candidates)
{
    tutti_sched *sched[TUTTI_RACE_MOST] = {NULL};
    double differ[TUTTI_RACE_MOST * TUTTI_RACE_MOST] = {0};
    const int n = *candidates;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < n && !status; i++) status = build_schedule(b, at, candidate[i], &sched[i]);
    for (int i = 0; i < n && !status; i++)
        for (int k = 0; k < i; k++)
            differ[i * TUTTI_RACE_MOST + k] = !is_same_schedule(sched[i], sched[k]);
    for (int i = 0; i < n; i++) tutti_sched_free(sched[i]);
    status = tutti_world_agree(b->ranks, status);
    if (!status) status = tutti_world_max(b->ranks, TUTTI_RACE_MOST * TUTTI_RACE_MOST, differ);
    *candidates = 0;
    for (int i = 0; i < n && !status; i++) {
        int first = 0;
        while (first < i && differ[i * TUTTI_RACE_MOST + first] > 0) first++;
        b->same[i].build = candidate[i]->build[at->kind];
        b->same[i].as = first < i ? b->same[first].as : *candidates;
        if (first == i) candidate[(*candidates)++] = candidate[i];
    }
    b->algorithms = n;
    return status;
}

/* Which contestant has the schedule of a choice; -1: none. */
static int find_contestant(const bench *b, const tutti_choice *choice)
{
    for (int i = 0; i < b->algorithms; i++)
        if (b->same[i].build == choice->build) return b->same[i].as;
    return -1;
}

/* What auto and prices take, beside the best. */
static tutti_status compare_choices(bench *b, const tutti_race *race, int best, cell *at)
{
    const tutti_choice_key key = key_of(b, at);
    tutti_choice choice = tutti_coll_choose(tutti_algorithm_find(NULL), &key);
    int of = find_contestant(b, &choice);
    if (of >= 0) at->over_auto = tutti_race_ratio(race, of, best);
    if (!b->priced) return TUTTI_OK;
    tutti_status status = tutti_priced_choose(b->priced, &key, 0, &choice);
    of = status ? -1 : find_contestant(b, &choice);
    if (of >= 0) at->over_priced = tutti_race_ratio(race, of, best);
    return status;
}

/* The algorithm of the size before, if it is about as fast: rules stay short. */
static int choose_winner(const bench *b, const tutti_race *race, int best, const cell *before)
{
    const double alike = 1.02;
    for (int i = 0; before && i < race->candidates; i++)
        if (b->contestant[i].rule.algorithm == before->rule.algorithm && !race->out[i] &&
            tutti_race_ratio(race, i, best) <= alike)
            return i;
    return tutti_race_winner(race);
}

static tutti_status choose_algorithm(bench *b, const cell *before, cell *at)
{
    const tutti_algorithm *candidate[TUTTI_RACE_MOST];
    int n = tutti_algorithm_candidates(at->kind, candidate, TUTTI_RACE_MOST);
    tutti_race race;
    tutti_status status = drop_doubles(b, at, candidate, &n);
    for (int i = 0; i < n; i++) {
        const tutti_rule rule = rule_of(b, at, candidate[i]);
        set_rule(&b->contestant[i], &rule);
    }
    if (!status) status = run_race(b, at, n, &race);
    if (status) return status;
    const int best = fastest(&race), winner = choose_winner(b, &race, best, before);
    at->rule = b->contestant[winner].rule;
    at->us = 1e6 * tutti_race_median(&race, winner);
    at->over = tutti_race_ratio(&race, winner, best);
    return compare_choices(b, &race, best, at);
}

static tutti_status choose_segment(bench *b, cell *at)
{
    static const int64_t sizes[] = {16 * KIB, 60 * KIB, 256 * KIB, 1024 * KIB};
    tutti_race race;
    int n = 0;
    set_rule(&b->contestant[n++], &at->rule);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tutti_rule rule = at->rule;
        if (sizes[i] == at->rule.segment || sizes[i] >= at->bytes) continue;
        rule.segment = sizes[i];
        set_rule(&b->contestant[n++], &rule);
    }
    if (at->bytes < LEAST_CUT || n < 2) return TUTTI_OK;
    tutti_status status = run_race(b, at, n, &race);
    if (status) return status;
    const int winner = tutti_race_winner(&race);
    at->rule = b->contestant[winner].rule;
    at->us = 1e6 * tutti_race_median(&race, winner);
    return TUTTI_OK;
}

/* ---- the MPI library ---- */

/* The median of the ratios of one contestant's times to another's, in turns. */
static tutti_status compare_two(
    bench *b, const cell *at, contestant *one, contestant *other, double *ratio)
{
    double of[TUTTI_RACE_ROUNDS];
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TUTTI_RACE_ROUNDS && !status; i++) {
        double one_s = 0, other_s = 0;
        status = time_rounds(b, one, at, one->rounds, &one_s);
        if (!status) status = time_rounds(b, other, at, other->rounds, &other_s);
        of[i] = one_s / (double)one->rounds / (other_s / (double)other->rounds);
    }
    if (!status) *ratio = tutti_median(TUTTI_RACE_ROUNDS, of);
    return status;
}

/* The library's ways race; the rule is compared with the first, its own choice, and with their winner. */
static tutti_status compare_library(bench *b, cell *at)
{
    tutti_race race;
    contestant own, best, *rule = &b->contestant[0];
    for (int i = 0; i < b->library.ways; i++) b->contestant[i].way = &b->library.way[i];
    tutti_status status = run_race(b, at, b->library.ways, &race);
    if (status) return status;
    own = b->contestant[0];
    best = b->contestant[fastest(&race)];
    snprintf(at->library, sizeof at->library, "%s", best.way->name);
    set_rule(rule, &at->rule);
    for (int i = 1; i < b->library.ways; i++) b->contestant[i].way = NULL;
    status = verify(b, rule, at);
    if (!status) status = plan_rounds(b, rule, at);
    if (!status) status = compare_two(b, at, rule, &own, &at->over_own);
    return status ? status : compare_two(b, at, rule, &best, &at->over_library);
}

/* ---- telling ---- */

static void print_head(const bench *b)
{
    printf("%-14s %5s %12s  %-20s %9s %12s %9s %9s %9s%s\n", "", "ranks", "bytes", "algorithm",
        "segment", "us", "/ best", "auto", b->priced ? "priced" : "",
        b->o.library ? " / library / its best" : "");
    fflush(stdout);
}

static void print_ratio(double ratio)
{
    if (ratio > 0)
        printf(" %9.3f", ratio);
    else
        printf(" %9s", "-");
}

static void report_cell(const bench *b, const cell *at)
{
    char name[64];
    if (!b->result) return;
    snprintf(name, sizeof name, at->rule.radix ? "%s:%d" : "%s", at->rule.algorithm->name,
        at->rule.radix);
    printf("%-14s %5d %12" PRId64 "  %-20s %9" PRId64 " %12.1f", tutti_coll_kind_name(at->kind),
        at->ranks, at->bytes, name, at->rule.segment, at->us);
    print_ratio(at->over);
    print_ratio(at->over_auto);
    if (b->priced) print_ratio(at->over_priced);
    if (at->over_library > 0)
        printf("%*s %9.3f  %9.3f  %s", b->priced ? 0 : 10, "", at->over_own, at->over_library,
            at->library);
    putchar('\n');
    fflush(stdout);
    tutti_result_event(b->result,
        json_pack("{s:s, s:s, s:i, s:I, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "event",
            "rule", "kind", tutti_coll_kind_name(at->kind), "ranks", at->ranks, "bytes",
            (json_int_t)at->bytes, "algorithm", name, "segment", (json_int_t)at->rule.segment, "us",
            at->us, "over_best", at->over, "auto_over_best", at->over_auto, "priced_over_best",
            at->over_priced, "over_library_choice", at->over_own, "over_library", at->over_library,
            "library", at->library));
}

/* Of all cells whose ratio is known: how many are within 5 % of the best, and the worst. */
static void report_all(const bench *b, const char *what, size_t ratio_at)
{
    const double near_best = 1.05;
    int known = 0, within = 0;
    double worst = 1;
    for (int i = 0; i < b->cells; i++) {
        double ratio = *(const double *)((const char *)&b->cell[i] + ratio_at);
        if (ratio <= 0) continue;
        known++;
        within += ratio <= near_best;
        if (ratio > worst) worst = ratio;
    }
    if (!known) return;
    printf("%-8s %4d of %4d within 5 %% of the best (%.0f %%), the worst %.2f times it\n", what,
        within, known, 100.0 * within / known, worst);
    tutti_result_event(
        b->result, json_pack("{s:s, s:s, s:i, s:i, s:f}", "event", "rules", "what", what, "cells",
                       known, "within_5_pct", within, "worst", worst));
}

/* ---- the file ---- */

static int says_same(const tutti_rule *a, const tutti_rule *b)
{
    return a->kind == b->kind && a->least_P == b->least_P && a->algorithm == b->algorithm &&
           a->radix == b->radix && a->segment == b->segment && !a->chunk;
}

/* A line where the rule changes. */
static void add_rule(bench *b, const cell *at, int first)
{
    tutti_rule rule = at->rule;
    rule.from = first ? 0 : at->bytes;
    if (b->rules && says_same(&b->rule[b->rules - 1], &rule)) return;
    b->rule[b->rules++] = rule;
}

static tutti_status check_file(const char *part)
{
    tutti_rules *rules;
    tutti_status status = tutti_rules_open(part, &rules);
    if (!status) tutti_rules_free(rules);
    return status;
}

static tutti_status write_file(const bench *b)
{
    const tutti_file_options file = {.what = "rules", .path = b->o.file, .verify = check_file};
    tutti_rules rules = {.rule = b->rule, .n = b->rules, .version = PACKAGE_VERSION};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for rules");
    snprintf(rules.mpi, sizeof rules.mpi, "%s", tutti_boot_version());
    rules.mpi[strcspn(rules.mpi, "#\n,")] = '\0';
    tutti_status status =
        b->world.topology ? tutti_topology_hash(b->world.topology, &rules.topology) : TUTTI_OK;
    if (!status) status = tutti_rules_print(&rules, out);
    if (fclose(out) && !status) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for rules");
    if (!status) status = tutti_file_put(&file, text, size);
    free(text);
    return status;
}

/* ---- some ranks ---- */

/* How long chunks of the longest allreduce are best; what other sums gain between them is not measured, so that the
 * default counts where it is about as fast. */
static tutti_status choose_chunk(bench *b)
{
    static const int64_t chunks[] = {CHUNK, 4 * CHUNK, 16 * CHUNK};
    const cell longest = {.kind = TUTTI_ALLREDUCE, .ranks = P(b), .bytes = b->o.to / 4 * 4};
    tutti_race race;
    int n = 0;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        contestant *c = &b->contestant[n];
        if (chunks[i] > longest.bytes || longest.bytes / chunks[i] > TUTTI_COMM_DEPTH - 1) continue;
        c->rules = (tutti_rules){.rule = b->rule, .n = b->rules};
        c->chunk = chunks[i];
        n++;
    }
    if (n < 2) return TUTTI_OK;
    tutti_status status = run_race(b, &longest, n, &race);
    if (status) return status;
    const int winner = tutti_race_winner(&race);
    tutti_rule rule = {.kind = TUTTI_ALLREDUCE,
        .least_P = P(b),
        .most_P = P(b),
        .element = 4,
        .wide = TUTTI_IF_NOT,
        .chunk = b->contestant[winner].chunk};
    b->rule[b->rules++] = rule;
    if (b->result)
        printf("%-14s %5d %12" PRId64 "  in chunks of %" PRId64 " bytes\n", "allreduce", P(b),
            longest.bytes, rule.chunk);
    return TUTTI_OK;
}

static tutti_status measure_kind(bench *b, tutti_coll_kind kind)
{
    const cell *before = NULL;
    tutti_status status = TUTTI_OK;
    if (b->o.library && kind != TUTTI_ALLREDUCE)
        status = tutti_library_open(&b->ranks->boot, kind, &b->library);
    for (int64_t bytes = b->o.from / 4 * 4; bytes <= b->o.to && !status; bytes *= b->o.factor) {
        cell *at = &b->cell[b->cells];
        if (b->cells == MOST_CELLS)
            return tutti_fail(TUTTI_ERR_USAGE, "more than %d sizes, kinds and ranks", MOST_CELLS);
        *at = (cell){.kind = kind, .ranks = P(b), .bytes = bytes};
        status = choose_algorithm(b, before, at);
        if (!status) status = choose_segment(b, at);
        if (!status && b->library.ways) status = compare_library(b, at);
        if (status) break;
        report_cell(b, at);
        add_rule(b, at, !before);
        before = at;
        b->cells++;
    }
    if (!status) tutti_library_close(&b->library);
    return status;
}

static tutti_status open_contestants(bench *b)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TUTTI_RACE_MOST && !status; i++) {
        contestant *c = &b->contestant[i];
        tutti_transport *transport;
        status = tutti_transport_mpi(b->ranks->boot.comm, 1, &transport);
        if (status) return status;
        b->near = transport->near;
        b->host = transport->host; /* of the last one: all are the same */
        if (!i && b->world.topology)
            status = tutti_priced_new(b->world.topology, P(b), NULL, transport->host, &b->priced);
        status = status
                     ? status
                     : tutti_comm_new(transport,
                           &(tutti_comm_options){.algorithm = "rules:measured", .rules = &c->rules},
                           &c->comm);
    }
    return status;
}

static void close_contestants(bench *b)
{
    for (int i = 0; i < TUTTI_RACE_MOST; i++) {
        tutti_comm_free(b->contestant[i].comm);
        b->contestant[i].comm = NULL;
    }
    tutti_priced_free(b->priced);
    b->priced = NULL;
}

static tutti_status measure_ranks(bench *b)
{
    tutti_status status = open_contestants(b);
    if (!status && b->result && !b->cells) print_head(b);
    for (int k = 0; k < b->kinds && !status; k++)
        status = measure_kind(b, (tutti_coll_kind)b->kind[k]);
    for (int k = 0; k < b->kinds && !status; k++)
        if (b->kind[k] == TUTTI_ALLREDUCE) status = choose_chunk(b);
    if (!status) close_contestants(b);
    return status;
}

/* The first n ranks measure; the others wait for them, however long it takes. */
static tutti_status measure_first(bench *b, int n)
{
    const double patient_s = 1e6, timeout_s = b->world.timeout_s;
    const int measures = b->world.boot.rank < n;
    tutti_boot part = {0};
    tutti_transport *transport;
    b->ranks = &b->world;
    if (n == b->world.boot.size) return measure_ranks(b);
    tutti_status status = tutti_boot_split(&b->world.boot, measures, &part);
    if (status) return status;
    if (measures) {
        b->part = (tutti_world){.boot = part, .timeout_s = timeout_s};
        b->ranks = &b->part;
        status = tutti_transport_mpi(part.comm, 1, &transport);
        if (!status) status = tutti_comm_new(transport, NULL, &b->part.comm);
        if (!status) status = measure_ranks(b);
        if (status) return status; /* the others cannot be told: closing the world ends them */
        tutti_comm_free(b->part.comm);
    }
    b->world.timeout_s = patient_s;
    status = tutti_world_barrier(&b->world);
    b->world.timeout_s = timeout_s;
    tutti_boot_finalize(&part);
    return status;
}

/* ---- options ---- */

static tutti_status read_kinds(bench *b)
{
    char copy[256];
    char *rest = copy;
    if (strlen(b->o.kinds) >= sizeof copy)
        return tutti_conf_refuse(&conf, "kinds", b->o.kinds, "is too long");
    strcpy(copy, b->o.kinds);
    for (char *name; (name = strtok_r(rest, ",", &rest));) {
        static const tutti_coll_kind known[] = {TUTTI_ALLREDUCE, TUTTI_BROADCAST, TUTTI_REDUCE};
        int k = 0;
        while (k < 3 && strcmp(tutti_coll_kind_name(known[k]), name) != 0) k++;
        if (k == 3 || b->kinds == TUTTI_COLL_KINDS)
            return tutti_conf_refuse(&conf, "kinds", b->o.kinds,
                "must be some of allreduce, broadcast and reduce, separated by commas");
        b->kind[b->kinds++] = (int)known[k];
    }
    return TUTTI_OK;
}

static tutti_status read_ranks(bench *b)
{
    char copy[256];
    char *rest = copy;
    int64_t ranks;
    if (!strcmp(b->o.ranks, "all")) {
        b->number[b->numbers++] = b->world.boot.size;
        return TUTTI_OK;
    }
    snprintf(copy, sizeof copy, "%s", b->o.ranks);
    for (char *text; (text = strtok_r(rest, ",", &rest)); b->numbers++) {
        if (b->numbers == MOST_NUMBERS || !tutti_number_int(text, &ranks) || ranks < 2 ||
            ranks > b->world.boot.size)
            return tutti_conf_refuse(&conf, "ranks", b->o.ranks,
                "must be numbers from 2 to the ranks of the run, separated by commas, or all");
        b->number[b->numbers] = (int)ranks;
    }
    return TUTTI_OK;
}

static tutti_status check_ranks(bench *b)
{
    tutti_status status = read_ranks(b);
    if (!status && b->world.boot.size < 2)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "tune-collectives needs several ranks: tutti-run -n 4 tutti-bench tune-collectives");
    return status;
}

static tutti_status measure_all(bench *b)
{
    tutti_status status = TUTTI_OK;
    b->data = tutti_mem_aligned((size_t)b->o.to);
    if (!b->data)
        status =
            tutti_fail(TUTTI_ERR_NOMEM, "no memory for a buffer of %" PRId64 " bytes", b->o.to);
    if (!status && b->world.boot.rank == 0)
        status = tutti_result_open(b->o.json, b->o.csv, &b->result);
    status = tutti_world_agree(&b->world, status);
    for (int i = 0; i < b->numbers && !status; i++) status = measure_first(b, b->number[i]);
    if (status || b->world.boot.rank != 0) return status;
    status = write_file(b);
    if (status) return status;
    report_all(b, "rules", offsetof(cell, over));
    report_all(b, "auto", offsetof(cell, over_auto));
    report_all(b, "priced", offsetof(cell, over_priced));
    printf("written: %s (--algorithm rules:%s)\n", b->o.file, b->o.file);
    return TUTTI_OK;
}

static tutti_status run(int argc, char **argv)
{
    static bench b; /* too large for the stack */
    int go;
    tutti_status status = tutti_conf_start(&conf, argc, argv, &b.o, &go);
    if (!go) return status;
    if (b.o.from > b.o.to) return tutti_conf_refuse(&conf, "from", NULL, "is above --to");
    status = read_kinds(&b);
    if (b.o.library) tutti_library_prepare();
    if (!status) status = tutti_world_open(b.o.timeout_s, &b.world);
    if (!status) status = tutti_world_links(&b.world, b.o.topology, b.o.link_mbit, NULL);
    if (status) return status;
    status = check_ranks(&b);
    if (status) { /* on all ranks */
        tutti_world_close(&b.world, TUTTI_OK);
        return status;
    }
    status = measure_all(&b);
    close_contestants(&b);
    free(b.data);
    tutti_status closed = tutti_result_close(b.result);
    if (!status) status = closed;
    tutti_world_close(&b.world, status);
    return status;
}

const tutti_bench tutti_bench_tune_collectives = {
    "tune-collectives", "rules for collectives, by measuring them", run};
