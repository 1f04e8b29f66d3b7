/* Stochastic gradient descent (dag/kernels/optim.h). */
#include "dag/base/log.h"
#include "dag/kernels/optim.h"
#include "dag/net/site.h"
#include "dag/step/update_rule.h"

#include <math.h>
#include <stdio.h>

static tutti_status check(const tutti_step_options *o)
{
    if (!(o->momentum >= 0 && isfinite(o->momentum) && o->weight_decay >= 0 &&
            isfinite(o->weight_decay)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: momentum %g and weight decay %g must be finite and not negative",
            (double)o->momentum, (double)o->weight_decay);
    return TUTTI_OK;
}

static tutti_status append(tutti_graph *graph, const char *name, const tutti_trained *trained,
    const tutti_step *step, const tutti_step_options *options)
{
    tutti_sgd_desc desc = {.count = trained->count,
        .momentum = options->momentum,
        .weight_decay = trained->weight_decay,
        .rate_factor = trained->rate_factor,
        .nesterov = options->nesterov};
    tutti_access access[] = {tutti_reads(trained->gradient), tutti_reads(step->rate),
        tutti_updates(trained->weight), tutti_updates(trained->state[0])};
    char node[TUTTI_SITE_NAME];
    snprintf(node, sizeof node, "%s.%s", name, tutti_op_sgd.name);
    return tutti_graph_kernel(graph, node, &tutti_op_sgd, &desc, sizeof desc, 4, access, NULL);
}

static tutti_status cut(tutti_graph *graph, int node, int64_t first, int64_t count)
{
    const tutti_node *n = tutti_graph_get_node(graph, node);
    tutti_sgd_desc desc = *(const tutti_sgd_desc *)n->desc;
    desc.first = first;
    desc.count = count;
    tutti_status status = tutti_graph_set_desc(graph, node, &desc, sizeof desc);
    return status ? status : tutti_graph_cut(graph, n->access[3].tensor, first, count);
}

const tutti_update_rule tutti_update_sgd = {.name = "sgd",
    .summary = "stochastic gradient descent with momentum",
    .prefix = {"m."},
    .stored = 1,
    .check = check,
    .append = append,
    .takes_bf16 = 1,
    .cut = cut};
