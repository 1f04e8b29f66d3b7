#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "dag/step/builder.h"
#include "dag/step/codec.h"

#include <stdio.h>

static const float RUNNING_MOMENTUM = 0.1f;

static tutti_dtype dtype_of(const tutti_builder *b, int tensor)
{
    return tutti_graph_get_tensor(b->graph, tensor)->dtype;
}

/* What the mark of the sum over ranks is to add, where it does (tutti_step_sums). */
static int marks_add(const tutti_builder *b, int l)
{
    const tutti_step_options *o = b->options;
    const int alike =
        tutti_layer_is_divided(&b->net->layer[l], &o->placement) ? o->placement.blocks : 1;
    const int vectors = o->micro_batches + (b->step->accumulate > 1);
    return o->sums == TUTTI_SUMS_COLLECTIVE && b->step->strategy->adds && !b->step->served &&
           b->which == TUTTI_BATCH_LAST && o->placement.global_replicas > alike &&
           o->wire == TUTTI_F32 && !(o->codec && o->codec->compresses) && vectors > 1 &&
           vectors <= TUTTI_STEP_VECTORS;
}

/* Sums, in their order, what earlier batches gathered (unless this is the first one) and the tensors
 * of the micro-batches of layer l, which the caller has put into b->access: into total after the last batch,
 * else into gathered. Rounds the sum to the type of that tensor. Where the mark adds them, it leaves them to
 * that. */
static tutti_status sum_micro_batches(
    tutti_builder *b, int l, const char *suffix, int64_t count, int gathered, int total)
{
    const char *layer = b->net->layer[l].name;
    int n = b->options->micro_batches, node;
    int last = b->which == TUTTI_BATCH_LAST, more = b->which == TUTTI_BATCH_MORE;
    if (last && b->step->accumulate > 1) {
        for (int s = n; s > 0; s--) b->access[s] = b->access[s - 1];
        b->access[0] = tutti_reads(gathered);
        n++;
    }
    b->vectors = marks_add(b, l) ? n : 0;
    if (b->vectors) return TUTTI_OK;
    b->access[n] = last   ? tutti_writes(total)
                   : more ? tutti_updates(gathered)
                          : tutti_writes(gathered);
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s.%s.sum_micro_batches", layer, suffix);
    int narrows = dtype_of(b, last ? total : gathered) != dtype_of(b, b->access[0].tensor);
    const tutti_op *op = narrows ? &tutti_op_sum_narrow : &tutti_op_sum;
    tutti_sum_desc desc = {.count = count, .inputs = n, .into = more};
    tutti_status status =
        tutti_graph_kernel(b->graph, name, op, &desc, sizeof desc, n + 1, b->access, &node);
    if (status != TUTTI_OK) return status;
    tutti_builder_raise_priority(b, node); /* the exchange it starts runs while others compute */
    return TUTTI_OK;
}

/* Whether a step's only batch statistics are those of one micro-batch of this rank. */
static int has_one_of_statistics(const tutti_builder *b)
{
    return b->options->micro_batches == 1 && b->step->accumulate == 1 && !b->step->served &&
           !b->step->strategy->statistics && tutti_builder_statistics_of(b) == 1;
}

/* Sums the batch statistics of all micro-batches and ranks for the running ones. Where ranks add
 * theirs, the sum is a separate tensor even with one micro-batch, because the backward pass still
 * reads the micro-batch's statistics while the sum over ranks is under way. */
tutti_status tutti_builder_mark_statistics(tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    int micro_batches = b->options->micro_batches, *total = &b->statistics[l];
    int64_t C = layer->out[0].C;
    tutti_status status = TUTTI_OK;
    if (has_one_of_statistics(b)) {
        *total = tutti_builder_site(b, l, 0)->stats;
        return TUTTI_OK;
    }
    if (b->which == TUTTI_BATCH_LAST)
        status = tutti_builder_tensor(b, "", layer->name, "stats", -1, TUTTI_ROLE_SCRATCH,
            TUTTI_STATISTICS_DTYPE, tutti_shape_of(2, C), total);
    if (status != TUTTI_OK) return status;
    for (int s = 0; s < micro_batches; s++)
        b->access[s] = tutti_reads(tutti_builder_site(b, l, s)->stats);
    status = sum_micro_batches(b, l, "stats", 2 * C, b->gathered_statistics[l], *total);
    const tutti_strategy *strategy = b->step->strategy;
    if (status != TUTTI_OK || b->which != TUTTI_BATCH_LAST) return status;
    if (strategy->statistics) return strategy->statistics(b, l);
    return strategy->alone ? TUTTI_OK : tutti_builder_sum_statistics(b, l);
}

tutti_status tutti_builder_sum_statistics(tutti_builder *b, int l)
{
    int node;
    return tutti_builder_mark(b, l, TUTTI_MARK_ALLREDUCE, b->statistics[l], 0, &node);
}

/* average += (1 - decay) * (w - average), after each update of w. */
static tutti_status append_average(
    tutti_builder *b, const char *layer, const char *suffix, int w, int average, int64_t count)
{
    const tutti_average_desc desc = {.count = count, .decay = b->options->average_decay};
    tutti_access access[] = {tutti_reads(w), tutti_updates(average)};
    char node[TUTTI_SITE_NAME];
    snprintf(node, sizeof node, "%s.%s.%s", layer, suffix, tutti_op_average.name);
    return tutti_graph_kernel(
        b->graph, node, &tutti_op_average, &desc, sizeof desc, 2, access, NULL);
}

/* Micro-batches of unequal size have equal weight, and n in n/(n-1) is their mean. */
tutti_status tutti_builder_update_running(tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    int micro_batches = b->options->micro_batches;
    int64_t C = layer->out[0].C;
    double n = (double)(b->options->batch * layer->out[0].H * layer->out[0].W) / micro_batches;
    double all = (double)micro_batches * b->step->accumulate * tutti_builder_statistics_of(b);
    tutti_norm_running_desc desc = {.C = C,
        .momentum = RUNNING_MOMENTUM,
        .weight = (float)(1.0 / all),
        .unbias = (float)(n / (n - 1))};
    int node, running = tutti_builder_site(b, l, 0)->running;
    tutti_access access[] = {tutti_reads(b->statistics[l]), tutti_updates(running)};
    char name[TUTTI_SITE_NAME];
    snprintf(name, sizeof name, "%s.%s", layer->name, tutti_op_norm_running.name);
    tutti_status status = tutti_graph_kernel(
        b->graph, name, &tutti_op_norm_running, &desc, sizeof desc, 2, access, &node);
    if (status != TUTTI_OK || b->average[l] < 0) return status;
    return append_average(b, layer->name, "running", running, b->average[l], 2 * C);
}

tutti_status tutti_builder_complete_gradient(tutti_builder *b, int l, int p, const char *suffix)
{
    int micro_batches = b->options->micro_batches;
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    tutti_status status = TUTTI_OK;
    if (tutti_builder_is_frozen(b, l, p)) return TUTTI_OK;
    if (tutti_builder_site(b, l, 0)->dparameter[p] != t->gradient) {
        for (int s = 0; s < micro_batches; s++)
            b->access[s] = tutti_reads(tutti_builder_site(b, l, s)->dparameter[p]);
        status = sum_micro_batches(b, l, suffix, t->count, t->gathered, t->gradient);
    }
    if (status != TUTTI_OK || b->which != TUTTI_BATCH_LAST) return status;
    return b->step->strategy->sum(b, l, p);
}

/* Widens the gradient, into what the first micro-batch has computed, which nothing reads any more. */
static tutti_status widen_gradient(
    tutti_builder *b, const char *name, int computed, tutti_trained *t)
{
    const tutti_widen_desc desc = {.count = t->count};
    const tutti_access access[] = {tutti_reads(t->gradient), tutti_writes(computed)};
    char node[TUTTI_SITE_NAME + 8];
    snprintf(node, sizeof node, "%s.widen", name);
    t->gradient = computed;
    return tutti_graph_kernel(b->graph, node, &tutti_op_widen, &desc, sizeof desc, 2, access, NULL);
}

/* The length of one gradient, as it was summed, in a tensor of its own. */
static tutti_status measure(tutti_builder *b, int l, int p, const char *suffix, int *length)
{
    const tutti_trained *t = &b->trained[l * TUTTI_LAYER_PARAMETERS + p];
    const char *layer = b->net->layer[l].name;
    const tutti_length_desc desc = {.count = t->count};
    tutti_status status = tutti_builder_tensor(
        b, "length.", layer, suffix, -1, TUTTI_ROLE_SCRATCH, TUTTI_F32, tutti_shape_of(1), length);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(t->gradient), tutti_writes(*length)};
    char name[TUTTI_SITE_NAME];
    int node;
    snprintf(name, sizeof name, "%s.%s.%s", layer, suffix, tutti_op_length.name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_length, &desc, sizeof desc, 2, access, &node);
}

/* Whether a gradient is part of the length: those of frozen parameters move nothing. */
static int is_measured(const tutti_net *net, int l, int p)
{
    return net->layer[l].factors[p].rate > 0;
}

/* The number of these parameters in layers first .. end - 1. */
static int count_measured(const tutti_net *net, int first, int end)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int count = 0;
    for (int l = first; l < end; l++)
        for (int p = tutti_layer_parameters(&net->layer[l], parameter) - 1; p >= 0; p--)
            count += is_measured(net, l, p);
    return count;
}

/* In a pipeline a rank has measured `own` gradients, whose lengths are in b->access. Puts those of all
 * into one tensor, which b->access[0] then reads. */
static tutti_status collect_lengths(tutti_builder *b, int own, int64_t all)
{
    const tutti_lengths_desc desc = {
        .inputs = own, .first = count_measured(b->net, 0, b->first), .count = all};
    int lengths, node;
    tutti_status status = tutti_graph_tensor(b->graph, tutti_op_lengths.name, TUTTI_ROLE_SCRATCH,
        TUTTI_F32, tutti_shape_of(all), &lengths);
    if (status != TUTTI_OK) return status;
    b->access[own] = tutti_writes(lengths);
    status = tutti_graph_kernel(b->graph, tutti_op_lengths.name, &tutti_op_lengths, &desc,
        sizeof desc, own + 1, b->access, &node);
    if (status != TUTTI_OK) return status;
    const tutti_mark sum = {.verb = TUTTI_MARK_ALLREDUCE,
        .tensor = lengths,
        .group = b->own.group[TUTTI_GROUP_REPLICA]};
    b->access[0] = tutti_reads(lengths);
    return tutti_builder_add_mark(b, &sum, &node);
}

/* Lengths are added in the order of the net, whichever sum over ranks ends first and whatever is
 * summed in one bucket: all ranks and all designs get the same factor. */
tutti_status tutti_builder_measure_gradients(tutti_builder *b)
{
    tutti_clip_factor_desc desc = {.most = (float)b->options->clip_norm};
    int node;
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (tutti_builder_next_parameter(b, &at)) {
        int length;
        if (!is_measured(b->net, at.l, at.p)) continue;
        status = measure(b, at.l, at.p, at.suffix, &length);
        if (status != TUTTI_OK) return status;
        b->access[desc.inputs++] = tutti_reads(length);
    }
    if (!desc.inputs)
        return tutti_fail(TUTTI_ERR_USAGE,
            "step: every layer of this part of the net is frozen, so it has no gradient to clip: "
            "leave out clipping, or cut the net elsewhere");
    if (b->options->placement.stages > 1) {
        desc.each = count_measured(b->net, 0, b->net->layers);
        status = collect_lengths(b, desc.inputs, desc.each);
        desc.inputs = 1;
    }
    if (status == TUTTI_OK)
        status = tutti_graph_tensor(b->graph, tutti_op_clip_factor.name, TUTTI_ROLE_SCRATCH,
            TUTTI_F32, tutti_shape_of(1), &b->clip_factor);
    if (status != TUTTI_OK) return status;
    b->access[desc.inputs] = tutti_writes(b->clip_factor);
    return tutti_graph_kernel(b->graph, tutti_op_clip_factor.name, &tutti_op_clip_factor, &desc,
        sizeof desc, desc.inputs + 1, b->access, &node);
}

static tutti_status clip(tutti_builder *b, const char *name, const tutti_trained *t)
{
    const tutti_clip_desc desc = {.count = t->count};
    tutti_access access[] = {tutti_reads(b->clip_factor), tutti_updates(t->gradient)};
    char node[TUTTI_SITE_NAME + 8];
    snprintf(node, sizeof node, "%s.clip", name);
    return tutti_graph_kernel(b->graph, node, &tutti_op_clip, &desc, sizeof desc, 2, access, NULL);
}

tutti_status tutti_builder_append_update(tutti_builder *b, const char *name, const tutti_trained *t)
{
    tutti_status status = b->step->rule->append(b->graph, name, t, b->step, b->options);
    b->step->update[t->index] = tutti_graph_nodes(b->graph) - 1;
    return status;
}

tutti_status tutti_builder_update_parameter(tutti_builder *b, int l, int p, const char *suffix)
{
    const char *layer = b->net->layer[l].name;
    char name[TUTTI_SITE_NAME];
    tutti_trained t = *tutti_builder_trained(b, l, p);
    tutti_status status = TUTTI_OK;
    b->step->update[t.index] = -1;
    if (tutti_builder_is_frozen(b, l, p)) return TUTTI_OK;
    int clips = b->options->clip_norm > 0;
    int widens = dtype_of(b, t.gradient) != dtype_of(b, t.weight);
    snprintf(name, sizeof name, "%s.%s", layer, suffix);
    /* A clipped gradient is not rounded a second time. */
    if (widens && (clips || !b->step->rule->takes_bf16))
        status = widen_gradient(b, name, tutti_builder_site(b, l, 0)->dparameter[p], &t);
    if (status == TUTTI_OK && clips) status = clip(b, name, &t);
    return status == TUTTI_OK ? tutti_builder_append_update(b, name, &t) : status;
}

tutti_status tutti_builder_follow_parameter(tutti_builder *b, int l, int p, const char *suffix)
{
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    tutti_status status = TUTTI_OK;
    if (t->average >= 0)
        status = append_average(b, b->net->layer[l].name, suffix, t->weight, t->average, t->count);
    return status == TUTTI_OK ? tutti_builder_refresh_copy(b, l, p, suffix, 0) : status;
}

tutti_status tutti_builder_update_all(tutti_builder *b)
{
    tutti_status status = b->options->clip_norm > 0 ? tutti_builder_measure_gradients(b) : TUTTI_OK;
    for (int l = b->end - 1; l >= b->first && status == TUTTI_OK; l--) {
        tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
        int n = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = 0; p < n && status == TUTTI_OK; p++) {
            status = tutti_builder_update_parameter(b, l, p, parameter[p].suffix);
            if (status == TUTTI_OK && !tutti_builder_is_frozen(b, l, p))
                status = tutti_builder_follow_parameter(b, l, p, parameter[p].suffix);
        }
        if (b->net->layer[l].kind->statistics && status == TUTTI_OK)
            status = tutti_builder_update_running(b, l);
    }
    return status;
}

tutti_status tutti_builder_follow_all(tutti_builder *b)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    tutti_status status = TUTTI_OK;
    for (int l = b->first; l < b->end && status == TUTTI_OK; l++) {
        int n = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = 0; p < n && status == TUTTI_OK; p++)
            status = tutti_builder_follow_parameter(b, l, p, parameter[p].suffix);
        if (b->net->layer[l].kind->statistics && status == TUTTI_OK)
            status = tutti_builder_update_running(b, l);
    }
    return status;
}

tutti_status tutti_builder_gate(tutti_builder *b, tutti_gated which)
{
    const int weights = which == TUTTI_GATED_WEIGHTS;
    tutti_gate_desc desc = {0};
    int node;
    tutti_parameter_walk at = {0};
    while (tutti_builder_next_parameter(b, &at)) {
        const tutti_trained *t = tutti_builder_trained(b, at.l, at.p);
        b->access[desc.inputs++] = tutti_updates(weights ? t->weight : t->gradient);
    }
    tutti_status status = tutti_graph_kernel(b->graph, weights ? "gate.weights" : "gate.gradients",
        &tutti_op_gate, &desc, sizeof desc, desc.inputs, b->access, &node);
    if (status != TUTTI_OK) return status;
    tutti_graph_set_priority(b->graph, node, tutti_builder_urgent(b) - 1);
    return TUTTI_OK;
}

tutti_status tutti_step_cut_updates(tutti_step *step)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < step->parameters && status == TUTTI_OK; i++) {
        const tutti_tensor *weight = tutti_graph_get_tensor(step->graph, step->parameter[i]);
        if (weight->owns == tutti_shape_count(&weight->shape)) continue;
        status = step->rule->cut(step->graph, step->update[i], weight->first, weight->owns);
    }
    return status;
}
