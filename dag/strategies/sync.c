/* Every rank gets the whole sum of every gradient, and updates all parameters: ranks stay equal. */
#include "dag/net/builder.h"

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    (void)rule;
    (void)options;
    return TUTTI_OK;
}

static tutti_status sum(tutti_builder *b, int l, int p)
{
    tutti_trained *t = tutti_builder_trained(b, l, p);
    return tutti_builder_mark(b, l, TUTTI_MARK_ALLREDUCE, t->gradient, 0, &t->mark);
}

static tutti_status update(tutti_builder *b)
{
    tutti_status status = b->options->clip_norm > 0 ? tutti_builder_measure_gradients(b) : TUTTI_OK;
    for (int l = b->end - 1; l >= b->first && status == TUTTI_OK; l--) {
        tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
        int n = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = 0; p < n && status == TUTTI_OK; p++) {
            status = tutti_builder_update_parameter(b, l, p, parameter[p].suffix);
            if (status == TUTTI_OK)
                status = tutti_builder_follow_parameter(b, l, p, parameter[p].suffix);
        }
        if (b->net->layer[l].kind->statistics && status == TUTTI_OK)
            status = tutti_builder_update_running(b, l);
    }
    return status;
}

static tutti_status settle(tutti_step *step)
{
    (void)step;
    return TUTTI_OK;
}

const tutti_strategy tutti_strategy_sync = {.name = "sync",
    .summary = "every rank gets all sums and updates all parameters",
    .check = check,
    .sum = sum,
    .update = update,
    .settle = settle};
