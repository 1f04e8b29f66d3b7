#include "dag/step/costs.h"

#include "dag/base/log.h"
#include "dag/kernels/kernel.h"
#include "dag/step/codec.h"
#include "dag/net/divide.h"
#include "dag/net/layer.h"
#include "dag/step/strategy.h"
#include "dag/step/times.h"

#include <stdlib.h>
#include <string.h>

int tutti_net_layer_of(const tutti_net *net, const char *node, int guess)
{
    const char *dot = strrchr(node, '.');
    for (int i = 0; dot && i < net->layers; i++) {
        int l = (guess + i) % net->layers;
        const char *name = net->layer[l].name;
        if (!strncmp(name, node, (size_t)(dot - node)) && !name[dot - node]) return l;
    }
    return -1;
}

static double work_of(const tutti_graph *graph, int n)
{
    const tutti_node *node = tutti_graph_get_node(graph, n);
    double flops = node->op->flops ? node->op->flops(node->desc) : 0;
    return flops + TUTTI_WORK_PER_BYTE_MOVED * (double)tutti_graph_node_bytes(graph, n);
}

/* Adds to each layer what its kernels in the step cost. of[n]: what a node costs; NULL: its operations and bytes. */
static void add_work(
    const tutti_net *net, const tutti_step *step, const double of[], tutti_layer_cost cost[])
{
    int l = 0;
    for (int n = 0; n < tutti_graph_nodes(step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(step->graph, n);
        if (node->section != step->train || node->kind != TUTTI_NODE_KERNEL) continue;
        int found = tutti_net_layer_of(net, node->name, l);
        if (found < 0) continue;
        l = found;
        cost[l].work += of ? of[n] : work_of(step->graph, n);
    }
}

/* Adds a value to all cuts between the layer that makes it and the last one that reads it. */
static void add_value(const tutti_net *net, tutti_value v, tutti_layer_cost cost[])
{
    int from = net->source[v].layer, last = from;
    for (int l = from + 1; l < net->layers; l++)
        for (int i = 0; i < net->layer[l].inputs; i++)
            if (net->layer[l].in[i] == v) last = l;
    double bytes = (double)tutti_extent_count(tutti_net_extent(net, v)) *
                   (double)tutti_dtype_bytes(tutti_net_dtype(net, v));
    for (int l = from; l < last; l++) cost[l].sends += bytes;
}

/* Each of R ranks sends 2 (R - 1) / R of what they sum, once in a step. */
static double sums_of(const tutti_layer *layer, const tutti_step_options *o)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    const int blocks = tutti_layer_is_divided(layer, &o->placement) ? o->placement.blocks : 1;
    const double images = (double)o->batch * (o->accumulate ? o->accumulate : 1);
    const double ranks = (double)o->placement.global_replicas / blocks;
    double bytes = 0;
    if ((o->codec && o->codec->compresses) || (o->strategy && o->strategy->alone)) return 0;
    for (int p = tutti_divided_parameters(layer, &o->placement, parameter); p-- > 0;)
        bytes +=
            (double)tutti_shape_count(&parameter[p].shape) * (double)tutti_dtype_bytes(o->wire);
    return 2 * (ranks - 1) / ranks * bytes / images;
}

/* A step of this many images on one rank, in one micro-batch. */
static tutti_status build_small(
    const tutti_net *net, tutti_dtype precision, int64_t images, tutti_step **step)
{
    return tutti_step_build(net,
        &(tutti_step_options){.batch = images,
            .micro_batches = 1,
            .precision = precision,
            .emission = TUTTI_EMISSION_GPIPE},
        step);
}

tutti_status tutti_net_costs(
    const tutti_net *net, const tutti_step_options *options, tutti_layer_cost cost[])
{
    enum { IMAGES = 2 }; /* batch norm needs two where images have one pixel */
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    tutti_step_options complete = *options;
    tutti_step *step;
    tutti_status status = tutti_placement_complete(&complete.placement);
    if (status == TUTTI_OK) status = build_small(net, TUTTI_F32, IMAGES, &step);
    if (status != TUTTI_OK) return status;
    for (int l = 0; l < net->layers; l++)
        cost[l] = (tutti_layer_cost){.sums = sums_of(&net->layer[l], &complete),
            .parameters = tutti_layer_parameters(&net->layer[l], parameter) > 0};
    add_work(net, step, NULL, cost);
    for (int l = 0; l < net->layers; l++) cost[l].work /= IMAGES;
    for (tutti_value v = 0; v < net->values; v++) add_value(net, v, cost);
    tutti_step_free(step);
    return TUTTI_OK;
}

static tutti_status time_layers(
    const tutti_net *net, const tutti_step *step, double seconds[], tutti_layer_cost cost[])
{
    tutti_status status = tutti_graph_times(step->graph, step->train, seconds);
    if (!status) add_work(net, step, seconds, cost);
    return status;
}

tutti_status tutti_net_times(
    const tutti_net *net, tutti_dtype precision, int64_t images, double seconds[])
{
    tutti_step *step;
    tutti_status status = build_small(net, precision, images, &step);
    if (status) return status;
    double *each = calloc((size_t)tutti_graph_nodes(step->graph) + 1, sizeof *each);
    tutti_layer_cost *cost = calloc((size_t)net->layers, sizeof *cost);
    status = each && cost ? time_layers(net, step, each, cost)
                          : tutti_fail(TUTTI_ERR_NOMEM, "no memory to time %d layers", net->layers);
    for (int l = 0; l < net->layers && !status; l++) seconds[l] = cost[l].work / (double)images;
    free(cost);
    free(each);
    tutti_step_free(step);
    return status;
}
