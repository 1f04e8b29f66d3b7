/* Replicas train alone, on their own batches, for rounds of `period` steps; then all get the average of
 * their weights, from which an outer step may begin that regards what a round has moved as a gradient.
 *
 *   train      train      ...   train      average   parameters and state: allreduce, then / P
 *   own sums   own sums         own sums             [outer step from the round's first weights]
 *
 * Axes: data parallelism; local steps, each replica its own model within a round; rounds of `period`
 * steps; weights are exchanged; among all ranks alike.
 *
 * Invariants: after a round, replicas have the same parameters and the same state, bit for bit: what the
 * update rule keeps, running statistics and averages over steps are averaged, too (Yu et al.), and what
 * the strategy keeps is computed from what all have. So a checkpoint, a hash and an evaluation at the end
 * of a round are of one model. With period=1 and SGD, averages of what momentum and weight decay have
 * made of the replicas' gradients are what they make of the average gradient: sync, but for rounding and
 * for batch statistics, whose running ones are averages either way.
 *
 * Sources: Stich 2019, "Local SGD Converges Fast and Communicates Little", arXiv:1805.09767; Yu, Jin &
 * Yang 2019, "On the Linear Speedup Analysis of Communication Efficient Momentum SGD",
 * arXiv:1905.03817; with outer steps, Douillard et al. 2023, "DiLoCo", arXiv:2311.08105, algorithm 1. */
#include "dag/base/log.h"
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

enum { PERIOD, OUTER, MOMENTUM };

static const tutti_strategy_parameter parameters[] = {
    {.key = "period",
        .help = "steps of a round, after which weights are averaged",
        .fallback = 8,
        .low = 1,
        .high = 1000000,
        .whole = 1},
    {.key = "outer",
        .help = "rate of the outer step; 1 takes the average as it is",
        .fallback = 1,
        .low = 0.001,
        .high = 10},
    {.key = "momentum", .help = "Nesterov momentum of the outer step", .high = 0.999}, {0}};

static const char *keeps(const tutti_strategy_settings *settings)
{
    return settings->value[MOMENTUM] > 0 ? "velocity." : NULL;
}

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    (void)rule;
    if (!(options->settings.value[PERIOD] >= 1 && options->settings.value[OUTER] > 0))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy local needs a period of at least 1 step and an outer rate above 0");
    return tutti_step_check_alone(options);
}

static tutti_status average(tutti_builder *b)
{
    const double *value = b->options->settings.value;
    return tutti_builder_average(b, (float)value[OUTER], (float)value[MOMENTUM]);
}

const tutti_strategy tutti_strategy_local = {.name = "local",
    .summary = "replicas train alone, and average their weights after every round of steps",
    .parameter = parameters,
    .regroups = 1,
    .alone = 1,
    .period = "period",
    .keeps = keeps,
    .check = check,
    .sum = tutti_builder_keep_sum,
    .update = tutti_builder_update_all,
    .average = average};
