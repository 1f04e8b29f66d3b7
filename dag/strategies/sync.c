/* Every rank gets the whole sum of every gradient, and updates all parameters: ranks stay equal.
 *
 * Axes: data parallelism; every step is one of the sequential rule, on all ranks' images; sums begin as
 * gradients are completed; gradients are exchanged; among all ranks alike. Source: Das et al. 2016,
 * "Distributed Deep Learning Using Synchronous Stochastic Gradient Descent", arXiv:1602.06709. */
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

const tutti_strategy tutti_strategy_sync = {.name = "sync",
    .summary = "every rank gets all sums and updates all parameters",
    .divides = 1,
    .check = check,
    .sum = sum,
    .update = tutti_builder_update_all};
