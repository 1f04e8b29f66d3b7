/* What replicas that train alone do together: at the end of a round, and where they meet in a step. */
#include "dag/step/builder.h"

#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/optim.h"

#include <stdio.h>
#include <string.h>

/* "<tensor>.<op>" */
static void name_node(
    const tutti_builder *b, int tensor, const tutti_op *op, char *name, size_t size)
{
    snprintf(name, size, "%s.%s", tutti_graph_get_tensor(b->graph, tensor)->name, op->name);
}

int tutti_builder_is_kept(const tutti_builder *b, int tensor)
{
    tutti_parameter_walk at = {0};
    while (b->step->kept && tutti_builder_next_parameter(b, &at))
        if (tutti_builder_trained(b, at.l, at.p)->kept == tensor) return 1;
    return 0;
}

tutti_status tutti_builder_divide(tutti_builder *b, int tensor, int by)
{
    const tutti_divide_desc desc = {
        .count = tutti_shape_count(&tutti_graph_get_tensor(b->graph, tensor)->shape),
        .by = (float)by};
    const tutti_access access = tutti_updates(tensor);
    char name[TUTTI_SITE_NAME + 16];
    name_node(b, tensor, &tutti_op_divide, name, sizeof name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_divide, &desc, sizeof desc, 1, &access, NULL);
}

tutti_status tutti_builder_outer(
    tutti_builder *b, int l, int p, const char *suffix, float rate, float momentum)
{
    const int replicas = b->options->placement.global_replicas;
    tutti_trained *t = tutti_builder_trained(b, l, p);
    if (rate == 1 && momentum == 0) return tutti_builder_divide(b, t->weight, replicas);
    const tutti_tensor *weight = tutti_graph_get_tensor(b->graph, t->weight);
    const tutti_outer_desc desc = {
        .count = t->count, .by = (float)replicas, .rate = rate, .momentum = momentum};
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

tutti_status tutti_step_check_alone(const tutti_step_options *options)
{
    if (options->wire == TUTTI_F32) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: the strategy %s sums no gradients over ranks, in %s or another type: leave the wire "
        "float32",
        options->strategy->name, tutti_dtype_name(options->wire));
}

tutti_status tutti_builder_keep_sum(tutti_builder *b, int l, int p)
{
    (void)b;
    (void)l;
    (void)p;
    return TUTTI_OK;
}

static tutti_status mark_states(tutti_builder *b)
{
    const tutti_step *step = b->step;
    tutti_status status = TUTTI_OK;
    int node;
    for (int i = 0; i < step->states && status == TUTTI_OK; i++)
        if (!tutti_builder_is_kept(b, step->state[i]))
            status = tutti_builder_mark(b, -1, TUTTI_MARK_ALLREDUCE, step->state[i], 0, &node);
    return status;
}

/* In the order in which the next forward pass needs them. */
static tutti_status mark_all(tutti_builder *b)
{
    const tutti_step *step = b->step;
    tutti_status status = TUTTI_OK;
    int node;
    for (int i = 0; i < step->parameters && status == TUTTI_OK; i++)
        status = tutti_builder_mark(b, -1, TUTTI_MARK_ALLREDUCE, step->parameter[i], 0, &node);
    return status == TUTTI_OK ? mark_states(b) : status;
}

static tutti_status divide_states(tutti_builder *b)
{
    const tutti_step *step = b->step;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < step->states && status == TUTTI_OK; i++)
        if (!tutti_builder_is_kept(b, step->state[i]))
            status = tutti_builder_divide(b, step->state[i], b->options->placement.global_replicas);
    return status;
}

tutti_status tutti_builder_average_states(tutti_builder *b)
{
    if (b->options->placement.global_replicas == 1) return TUTTI_OK;
    tutti_status status = mark_states(b);
    return status == TUTTI_OK ? divide_states(b) : status;
}

/* No reader of a sum before the last mark, so that marks can be fused. */
tutti_status tutti_builder_average(tutti_builder *b, float rate, float momentum)
{
    tutti_status status = mark_all(b);
    tutti_parameter_walk at = {0};
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at)) {
        status = tutti_builder_outer(b, at.l, at.p, at.suffix, rate, momentum);
        if (status == TUTTI_OK) status = tutti_builder_refresh_copy(b, at.l, at.p, at.suffix, 0);
    }
    return status == TUTTI_OK ? divide_states(b) : status;
}

tutti_status tutti_builder_copy_weight(tutti_builder *b, const tutti_trained *t, int to)
{
    const tutti_sum_desc desc = {.count = t->count, .inputs = 1};
    const tutti_access access[] = {tutti_reads(t->weight), tutti_writes(to)};
    char name[TUTTI_SITE_NAME + 16];
    name_node(b, to, &tutti_op_sum, name, sizeof name);
    return tutti_graph_kernel(b->graph, name, &tutti_op_sum, &desc, sizeof desc, 2, access, NULL);
}

tutti_status tutti_builder_record_starts(tutti_builder *b)
{
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at)) {
        const tutti_trained *t = tutti_builder_trained(b, at.l, at.p);
        status = tutti_builder_copy_weight(b, t, t->start);
    }
    return status;
}

/* ---- mixing steps ---- */

tutti_status tutti_builder_declare_near(tutti_builder *b, int l, int p, const char *suffix, int k)
{
    static const char *const prefix[TUTTI_NEIGHBOURS] = {"near.", "near2."};
    tutti_trained *t = tutti_builder_trained(b, l, p);
    const tutti_tensor *weight = tutti_graph_get_tensor(b->graph, t->weight);
    if (t->near[k]) return TUTTI_OK; /* no tensor of a neighbour is the first that a graph has */
    return tutti_builder_tensor(b, prefix[k], b->net->layer[l].name, suffix, -1, TUTTI_ROLE_SCRATCH,
        weight->dtype, weight->shape, &t->near[k]);
}

tutti_status tutti_builder_give(tutti_builder *b, int l, int p, int to)
{
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    return tutti_builder_message(b, TUTTI_MARK_SEND, t->weight, to, t->index);
}

tutti_status tutti_builder_receive_weights(
    tutti_builder *b, int l, int p, const char *suffix, int k, int from)
{
    tutti_trained *t = tutti_builder_trained(b, l, p);
    tutti_status status = tutti_builder_declare_near(b, l, p, suffix, k);
    return status == TUTTI_OK
               ? tutti_builder_message(b, TUTTI_MARK_RECV, t->near[k], from, t->index)
               : status;
}

int64_t tutti_strategy_steps(
    const tutti_strategy *strategy, const char *parameter, const tutti_strategy_settings *settings)
{
    int i = 0;
    if (!parameter) return 1;
    while (strcmp(strategy->parameter[i].key, parameter) != 0) i++;
    return (int64_t)settings->value[i];
}

tutti_status tutti_builder_mix_replicas(tutti_builder *b)
{
    tutti_step *step = b->step;
    const tutti_strategy *strategy = step->strategy;
    const tutti_strategy_settings *settings = &b->options->settings;
    tutti_status status = TUTTI_OK;
    step->mixings = strategy->mixings ? strategy->mixings(b->options) : 0;
    step->mixes_every = tutti_strategy_steps(strategy, strategy->mixes_every, settings);
    if (strategy->join && step->mixings) {
        step->delay = tutti_strategy_steps(strategy, strategy->delay, settings);
        status = tutti_graph_section(b->graph, "join", &step->join);
        if (status == TUTTI_OK) status = strategy->join(b);
    }
    for (int i = 0; i < step->mixings && status == TUTTI_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "mix.%d", i);
        status = tutti_graph_section(b->graph, name, &step->mixing[i]);
        if (status == TUTTI_OK) status = strategy->mix_replicas(b, i);
    }
    return status;
}

tutti_status tutti_builder_mix(tutti_builder *b, int l, int p, int neighbours)
{
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    const tutti_sum_desc sum = {.count = t->count, .inputs = neighbours, .into = 1};
    tutti_access access[TUTTI_NEIGHBOURS + 1];
    char name[TUTTI_SITE_NAME + 16];
    for (int k = 0; k < neighbours; k++) access[k] = tutti_reads(t->near[k]);
    access[neighbours] = tutti_updates(t->weight);
    name_node(b, t->weight, &tutti_op_sum, name, sizeof name);
    tutti_status status = tutti_graph_kernel(
        b->graph, name, &tutti_op_sum, &sum, sizeof sum, neighbours + 1, access, NULL);
    return status == TUTTI_OK ? tutti_builder_divide(b, t->weight, 1 + neighbours) : status;
}

int tutti_step_mixing(const tutti_step *step, int64_t number)
{
    const int n = step->mixings;
    int order[TUTTI_STEP_MIXINGS];
    if (n == 0 || number % step->mixes_every) return -1;
    number /= step->mixes_every;
    const uint64_t stream = tutti_rng_stream("meetings"), cycle = (uint64_t)(number / n);
    for (int i = 0; i < n; i++) { /* drawn one by one: each takes the place of one before it */
        const int k = (int)tutti_rng_below(
            step->seed, stream, cycle * TUTTI_STEP_MIXINGS + (uint64_t)i, (uint64_t)i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    return step->mixing[order[number % n]];
}

/* A mixing step that a round has cut short is left as it is: all have had the average since. */
static int ends_mixing(const tutti_step *step, int64_t number, int64_t round)
{
    const int64_t began = number - step->delay;
    return step->join >= 0 && began >= round && began % step->mixes_every == 0;
}

int tutti_step_before(
    const tutti_step *step, int64_t number, int64_t round, int section[TUTTI_STEP_BEFORE])
{
    const int mixing = tutti_step_mixing(step, number);
    int n = 0;
    if (ends_mixing(step, number, round)) section[n++] = step->join;
    if (mixing >= 0) section[n++] = mixing;
    return n;
}
