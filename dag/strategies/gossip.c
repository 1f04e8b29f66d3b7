/* Replicas train on their own batches, and before each update take the average of their own weights and those
 * that their neighbours had when the step began. Messages between two are under way during the passes.
 *
 *   meet      send my weights to neighbours   receive theirs
 *   train     forward, backward with my weights                 own sums
 *             weight = (mine + theirs) / (1 + neighbours)       update with my gradient
 *   average   at the end of a round: all replicas get the average of all
 *
 *   ring         the two next to me, in every step
 *   exponential  one: I send to the replica 2^h behind me, and receive from that 2^h before me; every cycle of
 *                log2 P steps has each h once, in an order drawn from the seed
 *
 * Axes: data parallelism; each replica its own model within a round; nobody waits but for neighbours, and for
 * these only at the end of a step; weights are exchanged; a ring, or one edge of an exponential graph in turn.
 *
 * Invariants: what a replica takes has weights that sum to 1, and so has what is made of its own (the
 * matrices of both graphs are circulant, hence doubly stochastic), so that meeting does not move the mean over
 * replicas. With P a power of two, a cycle of the exponential graph without updates leaves all with that
 * mean. The bits depend neither on the design nor on the order of arrival: who is met, and in which order it is
 * added, is known before. After a round replicas have the same parameters and the same state, as with local.
 *
 * Sources: Lian, Zhang, Zhang, Hsieh, Zhang & Liu 2017, "Can Decentralized Algorithms Outperform Centralized
 * Algorithms?", arXiv:1705.09056, algorithm 1 (weights are mixed first, then comes the update, whose decay
 * and momentum are the replica's own); Assran, Loizou, Ballas & Rabbat 2019, "Stochastic Gradient
 * Push for Distributed Deep Learning", arXiv:1811.10792, for the graph with one neighbour in turn; as it is
 * doubly stochastic here, the weights of push-sum would all stay 1, and are left out. */
#include "dag/base/log.h"
#include "dag/net/builder.h"

enum { GRAPH, PERIOD };
enum { RING, EXPONENTIAL };

static const char *const graphs[] = {[RING] = "ring", [EXPONENTIAL] = "exponential", NULL};
static const tutti_strategy_parameter parameters[] = {
    {.key = "graph", .help = "who meets whom", .fallback = RING, .words = graphs},
    {.key = "period",
        .help = "steps of a round, after which all replicas get the average",
        .fallback = 1000,
        .low = 1,
        .high = 1000000,
        .whole = 1},
    {0}};

static int64_t period(const tutti_strategy_settings *settings)
{
    return (int64_t)settings->value[PERIOD];
}

/* How many distances below P are powers of two. */
static int distances(int replicas)
{
    int n = 0;
    while (1 << n < replicas) n++;
    return n;
}

static int meetings(const tutti_step_options *options)
{
    if (options->settings.value[GRAPH] == EXPONENTIAL) return distances(options->replicas);
    return options->replicas > 1;
}

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    const double graph = options->settings.value[GRAPH];
    (void)rule;
    if ((graph != RING && graph != EXPONENTIAL) || !(options->settings.value[PERIOD] >= 1))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy gossip needs a graph, ring or exponential, and a period of at "
            "least 1 step");
    if (options->pipeline.stages > 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy gossip needs whole replicas, each on a rank: do not cut them into "
            "stages");
    return tutti_step_check_alone(options);
}

/* Whose weights a replica gets in this meeting, and to whom it sends its own; returns how many each. */
static int neighbours(const tutti_builder *b, int meeting, int from[], int to[])
{
    const int P = b->options->replicas, own = b->options->replica;
    const int ring = b->options->settings.value[GRAPH] == RING, n = ring && P > 2 ? 2 : 1;
    const int far = ring ? 1 : 1 << meeting;
    from[0] = (own + P - far) % P;
    to[0] = (own + far) % P;
    from[1] = to[0];
    to[1] = from[0];
    return n;
}

/* Each neighbour's weights have a tensor of their own, so that no message waits for another to be added. */
static tutti_status meet(tutti_builder *b, int meeting)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int from[TUTTI_NEIGHBOURS], to[TUTTI_NEIGHBOURS];
    const int n = neighbours(b, meeting, from, to);
    tutti_status status = TUTTI_OK;
    for (int l = b->first; l < b->end; l++) {
        const int of_layer = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = 0; p < of_layer; p++)
            for (int k = 0; k < n && status == TUTTI_OK; k++)
                status = tutti_builder_swap(b, l, p, parameter[p].suffix, k, from[k], to[k]);
    }
    return status;
}

static tutti_status update(tutti_builder *b)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    int from[TUTTI_NEIGHBOURS], to[TUTTI_NEIGHBOURS];
    tutti_status status = TUTTI_OK;
    for (int l = b->end - 1; l >= b->first && b->options->replicas > 1; l--) {
        const int of_layer = tutti_layer_parameters(&b->net->layer[l], parameter);
        for (int p = 0; p < of_layer && status == TUTTI_OK; p++)
            status = tutti_builder_mix(b, l, p, neighbours(b, 0, from, to));
    }
    return status == TUTTI_OK ? tutti_builder_update_all(b) : status;
}

static tutti_status average(tutti_builder *b)
{
    return tutti_builder_average(b, 1, 0);
}

const tutti_strategy tutti_strategy_gossip = {.name = "gossip",
    .summary = "replicas average their weights with their neighbours' in every step",
    .parameter = parameters,
    .alone = 1,
    .period = period,
    .meetings = meetings,
    .meet = meet,
    .check = check,
    .sum = tutti_builder_keep_sum,
    .update = update,
    .average = average};
