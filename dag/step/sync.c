/* Every rank gets the whole sum of every gradient, and updates all parameters: ranks stay equal.
 *
 * Axes: data parallelism; every step is one of the sequential rule, on all ranks' images; sums begin as
 * gradients are completed; gradients are exchanged; among all ranks alike. Source: Das et al. 2016,
 * "Distributed Deep Learning Using Synchronous Stochastic Gradient Descent", arXiv:1602.06709. */
#include "dag/step/builder.h"

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    (void)rule;
    (void)options;
    return TUTTI_OK;
}

static tutti_status update(tutti_builder *b)
{
    tutti_status status = tutti_builder_receive(b);
    return status == TUTTI_OK ? tutti_builder_update_all(b) : status;
}

const tutti_strategy tutti_strategy_sync = {.name = "sync",
    .summary = "every rank gets all sums and updates all parameters",
    .divides = 1,
    .regroups = 1,
    .adds = 1,
    .freezes = 1,
    .compresses = 1,
    .check = check,
    .sum = tutti_builder_sum,
    .update = update};
