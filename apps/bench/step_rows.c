#include "apps/bench/step_rows.h"

#include "dag/step/strategy.h"
#include "dag/strategies/strategies.h"
#include "designs/design.h"

#include <stdio.h>
#include <string.h>

const char *tutti_step_choice_design(int i)
{
    static const char *const sets[] = {"all", "auto"};
    enum { SETS = sizeof sets / sizeof *sets };
    if (i < SETS) return sets[i];
    int seen = SETS;
    for (int d = 0; tutti_designs[d]; d++)
        if (!tutti_designs[d]->unsafe && seen++ == i) return tutti_designs[d]->name;
    return NULL;
}

tutti_step_row *tutti_step_rows_find(tutti_step_bench *b, tutti_row_kind kind)
{
    for (int i = 0; i < b->rows; i++)
        if (b->row[i].kind == kind) return &b->row[i];
    return NULL;
}

/* Whether a strategy sums over the ranks in every step, and has no parameters. */
static int sums(const tutti_strategy *strategy)
{
    return !strategy->alone && !strategy->pushes && !strategy->parameter;
}

const char *tutti_step_choice_strategy(int i)
{
    int strategies = 0;
    for (int k = 0; tutti_strategies[k]; k++)
        if (sums(tutti_strategies[k]) && strategies++ == i) return tutti_strategies[k]->name;
    return i == strategies ? "both" : NULL;
}

static const char *const sums_words[] = {
    [TUTTI_SUMS_GRAPH] = "graph", [TUTTI_SUMS_COLLECTIVE] = "collective", "both", NULL};

const char *tutti_step_choice_sums(int i)
{
    return sums_words[i];
}

tutti_step_row *tutti_step_rows_add(
    tutti_step_bench *b, tutti_row_kind kind, const char *name, tutti_configuration configuration)
{
    tutti_step_row *row = &b->row[b->rows++];
    *row = (tutti_step_row){.kind = kind,
        .name = name,
        .configuration = configuration,
        .strategy = &tutti_strategy_sync};
    return row;
}

/* What a row of a design has beside its configuration. */
typedef struct variant {
    const tutti_strategy *strategy;
    tutti_step_sums sums;
    int tells_sums; /* other rows differ in it */
} variant;

/* "funneled, sharded, program order"; the text lives as long as the program. */
static const char *name_of(const tutti_design *design, const variant *v, int reorders)
{
    static char names[TUTTI_STEP_MOST_ROWS][64];
    static int used;
    const tutti_strategy *strategy = v->strategy;
    char *name = names[used++ % TUTTI_STEP_MOST_ROWS];
    snprintf(name, sizeof names[0], "%s%s%s%s%s%s", design->name, strategy->shards ? ", " : "",
        strategy->shards ? strategy->name : "", reorders ? "" : ", program order",
        v->tells_sums ? ", sums in " : "", v->tells_sums ? sums_words[v->sums] : "");
    return name;
}

static void add_row(
    tutti_step_bench *b, tutti_configuration configuration, const variant *v, int reorders)
{
    tutti_step_row *row = tutti_step_rows_add(
        b, TUTTI_ROW_DESIGN, name_of(configuration.design, v, reorders), configuration);
    row->strategy = v->strategy;
    row->sums = v->sums;
}

/* A design as it is and, if it can reorder its collectives, also in program order. */
static void add_design(tutti_step_bench *b, const tutti_design *design, const variant *v)
{
    int can = design->start->reorders, both = strcmp(b->o.priority, "both") == 0;
    tutti_configuration configuration = {.design = design,
        .lanes = design->many_lanes ? (int)tutti_conf_int_or(b->o.lanes, 0) : 0,
        .bucket_bytes = tutti_conf_bytes(b->o.bucket_mb),
        .chunk_bytes = tutti_conf_bytes(b->o.chunk_mb),
        .priority = strcmp(b->o.priority, "off") != 0};
    add_row(b, configuration, v, 1);
    configuration.priority = 0;
    if (can && both) add_row(b, configuration, v, 0);
}

/* With sums where they are asked for. */
static void add_sums(
    tutti_step_bench *b, const tutti_design *design, const tutti_strategy *strategy)
{
    const int both = !strcmp(b->o.sums, "both");
    for (int sums = TUTTI_SUMS_GRAPH; sums <= TUTTI_SUMS_COLLECTIVE; sums++) {
        const variant v = {strategy, (tutti_step_sums)sums, both};
        if (both || !strcmp(b->o.sums, sums_words[sums])) add_design(b, design, &v);
    }
}

/* With each strategy that is asked for. */
static void add_strategies(tutti_step_bench *b, const tutti_design *design)
{
    for (int i = 0; tutti_strategies[i]; i++)
        if ((!strcmp(b->o.strategy, "both") && sums(tutti_strategies[i])) ||
            !strcmp(b->o.strategy, tutti_strategies[i]->name))
            add_sums(b, design, tutti_strategies[i]);
}

void tutti_step_rows_list(tutti_step_bench *b)
{
    int each = !strcmp(b->o.design, "all") || !strcmp(b->o.design, "auto");
    tutti_step_rows_add(b, TUTTI_ROW_COMPUTE, "computation alone", (tutti_configuration){0});
    tutti_step_rows_add(b, TUTTI_ROW_COMMUNICATE, "communication alone", (tutti_configuration){0});
    for (int i = 0; tutti_step_choice_design(i); i++) {
        const tutti_design *design = tutti_design_find(tutti_step_choice_design(i));
        if (!design) continue;
        int wanted = each ? tutti_design_overlaps(design) : !strcmp(design->name, b->o.design);
        if (wanted) add_strategies(b, design);
    }
}
