/* The step graph of a net, section by section. */
#include "dag/base/log.h"
#include "dag/kernels/loss.h"
#include "dag/step/builder.h"
#include "dag/step/codec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const tutti_update_rule *rule_of(const tutti_step_options *o)
{
    return o->rule ? o->rule : &tutti_update_sgd;
}

static const tutti_strategy *strategy_of(const tutti_step_options *o)
{
    return o->strategy ? o->strategy : &tutti_strategy_sync;
}

static int batches_of(const tutti_step_options *o)
{
    return o->accumulate ? o->accumulate : 1;
}

static tutti_status check_options(const tutti_step_options *o)
{
    if (o->batch < 1 || o->micro_batches < 1 || o->micro_batches > o->batch)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld in %d micro-batches: each needs at least 1 image",
            (long long)o->batch, o->micro_batches);
    if (!(o->mixup >= 0 && isfinite(o->mixup)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: images mixed with weights of Beta(%g); it must be finite and not negative",
            o->mixup);
    if (o->mixup > 0 && (o->batch % 2 || o->micro_batches > o->batch / 2))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld in %d micro-batches: images that are mixed come in pairs",
            (long long)o->batch, o->micro_batches);
    if (o->slots < 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %d slots for activations; must be at least 1, or 0 for one per micro-batch",
            o->slots);
    if (batches_of(o) < 1)
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: %d batches per step; must be at least 1", o->accumulate);
    if (o->replicas < 1 || o->replica < 0 || o->replica >= o->replicas)
        return tutti_fail(TUTTI_ERR_INVAL, "step: replica %d of %d", o->replica, o->replicas);
    if (o->pipeline.stages > 1 && o->batch % o->micro_batches)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld in %d micro-batches: in a pipeline all must be of one size",
            (long long)o->batch, o->micro_batches);
    if (o->pipeline.stages < 0 || o->pipeline.stage < 0 ||
        (o->pipeline.stage > 0 && o->pipeline.stage >= o->pipeline.stages))
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: stage %d of %d", o->pipeline.stage, o->pipeline.stages);
    if (o->wire != TUTTI_F32 && o->wire != TUTTI_BF16)
        return tutti_fail(TUTTI_ERR_INVAL, "step: gradients cannot be summed as %s: only %s and %s",
            tutti_dtype_name(o->wire), tutti_dtype_name(TUTTI_F32), tutti_dtype_name(TUTTI_BF16));
    if (!(o->average_decay >= 0 && o->average_decay < 1))
        return tutti_fail(TUTTI_ERR_INVAL, "step: averages that decay by %g; must be in [0, 1)",
            o->average_decay);
    if (!(o->clip_norm >= 0 && isfinite(o->clip_norm)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: gradients clipped to a length of %g; it must be finite and not negative",
            o->clip_norm);
    if (o->precision != TUTTI_F32 && o->precision != TUTTI_BF16)
        return tutti_fail(TUTTI_ERR_INVAL, "step: values cannot be %s: only %s and %s",
            tutti_dtype_name(o->precision), tutti_dtype_name(TUTTI_F32),
            tutti_dtype_name(TUTTI_BF16));
    if (o->division.ranks > 1 && (!rule_of(o)->cut || o->clip_norm > 0))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %s whole gradients, of which divided layers leave each rank a block: do not "
            "divide them",
            o->clip_norm > 0 ? "clipping needs the length of" : "this update rule needs");
    if (o->division.ranks > 1 && !strategy_of(o)->divides)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy %s needs whole layers on every replica: do not divide them",
            strategy_of(o)->name);
    if (o->division.ranks > 1 && o->slots && o->slots < o->micro_batches &&
        o->batch % o->micro_batches)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld in %d micro-batches: with divided layers, those of one slot "
            "must be of one size",
            (long long)o->batch, o->micro_batches);
    if (o->service.servers && !strategy_of(o)->serves)
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: the strategy %s has no part for servers", strategy_of(o)->name);
    if (tutti_service_everywhere(&o->service) && !strategy_of(o)->everywhere)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy %s needs servers that are not workers, too", strategy_of(o)->name);
    const int stages = o->pipeline.stages ? o->pipeline.stages : 1;
    if (o->service.servers && !tutti_service_only_serves(&o->service) &&
        stages != tutti_service_stages(&o->service))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a worker has %d stages, but clients of servers have workers of %d", stages,
            tutti_service_stages(&o->service));
    tutti_status status = tutti_service_check(&o->service, o->replicas);
    if (status == TUTTI_OK) status = tutti_codec_check(o, strategy_of(o));
    if (status == TUTTI_OK) status = rule_of(o)->check(o);
    return status == TUTTI_OK ? strategy_of(o)->check(rule_of(o), o) : status;
}

/* Images that come as bytes have a mean and a deviation for each channel. */
static tutti_status check_channels(const tutti_net *net, const tutti_step_options *o)
{
    int64_t C = net->layer[0].out[0].C;
    if (!o->bytes || C <= TUTTI_PIXEL_CHANNELS) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: images of %lld channels come as bytes: at most %d channels can be normalised",
        (long long)C, TUTTI_PIXEL_CHANNELS);
}

static int is_used(const tutti_net *net, tutti_value value)
{
    int used = value == net->output;
    for (int a = 0; a < net->auxiliaries; a++) used |= value == net->auxiliary[a].logits;
    for (int l = net->source[value].layer + 1; l < net->layers && !used; l++)
        for (int i = 0; i < net->layer[l].inputs; i++) used |= net->layer[l].in[i] == value;
    return used;
}

static tutti_status check_net(const tutti_net *net)
{
    if (net->status != TUTTI_OK) return net->status;
    if (net->output < 0) return tutti_fail(TUTTI_ERR_INVAL, "step: the net has no output");
    const int64_t classes = tutti_net_extent(net, net->output).C;
    for (int a = 0; a < net->auxiliaries; a++)
        if (net->auxiliary[a].logits == net->output ||
            tutti_net_extent(net, net->auxiliary[a].logits).C != classes)
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: the auxiliary output %s must be another value than the output, of as many "
                "classes (%lld)",
                net->layer[net->source[net->auxiliary[a].logits].layer].name, (long long)classes);
    if (tutti_net_parameters(net) == 0)
        return tutti_fail(TUTTI_ERR_INVAL, "step: the net has no parameters");
    for (tutti_value v = 0; v < net->values; v++)
        if (!is_used(net, v))
            return tutti_fail(TUTTI_ERR_INVAL, "step: nothing uses value %d of layer %s",
                net->source[v].output, net->layer[net->source[v].layer].name);
    return TUTTI_OK;
}

/* Variance over one element is 0 whatever the input, and its unbiased form divides by zero. */
static tutti_status check_norms(const tutti_builder *b)
{
    int64_t least = b->step->micro_batch[b->options->micro_batches - 1].count;
    for (int l = 0; l < b->net->layers; l++) {
        const tutti_layer *layer = &b->net->layer[l];
        if (layer->kind->statistics && least * layer->out[0].H * layer->out[0].W < 2)
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: norm layer %s would see one element per channel (a micro-batch of 1 image, "
                "1x1): use a larger batch or fewer micro-batches",
                layer->name);
    }
    return TUTTI_OK;
}

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

/* The losses of a micro-batch at those outputs that this rank has. */
static tutti_status loss(tutti_builder *b, int s)
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

/* Whether dx[i] is a tensor that is dropped for another reason. */
static int is_shared(const tutti_site *site, int i)
{
    for (int o = 0; o < site->layer->outputs; o++)
        if (site->dx[i] == site->dy[o]) return 1;
    for (int k = 0; k < i; k++)
        if (site->dx[i] == site->dx[k]) return 1;
    return 0;
}

/* Passes the gradients that a layer made on to its inputs, and drops what the layer needed for
 * them. */
static tutti_status pass_on(tutti_site *site)
{
    const tutti_layer *layer = site->layer;
    for (int i = 0; i < layer->inputs; i++) {
        if (!site->wanted[i]) continue;
        tutti_status status = tutti_gradients_add(site->gradients, layer->in[i], site->dx[i]);
        if (status != TUTTI_OK) return status;
    }
    for (int i = 0; i < layer->inputs; i++)
        if (site->dx[i] >= 0 && !is_shared(site, i))
            tutti_gradients_drop(site->gradients, site->dx[i]);
    for (int o = 0; o < layer->outputs; o++) tutti_gradients_drop(site->gradients, site->dy[o]);
    return TUTTI_OK;
}

/* Completes the gradient of a layer's value. Two of its values may have the same tensor as their
 * gradient (an add passes its own on), but a node names each tensor only once: then a copy stands
 * in. */
static tutti_status complete_gradient(tutti_site *site, int o)
{
    const tutti_layer *layer = site->layer;
    int priority = tutti_site_priority(site->index, TUTTI_PHASE_BACKWARD_DATA);
    char name[TUTTI_SITE_NAME], which[16] = "";
    if (layer->outputs > 1) snprintf(which, sizeof which, ":%d", o);
    snprintf(name, sizeof name, "%s%s.sum_gradients@%d", layer->name, which, site->micro_batch);
    tutti_status status =
        tutti_gradients_total(site->gradients, layer->value + o, name, priority, &site->dy[o]);
    for (int k = 0; k < o && status == TUTTI_OK; k++)
        if (site->dy[k] == site->dy[o])
            status = tutti_gradients_copy(site->gradients, name, priority, &site->dy[o]);
    return status;
}

static tutti_status backward_micro_batch(tutti_builder *b, tutti_site *site)
{
    const tutti_layer *layer = site->layer;
    tutti_status status = TUTTI_OK;
    for (int o = 0; o < layer->outputs && status == TUTTI_OK; o++)
        status = complete_gradient(site, o);
    if (status != TUTTI_OK) return status;
    for (int i = 0; i < layer->inputs; i++)
        site->wanted[i] = b->wanted[b->net->source[layer->in[i]].layer];
    status = layer->kind->backward(site);
    return status == TUTTI_OK ? pass_on(site) : status;
}

static tutti_status complete_gradients(tutti_builder *b, int l)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int n = tutti_layer_parameters(&b->net->layer[l], parameter);
    tutti_status status = TUTTI_OK;
    for (int p = 0; p < n && status == TUTTI_OK; p++)
        status = tutti_builder_complete_gradient(b, l, p, parameter[p].suffix);
    return status;
}

/* Whether this was the last micro-batch. */
static int all_passed(const tutti_builder *b, int *passed)
{
    return ++*passed == b->options->micro_batches;
}

/* Before a micro-batch's first layer here. */
static tutti_status begin(tutti_builder *b, int s)
{
    const tutti_site *site = tutti_builder_site(b, 0, s);
    tutti_gradients_begin(site->gradients, site->N);
    tutti_status status = tutti_builder_receive_labels(b, s, 0);
    return status == TUTTI_OK ? tutti_builder_receive_values(b, s, 0) : status;
}

/* A micro-batch through a layer, or through the loss, which is behind the last one. Statistics are
 * summed where the last micro-batch has passed. */
static tutti_status forward(tutti_builder *b, int l, int s)
{
    tutti_status status = TUTTI_OK;
    if (l == b->end) return loss(b, s);
    if (l == b->first) status = begin(b, s);
    if (status == TUTTI_OK) status = tutti_builder_forward(b, l, s, 0);
    if (status == TUTTI_OK) status = tutti_builder_send_values(b, l, s, 0);
    if (status != TUTTI_OK || !all_passed(b, &b->forwards[l])) return status;
    return b->net->layer[l].kind->statistics ? tutti_builder_mark_statistics(b, l) : TUTTI_OK;
}

/* Likewise; the loss has written its gradient on the way up. */
static tutti_status backward(tutti_builder *b, int l, int s)
{
    if (l == b->end) return tutti_builder_receive_gradients(b, s);
    if (!b->wanted[l]) return TUTTI_OK;
    tutti_status status = backward_micro_batch(b, tutti_builder_site(b, l, s));
    if (status == TUTTI_OK) status = tutti_builder_send_gradients(b, l, s);
    if (status != TUTTI_OK || !all_passed(b, &b->backwards[l])) return status;
    return complete_gradients(b, l);
}

/* Where units are whole passes of micro-batches, ready nodes of an earlier unit go before those of a
 * later one: a worker that took turns at two micro-batches would send both late. Marks go before all:
 * a message moves only once both ranks have started it. */
static void put_in_order(tutti_builder *b, int unit, int first_node)
{
    int band = tutti_builder_urgent(b) + 1, later = b->units - 1 - unit;
    if (b->options->emission == TUTTI_EMISSION_LAYERS) return;
    for (int n = first_node; n < tutti_graph_nodes(b->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(b->graph, n);
        int bands = node->kind == TUTTI_NODE_MARK ? b->units : later;
        tutti_graph_set_priority(b->graph, n, node->priority + bands * band);
    }
}

static tutti_status emit_unit(tutti_builder *b, int i)
{
    const tutti_unit *unit = &b->unit[i];
    int first_node = tutti_graph_nodes(b->graph);
    tutti_status status = TUTTI_OK;
    if (unit->phase == TUTTI_UNIT_FORWARD)
        for (int l = unit->first; l < unit->end && status == TUTTI_OK; l++)
            status = forward(b, b->first + l, unit->micro_batch);
    else
        for (int l = unit->end - 1; l >= unit->first && status == TUTTI_OK; l--)
            status = backward(b, b->first + l, unit->micro_batch);
    put_in_order(b, i, first_node);
    return status;
}

/* Forward, loss and backward of a batch. */
static tutti_status pass_through(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    for (int l = 0; l < b->net->layers; l++) b->forwards[l] = b->backwards[l] = 0;
    for (int i = 0; i < b->units && status == TUTTI_OK; i++) status = emit_unit(b, i);
    for (int s = 0; s < b->options->micro_batches && status == TUTTI_OK; s++)
        status = tutti_builder_receive_metrics(b, s, -1);
    for (int s = 0; b->stage == 0 && b->options->mixup > 0 && s < b->options->micro_batches; s++)
        tutti_builder_site(b, 0, s)->y[0] =
            b->mixture[s].plain; /* what is next reads them as they are */
    return status;
}

/* A list that does not keep the law would train on wrong gradients; nothing else would notice. */
static tutti_status make_units(tutti_builder *b)
{
    const tutti_step_options *o = b->options;
    b->shape = (tutti_units_shape){.places = b->end - b->first + 1,
        .micro_batches = o->micro_batches,
        .slots = o->slots && o->slots < o->micro_batches ? o->slots : o->micro_batches};
    tutti_status status = tutti_units_make(
        o->emission, &b->shape, tutti_units_in_flight(o->emission, &b->shape), &b->unit, &b->units);
    return status == TUTTI_OK ? tutti_units_check(&b->shape, b->units, b->unit) : status;
}

/* Which layers this rank has, and what travels. */
static tutti_status cut_net(tutti_builder *b)
{
    const tutti_pipeline *p = &b->options->pipeline;
    tutti_status status = TUTTI_OK;
    b->end = b->net->layers;
    if (p->stages > 1) {
        b->stage = p->stage;
        status = tutti_stages_check(b->net, p->stages, p->end);
        if (status == TUTTI_OK)
            status = tutti_crossings_find(b->net, p->stages, p->end, &b->crossing, &b->crossings);
        b->end = tutti_stage_layers(p->stage, p->end, &b->first);
    }
    b->step->first = b->first;
    b->step->end = b->end;
    return status;
}

/* Only the first stage is fed and read, and no server. */
static void hide_batch(tutti_builder *b)
{
    const int hidden = b->stage || tutti_service_only_serves(&b->options->service);
    for (int s = 0; hidden && s < b->options->micro_batches; s++) {
        tutti_micro_batch *m = &b->step->micro_batch[s];
        m->images = m->labels = m->evaluated = m->seen = m->both = m->metrics = -1;
    }
}

static void find_wanted(tutti_builder *b)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    for (int l = 1; l < b->net->layers; l++) {
        const tutti_layer *layer = &b->net->layer[l];
        b->wanted[l] = tutti_layer_parameters(layer, parameter) > 0;
        for (int i = 0; i < layer->inputs; i++)
            b->wanted[l] |= b->wanted[b->net->source[layer->in[i]].layer];
    }
}

/* A batch whose gradients are gathered for later ones of its step. Its activations and the gradients of
 * its values use the same buffers. */
static tutti_status gather(
    tutti_builder *b, const char *name, tutti_batch_of_step which, int *section)
{
    b->which = which;
    tutti_status status = tutti_graph_section(b->graph, name, section);
    if (status == TUTTI_OK) status = pass_through(b);
    b->which = TUTTI_BATCH_LAST;
    return status;
}

/* Copies of parameters and whole shares, if there are any. */
static tutti_status refresh(tutti_builder *b)
{
    tutti_step *step = b->step;
    if (b->options->precision == TUTTI_F32 && !b->starts && !b->shares.neighbours) return TUTTI_OK;
    tutti_status status = tutti_graph_section(b->graph, "refresh", &step->refresh);
    if (status == TUTTI_OK) status = tutti_builder_refresh_copies(b, 0);
    if (status == TUTTI_OK) status = tutti_builder_set_share(b);
    return status == TUTTI_OK && b->starts ? tutti_builder_record_starts(b) : status;
}

static tutti_status emit_sections(tutti_builder *b)
{
    tutti_step *step = b->step;
    if (tutti_service_only_serves(&b->options->service)) return tutti_builder_serve(b);
    find_wanted(b);
    tutti_net_find_evaluated(b->net, b->evaluated);
    tutti_status status = tutti_builder_mix_replicas(b);
    if (status == TUTTI_OK) status = tutti_graph_section(b->graph, "train", &step->train);
    if (status == TUTTI_OK) status = pass_through(b);
    /* After all marks, so that marks can be fused: no reader of a sum may come before the last mark. */
    if (status == TUTTI_OK) status = step->strategy->update(b);
    if (status == TUTTI_OK && step->strategy->alone)
        status = tutti_graph_section(b->graph, "average", &step->average);
    if (status == TUTTI_OK && step->strategy->alone) status = step->strategy->average(b);
    if (status == TUTTI_OK && step->accumulate > 1)
        status = gather(b, "gather_first", TUTTI_BATCH_FIRST, &step->gather_first);
    if (status == TUTTI_OK && step->accumulate > 2)
        status = gather(b, "gather_more", TUTTI_BATCH_MORE, &step->gather_more);
    if (status == TUTTI_OK) /* after all passes of training */
        status =
            b->options->evaluated ? tutti_builder_evaluate_resized(b) : tutti_builder_evaluate(b);
    return status == TUTTI_OK ? refresh(b) : status;
}

static tutti_status open_builder(tutti_builder *b)
{
    size_t layers = (size_t)b->net->layers, micro_batches = (size_t)b->options->micro_batches;
    tutti_step *step = calloc(1, sizeof *step);
    if (!step) return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory");
    b->step = step;
    step->refresh = step->average = step->join = -1;
    step->micro_batches = b->options->micro_batches;
    step->rule = rule_of(b->options);
    step->strategy = strategy_of(b->options);
    const tutti_strategy_settings *settings = &b->options->settings;
    step->period = step->strategy->period ? step->strategy->period(settings) : 1;
    step->kept = step->strategy->keeps ? step->strategy->keeps(settings) : NULL;
    step->codec = b->options->codec;
    step->seed = b->options->seed;
    step->division = b->options->division;
    step->served = b->options->service.servers > 0 || step->strategy->pushes;
    step->accumulate = batches_of(b->options);
    step->gather_first = step->gather_more = -1;
    step->eval_average = step->eval_average_again = -1;
    step->micro_batch = calloc(micro_batches, sizeof *step->micro_batch);
    step->parameter = calloc(layers * TUTTI_LAYER_PARAMETERS, sizeof *step->parameter);
    step->gradient = calloc(layers * TUTTI_LAYER_PARAMETERS, sizeof *step->gradient);
    step->state = calloc(
        layers * (TUTTI_LAYER_PARAMETERS * (TUTTI_UPDATE_STATES + 4) + 2), sizeof *step->state);
    b->gradients = calloc(micro_batches, sizeof *b->gradients);
    b->site = calloc(layers * micro_batches, sizeof *b->site);
    b->trained = calloc(layers * TUTTI_LAYER_PARAMETERS, sizeof *b->trained);
    b->copy = calloc(layers * TUTTI_LAYER_PARAMETERS, sizeof *b->copy);
    b->statistics = calloc(layers, sizeof *b->statistics);
    b->gathered_statistics = calloc(layers, sizeof *b->gathered_statistics);
    b->running = calloc(layers, sizeof *b->running);
    b->average = calloc(layers, sizeof *b->average);
    b->mixture = calloc(micro_batches, sizeof *b->mixture);
    b->forwards = calloc(layers, sizeof *b->forwards);
    b->backwards = calloc(layers, sizeof *b->backwards);
    b->wanted = calloc(layers, sizeof *b->wanted);
    b->evaluated = calloc(layers, sizeof *b->evaluated);
    b->auxiliary_metrics =
        calloc(TUTTI_NET_AUXILIARIES * micro_batches, sizeof *b->auxiliary_metrics);
    size_t parameters = layers * TUTTI_LAYER_PARAMETERS;
    b->access =
        calloc((micro_batches > parameters ? micro_batches : parameters) + 3, sizeof *b->access);
    step->parameter_layer = calloc(layers * TUTTI_LAYER_PARAMETERS, sizeof *step->parameter_layer);
    step->update = calloc(layers * TUTTI_LAYER_PARAMETERS, sizeof *step->update);
    step->compressed_node =
        calloc(2 * layers * TUTTI_LAYER_PARAMETERS, sizeof *step->compressed_node);
    step->state_layer = calloc(layers * (TUTTI_LAYER_PARAMETERS * (TUTTI_UPDATE_STATES + 4) + 2),
        sizeof *step->state_layer);
    step->state_sharded = calloc(layers * (TUTTI_LAYER_PARAMETERS * (TUTTI_UPDATE_STATES + 4) + 2),
        sizeof *step->state_sharded);
    if (!step->state_sharded || !step->parameter_layer || !step->update || !step->state_layer ||
        !step->compressed_node || !step->micro_batch || !step->parameter || !step->gradient ||
        !step->state || !b->gradients || !b->site || !b->trained || !b->copy || !b->statistics ||
        !b->gathered_statistics || !b->running || !b->average || !b->mixture || !b->forwards ||
        !b->backwards || !b->wanted || !b->evaluated || !b->auxiliary_metrics || !b->access)
        return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory for %zu layers in %zu micro-batches",
            layers, micro_batches);
    tutti_status status = tutti_graph_new(&step->graph);
    b->graph = step->graph;
    if (status == TUTTI_OK) status = tutti_builder_set_resized(b);
    return status == TUTTI_OK ? tutti_builder_set_precision(b) : status;
}

static void close_builder(tutti_builder *b)
{
    for (int s = 0; b->gradients && s < b->options->micro_batches; s++)
        tutti_gradients_free(b->gradients[s]);
    free(b->unit);
    free(b->crossing);
    free(b->key);
    free(b->gradients);
    free(b->site);
    free(b->trained);
    free(b->copy);
    free(b->typed.layer);
    free(b->resized.layer);
    free(b->resized_site);
    free(b->statistics);
    free(b->gathered_statistics);
    free(b->running);
    free(b->average);
    free(b->mixture);
    free(b->forwards);
    free(b->backwards);
    free(b->wanted);
    free(b->evaluated);
    free(b->auxiliary_metrics);
    free(b->access);
}

tutti_status tutti_step_build(
    const tutti_net *net, const tutti_step_options *options, tutti_step **step)
{
    tutti_builder b = {.net = net, .options = options};
    tutti_status status = check_options(options);
    if (status == TUTTI_OK) status = check_net(net);
    if (status == TUTTI_OK) status = check_channels(net, options);
    if (status == TUTTI_OK)
        status = tutti_division_check(net, &options->division, options->replicas);
    if (status != TUTTI_OK) return status;
    status = open_builder(&b);
    if (status == TUTTI_OK) {
        tutti_builder_cut(b.step, options);
        status = check_norms(&b);
    }
    if (status == TUTTI_OK) status = cut_net(&b);
    if (status == TUTTI_OK) status = tutti_builder_partition_keys(&b);
    if (status == TUTTI_OK) status = make_units(&b);
    if (status == TUTTI_OK)
        status = tutti_service_only_serves(&options->service) ? tutti_builder_declare_keys(&b)
                                                              : tutti_builder_declare(&b);
    if (status == TUTTI_OK) status = tutti_builder_declare_compressed(&b);
    if (status == TUTTI_OK) status = emit_sections(&b);
    hide_batch(&b);
    close_builder(&b);
    if (status != TUTTI_OK) {
        tutti_step_free(b.step);
        return status;
    }
    *step = b.step;
    return TUTTI_OK;
}

void tutti_step_free(tutti_step *step)
{
    if (!step) return;
    tutti_graph_free(step->graph);
    free(step->micro_batch);
    free(step->parameter);
    free(step->gradient);
    free(step->state);
    free(step->parameter_layer);
    free(step->update);
    free(step->compressed_node);
    free(step->state_layer);
    free(step->state_sharded);
    free(step);
}

tutti_status tutti_step_finalize(tutti_step *step)
{
    tutti_status status = tutti_step_cut_residuals(step);
    if (status == TUTTI_OK) status = tutti_step_place_compressed(step);
    return status == TUTTI_OK && step->strategy->finalize ? step->strategy->finalize(step) : status;
}

int tutti_step_section(const tutti_step *step, int batch)
{
    if (batch == step->accumulate - 1) return step->train;
    return batch == 0 ? step->gather_first : step->gather_more;
}
