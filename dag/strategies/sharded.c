/* Each rank gets a block of every sum, updates the parameters in it, and keeps only there what the update
 * rule keeps; then all gather what the others have updated. The ranks stay equal, but for that.
 *
 *   backward    d4 d3 d2 d1   each: reduce_scatter    a rank's blocks: 1 of P
 *   update      1  2  3  4    each: allgather         first what the next forward pass needs first
 *
 * Axes: data parallelism, with an optimizer in parts; every step is one of the sequential rule; sums and
 * gathers begin as their parts are ready; gradients and weights are exchanged; among all ranks alike.
 *
 * A ring sends as many bytes as for the allreduce of sync, (P-1)/P of the gradients and as much of the
 * parameters. Sources: Das et al. 2016, "Distributed Deep Learning Using Synchronous Stochastic Gradient
 * Descent", arXiv:1602.06709 (part-reduce, part-broadcast); Rajbhandari et al. 2020, "ZeRO", SC20
 * (stage 1). */
#include "dag/base/log.h"
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    if (!rule->cut)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the update rule %s needs whole gradients, of which the strategy sharded leaves "
            "each "
            "rank a block: use the strategy sync",
            rule->name);
    if (options->clip_norm > 0)
        return tutti_fail(TUTTI_ERR_INVAL, "step: gradients are clipped by the length of all of "
                                           "them, of which the strategy sharded "
                                           "leaves each rank a block: use the strategy sync");
    return TUTTI_OK;
}

static tutti_status sum(tutti_builder *b, int l, int p)
{
    tutti_trained *t = tutti_builder_trained(b, l, p);
    return tutti_builder_mark(b, l, TUTTI_MARK_REDUCE_SCATTER, t->gradient, 0, &t->mark);
}

/* Updates and gathers, in the opposite order of the sums, so that those of a bucket follow each other,
 * and the next forward pass may begin before the last have been gathered. */
static tutti_status update_and_gather(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    for (int l = b->first; l < b->end && status == TUTTI_OK; l++) {
        tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
        int n = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = n - 1; p >= 0 && status == TUTTI_OK; p--) {
            const tutti_trained *t = tutti_builder_trained(b, l, p);
            int node;
            status = tutti_builder_update_parameter(b, l, p, parameter[p].suffix);
            if (status == TUTTI_OK)
                status =
                    tutti_builder_mark(b, l, TUTTI_MARK_ALLGATHER, t->weight, t->mark + 1, &node);
        }
    }
    return status;
}

static tutti_status update(tutti_builder *b)
{
    tutti_status status = update_and_gather(b);
    return status == TUTTI_OK ? tutti_builder_follow_all(b) : status;
}

const tutti_strategy tutti_strategy_sharded = {.name = "sharded",
    .summary = "every rank updates a part of all parameters, and keeps momentum of no more",
    .shards = 1,
    .regroups = 1,
    .divides = 1,
    .adds = 1,
    .check = check,
    .sum = sum,
    .update = update,
    .finalize = tutti_step_cut_updates};
