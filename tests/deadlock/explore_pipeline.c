/* A pipeline in a world: the messages of its stages' passes, each stage's in the order in which it emits
 * them (dag/step/units.h). What goes up waits for what this stage has received for the micro-batch, what
 * goes down for what has come down. What fills a slot waits for what its last micro-batch left it with:
 * the edges that a graph makes of slots. */
#include "tests/deadlock/explore.h"

#include "dag/base/log.h"
#include "dag/step/units.h"
#include "tests/deadlock/dice.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    STAGES = 4,
    MICRO_BATCHES = 4,
    CROSSINGS = STAGES * (STAGES - 1) / 2,
    FIRST_EDGE = 2 /* others have the numbers below */
};

/* A value on its way to a stage that reads it, and its gradient on the way back. */
typedef struct crossing {
    int from, to;
    int values, gradients; /* edges */
    int64_t count;
} crossing;

typedef struct pipeline {
    program_setting *setting;
    dice dice;
    int stages, rank[STAGES], micro_batches, crossings;
    tutti_emission emission;
    crossing crossing[CROSSINGS];
} pipeline;

/* Messages of a rank's program. */
typedef struct messages {
    int count, index[PROGRAM_AFTER];
} messages;

typedef struct stage {
    pipeline *of;
    int number, slots;
    program *program;
    messages up[MICRO_BATCHES];    /* what has been received, by micro-batch */
    messages freed[MICRO_BATCHES]; /* after what a slot is free, by slot */
} stage;

/* ---- drawing ---- */

static void draw_ranks(pipeline *p)
{
    int rank[PROGRAM_RANKS];
    for (int r = 0; r < p->setting->ranks; r++) rank[r] = r;
    for (int q = 0; q < p->stages; q++) {
        int at = q + dice_below(&p->dice, p->setting->ranks - q);
        p->rank[q] = rank[at];
        rank[at] = rank[q];
    }
}

static int add_edge(pipeline *p, int from, int to, int number)
{
    program_setting *s = p->setting;
    s->group[s->groups] = (program_group){
        .size = 2, .rank = {p->rank[from], p->rank[to]}, .is_edge = 1, .edge = number};
    return s->groups++;
}

/* Each stage reads what the one below makes, and some what stages further down make. */
static void draw_crossings(pipeline *p)
{
    for (int from = 0; from < p->stages; from++)
        for (int to = from + 1; to < p->stages; to++) {
            if (to > from + 1 && dice_below(&p->dice, 2)) continue;
            int number = FIRST_EDGE + 2 * p->crossings;
            p->crossing[p->crossings++] = (crossing){.from = from,
                .to = to,
                .values = add_edge(p, from, to, number),
                .gradients = add_edge(p, to, from, number + 1),
                .count = dice_below(&p->dice, 3) ? 1 + dice_below(&p->dice, 12)
                                                 : 1 + dice_below(&p->dice, 400)};
        }
}

/* ---- the passes of a stage ---- */

static int add_message(stage *s, const crossing *c, int gradient, int m, const messages *after)
{
    program *p = s->program;
    program_collective *to = &p->collective[p->n];
    *to = (program_collective){.kind = TUTTI_MESSAGE,
        .count = c->count,
        .group = gradient ? c->gradients : c->values,
        .afters = after->count};
    snprintf(to->name, sizeof to->name, "%c%d.%d", gradient ? 'g' : 'v', c->values, m);
    for (int i = 0; i < after->count; i++) to->after[i] = after->index[i];
    return p->n++;
}

/* Messages of micro-batch m on all edges that begin (or end) at this stage. */
static messages add_messages(stage *s, int from_here, int gradient, int m, const messages *after)
{
    messages made = {.count = 0};
    for (int i = 0; i < s->of->crossings; i++) {
        const crossing *c = &s->of->crossing[i];
        if ((from_here ? c->from : c->to) == s->number)
            made.index[made.count++] = add_message(s, c, gradient, m, after);
    }
    return made;
}

static void go_up(stage *s, int m)
{
    const messages *freed = &s->freed[m % s->slots];
    s->up[m] = add_messages(s, 0, 0, m, freed);
    add_messages(s, 1, 0, m, s->up[m].count ? &s->up[m] : freed);
}

static void go_down(stage *s, int m)
{
    static const messages none = {.count = 0};
    messages come = add_messages(s, 1, 1, m, &none);
    messages gone = add_messages(s, 0, 1, m, come.count ? &come : &s->up[m]);
    s->freed[m % s->slots] = gone.count ? gone : come;
}

static tutti_status add_stage(pipeline *p, int q)
{
    int is_1f1b = p->emission == TUTTI_EMISSION_1F1B, M = p->micro_batches, units;
    program *own = &p->setting->program[p->rank[q]];
    stage s = {.of = p, .number = q, .program = own, .slots = M};
    if (is_1f1b) s.slots = 1 + dice_below(&p->dice, 2 * (p->stages - q) - 1);
    if (s.slots > M) s.slots = M;
    const tutti_units_shape shape = {.places = 1, .micro_batches = M, .slots = s.slots};
    tutti_unit *unit = NULL;
    size_t most = (size_t)(own->n + 2 * M * p->crossings);
    program_collective *more = realloc(own->collective, most * sizeof *more);
    if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory");
    own->collective = more;
    tutti_status status = tutti_units_make(
        p->emission, &shape, tutti_units_in_flight(p->emission, &shape), &unit, &units);
    if (!status) status = tutti_units_check(&shape, units, unit);
    for (int i = 0; i < units && !status; i++)
        (unit[i].phase == TUTTI_UNIT_FORWARD ? go_up : go_down)(&s, unit[i].micro_batch);
    free(unit);
    return status;
}

tutti_status explore_add_pipeline(uint64_t seed, program_setting *setting)
{
    pipeline p = {.setting = setting, .dice.seed = seed};
    int most = setting->ranks < STAGES ? setting->ranks : STAGES;
    tutti_status status = TUTTI_OK;
    p.stages = 2 + dice_below(&p.dice, most - 1);
    p.micro_batches = 1 + dice_below(&p.dice, MICRO_BATCHES);
    p.emission = dice_below(&p.dice, 3) ? TUTTI_EMISSION_1F1B : TUTTI_EMISSION_GPIPE;
    draw_ranks(&p);
    draw_crossings(&p);
    for (int q = 0; q < p.stages && !status; q++) status = add_stage(&p, q);
    return status;
}
