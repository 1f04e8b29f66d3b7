/* A strategy's step in a world: what the replicas of a stage exchange once gradients are complete
 * (dag/strategies), and what layers that are divided over groups of them exchange before
 * (dag/net/divided.c).
 *
 *   sync      all-reduce of each bucket, the last layer's first
 *   sharded   reduce-scatter of each bucket; all-gather of each, the first layer's first, after its sum
 *   rooted    reduce; broadcast after it, likewise
 *
 * Sums may wait for what the rank does before them in other groups, such as messages of a pipeline. In sequential,
 * sums over all ranks must not wait for each other, be it through another group. */
#include "tests/deadlock/explore.h"

#include "collectives/value/args.h"
#include "dag/base/log.h"
#include "tests/deadlock/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGES = 3,
    DIVIDED = 8, /* replicas, at most */
    BUCKETS = 3,
    MICRO_BATCHES = 2,
    MOST = 2 * BUCKETS + 4 * MICRO_BATCHES + 2 /* collectives of a rank */
};

/* The collectives for a bucket's gradients, and for the parameters that come of them. */
typedef struct form {
    tutti_coll_kind sums, spreads;
    int apart, spread; /* whether the sum has a buffer of its own; whether anything follows it */
} form;

static const form forms[] = {{.sums = TUTTI_ALLREDUCE},
    {.sums = TUTTI_REDUCE_SCATTER, .spreads = TUTTI_ALLGATHER, .apart = 1, .spread = 1},
    {.sums = TUTTI_REDUCE, .spreads = TUTTI_BROADCAST, .apart = 1, .spread = 1}};

/* What the ranks of a group do. */
typedef struct plan {
    program_setting *setting;
    const form *form;
    int group, root, waits, buckets;
    tutti_dtype wire;
    int64_t count[BUCKETS];
    int micro_batches; /* through a divided layer; 0: none */
    int side[DIVIDED]; /* by rank in the group: its division */
    int with[DIVIDED]; /* and the group of those that have its block; 0: it is alone */
    int64_t values;
} plan;

static program_collective *add(const plan *p, program *to, const char *what, int number)
{
    program_collective *c = &to->collective[to->n++];
    *c = (program_collective){.kind = TUTTI_ALLREDUCE, .count = p->values, .group = p->group};
    snprintf(c->name, sizeof c->name, "%s%d.%d", what, p->group, number);
    return c;
}

static void wait_for(program_collective *c, int index)
{
    c->after[c->afters++] = index;
}

/* ---- sums and updates ---- */

/* Blocks of a bucket, as a reduce-scatter scatters them. */
static void deal(const plan *p, program_collective *c)
{
    int64_t from;
    c->parts = p->setting->group[p->group].size;
    for (int r = 0; r < c->parts; r++) tutti_coll_block(c->count, c->parts, r, &from, &c->part[r]);
}

static void update(const plan *p, program *to)
{
    int last = p->waits ? to->n - 1 : -1, sum[BUCKETS];
    for (int b = p->buckets - 1; b >= 0; b--) {
        sum[b] = to->n;
        program_collective *c = add(p, to, "d", b);
        c->kind = p->form->sums;
        c->dtype = p->wire;
        c->count = p->count[b];
        c->root = p->root;
        c->apart = p->form->apart;
        if (last >= 0 && to->collective[last].group != p->group) wait_for(c, last);
    }
    for (int b = 0; b < p->buckets && p->form->spread; b++) {
        program_collective *c = add(p, to, "w", b);
        c->kind = p->form->spreads;
        c->count = p->count[b];
        c->root = p->root;
        wait_for(c, sum[b]);
        if (c->kind == TUTTI_ALLGATHER) deal(p, c);
        if (b == p->buckets - 1) sum[b] = to->n - 1;
    }
    program_collective *loss = add(p, to, "loss", 0);
    if (p->form->spread) wait_for(loss, sum[p->buckets - 1]);
}

/* ---- divided layers ---- */

static int pass_on(const plan *p, program *to, int me, const char *what, int m, int after)
{
    int index = to->n;
    program_collective *c = add(p, to, what, p->side[me] * MICRO_BATCHES + m);
    c->kind = TUTTI_ALLGATHER;
    c->group = p->side[me];
    c->apart = 1;
    if (after >= 0) wait_for(c, after);
    return index;
}

/* Inputs and outputs travel in a division, and so do gradients of outputs; what the ranks add to the
 * gradient of the inputs is scattered. Then a block's gradients are summed. */
static void divide(const plan *p, program *to, int me)
{
    int after = -1;
    for (int m = 0; m < p->micro_batches; m++) {
        after = pass_on(p, to, me, "x", m, after);
        after = pass_on(p, to, me, "y", m, after);
        after = pass_on(p, to, me, "dy", m, after);
        after = pass_on(p, to, me, "dx", m, after);
        to->collective[after].kind = TUTTI_REDUCE_SCATTER;
    }
    if (!p->with[me]) return;
    program_collective *c = add(p, to, "block", p->with[me]);
    c->group = p->with[me];
    wait_for(c, after);
}

static int add_group(plan *p, int first, int stride, int size)
{
    program_setting *s = p->setting;
    program_group of = {.size = size};
    for (int i = 0; i < size; i++) of.rank[i] = s->group[p->group].rank[first + i * stride];
    s->group[s->groups] = of;
    return s->groups++;
}

/* Groups of two that follow each other. */
static void draw_division(plan *p, dice *d)
{
    int size = p->setting->group[p->group].size;
    if (p->setting->ordered || size % 2 || size > DIVIDED || dice_below(d, 2)) return;
    p->micro_batches = 1 + dice_below(d, MICRO_BATCHES);
    for (int r = 0; r < size; r += 2) p->side[r] = p->side[r + 1] = add_group(p, r, 1, 2);
    for (int r = 0; r < 2 && size > 2; r++) {
        int with = add_group(p, r, 2, size / 2);
        for (int i = r; i < size; i += 2) p->with[i] = with;
    }
}

/* ---- groups of replicas ---- */

/* All ranks, or as many of them in any order as have this stage. */
static int draw_replicas(dice *d, program_setting *s, int stages, int stage, int rank[])
{
    program_group of = {.size = 0};
    if (stages == 1 && (s->ordered || dice_below(d, 2))) return 0;
    for (int r = stage; r < s->ranks; r += stages) of.rank[of.size++] = rank[r];
    s->group[s->groups] = of;
    return s->groups++;
}

static void draw_plan(plan *p, dice *d)
{
    p->form = &forms[dice_below(d, sizeof forms / sizeof *forms)];
    p->root = dice_below(d, p->setting->group[p->group].size);
    p->waits = dice_below(d, 2) && (p->group || !p->setting->design->start->main_drives);
    p->wire = dice_below(d, 3) ? TUTTI_F32 : TUTTI_BF16;
    p->buckets = 1 + dice_below(d, BUCKETS);
    for (int b = 0; b < p->buckets; b++)
        p->count[b] = dice_below(d, 3) ? 1 + dice_below(d, 12) : 1 + dice_below(d, 400);
    p->values = 1 + dice_below(d, 12);
    draw_division(p, d);
}

static tutti_status follow_plan(const plan *p)
{
    const program_group *of = &p->setting->group[p->group];
    for (int me = 0; me < of->size; me++) {
        program *to = &p->setting->program[of->rank[me]];
        program_collective *more =
            realloc(to->collective, (size_t)(to->n + MOST) * sizeof *to->collective);
        if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "explorer: no memory");
        to->collective = more;
        divide(p, to, me);
        update(p, to);
    }
    return TUTTI_OK;
}

tutti_status explore_add_strategy(uint64_t seed, program_setting *setting)
{
    dice d = {.seed = seed};
    int most = setting->ranks / 2 < STAGES ? setting->ranks / 2 : STAGES, rank[PROGRAM_RANKS];
    int stages = setting->ordered ? 1 : 1 + dice_below(&d, most);
    tutti_status status = TUTTI_OK;
    for (int r = 0; r < setting->ranks; r++) {
        int at = dice_below(&d, r + 1);
        rank[r] = rank[at];
        rank[at] = r;
    }
    for (int q = 0; q < stages && !status; q++) {
        plan p = {.setting = setting, .group = draw_replicas(&d, setting, stages, q, rank)};
        draw_plan(&p, &d);
        status = follow_plan(&p);
    }
    return status;
}
