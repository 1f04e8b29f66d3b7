/* One replica, the root, gets every sum, updates all parameters, and sends them to the others, which keep
 * nothing of what the update rule keeps. Three schedules, of one result:
 *
 *   obr   backward   d4 d3 d2 d1   each: reduce        as soon as it is complete
 *         update     1  2  3  4    each: broadcast     as soon as it is updated
 *   ob    backward   d4 d3 d2 d1 | reduce 4 3 2 1      not before all are complete
 *         update     1  2  3  4    each: broadcast     the next forward pass begins with layer 1
 *   b     as ob, and update 1 2 3 4 | broadcast 1 2 3 4   not before all are updated
 *
 * Axes: data parallelism; every step is one of the sequential rule, on the root; scheduling as above;
 * gradients go to the root, weights come from it; a tree with one root.
 *
 * Invariants: after a step replicas have the same parameters, bit for bit. The three have the same bits as
 * each other: a tree adds whole vectors in an order that depends on nothing but the ranks. It is that of
 * sync on up to three ranks; on more, sums are rounded in another order. A gate, which is a node of the
 * graph, is what makes ob and b wait; there is no other difference.
 *
 * Source: Awan, Hamidouche, Hashmi & Panda 2017, "S-Caffe: Co-designing MPI Runtimes and Caffe for
 * Scalable Deep Learning on Modern GPU Clusters", PPoPP (SC-B, SC-OB, SC-OBR). */
#include "dag/base/log.h"
#include "dag/step/builder.h"
#include "dag/strategies/rows.h"

enum { B, OB, OBR };

static const char *const schedules[] = {[B] = "b", [OB] = "ob", [OBR] = "obr", NULL};
static const tutti_strategy_parameter parameters[] = {
    {.key = "schedule",
        .help = "what overlaps with computing: nothing, the broadcasts, or the reduces, too",
        .fallback = OBR,
        .words = schedules},
    {0}};

static int schedule_of(const tutti_builder *b)
{
    return (int)b->options->settings.value[0];
}

static tutti_status check(const tutti_update_rule *rule, const tutti_step_options *options)
{
    const double schedule = options->settings.value[0];
    if (schedule != B && schedule != OB && schedule != OBR)
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: the strategy rooted has no schedule %g", schedule);
    if (rule->cut) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: the update rule %s cannot leave what it keeps to one rank, as the strategy rooted "
        "wants: use the strategy sync",
        rule->name);
}

static tutti_status reduce(tutti_builder *b, int l, int p)
{
    tutti_trained *t = tutti_builder_trained(b, l, p);
    return tutti_builder_mark(b, l, TUTTI_MARK_REDUCE, t->gradient, 0, &t->mark);
}

static tutti_status sum(tutti_builder *b, int l, int p)
{
    return schedule_of(b) == OBR ? reduce(b, l, p) : TUTTI_OK;
}

static tutti_status broadcast(tutti_builder *b, int l, int p)
{
    int node;
    return tutti_builder_mark(
        b, l, TUTTI_MARK_BROADCAST, tutti_builder_trained(b, l, p)->weight, 0, &node);
}

static tutti_status reduce_late(tutti_builder *b)
{
    tutti_parameter_walk at = {.from_last = 1};
    tutti_status status = tutti_builder_gate(b, TUTTI_GATED_GRADIENTS);
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
        status = reduce(b, at.l, at.p);
    return status;
}

/* All parameters, from the first layer; each is broadcast as soon as it is updated. */
static tutti_status update_and_send(tutti_builder *b)
{
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at)) {
        status = tutti_builder_update_parameter(b, at.l, at.p, at.suffix);
        if (status == TUTTI_OK) status = broadcast(b, at.l, at.p);
    }
    return status;
}

/* The same, but none before all are updated. */
static tutti_status send_late(tutti_builder *b)
{
    tutti_parameter_walk updated = {0}, sent = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &updated))
        status = tutti_builder_update_parameter(b, updated.l, updated.p, updated.suffix);
    if (status == TUTTI_OK) status = tutti_builder_gate(b, TUTTI_GATED_WEIGHTS);
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &sent))
        status = broadcast(b, sent.l, sent.p);
    return status;
}

/* What follows a parameter comes behind the last broadcast, so that these can be fused. */
static tutti_status update(tutti_builder *b)
{
    const int schedule = schedule_of(b);
    tutti_status status = schedule == OBR ? TUTTI_OK : reduce_late(b);
    if (status == TUTTI_OK && b->options->clip_norm > 0)
        status = tutti_builder_measure_gradients(b);
    if (status == TUTTI_OK) status = schedule == B ? send_late(b) : update_and_send(b);
    return status == TUTTI_OK ? tutti_builder_follow_all(b) : status;
}

const tutti_strategy tutti_strategy_rooted = {.name = "rooted",
    .summary = "one replica gets all sums, updates all parameters, and sends them to the others",
    .parameter = parameters,
    .shards = 1,
    .roots = 1,
    .check = check,
    .sum = sum,
    .update = update,
    .finalize = tutti_step_cut_updates};
