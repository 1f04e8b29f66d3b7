#include "apps/bench/rows.h"
#include "apps/bench/settings.h"
#include "apps/bench/tuner.h"
#include "collectives/links/topology_text.h"
#include "collectives/rules_text.h"
#include "collectives/transport/transport.h"
#include "config.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/base/number.h"
#include "designs/exchange/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_CUT = 64 << 10, /* bytes from which segments are tried */
    KIB = 1 << 10,
    CHUNK = 1 << 20, /* designs/passes/chunk.h */
};

#define AT(member) .offset = offsetof(tutti_tuner_options, member)
static const tutti_setting settings[] = {
    {TUTTI_CONF_HEADING, .help = "Options"},
    {TUTTI_CONF_TEXT, "write", "FILE", .flags = TUTTI_CONF_REQUIRED | TUTTI_CONF_LOCAL, AT(file),
        .help = "the rules, for --algorithm rules:FILE"},
    {TUTTI_CONF_TEXT, "kinds", "LIST", .fallback = "allreduce,broadcast,reduce", AT(kinds),
        .help = "kinds of collectives"},
    {TUTTI_CONF_TEXT, "ranks", "LIST", .fallback = "all", AT(ranks),
        .help = "numbers of ranks, such as 2,4,8: the first ones; all: those of the run"},
    TUTTI_BENCH_SETTINGS_SIZES("1024", "16777216", tutti_tuner_options),
    {TUTTI_CONF_REAL, "block-s", "S", .fallback = "0.1", .low = 1e-4, .high = 1e3, AT(block_s),
        .help = "duration of a block in seconds; a block has at least one round"},
    {TUTTI_CONF_FLAG, "library", NULL, AT(library),
        .help = "compares broadcasts and reduces with the fastest of the MPI library's own "
                "algorithms, in turns"},
    TUTTI_SETTING_TOPOLOGY(AT(topology)),
    TUTTI_SETTING_LINK_MBIT(AT(link_mbit)),
    TUTTI_BENCH_SETTINGS_RUN("120", tutti_tuner_options),
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

/* ---- a cell ---- */

static void set_rule(tutti_tuner_contestant *c, const tutti_rule *rule)
{
    c->rule = *rule;
    c->rules = (tutti_rules){.rule = &c->rule, .n = 1};
    c->chunk = 0;
    c->way = NULL;
}

static tutti_choice_key key_of(const tutti_tuner *b, const tutti_tuner_cell *at)
{
    return (tutti_choice_key){.kind = at->kind,
        .P = tutti_tuner_P(b),
        .near = b->near,
        .count = at->bytes / 4,
        .element = 4};
}

static tutti_rule rule_of(
    const tutti_tuner *b, const tutti_tuner_cell *at, const tutti_algorithm *algorithm)
{
    const tutti_choice_key key = key_of(b, at);
    tutti_rule otherwise = {.segment = 0};
    tutti_rules_apply(&tutti_rules_built_in, &key, &otherwise);
    return (tutti_rule){.kind = at->kind,
        .least_P = tutti_tuner_P(b),
        .most_P = tutti_tuner_P(b),
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
static tutti_status build_schedule(const tutti_tuner *b, const tutti_tuner_cell *at,
    const tutti_algorithm *algorithm, tutti_sched **sched)
{
    tutti_choice_key key = key_of(b, at);
    key.radix = algorithm->radix;
    const tutti_choice choice = tutti_coll_choose(algorithm, &key);
    const tutti_sched_shape shape = {.kind = at->kind,
        .rank = b->ranks->boot.rank,
        .P = tutti_tuner_P(b),
        .count = key.count,
        .segment = choice.segment,
        .radix = choice.radix,
        .host = b->host,
        .in_place = 1};
    return choice.build(&shape, sched);
}

/* Leaves out the candidates that do on every rank what an earlier one does; b->same says which. */
static tutti_status drop_doubles(
    tutti_tuner *b, const tutti_tuner_cell *at, const tutti_algorithm *candidate[], int *candidates)
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
static int find_contestant(const tutti_tuner *b, const tutti_choice *choice)
{
    for (int i = 0; i < b->algorithms; i++)
        if (b->same[i].build == choice->build) return b->same[i].as;
    return -1;
}

/* What auto and prices take, beside the best. */
static tutti_status compare_choices(
    tutti_tuner *b, const tutti_race *race, int best, tutti_tuner_cell *at)
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
static int choose_winner(
    const tutti_tuner *b, const tutti_race *race, int best, const tutti_tuner_cell *before)
{
    const double alike = 1.02;
    for (int i = 0; before && i < race->candidates; i++)
        if (b->contestant[i].rule.algorithm == before->rule.algorithm && !race->out[i] &&
            tutti_race_ratio(race, i, best) <= alike)
            return i;
    return tutti_race_winner(race);
}

/* What has won, and its times. */
static void keep_winner(
    const tutti_tuner *b, const tutti_race *race, int winner, tutti_tuner_cell *at)
{
    at->rule = b->contestant[winner].rule;
    at->us = 1e6 * tutti_race_median(race, winner);
    at->samples = race->times[winner];
    memcpy(at->sample_s, race->step_s[winner], sizeof at->sample_s);
}

static tutti_status choose_algorithm(
    tutti_tuner *b, const tutti_tuner_cell *before, tutti_tuner_cell *at)
{
    const tutti_algorithm *candidate[TUTTI_RACE_MOST];
    int n = tutti_algorithm_candidates(at->kind, candidate, TUTTI_RACE_MOST);
    tutti_race race;
    tutti_status status = drop_doubles(b, at, candidate, &n);
    for (int i = 0; i < n; i++) {
        const tutti_rule rule = rule_of(b, at, candidate[i]);
        set_rule(&b->contestant[i], &rule);
    }
    if (!status) status = tutti_tuner_race(b, at, n, &race);
    if (status) return status;
    const int best = tutti_tuner_fastest(&race), winner = choose_winner(b, &race, best, before);
    keep_winner(b, &race, winner, at);
    at->over = tutti_race_ratio(&race, winner, best);
    return compare_choices(b, &race, best, at);
}

static tutti_status choose_segment(tutti_tuner *b, tutti_tuner_cell *at)
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
    tutti_status status = tutti_tuner_race(b, at, n, &race);
    if (status) return status;
    const int winner = tutti_race_winner(&race);
    keep_winner(b, &race, winner, at);
    return TUTTI_OK;
}

/* ---- the MPI library ---- */

/* The library's ways race; the rule is compared with the first, its own choice, and with their winner. */
static tutti_status compare_library(tutti_tuner *b, tutti_tuner_cell *at)
{
    tutti_race race;
    tutti_tuner_contestant own, best, *rule = &b->contestant[0];
    for (int i = 0; i < b->library.ways; i++) b->contestant[i].way = &b->library.way[i];
    tutti_status status = tutti_tuner_race(b, at, b->library.ways, &race);
    if (status) return status;
    own = b->contestant[0];
    best = b->contestant[tutti_tuner_fastest(&race)];
    snprintf(at->library, sizeof at->library, "%s", best.way->name);
    set_rule(rule, &at->rule);
    for (int i = 1; i < b->library.ways; i++) b->contestant[i].way = NULL;
    status = tutti_tuner_verify(b, rule, at);
    if (!status) status = tutti_tuner_plan(b, rule, at);
    if (!status) status = tutti_tuner_compare(b, at, rule, &own, &at->over_own);
    return status ? status : tutti_tuner_compare(b, at, rule, &best, &at->over_library);
}

/* ---- the file ---- */

static int says_same(const tutti_rule *a, const tutti_rule *b)
{
    return a->kind == b->kind && a->least_P == b->least_P && a->algorithm == b->algorithm &&
           a->radix == b->radix && a->segment == b->segment && !a->chunk;
}

/* A line where the rule changes. */
static void add_rule(tutti_tuner *b, const tutti_tuner_cell *at, int first)
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

static tutti_status write_file(const tutti_tuner *b)
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
static tutti_status choose_chunk(tutti_tuner *b)
{
    static const int64_t chunks[] = {CHUNK, 4 * CHUNK, 16 * CHUNK};
    const tutti_tuner_cell longest = {
        .kind = TUTTI_ALLREDUCE, .ranks = tutti_tuner_P(b), .bytes = b->o.to / 4 * 4};
    tutti_race race;
    int n = 0;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        tutti_tuner_contestant *c = &b->contestant[n];
        if (chunks[i] > longest.bytes || longest.bytes / chunks[i] > TUTTI_COMM_DEPTH - 1) continue;
        c->rules = (tutti_rules){.rule = b->rule, .n = b->rules};
        c->chunk = chunks[i];
        n++;
    }
    if (n < 2) return TUTTI_OK;
    tutti_status status = tutti_tuner_race(b, &longest, n, &race);
    if (status) return status;
    const int winner = tutti_race_winner(&race);
    tutti_rule rule = {.kind = TUTTI_ALLREDUCE,
        .least_P = tutti_tuner_P(b),
        .most_P = tutti_tuner_P(b),
        .element = 4,
        .wide = TUTTI_IF_NOT,
        .chunk = b->contestant[winner].chunk};
    b->rule[b->rules++] = rule;
    if (b->result)
        printf("%-14s %5d %12" PRId64 "  in chunks of %" PRId64 " bytes\n", "allreduce",
            tutti_tuner_P(b), longest.bytes, rule.chunk);
    return TUTTI_OK;
}

static tutti_status measure_kind(tutti_tuner *b, tutti_coll_kind kind)
{
    const tutti_tuner_cell *before = NULL;
    tutti_status status = TUTTI_OK;
    if (b->o.library && kind != TUTTI_ALLREDUCE)
        status = tutti_library_open(&b->ranks->boot, kind, &b->library);
    for (int64_t bytes = b->o.from / 4 * 4; bytes <= b->o.to && !status; bytes *= b->o.factor) {
        tutti_tuner_cell *at = &b->cell[b->cells];
        if (b->cells == TUTTI_TUNER_CELLS)
            return tutti_fail(
                TUTTI_ERR_USAGE, "more than %d sizes, kinds and ranks", TUTTI_TUNER_CELLS);
        *at = (tutti_tuner_cell){.kind = kind, .ranks = tutti_tuner_P(b), .bytes = bytes};
        status = choose_algorithm(b, before, at);
        if (!status) status = choose_segment(b, at);
        if (!status && b->library.ways) status = compare_library(b, at);
        if (status) break;
        tutti_tuner_report_cell(b, at);
        add_rule(b, at, !before);
        before = at;
        b->cells++;
    }
    if (!status) tutti_library_close(&b->library);
    return status;
}

static tutti_status open_contestants(tutti_tuner *b)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < TUTTI_RACE_MOST && !status; i++) {
        tutti_tuner_contestant *c = &b->contestant[i];
        tutti_transport *transport;
        status = tutti_transport_mpi(b->ranks->boot.comm, 1, &transport);
        if (status) return status;
        b->near = transport->near;
        b->host = transport->host; /* of the last one: all are the same */
        if (!i && b->world.topology)
            status = tutti_priced_new(
                b->world.topology, tutti_tuner_P(b), NULL, transport->host, &b->priced);
        status = status
                     ? status
                     : tutti_comm_new(transport,
                           &(tutti_comm_options){.algorithm = "rules:measured", .rules = &c->rules},
                           &c->comm);
    }
    return status;
}

static void close_contestants(tutti_tuner *b)
{
    for (int i = 0; i < TUTTI_RACE_MOST; i++) {
        tutti_comm_free(b->contestant[i].comm);
        b->contestant[i].comm = NULL;
    }
    tutti_priced_free(b->priced);
    b->priced = NULL;
}

static tutti_status measure_ranks(tutti_tuner *b)
{
    tutti_status status = open_contestants(b);
    if (!status && b->result && !b->cells) tutti_tuner_print_head(b);
    for (int k = 0; k < b->kinds && !status; k++)
        status = measure_kind(b, (tutti_coll_kind)b->kind[k]);
    for (int k = 0; k < b->kinds && !status; k++)
        if (b->kind[k] == TUTTI_ALLREDUCE) status = choose_chunk(b);
    if (!status) close_contestants(b);
    return status;
}

/* The first n ranks measure; the others wait for them, however long it takes. */
static tutti_status measure_first(tutti_tuner *b, int n)
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
        if (status) return status; /* nothing reaches the others: closing the world ends them */
        tutti_comm_free(b->part.comm);
    }
    b->world.timeout_s = patient_s;
    status = tutti_world_barrier(&b->world);
    b->world.timeout_s = timeout_s;
    tutti_boot_finalize(&part);
    return status;
}

/* ---- options ---- */

static tutti_status read_kinds(tutti_tuner *b)
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

static tutti_status read_ranks(tutti_tuner *b)
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
        if (b->numbers == TUTTI_TUNER_NUMBERS || !tutti_number_int(text, &ranks) || ranks < 2 ||
            ranks > b->world.boot.size)
            return tutti_conf_refuse(&conf, "ranks", b->o.ranks,
                "must be numbers from 2 to the ranks of the run, separated by commas, or all");
        b->number[b->numbers] = (int)ranks;
    }
    return TUTTI_OK;
}

static tutti_status check_ranks(tutti_tuner *b)
{
    tutti_status status = read_ranks(b);
    if (!status && b->world.boot.size < 2)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "tune-collectives needs several ranks: tutti-run -n 4 tutti-bench tune-collectives");
    return status;
}

static tutti_status measure_all(tutti_tuner *b)
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
    tutti_tuner_report_all(b, "rules", offsetof(tutti_tuner_cell, over));
    tutti_tuner_report_all(b, "auto", offsetof(tutti_tuner_cell, over_auto));
    tutti_tuner_report_all(b, "priced", offsetof(tutti_tuner_cell, over_priced));
    printf("written: %s (--algorithm rules:%s)\n", b->o.file, b->o.file);
    return TUTTI_OK;
}

static tutti_status run(int argc, char **argv)
{
    static tutti_tuner b; /* too large for the stack */
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
