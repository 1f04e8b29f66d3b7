#include "dag/step/builder.h"

#include "dag/kernels/loss.h"
#include "dag/kernels/mixup.h"
#include "dag/step/codec.h"

#include <stdio.h>

void tutti_builder_cut(tutti_step *step, const tutti_step_options *o)
{
    int64_t first = 0, parts = tutti_step_parts(o), least = o->mixup > 0 ? 2 : 1;
    for (int s = 0; s < o->micro_batches; s++) {
        int64_t count = least * (parts / o->micro_batches + (s < parts % o->micro_batches));
        step->micro_batch[s] = (tutti_micro_batch){.first = first, .count = count};
        first += count;
    }
}

/* The images of a micro-batch that are fed to a net. */
static tutti_status declare_images(tutti_builder *b, int s, const tutti_net *net,
    const char *prefix, const char *what, tutti_dtype dtype, int *tensor)
{
    tutti_extent x = net->layer[0].out[0];
    char name[32];
    snprintf(name, sizeof name, "%s%s@%d", prefix, what, s);
    return tutti_graph_tensor(b->graph, name, TUTTI_ROLE_INPUT, dtype,
        tutti_shape_of(b->step->micro_batch[s].count, x.H, x.W, x.C), tensor);
}

/* Images and labels are fed, and metrics read, on the first stage. */
static tutti_status declare_micro_batch(tutti_builder *b, int s)
{
    const char *what = b->options->bytes ? "pixels" : "images";
    tutti_dtype fed = b->options->bytes ? TUTTI_U8 : b->net->layer[0].dtype[0];
    tutti_micro_batch *m = &b->step->micro_batch[s];
    tutti_status status = TUTTI_OK;
    char labels[32], metrics[32];
    int first = b->own.stage == 0;
    m->images = m->evaluated = m->labels = m->metrics = -1;
    snprintf(labels, sizeof labels, "labels@%d", s);
    snprintf(metrics, sizeof metrics, "metrics@%d", s);
    if (first) status = declare_images(b, s, b->net, "", what, fed, &m->images);
    m->evaluated = m->images;
    if (status == TUTTI_OK && first && b->options->evaluated)
        status = declare_images(b, s, &b->resized, "eval.", what, fed, &m->evaluated);
    if (status != TUTTI_OK || (!first && !tutti_builder_has_loss(b))) return status;
    status = tutti_graph_tensor(b->graph, labels, first ? TUTTI_ROLE_INPUT : TUTTI_ROLE_SCRATCH,
        TUTTI_I32, tutti_shape_of(m->count), &m->labels);
    return status == TUTTI_OK ? tutti_graph_tensor(b->graph, metrics,
                                    first ? TUTTI_ROLE_OUTPUT : TUTTI_ROLE_SCRATCH, TUTTI_F64,
                                    tutti_shape_of(TUTTI_METRICS), &m->metrics)
                              : status;
}

tutti_status tutti_builder_declare_numbers(tutti_builder *b)
{
    tutti_graph *graph = b->graph;
    tutti_status status = tutti_graph_tensor(
        graph, "rate", TUTTI_ROLE_INPUT, TUTTI_F32, tutti_shape_of(1), &b->step->rate);
    return status == TUTTI_OK ? tutti_graph_tensor(graph, "step", TUTTI_ROLE_INPUT, TUTTI_I64,
                                    tutti_shape_of(1), &b->step->counter)
                              : status;
}

static tutti_status declare_inputs(tutti_builder *b)
{
    tutti_status status = tutti_builder_declare_numbers(b);
    for (int s = 0; s < b->options->micro_batches && status == TUTTI_OK; s++)
        status = declare_micro_batch(b, s);
    return status;
}

tutti_status tutti_builder_tensor(tutti_builder *b, const char *prefix, const char *layer,
    const char *suffix, int micro_batch, tutti_role role, tutti_dtype dtype, tutti_shape shape,
    int *tensor)
{
    char name[TUTTI_SITE_NAME], place[16] = "";
    if (micro_batch >= 0) snprintf(place, sizeof place, "@%d", micro_batch);
    snprintf(name, sizeof name, "%s%s.%s%s", prefix, layer, suffix, place);
    return tutti_graph_tensor(b->graph, name, role, dtype, shape, tensor);
}

tutti_status tutti_builder_state(tutti_builder *b, const char *prefix, int l, const char *suffix,
    tutti_dtype dtype, tutti_shape shape, int *state)
{
    tutti_step *step = b->step;
    tutti_status status = tutti_builder_tensor(
        b, prefix, b->net->layer[l].name, suffix, -1, TUTTI_ROLE_STATE, dtype, shape, state);
    if (status != TUTTI_OK) return status;
    step->state_layer[step->states] = l;
    step->state_sharded[step->states] = TUTTI_SHARDED_NOT;
    step->state[step->states++] = *state;
    return TUTTI_OK;
}

/* The average of a tensor over steps, which is a state, too. *average: -1 without. */
static tutti_status declare_average(
    tutti_builder *b, int l, const char *suffix, tutti_dtype dtype, tutti_shape shape, int *average)
{
    *average = -1;
    if (b->options->average_decay <= 0 || !b->own.works) return TUTTI_OK;
    return tutti_builder_state(b, "average.", l, suffix, dtype, shape, average);
}

/* What the update rule keeps; with a key, of its elements. */
static tutti_status declare_kept(tutti_builder *b, const char *prefix, int l,
    const tutti_parameter *parameter, const tutti_key *key, int *state)
{
    tutti_status status = tutti_builder_state(
        b, prefix, l, parameter->suffix, parameter->dtype, parameter->shape, state);
    if (status == TUTTI_OK && b->step->strategy->shards)
        b->step->state_sharded[b->step->states - 1] = TUTTI_SHARDED_BLOCKS;
    return status == TUTTI_OK && key && key->portions > 1
               ? tutti_graph_cut(b->graph, *state, key->at.first, key->at.count)
               : status;
}

/* What the update rule keeps is where updates are: on servers, of the step or of a store of keys, or with
 * clients that train alone on these. */
static tutti_status declare_states(
    tutti_builder *b, int l, int p, const tutti_parameter *parameter, tutti_trained *t)
{
    const tutti_strategy *strategy = b->step->strategy;
    const tutti_key *key = strategy->shards ? tutti_builder_own_key(b, l, p) : NULL;
    const int here =
        !b->options->placement.servers || (strategy->shards ? key != NULL : !b->own.serves);
    tutti_status status = TUTTI_OK;
    for (int i = 0; !strategy->pushes && here && b->step->rule->prefix[i] && status == TUTTI_OK;
         i++)
        status = declare_kept(b, b->step->rule->prefix[i], l, parameter, key, &t->state[i]);
    if (b->step->kept && status == TUTTI_OK)
        status = tutti_builder_state(
            b, b->step->kept, l, parameter->suffix, parameter->dtype, parameter->shape, &t->kept);
    return status;
}

/* The type in which a gradient is summed over ranks. */
static tutti_dtype wire_of(const tutti_builder *b, tutti_dtype dtype)
{
    return dtype == TUTTI_F32 ? b->options->wire : dtype;
}

static void set_factors(const tutti_step_options *o, const tutti_factors *factors,
    const tutti_parameter *parameter, tutti_trained *t)
{
    t->exempt = o->weights_only && parameter->per_channel;
    t->rate_factor = (float)factors->rate;
    t->weight_decay = t->exempt ? 0 : o->weight_decay * (float)factors->weight_decay;
}

int tutti_builder_is_frozen(const tutti_builder *b, int l, int p)
{
    const tutti_codec *codec = b->options->codec;
    return !(b->net->layer[l].factors[p].rate > 0) && b->step->strategy->freezes &&
           !b->step->served && !(codec && codec->compresses);
}

int tutti_builder_trains(const tutti_builder *b, int l)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    for (int p = tutti_layer_parameters(&b->net->layer[l], parameter) - 1; p >= 0; p--)
        if (!tutti_builder_is_frozen(b, l, p)) return 1;
    return 0;
}

/* What the layer reads in place of the parameter, if it multiplies it with values of another type. */
static tutti_status declare_copy(tutti_builder *b, int l, int p, const tutti_parameter *parameter)
{
    tutti_dtype precision = b->options->precision;
    int *copy = &b->copy[l * TUTTI_LAYER_PARAMETERS + p];
    *copy = -1;
    if (!parameter->multiplied || precision == parameter->dtype) return TUTTI_OK;
    tutti_status status = tutti_builder_tensor(b, "bf16.", b->net->layer[l].name, parameter->suffix,
        -1, TUTTI_ROLE_SCRATCH, precision, parameter->shape, copy);
    for (int s = 0; s < b->options->micro_batches && status == TUTTI_OK; s++)
        tutti_builder_site(b, l, s)->parameter[p] = *copy;
    return status;
}

tutti_status tutti_builder_declare_trained(
    tutti_builder *b, int l, int p, const tutti_parameter *parameter)
{
    const char *layer = b->net->layer[l].name, *suffix = parameter->suffix;
    tutti_trained *t = &b->trained[l * TUTTI_LAYER_PARAMETERS + p];
    tutti_shape shape = parameter->shape;
    tutti_dtype dtype = parameter->dtype;
    t->count = tutti_shape_count(&shape);
    set_factors(b->options, &b->net->layer[l].factors[p], parameter, t);
    tutti_status status = tutti_builder_tensor(
        b, "", layer, suffix, -1, TUTTI_ROLE_PARAMETER, dtype, shape, &t->weight);
    if (status == TUTTI_OK) status = declare_states(b, l, p, parameter, t);
    if (status == TUTTI_OK) status = declare_average(b, l, suffix, dtype, shape, &t->average);
    /* Regions take a gradient that no node reads for one that goes to a store of keys (dag/graph/region.h). That of a
     * frozen parameter goes nowhere. */
    const tutti_role role =
        tutti_builder_is_frozen(b, l, p) ? TUTTI_ROLE_SCRATCH : TUTTI_ROLE_GRADIENT;
    if (status == TUTTI_OK)
        status = tutti_builder_tensor(
            b, "d.", layer, suffix, -1, role, wire_of(b, dtype), shape, &t->gradient);
    if (status != TUTTI_OK) return status;
    t->index = b->step->parameters++;
    b->step->parameter_layer[t->index] = l;
    b->step->parameter[t->index] = t->weight;
    b->step->gradient[t->index] = t->gradient;
    return TUTTI_OK;
}

/* Declares parameter, states and gradient; with several micro-batches or batches, or if the gradient
 * is of another type than they compute, also the gradient of each. */
static tutti_status declare_parameter(
    tutti_builder *b, int l, int p, const tutti_parameter *parameter)
{
    const char *layer = b->net->layer[l].name, *suffix = parameter->suffix;
    tutti_trained *t = &b->trained[l * TUTTI_LAYER_PARAMETERS + p];
    tutti_shape shape = parameter->shape;
    tutti_dtype dtype = parameter->dtype;
    int apart =
        b->options->micro_batches > 1 || b->step->accumulate > 1 || wire_of(b, dtype) != dtype;
    tutti_status status = tutti_builder_declare_trained(b, l, p, parameter);
    if (status == TUTTI_OK && b->step->accumulate > 1)
        status = tutti_builder_tensor(
            b, "gathered.", layer, suffix, -1, TUTTI_ROLE_SCRATCH, dtype, shape, &t->gathered);
    for (int s = 0; s < b->options->micro_batches && status == TUTTI_OK; s++) {
        tutti_site *site = tutti_builder_site(b, l, s);
        site->parameter[p] = t->weight;
        site->dparameter[p] = t->gradient;
        if (apart)
            status = tutti_builder_tensor(
                b, "d.", layer, suffix, s, TUTTI_ROLE_SCRATCH, dtype, shape, &site->dparameter[p]);
    }
    return status == TUTTI_OK ? declare_copy(b, l, p, parameter) : status;
}

static tutti_status declare_running(tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    tutti_shape shape = tutti_shape_of(2, layer->out[0].C);
    int *running = &b->running[l];
    tutti_status status =
        tutti_builder_state(b, "", l, "running", TUTTI_STATISTICS_DTYPE, shape, running);
    if (status != TUTTI_OK) return status;
    for (int s = 0; s < b->options->micro_batches; s++)
        tutti_builder_site(b, l, s)->running = *running;
    return declare_average(b, l, "running", TUTTI_STATISTICS_DTYPE, shape, &b->average[l]);
}

static tutti_status declare_layer(tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int n = tutti_divided_parameters(layer, &b->options->placement, parameter);
    tutti_status status = TUTTI_OK;
    for (int p = 0; p < n && status == TUTTI_OK; p++)
        status = declare_parameter(b, l, p, &parameter[p]);
    if (status == TUTTI_OK && layer->kind->statistics) status = declare_running(b, l);
    if (status == TUTTI_OK && layer->kind->statistics && b->step->accumulate > 1)
        status = tutti_builder_tensor(b, "gathered.", layer->name, "stats", -1, TUTTI_ROLE_SCRATCH,
            TUTTI_STATISTICS_DTYPE, tutti_shape_of(2, layer->out[0].C), &b->gathered_statistics[l]);
    return status;
}

static void set_none(int tensor[], int count)
{
    for (int i = 0; i < count; i++) tensor[i] = -1;
}

/* Whether it is written as the ReLU behind it leaves it. Divided layers join what several ranks have computed first. */
static int rectifies(const tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    return b->options->rectifies && layer->dtype[0] == layer->from_dtype[0] &&
           !tutti_layer_is_divided(layer, &b->options->placement) && tutti_net_rectifies(b->net, l);
}

static int is_rectified(const tutti_builder *b, int l)
{
    const tutti_layer *layer = &b->net->layer[l];
    return layer->kind->is_relu ? rectifies(b, b->net->source[layer->in[0]].layer)
                                : rectifies(b, l);
}

static void set_up_site(tutti_builder *b, int l, int s)
{
    const tutti_step_options *o = b->options;
    const tutti_micro_batch *micro_batch = &b->step->micro_batch[s];
    const int slot = s % b->shape.slots;
    tutti_site *site = tutti_builder_site(b, l, s);
    *site = (tutti_site){.graph = b->graph,
        .layer = &b->net->layer[l],
        .gradients = b->gradients[slot],
        .index = l,
        .micro_batch = s,
        .slot = slot,
        .N = micro_batch->count,
        .room = b->step->micro_batch[slot].count,
        .first = b->own.global_replica * o->batch + micro_batch->first,
        .seed = o->seed,
        .counter = b->step->counter,
        .urgent = tutti_builder_urgent(b),
        .rectified = is_rectified(b, l),
        .running = -1,
        .stats = -1,
        .saved = -1};
    if (tutti_layer_is_divided(site->layer, &o->placement)) site->divided = &o->placement;
    set_none(site->x, TUTTI_LAYER_INPUTS);
    set_none(site->y, TUTTI_LAYER_OUTPUTS);
    set_none(site->parameter, TUTTI_LAYER_PARAMETERS);
    set_none(site->dy, TUTTI_LAYER_OUTPUTS);
    set_none(site->dx, TUTTI_LAYER_INPUTS);
    set_none(site->dparameter, TUTTI_LAYER_PARAMETERS);
    if (l == 0 && !o->bytes && b->own.stage == 0) site->y[0] = micro_batch->images;
}

/* Which additions compute norms, too: of those that this rank has both of. */
static void join_norms(tutti_builder *b)
{
    for (int l = b->first; b->options->adds_norms && l < b->end; l++) {
        const int i = tutti_net_added_norm(b->net, l);
        const int norm = i < 0 ? -1 : b->net->source[b->net->layer[l].in[i]].layer;
        for (int s = 0; norm >= b->first && s < b->options->micro_batches; s++) {
            tutti_builder_site(b, l, s)->norm = tutti_builder_site(b, norm, s);
            tutti_builder_site(b, norm, s)->added = 1;
        }
    }
}

static tutti_status declare_auxiliaries(tutti_builder *b)
{
    const tutti_net *net = b->net;
    const int micro_batches = b->options->micro_batches;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < net->auxiliaries * micro_batches && status == TUTTI_OK; i++) {
        const tutti_value logits = net->auxiliary[i / micro_batches].logits;
        int layer = net->source[logits].layer;
        if (layer < b->first || layer >= b->end) continue;
        status = tutti_builder_tensor(b, "", net->layer[layer].name, "metrics", i % micro_batches,
            TUTTI_ROLE_SCRATCH, TUTTI_F64, tutti_shape_of(TUTTI_METRICS), &b->auxiliary_metrics[i]);
    }
    return status;
}

/* What each image keeps of itself. */
static tutti_status declare_part(tutti_builder *b, const tutti_site *site, int *part)
{
    return tutti_builder_tensor(b, "", site->layer->name, "part", site->slot, TUTTI_ROLE_SCRATCH,
        TUTTI_F32, tutti_shape_of(site->room), part);
}

/* Of micro-batches that have one slot the first declares it for all. Images are mixed on the first
 * stage; a loss needs to know how. */
static tutti_status declare_mixture(tutti_builder *b, int s)
{
    tutti_site *site = tutti_builder_site(b, 0, s);
    tutti_mixture *m = &b->mixture[s], *owner = &b->mixture[site->slot];
    tutti_extent x = site->layer->out[0];
    if (m != owner) *m = *owner;
    if (b->own.stage)
        return m == owner && tutti_builder_has_loss(b) ? declare_part(b, site, &m->part) : TUTTI_OK;
    if (m != owner) {
        if (site->y[0] >= 0) m->plain = site->y[0];
        site->y[0] = m->plain;
        return TUTTI_OK;
    }
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    m->plain = site->y[0];
    status = tutti_builder_tensor(b, "", site->layer->name, "mixed", site->slot, TUTTI_ROLE_SCRATCH,
        site->layer->dtype[0], tutti_shape_of(site->room, x.H, x.W, x.C), &m->mixed);
    if (status == TUTTI_OK && b->options->cutmix)
        status = tutti_builder_tensor(b, "", site->layer->name, "box", site->slot,
            TUTTI_ROLE_SCRATCH, TUTTI_I32, tutti_shape_of(site->room / 2, TUTTI_BOX), &m->box);
    return status == TUTTI_OK ? declare_part(b, site, &m->part) : status;
}

tutti_status tutti_builder_declare(tutti_builder *b)
{
    tutti_status status = declare_inputs(b);
    if (status == TUTTI_OK) status = declare_auxiliaries(b);
    for (int w = 0; w < b->shape.slots && status == TUTTI_OK; w++)
        status = tutti_gradients_new(b->graph, w, b->step->micro_batch[w].count, &b->gradients[w]);
    for (int l = 0; l < b->net->layers && status == TUTTI_OK; l++) {
        for (int s = 0; s < b->options->micro_batches; s++) set_up_site(b, l, s);
        if (l >= b->first && l < b->end) status = declare_layer(b, l);
    }
    join_norms(b);
    for (int s = 0; b->options->mixup > 0 && s < b->options->micro_batches && !status; s++)
        status = declare_mixture(b, s);
    return status;
}
