/* Replicas train on their own batches, and meet in pairs: both send the weights that they have then, train on, and
 * some steps later each moves by half of the way from what it had to what the other had.
 *
 *   step         t            t + 1         ...    t + delay               t + period
 *   active i     send x_i     train         train  x += (x_j - x_i) / 2    meet another
 *                train                             train
 *   passive j    send x_j     train         train  x += (x_i - x_j) / 2    meet another
 *                train                             train
 *   average      at the end of a round: all replicas get the average of all
 *
 * Even replicas are active, odd ones passive. In mixing step h active number a has passive number a + h modulo their
 * number, where h is 0 or a power of two; of an odd number of replicas each active in turn has no partner. Every cycle
 * has each h once, in an order drawn from the seed: so every replica has one partner or none in a mixing step, and
 * both of a pair know it before.
 *
 * Axes: data parallelism; each replica its own model within a round, gradients of weights that lack the average under
 * way; a replica waits for its partner alone, and only where a mixing step ends, if the partner is more than `delay`
 * steps behind; weights are exchanged; a bipartite graph, of which each mixing step takes a matching.
 *
 * Invariants: the two of a pair move by each other's negative, so a mixing does not move the sum over replicas,
 * exactly where numbers are integers: its matrix is symmetric, and rows and columns sum to 1. A mixing step ends before
 * the next one begins (delay <= period), else half of a way would be gone twice. One that a round's end cuts
 * short is left out, as the average of all has what it would do. The bits depend neither on the design nor on arrival.
 * After a round replicas have the same parameters and the same state, as with local, and no mixing step is under way.
 *
 * What is the paper's, and what is not: x(t + delay) is mean(x_i(t), x_j(t)) less what the gradients of the steps
 * since have moved, and these are of weights that the mean was not in yet. That is X <- X W - rate * dF(X^), with X^
 * up to `delay` steps old, the paper's bounded staleness; delay=1,period=1 is one gradient to one average. In the
 * paper a thread of each active worker averages with whatever weights a partner drawn at random has at that moment,
 * atomically, so that a fast worker makes more steps than a slow one, no staleness is known before, and the bits
 * depend on arrival. Here all make as many steps, who mixes with whom after which step is known before, and a slow
 * replica holds up whom it meets, once they are `delay` steps ahead, and through them others. The paper needs the
 * bipartite graph against deadlock; here nothing can wait in a circle anyway (doc/designs.md), and it is what
 * leaves each replica one partner.
 *
 * Source: Lian, Zhang, Zhang & Liu 2018, "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML,
 * arXiv:1710.06952, algorithm 1 and section 3 (bipartite graphs). */
#include "dag/base/log.h"
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

enum { PERIOD, DELAY, ROUND };

static const tutti_strategy_parameter parameters[] = {
    {.key = "period",
        .help = "steps from one mixing step to the next",
        .fallback = 1,
        .low = 1,
        .high = 1000000,
        .whole = 1},
    {.key = "delay",
        .help = "steps that are trained while a mixing step is under way; at most the period",
        .fallback = 1,
        .low = 1,
        .high = 1000,
        .whole = 1},
    {.key = "round",
        .help = "steps after which all replicas get the average",
        .fallback = 1000,
        .low = 1,
        .high = 1000000,
        .whole = 1},
    {0}};

/* ---- who mixes with whom ---- */

static int actives(int replicas)
{
    return (replicas + 1) / 2;
}

/* With the first two kinds alone all replicas hang together; more than a step may have are left out. */
static int mixings(const tutti_step_options *options)
{
    const int active = actives(options->placement.global_replicas);
    int n = options->placement.global_replicas > 1;
    while (n && n < TUTTI_STEP_MIXINGS && 1 << (n - 1) < active) n++;
    return n;
}

/* The partner of a replica; -1: it has none. A last active without a passive of its number meets none in the place of
 * that. */
static int partner(int replica, int replicas, int mixing)
{
    const int active = actives(replicas), far = mixing ? 1 << (mixing - 1) : 0;
    if (replica % 2) return 2 * ((replica / 2 + active - far) % active);
    const int passive = 2 * ((replica / 2 + far) % active) + 1;
    return passive < replicas ? passive : -1;
}

static tutti_status mix_replicas(tutti_builder *b, int mixing)
{
    const tutti_step_options *o = b->options;
    return tutti_builder_mix_pair(
        b, partner(b->own.global_replica, o->placement.global_replicas, mixing));
}

/* ---- the step ---- */

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    const double *value = options->settings.value;
    (void)rule;
    if (!(value[PERIOD] >= 1 && value[DELAY] >= 1 && value[ROUND] >= 1))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy adpsgd needs a period, a delay and a round of at least 1 step");
    if (value[DELAY] > value[PERIOD])
        return tutti_fail(TUTTI_ERR_USAGE,
            "the strategy adpsgd: with delay=%.9g and period=%.9g a mixing step would begin before "
            "the last one has ended: use delay=%.9g or less, or a longer period",
            value[DELAY], value[PERIOD], value[PERIOD]);
    if (options->placement.stages > 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy adpsgd needs whole replicas, each on a rank: do not cut them into "
            "stages");
    return tutti_step_check_alone(options);
}

static tutti_status average(tutti_builder *b)
{
    return tutti_builder_average(b, 1, 0);
}

const tutti_strategy tutti_strategy_adpsgd = {.name = "adpsgd",
    .summary = "replicas train on while they average their weights with a partner's",
    .parameter = parameters,
    .alone = 1,
    .period = "round",
    .mixings = mixings,
    .mix_replicas = mix_replicas,
    .mixes_every = "period",
    .delay = "delay",
    .join = tutti_builder_complete_pair,
    .check = check,
    .sum = tutti_builder_keep_sum,
    .update = tutti_builder_update_all,
    .average = average};
