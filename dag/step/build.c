/* The step graph of a net, section by section. */
#include "dag/base/log.h"
#include "dag/step/builder.h"

#include <stdlib.h>

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

/* The layer whose statistics are there once layer l is: -1: none. */
static int has_statistics(const tutti_builder *b, int l)
{
    const tutti_site *site = tutti_builder_site(b, l, 0);
    if (site->norm) return site->norm->index;
    return b->net->layer[l].kind->statistics && !site->added ? l : -1;
}

/* A micro-batch through a layer, or through the loss, which is behind the last one. Statistics are
 * summed where the last micro-batch has passed. */
static tutti_status forward(tutti_builder *b, int l, int s)
{
    tutti_status status = TUTTI_OK;
    if (l == b->end) return tutti_builder_loss(b, s);
    if (l == b->first) status = begin(b, s);
    if (status == TUTTI_OK) status = tutti_builder_forward(b, l, s, 0);
    if (status == TUTTI_OK) status = tutti_builder_send_values(b, l, s, 0);
    if (status != TUTTI_OK || !all_passed(b, &b->forwards[l])) return status;
    const int of = has_statistics(b, l);
    return of >= 0 ? tutti_builder_mark_statistics(b, of) : TUTTI_OK;
}

/* The same downwards; the loss has written its gradient on the way up. */
static tutti_status backward(tutti_builder *b, int l, int s)
{
    if (l == b->end) return tutti_builder_receive_gradients(b, s);
    if (!b->wanted[l]) return TUTTI_OK;
    tutti_status status = tutti_builder_backward(b, l, s);
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
    for (int s = 0; b->own.stage == 0 && b->options->mixup > 0 && s < b->options->micro_batches;
         s++)
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
    const tutti_placement *p = &b->options->placement;
    tutti_status status = p->stages > 1 ? tutti_stages_check(p, b->net) : TUTTI_OK;
    if (status == TUTTI_OK && b->own.works)
        status = tutti_crossings_find(p, b->net, &b->crossing, &b->crossings);
    b->step->end = b->end = tutti_stage_layers(p, b->own.stage, &b->first);
    b->step->first = b->first;
    return status;
}

/* Only the first stage is fed and read, and no server. */
static void hide_batch(tutti_builder *b)
{
    for (int s = 0; b->own.stage && s < b->options->micro_batches; s++) {
        tutti_micro_batch *m = &b->step->micro_batch[s];
        m->images = m->labels = m->evaluated = m->seen = m->both = m->metrics = -1;
    }
}

static void find_wanted(tutti_builder *b)
{
    for (int l = 1; l < b->net->layers; l++) {
        const tutti_layer *layer = &b->net->layer[l];
        b->wanted[l] = tutti_builder_trains(b, l);
        for (int i = 0; i < layer->inputs; i++)
            b->wanted[l] |= b->wanted[b->net->source[layer->in[i]].layer];
    }
    for (int l = 1; l < b->net->layers; l++) { /* the addition leaves what the norm passes on */
        const int i = b->options->adds_norms && b->wanted[l] ? tutti_net_added_norm(b->net, l) : -1;
        if (i >= 0) b->wanted[b->net->source[b->net->layer[l].in[i]].layer] = 1;
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
    if (!b->own.works) return tutti_builder_serve(b);
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

/* Zeroed memory; NULL adds 1 to *failed. */
static void *zeroed(size_t count, size_t bytes, int *failed)
{
    void *memory = calloc(count, bytes);
    *failed += !memory;
    return memory;
}

static int allocate_step(tutti_step *step, size_t layers, size_t micro_batches)
{
    const size_t parameters = layers * TUTTI_LAYER_PARAMETERS;
    /* Of each parameter: the rule's, the strategy's, a codec's two, the average. Of each layer: running statistics, and
     * their average. */
    const size_t states = layers * (TUTTI_LAYER_PARAMETERS * (TUTTI_UPDATE_STATES + 4) + 2);
    int failed = 0;
    step->micro_batch = zeroed(micro_batches, sizeof *step->micro_batch, &failed);
    step->parameter = zeroed(parameters, sizeof *step->parameter, &failed);
    step->parameter_layer = zeroed(parameters, sizeof *step->parameter_layer, &failed);
    step->gradient = zeroed(parameters, sizeof *step->gradient, &failed);
    step->update = zeroed(parameters, sizeof *step->update, &failed);
    step->compressed_node = zeroed(2 * parameters, sizeof *step->compressed_node, &failed);
    step->state = zeroed(states, sizeof *step->state, &failed);
    step->state_layer = zeroed(states, sizeof *step->state_layer, &failed);
    step->state_sharded = zeroed(states, sizeof *step->state_sharded, &failed);
    return !failed;
}

static int allocate_builder(tutti_builder *b, size_t layers, size_t micro_batches)
{
    const size_t parameters = layers * TUTTI_LAYER_PARAMETERS;
    const size_t accesses = (micro_batches > parameters ? micro_batches : parameters) + 3;
    int failed = 0;
    b->gradients = zeroed(micro_batches, sizeof *b->gradients, &failed);
    b->site = zeroed(layers * micro_batches, sizeof *b->site, &failed);
    b->trained = zeroed(parameters, sizeof *b->trained, &failed);
    b->copy = zeroed(parameters, sizeof *b->copy, &failed);
    b->statistics = zeroed(layers, sizeof *b->statistics, &failed);
    b->gathered_statistics = zeroed(layers, sizeof *b->gathered_statistics, &failed);
    b->running = zeroed(layers, sizeof *b->running, &failed);
    b->average = zeroed(layers, sizeof *b->average, &failed);
    b->mixture = zeroed(micro_batches, sizeof *b->mixture, &failed);
    b->forwards = zeroed(layers, sizeof *b->forwards, &failed);
    b->backwards = zeroed(layers, sizeof *b->backwards, &failed);
    b->wanted = zeroed(layers, sizeof *b->wanted, &failed);
    b->evaluated = zeroed(layers, sizeof *b->evaluated, &failed);
    b->auxiliary_metrics =
        zeroed(TUTTI_NET_AUXILIARIES * micro_batches, sizeof *b->auxiliary_metrics, &failed);
    b->access = zeroed(accesses, sizeof *b->access, &failed);
    return !failed;
}

static tutti_status open_builder(tutti_builder *b)
{
    const size_t layers = (size_t)b->net->layers, micro_batches = (size_t)b->options->micro_batches;
    tutti_step *step = calloc(1, sizeof *step);
    if (!step) return tutti_fail(TUTTI_ERR_NOMEM, "step: no memory");
    b->step = step;
    step->refresh = step->average = step->join = -1;
    step->micro_batches = b->options->micro_batches;
    step->rule = tutti_step_rule(b->options);
    step->strategy = tutti_step_strategy(b->options);
    const tutti_strategy_settings *settings = &b->options->settings;
    step->period = tutti_strategy_steps(step->strategy, step->strategy->period, settings);
    step->kept = step->strategy->keeps ? step->strategy->keeps(settings) : NULL;
    step->codec = b->options->codec;
    step->seed = b->options->seed;
    step->placement = b->options->placement;
    step->served = step->placement.servers > 0 || step->strategy->pushes;
    step->accumulate = tutti_step_batches(b->options);
    step->gather_first = step->gather_more = -1;
    step->eval_average = step->eval_average_again = -1;
    if (!allocate_step(step, layers, micro_batches) || !allocate_builder(b, layers, micro_batches))
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
    tutti_step_options complete = *options;
    tutti_placement *p = &complete.placement;
    tutti_builder b = {.net = net, .options = &complete};
    tutti_status status = tutti_placement_complete(p);
    if (status == TUTTI_OK && p->stages == 1) p->end[0] = net->layers;
    if (status == TUTTI_OK) status = tutti_step_check(net, &complete);
    if (status != TUTTI_OK) return status;
    b.own = p->own;
    status = open_builder(&b);
    if (status == TUTTI_OK) {
        tutti_builder_cut(b.step, &complete);
        status = check_norms(&b);
    }
    if (status == TUTTI_OK) status = cut_net(&b);
    if (status == TUTTI_OK) status = tutti_builder_partition_keys(&b);
    if (status == TUTTI_OK) status = make_units(&b);
    if (status == TUTTI_OK)
        status = b.own.works ? tutti_builder_declare(&b) : tutti_builder_declare_keys(&b);
    if (status == TUTTI_OK) status = tutti_builder_declare_compressed(&b);
    if (status == TUTTI_OK) status = emit_sections(&b);
    if (status == TUTTI_OK) hide_batch(&b);
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
