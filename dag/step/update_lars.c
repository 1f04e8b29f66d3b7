/* Momentum with a rate for each parameter, in proportion to its length (dag/kernels/optim.h). */
#include "dag/base/log.h"
#include "dag/kernels/optim.h"
#include "dag/net/site.h"
#include "dag/step/update_rule.h"

#include <math.h>
#include <stdio.h>

static tutti_status check(const tutti_step_options *o)
{
    if (!(o->trust > 0 && isfinite(o->trust)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the trust coefficient %g must be finite and above 0", (double)o->trust);
    return tutti_update_sgd.check(o);
}

static tutti_status append(tutti_graph *graph, const char *name, const tutti_trained *trained,
    const tutti_step *step, const tutti_step_options *options)
{
    tutti_lars_desc desc = {.count = trained->count,
        .momentum = options->momentum,
        .weight_decay = trained->weight_decay,
        .rate_factor = trained->rate_factor,
        .trust = trained->exempt ? 0 : options->trust};
    tutti_access access[] = {tutti_reads(trained->gradient), tutti_reads(step->rate),
        tutti_updates(trained->weight), tutti_updates(trained->state[0])};
    char node[TUTTI_SITE_NAME];
    snprintf(node, sizeof node, "%s.%s", name, tutti_op_lars.name);
    return tutti_graph_kernel(graph, node, &tutti_op_lars, &desc, sizeof desc, 4, access, NULL);
}

const tutti_update_rule tutti_update_lars = {.name = "lars",
    .summary = "momentum, with a rate for each parameter in proportion to its length",
    .prefix = {"m."},
    .check = check,
    .append = append};
