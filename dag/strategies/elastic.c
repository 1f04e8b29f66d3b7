/* Clients train alone, and every `period` steps they and a centre, which servers have, pull at each other: elastic
 * averaging.
 *
 *   client c   x_c  <-  x_c + alpha (centre - x_c)
 *   server     centre  <-  centre + beta (mean of x_c - centre),   beta = clients * alpha
 *
 *   meet      root: send x to the server   receive the centre       server: receive x of client 0, 1, 2, ...
 *             broadcast in the client      x moves                          send the centre, then move it
 *   train     forward, backward, sum in the client, update          -
 *   average   at the end of a round: the same, but all clients get the moved centre in place of x
 *
 * Both sides take what the other had when the mixing step began, so messages in both directions travel at once. The
 * workers of a client train as sync does, on the client's sums.
 *
 * Axes: data parallelism; local steps, each client its own model, drawn to a centre; mixing steps every `period` steps;
 * weights are exchanged; stars of clients around each server, an allreduce in each client.
 *
 * Invariants: what clients lose in a mixing step the centre gains: the sum of the centre and of all x_c stays. That is
 * exact where numbers are integers, and alpha and the clients powers of two; else there is rounding. beta is at most
 * 1, else the centre would pass the mean. The bits depend neither on the design, nor on arrival, nor on the number of
 * servers. After a round all workers have the same parameters, those of the centre, and the same state, the mean over
 * workers.
 *
 * Sources: Zhang, Choromanska & LeCun 2015, "Deep learning with Elastic Averaging SGD", arXiv:1412.6651, equations 3
 * and 4, in its synchronous form; by MPI clients: Mamidala et al. 2018, arXiv:1801.03855. */
#include "dag/base/log.h"
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

#include <math.h>

enum { PERIOD, ALPHA, ROUND };

static const tutti_strategy_parameter parameters[] = {
    {.key = "period",
        .help = "steps from one mixing step with the centre to the next",
        .fallback = 8,
        .low = 1,
        .high = 1000000,
        .whole = 1},
    {.key = "alpha",
        .help = "how far clients move to the centre in a mixing step; times clients at most 1",
        .fallback = 0.1,
        .low = 0.000001,
        .high = 1},
    {.key = "round",
        .help = "steps after which all clients begin from the centre",
        .fallback = 1000,
        .low = 1,
        .high = 1000000,
        .whole = 1},
    {0}};

static int mixings(const tutti_step_options *options)
{
    return options->placement.servers > 0;
}

static double alpha_of(const tutti_builder *b)
{
    return b->options->settings.value[ALPHA];
}

/* Without servers there is only a list of what the model has. */
static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    const double *value = options->settings.value;
    const int clients = options->placement.clients;
    (void)rule;
    if (!(value[PERIOD] >= 1 && value[ROUND] >= 1 && value[ALPHA] > 0 && value[ALPHA] <= 1))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy elastic needs a period and a round of at least 1 step, and alpha "
            "above 0 and at most 1");
    if (options->placement.servers && value[ALPHA] * clients > 1 + 1e-9)
        return tutti_fail(TUTTI_ERR_USAGE,
            "the strategy elastic: with alpha=%.9g %d clients would push the centre past "
            "their mean: use alpha=%.6g or less, or fewer clients",
            value[ALPHA], clients, floor(1e6 / clients) / 1e6);
    if (options->wire != TUTTI_F32)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy elastic takes weights and gradients in %s: leave the wire float32",
            tutti_dtype_name(TUTTI_F32));
    return TUTTI_OK;
}

static tutti_status sum(tutti_builder *b, int l, int p)
{
    return b->options->placement.servers ? tutti_builder_sum_in_client(b, l, p) : TUTTI_OK;
}

static tutti_status statistics(tutti_builder *b, int l)
{
    return sum(b, l, TUTTI_KEY_STATISTICS);
}

static tutti_status update(tutti_builder *b)
{
    return b->own.serves ? TUTTI_OK : tutti_builder_update_all(b);
}

/* At most 1, whatever the product rounds to. */
static double share_of(const tutti_builder *b)
{
    return fmin(1, alpha_of(b) * b->options->placement.clients);
}

static tutti_status mix_replicas(tutti_builder *b, int mixing)
{
    const int serves = b->own.serves;
    (void)mixing;
    tutti_status status = serves ? TUTTI_OK : tutti_builder_declare_centres(b);
    if (status == TUTTI_OK) status = tutti_builder_push_keys(b, TUTTI_SENT_WEIGHTS);
    if (status == TUTTI_OK) status = tutti_builder_pull_keys(b, TUTTI_SENT_WEIGHTS);
    if (status != TUTTI_OK) return status;
    return serves ? tutti_builder_move_centres(b, share_of(b))
                  : tutti_builder_approach_centres(b, alpha_of(b));
}

static tutti_status average(tutti_builder *b)
{
    const int serves = b->own.serves;
    if (!b->options->placement.servers) return TUTTI_OK;
    tutti_status status = tutti_builder_push_keys(b, TUTTI_SENT_TO_REPLACE);
    if (status == TUTTI_OK && serves) status = tutti_builder_move_centres(b, share_of(b));
    if (status == TUTTI_OK) status = tutti_builder_pull_keys(b, TUTTI_SENT_TO_REPLACE);
    if (status != TUTTI_OK || serves) return status;
    status = tutti_builder_refresh_copies(b, 0);
    return status == TUTTI_OK ? tutti_builder_average_states(b) : status;
}

const tutti_strategy tutti_strategy_elastic = {.name = "elastic",
    .summary = "clients train alone, and are drawn to a centre on parameter servers",
    .parameter = parameters,
    .alone = 1,
    .serves = 1,
    .needs_servers = 1,
    .period = "round",
    .mixings = mixings,
    .mix_replicas = mix_replicas,
    .mixes_every = "period",
    .check = check,
    .sum = sum,
    .statistics = statistics,
    .update = update,
    .average = average};
