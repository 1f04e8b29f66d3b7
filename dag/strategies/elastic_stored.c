/* elastic where servers and clients are jobs of their own: each client trains as sync does among its workers, and
 * every `period` steps it and a centre, which a store of keys has, pull at each other. No client waits for another.
 *
 * Axes: as elastic.c, but mixing steps are asynchronous: each client counts its own steps.
 *
 * Invariants: what a client loses in a mixing step the centre gains, to the bit (designs/kv/kv_elastic.c). The
 * workers of a
 * client have the same bits after every step. There are no rounds: clients differ until the end, and a client that
 * returns, or joins, begins with the centre. The bits depend on arrival.
 *
 * Source: Zhang, Choromanska & LeCun 2015, "Deep learning with Elastic Averaging SGD", arXiv:1412.6651, algorithm 1; by
 * MPI clients: Mamidala et al. 2018, arXiv:1801.03855. */
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

/* Of these the graph knows nothing: the type of the store has them. In the order of elastic.c. */
static const tutti_strategy_parameter parameters[] = {
    {.key = "period", .fallback = 8, .low = 1, .high = 1000000, .whole = 1},
    {.key = "alpha", .fallback = 0.1, .low = 0.000001, .high = 1}, {0}};

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    return tutti_strategy_sync.check(rule, options);
}

static tutti_status update(tutti_builder *b)
{
    return tutti_strategy_sync.update(b);
}

const tutti_strategy tutti_strategy_elastic_stored = {.name = "elastic",
    .summary = "clients train alone, and are drawn to a centre in a store of keys",
    .parameter = parameters,
    .adds = 1,
    .of = &tutti_strategy_elastic,
    .uses_store = 1,
    .check = check,
    .sum = tutti_builder_sum,
    .update = update};
