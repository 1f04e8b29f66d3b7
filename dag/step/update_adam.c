/* Adam, and AdamW, whose weight decay does not go through the moments (dag/kernels/optim.h). */
#include "dag/base/log.h"
#include "dag/kernels/optim.h"
#include "dag/net/site.h"
#include "dag/step/update_rule.h"

#include <math.h>
#include <stdio.h>

static tutti_status check(const tutti_step_options *o)
{
    if (!(o->beta1 >= 0 && o->beta1 < 1 && o->beta2 >= 0 && o->beta2 < 1))
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: beta1 %g and beta2 %g must be in [0, 1)", o->beta1, o->beta2);
    if (!(o->epsilon > 0 && isfinite(o->epsilon)))
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: epsilon %g must be finite and above 0", (double)o->epsilon);
    if (!(o->weight_decay >= 0 && isfinite(o->weight_decay)))
        return tutti_fail(TUTTI_ERR_INVAL, "step: weight decay %g must be finite and not negative",
            (double)o->weight_decay);
    return TUTTI_OK;
}

static tutti_status append_adam(tutti_graph *graph, const char *name, const tutti_trained *trained,
    const tutti_step *step, const tutti_step_options *options, int decoupled)
{
    tutti_adam_desc desc = {.count = trained->count,
        .every = step->accumulate,
        .beta1 = options->beta1,
        .beta2 = options->beta2,
        .epsilon = options->epsilon,
        .weight_decay = trained->weight_decay,
        .rate_factor = trained->rate_factor,
        .decoupled = decoupled};
    tutti_access access[] = {tutti_reads(trained->gradient), tutti_reads(step->rate),
        tutti_reads(step->counter), tutti_updates(trained->weight),
        tutti_updates(trained->state[0]), tutti_updates(trained->state[1])};
    char node[TUTTI_SITE_NAME];
    snprintf(node, sizeof node, "%s.%s", name, tutti_op_adam.name);
    return tutti_graph_kernel(graph, node, &tutti_op_adam, &desc, sizeof desc, 6, access, NULL);
}

static tutti_status append(tutti_graph *graph, const char *name, const tutti_trained *trained,
    const tutti_step *step, const tutti_step_options *options)
{
    return append_adam(graph, name, trained, step, options, 0);
}

static tutti_status append_decoupled(tutti_graph *graph, const char *name,
    const tutti_trained *trained, const tutti_step *step, const tutti_step_options *options)
{
    return append_adam(graph, name, trained, step, options, 1);
}

static tutti_status cut(tutti_graph *graph, int node, int64_t first, int64_t count)
{
    const tutti_node *n = tutti_graph_get_node(graph, node);
    tutti_adam_desc desc = *(const tutti_adam_desc *)n->desc;
    desc.first = first;
    desc.count = count;
    tutti_status status = tutti_graph_set_desc(graph, node, &desc, sizeof desc);
    if (status == TUTTI_OK) status = tutti_graph_cut(graph, n->access[4].tensor, first, count);
    return status == TUTTI_OK ? tutti_graph_cut(graph, n->access[5].tensor, first, count) : status;
}

const tutti_update_rule tutti_update_adam = {.name = "adam",
    .summary = "Adam; weight decay is added to the gradient",
    .rate = 0.001,
    .prefix = {"mean.", "square."},
    .stored = 1,
    .check = check,
    .append = append,
    .cut = cut};
const tutti_update_rule tutti_update_adamw = {.name = "adamw",
    .summary = "Adam, with weight decay that shrinks the weights directly",
    .rate = 0.001,
    .prefix = {"mean.", "square."},
    .stored = 1,
    .check = check,
    .append = append_decoupled,
    .cut = cut};
