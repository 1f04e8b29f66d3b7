#include "dag/net/builder.h"

#include "dag/kernels/arith.h"
#include "dag/kernels/norm.h"

#include <stdio.h>

static const float RUNNING_MOMENTUM = 0.1f;

/* Sums over micro-batches and marks come first: they are short, and the exchange they start runs
 * while others compute. */
static int mark_priority(const tutti_builder *b)
{
    return 2 * b->net->layers + 1;
}

static tutti_dtype dtype_of(const tutti_builder *b, int tensor)
{
    return tutti_graph_get_tensor(b->graph, tensor)->dtype;
}

/* total = the sum over micro-batches, in their order, of the tensors that the caller has put into
 * b->access; rounded to the type of total. */
static tutti_status sum_micro_batches(
    tutti_builder *b, const char *layer, const char *suffix, int64_t count, int total)
{
    int micro_batches = b->options->micro_batches, node;
    b->access[micro_batches] = tutti_writes(total);
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s.%s.sum_micro_batches", layer, suffix);
    tutti_sum_desc desc = {.count = count, .inputs = micro_batches};
    int narrows = dtype_of(b, total) != dtype_of(b, b->access[0].tensor);
    const tutti_op *op = narrows ? &tutti_op_sum_narrow : &tutti_op_sum;
    tutti_status status = tutti_graph_kernel(
        b->graph, name, op, &desc, sizeof desc, micro_batches + 1, b->access, &node);
    if (status != TUTTI_OK) return status;
    tutti_graph_set_priority(b->graph, node, mark_priority(b) - 1);
    return TUTTI_OK;
}

static tutti_status mark(tutti_builder *b, int tensor)
{
    int node;
    tutti_status status = tutti_graph_mark(b->graph, tensor, &node);
    if (status == TUTTI_OK) tutti_graph_set_priority(b->graph, node, mark_priority(b));
    return status;
}

/* Sums the batch statistics of all micro-batches and ranks for the running ones. The sum is a
 * separate tensor even with one micro-batch, because the backward pass still reads the
 * micro-batch's statistics while the sum over ranks is under way. */
tutti_status tutti_builder_mark_statistics(tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    int micro_batches = b->options->micro_batches, *total = &b->statistics[l];
    int64_t C = layer->out[0].C;
    tutti_status status = tutti_builder_tensor(b, "", layer->name, "stats", -1, TUTTI_ROLE_SCRATCH,
        TUTTI_STATISTICS_DTYPE, tutti_shape_of(2, C), total);
    if (status != TUTTI_OK) return status;
    for (int s = 0; s < micro_batches; s++)
        b->access[s] = tutti_reads(tutti_builder_site(b, l, s)->stats);
    status = sum_micro_batches(b, layer->name, "stats", 2 * C, *total);
    return status == TUTTI_OK ? mark(b, *total) : status;
}

/* Micro-batches of unequal size have equal weight, and n in n/(n-1) is their mean. */
tutti_status tutti_builder_update_running(tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    int micro_batches = b->options->micro_batches;
    int64_t C = layer->out[0].C;
    double n = (double)(b->options->batch * layer->out[0].H * layer->out[0].W) / micro_batches;
    tutti_norm_running_desc desc = {.C = C,
        .momentum = RUNNING_MOMENTUM,
        .weight = (float)(1.0 / ((double)micro_batches * b->options->ranks)),
        .unbias = (float)(n / (n - 1))};
    int node, running = tutti_builder_site(b, l, 0)->running;
    tutti_access access[] = {tutti_reads(b->statistics[l]), tutti_updates(running)};
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s.%s", layer->name, tutti_op_norm_running.name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_norm_running, &desc, sizeof desc, 2, access, &node);
}

tutti_status tutti_builder_mark_gradient(tutti_builder *b, int l, int p, const char *suffix)
{
    int micro_batches = b->options->micro_batches;
    const tutti_trained *t = &b->trained[l * TUTTI_LAYER_PARAMETERS + p];
    tutti_status status = TUTTI_OK;
    if (tutti_builder_site(b, l, 0)->dparameter[p] != t->gradient) {
        for (int s = 0; s < micro_batches; s++)
            b->access[s] = tutti_reads(tutti_builder_site(b, l, s)->dparameter[p]);
        status = sum_micro_batches(b, b->net->layer[l].name, suffix, t->count, t->gradient);
    }
    return status == TUTTI_OK ? mark(b, t->gradient) : status;
}

/* Widens the gradient, into what the first micro-batch has computed, which nothing reads any more. */
static tutti_status widen(tutti_builder *b, const char *name, int computed, tutti_trained *t)
{
    const tutti_widen_desc desc = {.count = t->count};
    const tutti_access access[] = {tutti_reads(t->gradient), tutti_writes(computed)};
    char node[TUTTI_SITE_NAME + 8];
    snprintf(node, sizeof node, "%s.widen", name);
    t->gradient = computed;
    return tutti_graph_kernel(b->graph, node, &tutti_op_widen, &desc, sizeof desc, 2, access, NULL);
}

tutti_status tutti_builder_update_parameter(tutti_builder *b, int l, int p, const char *suffix)
{
    char name[TUTTI_SITE_NAME];
    tutti_trained t = b->trained[l * TUTTI_LAYER_PARAMETERS + p];
    tutti_status status = TUTTI_OK;
    snprintf(name, sizeof name, "%s.%s", b->net->layer[l].name, suffix);
    if (dtype_of(b, t.gradient) != dtype_of(b, t.weight) && !b->step->rule->takes_bf16)
        status = widen(b, name, tutti_builder_site(b, l, 0)->dparameter[p], &t);
    return status ? status : b->step->rule->append(b->graph, name, &t, b->step, b->options);
}
