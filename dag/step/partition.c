#include "dag/step/partition.h"

#include "dag/base/log.h"

#include <float.h>
#include <stdlib.h>

/* Of the stages up to here. */
typedef struct choice {
    double cost; /* what is to be small: the greatest cost of a stage, or bytes between stages */
    int begin;   /* where the last of them begins; -1: they cannot be cut so */
} choice;

typedef struct plan {
    int layers;
    const tutti_layer_cost *cost;
    double cut_byte, sum_byte; /* work that takes as long as sending a byte of these */
    double *work, *sums;       /* of layers 0 .. l - 1 */
    int *parameters;           /* how many of these have any */
    double most;               /* what a stage may cost; below 0: that is what is to be found */
    choice *best; /* of layers 0 .. l - 1 in q + 1 stages: index q * (layers + 1) + l */
} plan;

static double cut(const plan *p, int l)
{
    return l > 0 && l < p->layers ? p->cost[l - 1].sends : 0;
}

/* Layers begin .. end - 1 in one stage: values go forward, gradients back, at both ends. */
static double stage_cost(const plan *p, int begin, int end)
{
    double work = p->work[end] - p->work[begin];
    double sent = p->cut_byte * (cut(p, begin) + cut(p, end));
    return (work > sent ? work : sent) + p->sum_byte * (p->sums[end] - p->sums[begin]);
}

/* What this stage adds to the cost of those before it; DBL_MAX: it may not be one. */
static double with_stage(const plan *p, double before, int begin, int end)
{
    double cost = stage_cost(p, begin, end);
    if (p->parameters[end] == p->parameters[begin]) return DBL_MAX;
    if (p->most < 0) return cost > before ? cost : before;
    return cost <= p->most ? before + cut(p, begin) : DBL_MAX;
}

static choice choose(const plan *p, int q, int end)
{
    choice best = {.cost = DBL_MAX, .begin = -1};
    for (int begin = q; begin < end && (q || !begin); begin++) { /* the first begins with layer 0 */
        const choice *before = q ? &p->best[(q - 1) * (p->layers + 1) + begin] : NULL;
        if (before && before->begin < 0) continue;
        double cost = with_stage(p, before ? before->cost : 0, begin, end);
        if (cost < best.cost) best = (choice){cost, begin};
    }
    return best;
}

/* What is least for all layers in this many stages; DBL_MAX if they cannot be cut so. */
static double find(const plan *p, int stages)
{
    for (int q = 0; q < stages; q++)
        for (int l = 0; l <= p->layers; l++) p->best[q * (p->layers + 1) + l] = choose(p, q, l);
    return p->best[(stages - 1) * (p->layers + 1) + p->layers].cost;
}

/* First what the costliest stage has to cost at least, then how little is sent if none costs more. */
static tutti_status find_ends(plan *p, int stages, int end[])
{
    p->most = -1;
    p->most = find(p, stages);
    if (p->most == DBL_MAX)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%d stages, but only %d layers with parameters: each stage needs one", stages,
            p->parameters[p->layers]);
    find(p, stages);
    for (int q = stages - 1, l = p->layers; q >= 0; q--) {
        end[q] = l;
        l = p->best[q * (p->layers + 1) + l].begin;
    }
    return TUTTI_OK;
}

tutti_status tutti_partition(
    int layers, const tutti_layer_cost cost[], double work_per_byte, int stages, int end[])
{
    const size_t n = (size_t)layers + 1;
    plan p = {.layers = layers,
        .cost = cost,
        .cut_byte = work_per_byte > 0 ? work_per_byte : TUTTI_WORK_PER_BYTE_SENT,
        .sum_byte = work_per_byte,
        .work = calloc(n, sizeof *p.work),
        .sums = calloc(n, sizeof *p.sums),
        .parameters = calloc(n, sizeof *p.parameters),
        .best = calloc(n * (size_t)stages, sizeof *p.best)};
    tutti_status status =
        p.work && p.sums && p.parameters && p.best
            ? TUTTI_OK
            : tutti_fail(TUTTI_ERR_NOMEM, "no memory to assign %d layers to stages", layers);
    for (int l = 0; l < layers && status == TUTTI_OK; l++) {
        p.work[l + 1] = p.work[l] + cost[l].work;
        p.sums[l + 1] = p.sums[l] + cost[l].sums;
        p.parameters[l + 1] = p.parameters[l] + (cost[l].parameters != 0);
    }
    if (status == TUTTI_OK) status = find_ends(&p, stages, end);
    free(p.work);
    free(p.sums);
    free(p.parameters);
    free(p.best);
    return status;
}
