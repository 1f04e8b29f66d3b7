#include "apps/plan/layers.h"

#include "dag/base/log.h"
#include "dag/net/divide.h"
#include "dag/net/layer.h"
#include "dag/step/costs.h"

#include <math.h>
#include <stdlib.h>

static tutti_plan_shape shape_of(const tutti_layer *layer)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    const int parameters = tutti_layer_parameters(layer, parameter);
    tutti_plan_shape s = {.outputs = (double)tutti_extent_count(layer->out[0]),
        .pixels = (double)layer->out[0].H * (double)layer->out[0].W};
    for (int p = 0; p < parameters; p++)
        s.weights += (double)tutti_shape_count(&parameter[p].shape);
    if (layer->inputs) s.inputs = (double)tutti_extent_count(layer->from[0]);
    return s;
}

/* Whether layers below it have parameters. */
static int is_first(const tutti_net *net, int l)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    for (int i = 0; i < net->layer[l].inputs; i++) {
        const int below = net->source[net->layer[l].in[i]].layer;
        if (tutti_layer_parameters(&net->layer[below], parameter) || !is_first(net, below))
            return 0;
    }
    return 1;
}

/* Whether a group of two can divide it. */
static int may_divide(const tutti_layer *layer)
{
    const tutti_placement two = {.replicas = 2, .blocks = 2};
    return layer->kind && tutti_layer_is_divided(layer, &two);
}

static void describe(tutti_plan_layer *l, const tutti_net *net, int number, int64_t batch,
    int ranks, double images, double rate)
{
    const tutti_layer *layer = &net->layer[number];
    enum { KEPT = 3 }; /* a parameter, its gradient, its momentum */
    l->name = layer->name;
    l->shape = shape_of(layer);
    l->divides = may_divide(layer);
    l->shape.first = l->divides && is_first(net, number);
    l->memory = 4 * (KEPT * l->shape.weights + images * l->shape.outputs);
    l->groups = l->blocks = 1;
    if (!(l->shape.weights > 0)) return;
    l->groups = tutti_plan_groups(&l->shape, (double)batch, ranks, 1);
    if (l->divides) l->blocks = tutti_plan_blocks(&l->shape, images, ranks);
    if (rate > 0) l->sum_s = tutti_plan_sums_bytes(&l->shape, ranks, 1) / rate;
}

static void schedule(tutti_plan_layers *rows, double *scratch)
{
    const int n = rows->count;
    double *forward = scratch, *backward = scratch + n, *sum = scratch + 2 * n,
           *exposed = scratch + 3 * n, *end = scratch + 4 * n;
    for (int l = 0; l < n; l++) {
        forward[l] = rows->layer[l].forward_s / rows->workers;
        backward[l] = rows->layer[l].backward_s / rows->workers;
        sum[l] = rows->layer[l].sum_s;
    }
    rows->step_s = tutti_plan_bubble(n, forward, backward, sum, exposed, end);
    for (int l = 0; l < n; l++) {
        rows->layer[l].exposed_s = exposed[l];
        rows->layer[l].hidden_s = fmax(0, sum[l] - exposed[l]);
    }
}

/* Measured or counted with as many images as a rank has, but of a trace with as many as that has. */
static tutti_status time_layers(tutti_sim_model *m, tutti_plan_layers *rows, double *scratch)
{
    const int64_t images =
        m->times == TUTTI_SIM_TRACED ? m->traced.images : (int64_t)fmax(1, rows->images);
    double *forward = scratch, *backward = scratch + rows->count;
    tutti_status status = tutti_sim_model_layers(m, images, forward, backward);
    for (int l = 0; !status && l < rows->count; l++) {
        rows->layer[l].forward_s = forward[l] / (double)images * rows->images;
        rows->layer[l].backward_s = backward[l] / (double)images * rows->images;
        rows->layer[l].image_s = (forward[l] + backward[l]) / (double)images;
        rows->image_s += rows->layer[l].image_s;
    }
    return status;
}

tutti_status tutti_plan_layers_open(
    tutti_sim_model *m, int64_t batch, int ranks, int workers, double rate, tutti_plan_layers *rows)
{
    const tutti_net *net = m->net;
    const size_t n = (size_t)net->layers;
    *rows = (tutti_plan_layers){
        .count = net->layers, .images = (double)batch / ranks, .workers = workers};
    rows->layer = calloc(n, sizeof *rows->layer);
    double *scratch = calloc(5 * n, sizeof *scratch);
    tutti_layer_cost *cost = calloc(n, sizeof *cost);
    const tutti_step_options one = {.batch = 1, .micro_batches = 1};
    tutti_status status = rows->layer && scratch && cost
                              ? tutti_net_costs(net, &one, cost)
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d layers", net->layers);
    if (!status) status = time_layers(m, rows, scratch);
    for (int l = 0; !status && l < net->layers; l++) {
        describe(&rows->layer[l], net, l, batch, ranks, rows->images, rate);
        rows->layer[l].crosses = cost[l].sends;
    }
    if (!status) schedule(rows, scratch);
    free(cost);
    free(scratch);
    if (status) tutti_plan_layers_close(rows);
    return status;
}

void tutti_plan_layers_close(tutti_plan_layers *rows)
{
    free(rows->layer);
    rows->layer = NULL;
}
