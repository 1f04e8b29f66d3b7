/* The losses of a micro-batch, where the forward pass ends and the backward pass begins. */
#include "dag/kernels/loss.h"
#include "dag/step/builder.h"

#include <stdio.h>

/* The loss of a micro-batch at one output: its metrics, and the gradient of the logits. */
static tutti_status loss_of(
    tutti_builder *b, int s, tutti_value output, double share, int metrics, int priority)
{
    const char *prefix = "", *dot = "";
    double images = (double)b->options->batch * b->step->accumulate;
    int node, dlogits;
    tutti_xent_desc desc = {.N = b->step->micro_batch[s].count,
        .K = tutti_net_extent(b->net, output).C,
        .weight = (float)(share / (images * tutti_builder_summed(b))),
        .smoothing = b->options->label_smoothing,
        .mixed = b->options->mixup > 0};
    tutti_gradients *gradients = tutti_builder_site(b, 0, s)->gradients;
    tutti_status status =
        tutti_gradients_take(gradients, tutti_net_dtype(b->net, output), desc.K, &dlogits);
    if (status == TUTTI_OK) status = tutti_gradients_add(gradients, output, dlogits);
    if (status != TUTTI_OK) return status;
    tutti_gradients_drop(gradients, dlogits);
    tutti_access access[5] = {tutti_reads(tutti_builder_value(b, output, s)),
        tutti_reads(b->step->micro_batch[s].labels)};
    int n = 2;
    if (desc.mixed) access[n++] = tutti_reads(b->mixture[s].part);
    access[n++] = tutti_writes(dlogits);
    access[n++] = tutti_writes(metrics);
    char name[TUTTI_SITE_NAME];
    if (output != b->net->output) {
        prefix = b->net->layer[b->net->source[output].layer].name;
        dot = ".";
    }
    snprintf(name, sizeof name, "%s%s%s@%d", prefix, dot, tutti_op_softmax_xent.name, s);
    status = tutti_graph_kernel(
        b->graph, name, &tutti_op_softmax_xent, &desc, sizeof desc, n, access, &node);
    if (status != TUTTI_OK) return status;
    tutti_graph_set_priority(b->graph, node, priority);
    return TUTTI_OK;
}

static int is_own(const tutti_builder *b, int l)
{
    return l >= b->first && l < b->end;
}

tutti_status tutti_builder_loss(tutti_builder *b, int s)
{
    const tutti_net *net = b->net;
    tutti_status status = TUTTI_OK;
    if (is_own(b, net->source[net->output].layer))
        status = loss_of(b, s, net->output, 1, b->step->micro_batch[s].metrics,
            tutti_site_priority(net->layers - 1, TUTTI_PHASE_BACKWARD_DATA));
    if (status == TUTTI_OK && is_own(b, net->source[net->output].layer))
        status = tutti_builder_send_metrics(b, s, -1);
    for (int a = 0; a < net->auxiliaries && status == TUTTI_OK; a++) {
        const tutti_auxiliary *auxiliary = &net->auxiliary[a];
        if (!is_own(b, net->source[auxiliary->logits].layer)) continue;
        status = loss_of(b, s, auxiliary->logits, auxiliary->weight,
            b->auxiliary_metrics[a * b->options->micro_batches + s],
            tutti_site_priority(net->source[auxiliary->logits].layer, TUTTI_PHASE_BACKWARD_DATA));
    }
    return status;
}
