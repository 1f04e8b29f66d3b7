/* What replicas that train alone do together at the end of a round. */
#include "dag/net/builder.h"

#include "dag/kernels/arith.h"
#include "dag/kernels/optim.h"

#include <stdio.h>

/* "<tensor>.<op>" */
static void name_node(
    const tutti_builder *b, int tensor, const tutti_op *op, char *name, size_t size)
{
    snprintf(name, size, "%s.%s", tutti_graph_get_tensor(b->graph, tensor)->name, op->name);
}

int tutti_builder_is_kept(const tutti_builder *b, int tensor)
{
    for (int l = b->first; b->step->kept && l < b->end; l++) {
        tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
        int n = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = 0; p < n; p++)
            if (tutti_builder_trained(b, l, p)->kept == tensor) return 1;
    }
    return 0;
}

tutti_status tutti_builder_divide(tutti_builder *b, int tensor)
{
    const tutti_divide_desc desc = {
        .count = tutti_shape_count(&tutti_graph_get_tensor(b->graph, tensor)->shape),
        .by = (float)b->options->replicas};
    const tutti_access access = tutti_updates(tensor);
    char name[TUTTI_SITE_NAME + 16];
    name_node(b, tensor, &tutti_op_divide, name, sizeof name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_divide, &desc, sizeof desc, 1, &access, NULL);
}

tutti_status tutti_builder_outer(
    tutti_builder *b, int l, int p, const char *suffix, float rate, float momentum)
{
    tutti_trained *t = &b->trained[l * TUTTI_LAYER_PARAMETERS + p];
    if (rate == 1 && momentum == 0) return tutti_builder_divide(b, t->weight);
    const tutti_tensor *weight = tutti_graph_get_tensor(b->graph, t->weight);
    const tutti_outer_desc desc = {
        .count = t->count, .by = (float)b->options->replicas, .rate = rate, .momentum = momentum};
    char name[TUTTI_SITE_NAME + 16];
    b->starts = 1;
    name_node(b, t->weight, &tutti_op_outer, name, sizeof name);
    tutti_status status = tutti_builder_tensor(b, "start.", b->net->layer[l].name, suffix, -1,
        TUTTI_ROLE_SCRATCH, weight->dtype, weight->shape, &t->start);
    if (status != TUTTI_OK) return status;
    const tutti_access access[] = {
        tutti_updates(t->weight), tutti_updates(t->start), tutti_updates(t->kept)};
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_outer, &desc, sizeof desc, momentum > 0 ? 3 : 2, access, NULL);
}

static tutti_status note_start(tutti_builder *b, const tutti_trained *t)
{
    const tutti_sum_desc desc = {.count = t->count, .inputs = 1};
    const tutti_access access[] = {tutti_reads(t->weight), tutti_writes(t->start)};
    char name[TUTTI_SITE_NAME + 16];
    name_node(b, t->start, &tutti_op_sum, name, sizeof name);
    return tutti_graph_kernel(b->graph, name, &tutti_op_sum, &desc, sizeof desc, 2, access, NULL);
}

tutti_status tutti_builder_note_starts(tutti_builder *b)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    tutti_status status = TUTTI_OK;
    for (int l = b->first; l < b->end; l++) {
        int n = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = 0; p < n && status == TUTTI_OK; p++)
            status = note_start(b, &b->trained[l * TUTTI_LAYER_PARAMETERS + p]);
    }
    return status;
}
