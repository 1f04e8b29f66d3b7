/* Replicas train on their own batches, and before each update take the average of their own weights and those
 * that their neighbours had when the step began. Messages between two are under way during the passes.
 *
 *   meet      send my weights to neighbours   receive theirs
 *   train     forward, backward with my weights                 own sums
 *             weight = mean of mine and theirs                  update with my gradient
 *   average   at the end of a round: all replicas get the average of all
 *
 *   ring         the two next to me, in every step
 *   exponential  one: I send to the replica 2^h behind me, and receive from that 2^h before me; every cycle of
 *                log2 P steps has each h once, in an order drawn from the seed
 *   push-sum     I send to one that was drawn, and receive from none, one or two. Each replica has a share, all
 *                begin with 1. With my weights goes half of my share, and a mean is weighted by shares:
 *                weight = (mine * share kept + theirs * shares received) / (my share from now on)
 *
 * Axes: data parallelism; each replica its own model within a round; a replica waits for its neighbours alone, and
 * only at the end of a step; weights are exchanged; a ring, or one edge of an exponential graph in turn, or a drawn
 * directed graph.
 *
 * Invariants: with ring and exponential, what a replica takes has weights that sum to 1, and so has what is made of
 * its own (the matrices of both graphs are circulant, hence doubly stochastic), so that mixing does not move the
 * mean over replicas. With P a power of two, a cycle of the exponential graph without updates leaves all with that
 * mean. With push-sum only what is made of its own sums to 1: there the shares sum to P, exactly, after every
 * mixing step, each stays above 0, and mixing does not move the mean weighted by shares, which is what a round ends
 * with. In terms of the papers: their x is share * weight, their w the share, and the estimate x / w is what a
 * replica has as its weights, so that it is what it trains, and what is evaluated. After a round all shares are 1.
 * The bits depend neither on the design nor on the order of arrival: who is met, and in which order it is
 * added, is known before. After a round replicas have the same parameters and the same state, as with local.
 *
 * Push-sum's replicas draw whom they send to as follows. In a mixing step of distance 2^h each tosses a coin: 2^h
 * behind it, or 2^h before it; so none receives more than two. Another mixing step has all coins turned: with both,
 * i and its neighbours at distance 1 exchange both ways, so that every cycle connects all, whatever the coins.
 *
 * Sources: Lian, Zhang, Zhang, Hsieh, Zhang & Liu 2017, "Can Decentralized Algorithms Outperform Centralized
 * Algorithms?", arXiv:1705.09056, algorithm 1 (weights are mixed first, then comes the update, whose decay
 * and momentum are the replica's own); Assran, Loizou, Ballas & Rabbat 2019, "Stochastic Gradient
 * Push for Distributed Deep Learning", arXiv:1811.10792, for the graph with one neighbour in turn (as it is
 * doubly stochastic here, shares would all stay 1, and are left out), and for push-sum on directed graphs that change;
 * Kempe, Dobra & Gehrke 2003 (FOCS), push-sum; Blot, Picard, Cord & Thome 2016, "Gossip training for deep
 * learning", arXiv:1611.09726, sum-weighted gossip, whose update, as here, moves the estimate by the replica's own rate
 * (stochastic gradient push divides that by the share). */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

enum { GRAPH, PERIOD };
enum { RING, EXPONENTIAL, PUSH_SUM, GRAPHS };

static const char *const graphs[] = {
    [RING] = "ring", [EXPONENTIAL] = "exponential", [PUSH_SUM] = "push-sum", NULL};
static const tutti_strategy_parameter parameters[] = {
    {.key = "graph", .help = "who mixes with whom", .fallback = RING, .words = graphs},
    {.key = "period",
        .help = "steps of a round, after which all replicas get the average",
        .fallback = 1000,
        .low = 1,
        .high = 1000000,
        .whole = 1},
    {0}};

/* ---- who mixes with whom ---- */

/* How many distances below P are powers of two. */
static int distances(int replicas)
{
    int n = 0;
    while (1 << n < replicas) n++;
    return n;
}

/* To whom a replica sends its weights in a mixing step, and whose it gets: as many, but with push-sum. */
typedef struct circle {
    int sends, receives;
    int to[TUTTI_NEIGHBOURS], from[TUTTI_NEIGHBOURS];
} circle;

typedef struct way {
    int (*mixings)(int replicas);
    circle (*mix_replicas)(const tutti_builder *b, int mixing);
    int shares; /* whether means are weighted */
} way;

static int one(int replicas)
{
    return replicas > 1;
}

static int twice_distances(int replicas)
{
    return 2 * distances(replicas);
}

static circle on_ring(const tutti_builder *b, int mixing)
{
    const int P = b->options->placement.global_replicas, own = b->own.global_replica,
              n = P > 2 ? 2 : 1;
    const int before = (own + P - 1) % P, behind = (own + 1) % P;
    (void)mixing;
    return (circle){.sends = n, .receives = n, .to = {behind, before}, .from = {before, behind}};
}

static circle at_distance(const tutti_builder *b, int mixing)
{
    const int P = b->options->placement.global_replicas, own = b->own.global_replica,
              far = 1 << mixing;
    return (circle){
        .sends = 1, .receives = 1, .to = {(own + far) % P}, .from = {(own + P - far) % P}};
}

/* To whom `replica` sends in a mixing step of push-sum: all replicas draw the same. */
static int receiver(const tutti_builder *b, int mixing, int replica)
{
    const int P = b->options->placement.global_replicas, far = 1 << mixing / 2;
    const uint64_t toss = (uint64_t)(mixing / 2) * (uint64_t)P + (uint64_t)replica;
    const int coin = (int)tutti_rng_below(b->options->seed, tutti_rng_stream("coins"), toss, 2);
    return (replica + (coin == mixing % 2 ? far : P - far)) % P;
}

static circle as_drawn(const tutti_builder *b, int mixing)
{
    const int P = b->options->placement.global_replicas, own = b->own.global_replica,
              far = 1 << mixing / 2;
    const int before = (own + P - far) % P, behind = (own + far) % P;
    circle c = {.sends = 1, .to = {receiver(b, mixing, own)}};
    if (receiver(b, mixing, before) == own) c.from[c.receives++] = before;
    if (behind != before && receiver(b, mixing, behind) == own) c.from[c.receives++] = behind;
    return c;
}

static const way ways[GRAPHS] = {
    [RING] = {one, on_ring, 0},
    [EXPONENTIAL] = {distances, at_distance, 0},
    [PUSH_SUM] = {twice_distances, as_drawn, 1},
};

static const way *way_of(const tutti_step_options *options)
{
    return &ways[(int)options->settings.value[GRAPH]];
}

static int mixings(const tutti_step_options *options)
{
    return way_of(options)->mixings(options->placement.global_replicas);
}

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    const double graph = options->settings.value[GRAPH];
    (void)rule;
    if (!(graph >= 0 && graph < GRAPHS && graph == (int)graph) ||
        !(options->settings.value[PERIOD] >= 1))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy gossip needs a graph, ring, exponential or push-sum, and a period "
            "of at least 1 step");
    if (options->placement.stages > 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy gossip needs whole replicas, each on a rank: do not cut them into "
            "stages");
    if (mixings(options) > TUTTI_STEP_MIXINGS)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy gossip:%s has no more than %d kinds of mixing steps, too few for "
            "%d "
            "replicas: use gossip:ring, or fewer ranks",
            graphs[(int)graph], TUTTI_STEP_MIXINGS, options->placement.global_replicas);
    return tutti_step_check_alone(options);
}

/* ---- mixing steps ---- */

/* How many this replica receives at most. */
static int most_received(const tutti_builder *b)
{
    int most = 0;
    for (int i = 0; i < b->step->mixings; i++) {
        const int received = way_of(b->options)->mix_replicas(b, i).receives;
        if (received > most) most = received;
    }
    return most;
}

/* Each neighbour's weights have a tensor of their own, so that no message waits for another to be added. */
static tutti_status mix_over(tutti_builder *b, int l, int p, const char *suffix, const circle *c)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; (k < c->sends || k < c->receives) && status == TUTTI_OK; k++) {
        if (k < c->sends) status = tutti_builder_give(b, l, p, c->to[k]);
        if (k < c->receives && status == TUTTI_OK)
            status = tutti_builder_receive_weights(b, l, p, suffix, k, c->from[k]);
    }
    return status;
}

static tutti_status mix_replicas(tutti_builder *b, int mixing)
{
    const circle c = way_of(b->options)->mix_replicas(b, mixing);
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
        status = mix_over(b, at.l, at.p, at.suffix, &c);
    if (!way_of(b->options)->shares || status != TUTTI_OK) return status;
    if (!b->shares.neighbours) status = tutti_builder_declare_shares(b, most_received(b));
    return status == TUTTI_OK ? tutti_builder_give_share(b, c.to[0], c.receives, c.from) : status;
}

/* Does something to every parameter, from the last layer. */
static tutti_status for_each(tutti_builder *b, tutti_status (*what)(tutti_builder *b, int l, int p))
{
    tutti_parameter_walk at = {.from_last = 1};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at)) status = what(b, at.l, at.p);
    return status;
}

static tutti_status mix(tutti_builder *b, int l, int p)
{
    return tutti_builder_mix(b, l, p, way_of(b->options)->mix_replicas(b, 0).receives);
}

static tutti_status update(tutti_builder *b)
{
    tutti_status status = TUTTI_OK;
    if (b->shares.neighbours) {
        status = tutti_builder_weigh_shares(b);
        if (status == TUTTI_OK) status = for_each(b, tutti_builder_mix_by_share);
    } else if (b->options->placement.global_replicas > 1) {
        status = for_each(b, mix);
    }
    return status == TUTTI_OK ? tutti_builder_update_all(b) : status;
}

/* With shares: the sum of what all stand for, by the sum of the shares, which is how many replicas there are. */
static tutti_status average(tutti_builder *b)
{
    tutti_status status =
        b->shares.neighbours ? for_each(b, tutti_builder_scale_by_share) : TUTTI_OK;
    if (status == TUTTI_OK) status = tutti_builder_average(b, 1, 0);
    return status == TUTTI_OK ? tutti_builder_set_share(b) : status;
}

const tutti_strategy tutti_strategy_gossip = {.name = "gossip",
    .summary = "replicas average their weights with their neighbours' in every step",
    .parameter = parameters,
    .regroups = 1,
    .alone = 1,
    .period = "period",
    .mixings = mixings,
    .mix_replicas = mix_replicas,
    .check = check,
    .sum = tutti_builder_keep_sum,
    .update = update,
    .average = average};
