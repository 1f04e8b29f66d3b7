#include "apps/plan/candidates.h"

#include "dag/base/log.h"
#include "dag/net/divide.h"
#include "dag/net/layer.h"
#include "dag/step/strategy.h"
#include "dag/strategies/strategies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    const tutti_sim_model *m;
    const tutti_plan_layers *layers;
    int64_t batch;
    int ranks;
    tutti_plan_rank rank;
    tutti_plan_layouts *found;
    double *scratch; /* [5 * layers] */
} search;

/* ---- what one is expected to take ---- */

/* What a rank of a stage does in a step. */
typedef struct load {
    double kernels_s;
    double sums, values, cuts; /* bytes: gradients; of divided layers; to the stages beside it */
    int divided;               /* layers */
} load;

static load load_of(const search *s, const tutti_placement *p, int q, int64_t batch)
{
    const tutti_plan_layer *row = s->layers->layer;
    const int first = q > 0 ? p->end[q - 1] : 0;
    const int end = p->stages > 1 ? p->end[q] : s->layers->count;
    const double images = (double)batch;
    load on = {0};
    for (int l = first; l < end; l++) {
        const int blocks = tutti_layer_is_divided(&s->m->net->layer[l], p) ? p->blocks : 1;
        on.kernels_s += images * row[l].image_s / s->rank.workers;
        if (!(row[l].shape.weights > 0)) continue;
        on.sums += tutti_plan_sums_bytes(&row[l].shape, p->replicas, blocks);
        on.values += tutti_plan_values_bytes(&row[l].shape, images, blocks);
        on.divided += blocks > 1;
    }
    if (q > 0) on.cuts += images * row[first - 1].crosses;
    if (q + 1 < p->stages) on.cuts += images * row[end - 1].crosses;
    return on;
}

/* What kernels do not hide of the sums of replicas: the bubble. */
static double exposed_sums(const search *s, const tutti_placement *p, int64_t batch)
{
    const int n = s->layers->count;
    const double scale = (double)batch / s->layers->images / s->rank.workers;
    double *forward = s->scratch, *backward = forward + n, *sum = forward + 2 * n, kernels_s = 0;
    if (!(s->rank.rate > 0)) return 0;
    for (int l = 0; l < n; l++) {
        const tutti_plan_layer *row = &s->layers->layer[l];
        const int blocks = tutti_layer_is_divided(&s->m->net->layer[l], p) ? p->blocks : 1;
        forward[l] = scale * row->forward_s;
        backward[l] = scale * row->backward_s;
        kernels_s += forward[l] + backward[l];
        sum[l] = tutti_plan_sums_bytes(&row->shape, p->replicas, blocks) / s->rank.rate;
    }
    return tutti_plan_bubble(n, forward, backward, sum, forward + 3 * n, forward + 4 * n) -
           kernels_s;
}

/* Of the slowest stage. In a pipeline S - 1 of M + S - 1 parts of the time are a bubble (Huang et al. 2019,
 * arXiv:1811.06965), kernels hide what crosses cuts, and sums follow the last micro-batch. Kernels wait for what
 * divided layers exchange: four collectives for each micro-batch. */
static void expect(const search *s, const tutti_placement *p, tutti_plan_layout *c)
{
    enum { EXCHANGES = 4 };
    const double rate = s->rank.rate > 0 ? s->rank.rate : INFINITY;
    const int parts = c->layout.micro_batches ? c->layout.micro_batches : s->rank.workers;
    double exposed_s = 0;
    for (int q = 0; q < p->stages; q++) {
        const load on = load_of(s, p, q, c->batch);
        const double waits = EXCHANGES * on.divided * parts + 2 * (p->stages - 1);
        const double sums_s = p->stages > 1 ? on.sums / rate : exposed_sums(s, p, c->batch);
        c->kernels_s = fmax(c->kernels_s, on.kernels_s);
        c->sends = fmax(c->sends, on.sums + on.values + on.cuts);
        c->total += p->replicas * (on.sums + on.values + on.cuts);
        exposed_s =
            fmax(exposed_s, sums_s + on.values / rate + fmax(0, on.cuts / rate - on.kernels_s) +
                                waits * s->rank.latency_s);
    }
    const double bubble = p->stages > 1 ? (double)(parts + p->stages - 1) / parts : 1;
    c->expected_s = bubble * c->kernels_s + exposed_s;
}

/* ---- which there are ---- */

/* Whether there are times of its kernels: a trace has those of one size. */
static int has_times(const search *s, const tutti_placement *p, int micro_batches)
{
    const int parts = micro_batches ? micro_batches : s->rank.workers;
    const int64_t batch = s->batch / p->replicas;
    return s->m->times != TUTTI_SIM_TRACED ||
           (batch % parts == 0 && batch / parts == s->m->traced.images &&
               p->blocks == s->m->traced.blocks);
}

static tutti_status add(search *s, const tutti_placement *p, int micro_batches, int sharded)
{
    tutti_plan_layouts *f = s->found;
    if (!has_times(s, p, micro_batches)) return TUTTI_OK;
    tutti_plan_layout *larger = realloc(f->layout, (size_t)(f->count + 1) * sizeof *larger);
    if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d layouts", f->count + 1);
    f->layout = larger;
    tutti_plan_layout *c = &f->layout[f->count++];
    *c = (tutti_plan_layout){.batch = s->batch / p->replicas};
    if (tutti_placement_is_divided(p))
        c->layout.placement = (tutti_placement){.stages = p->stages > 1 ? p->stages : 0,
            .replicas = p->replicas,
            .blocks = p->blocks > 1 ? p->blocks : 0};
    c->layout.micro_batches = micro_batches;
    c->layout.link_bytes_per_s = s->rank.rate;
    if (sharded) {
        tutti_strategy_settings settings;
        char fault[128];
        (void)tutti_strategy_read("sharded", &c->strategy, &settings, fault, sizeof fault);
    }
    expect(s, p, c);
    return TUTTI_OK;
}

static tutti_status add_strategies(search *s, const tutti_placement *p, int micro_batches)
{
    tutti_status status = add(s, p, micro_batches, 0);
    return status || p->replicas == 1 ? status : add(s, p, micro_batches, 1);
}

/* With one, two, four and eight micro-batches for each stage, as far as they divide the batch. */
static tutti_status add_parts(search *s, const tutti_placement *p)
{
    const int64_t batch = s->batch / p->replicas;
    tutti_status status = TUTTI_OK;
    if (p->stages == 1) return add_strategies(s, p, 0);
    for (int each = 1; !status && each <= 8; each *= 2) {
        const int parts = each * p->stages;
        if (parts <= batch && batch % parts == 0) status = add_strategies(s, p, parts);
    }
    return status;
}

static int has_divided(const tutti_net *net, const tutti_placement *p)
{
    for (int l = 0; l < net->layers; l++)
        if (tutti_layer_is_divided(&net->layer[l], p)) return 1;
    return 0;
}

static tutti_status add_splits(search *s, tutti_placement *p)
{
    tutti_status status = TUTTI_OK;
    for (int b = 1; !status && b <= p->replicas; b++) {
        if (p->replicas % b) continue;
        p->blocks = b;
        if (b == 1 || has_divided(s->m->net, p)) status = add_parts(s, p);
    }
    return status;
}

static int with_parameters(const tutti_plan_layers *layers)
{
    int n = 0;
    for (int l = 0; l < layers->count; l++) n += layers->layer[l].shape.weights > 0;
    return n;
}

/* The cut into stages, which depends little on the rest of the layout. */
static tutti_status cut(const search *s, tutti_placement *p)
{
    const tutti_layout layout = {.placement = {.stages = p->stages, .replicas = p->replicas},
        .link_bytes_per_s = s->rank.rate};
    const tutti_step_options step = {.batch = s->batch / p->replicas, .placement = *p};
    if (p->stages == 1) return TUTTI_OK;
    return tutti_layout_cut(&layout, s->m->model->name, s->m->net, &step, s->rank.workers, p->end);
}

/* In place and stable: of equals, the simpler layout was found first. */
static void sort(tutti_plan_layouts *f)
{
    for (int i = 1; i < f->count; i++) {
        const tutti_plan_layout c = f->layout[i];
        int j = i;
        for (; j > 0 && f->layout[j - 1].expected_s > c.expected_s; j--)
            f->layout[j] = f->layout[j - 1];
        f->layout[j] = c;
    }
}

tutti_status tutti_plan_layouts_list(const tutti_sim_model *m, const tutti_plan_layers *layers,
    int64_t batch, int ranks, const tutti_plan_rank *rank, tutti_plan_layouts *layouts)
{
    search s = {m, layers, batch, ranks, *rank, layouts, NULL};
    const int most = with_parameters(layers);
    tutti_status status = TUTTI_OK;
    *layouts = (tutti_plan_layouts){0};
    s.scratch = malloc(5 * (size_t)layers->count * sizeof *s.scratch);
    if (!s.scratch) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d layers", layers->count);
    for (int stages = 1; !status && stages <= ranks && stages <= most; stages++) {
        tutti_placement p = {.stages = stages, .replicas = ranks / stages, .blocks = 1};
        if (ranks % stages || stages > TUTTI_PLACEMENT_STAGES || batch % p.replicas) continue;
        status = cut(&s, &p);
        if (!status) status = add_splits(&s, &p);
    }
    free(s.scratch);
    if (!status && !layouts->count && m->times == TUTTI_SIM_TRACED)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--times %s: kernels of micro-batches of %lld images with split=%d, which no layout of "
            "%d ranks has with --batch %lld: use a batch that is a multiple of these",
            m->path, (long long)m->traced.images, m->traced.blocks, ranks, (long long)batch);
    else if (!status && !layouts->count)
        status = tutti_fail(TUTTI_ERR_USAGE,
            "--batch %lld: no layout of %d ranks has equal replicas: use a multiple of the ranks",
            (long long)batch, ranks);
    if (status)
        tutti_plan_layouts_free(layouts);
    else
        sort(layouts);
    return status;
}

void tutti_plan_layouts_free(tutti_plan_layouts *layouts)
{
    free(layouts->layout);
    *layouts = (tutti_plan_layouts){0};
}

char *tutti_plan_layout_print(const tutti_plan_layout *c, char text[TUTTI_PLAN_OPTIONS])
{
    char layout[TUTTI_LAYOUT_TEXT];
    const int given = *tutti_layout_print(&c->layout.placement, layout) != '\0';
    int used = snprintf(text, TUTTI_PLAN_OPTIONS, "--batch %lld", (long long)c->batch);
    if (given)
        used += snprintf(text + used, TUTTI_PLAN_OPTIONS - (size_t)used, " --layout %s", layout);
    if (c->layout.micro_batches)
        used += snprintf(text + used, TUTTI_PLAN_OPTIONS - (size_t)used, " --micro-batches %d",
            c->layout.micro_batches);
    if (c->strategy)
        snprintf(
            text + used, TUTTI_PLAN_OPTIONS - (size_t)used, " --strategy %s", c->strategy->name);
    return text;
}
