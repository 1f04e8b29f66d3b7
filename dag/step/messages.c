/* What travels between the stages of a pipeline: values and their gradients; labels and what belongs
 * to them, from the first stage to those that have a loss; what the last one finds out, back to the
 * first, which alone is fed and read. */
#include "dag/step/builder.h"

#include <stdio.h>

static tutti_status message(tutti_builder *b, tutti_verb verb, int tensor, int stage, int edge)
{
    const int rank = tutti_placement_rank(&b->options->placement, b->own.replica, stage);
    return tutti_builder_message(b, verb, tensor, rank, edge);
}

/* ---- values ---- */

static int is_evaluated(const tutti_builder *b, const tutti_crossing *c)
{
    int first, end = tutti_stage_layers(&b->options->placement, c->to, &first);
    for (int l = c->lowest; l < end; l++)
        for (int i = 0; b->evaluated[l] && i < b->net->layer[l].inputs; i++)
            if (b->net->layer[l].in[i] == c->value) return 1;
    return 0;
}

/* Whether the readers of a value need it in this section. */
static int travels(const tutti_builder *b, const tutti_crossing *c, int evaluation)
{
    return !evaluation || is_evaluated(b, c);
}

tutti_status tutti_builder_receive_values(tutti_builder *b, int s, int evaluation)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->crossings && status == TUTTI_OK; i++) {
        const tutti_crossing *c = &b->crossing[i];
        const tutti_source from = b->net->source[c->value];
        if (c->to != b->own.stage || !travels(b, c, evaluation)) continue;
        tutti_site *site = tutti_builder_site(b, from.layer, s);
        tutti_site *owner = tutti_builder_site(b, from.layer, site->slot);
        tutti_site_share(owner, site);
        status = tutti_site_value(site, from.output);
        tutti_site_share(site, owner);
        if (status == TUTTI_OK)
            status = message(
                b, TUTTI_MARK_RECV, site->y[from.output], c->from, tutti_crossing_value_edge(i));
    }
    return status;
}

tutti_status tutti_builder_send_values(tutti_builder *b, int l, int s, int evaluation)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->crossings && status == TUTTI_OK; i++) {
        const tutti_crossing *c = &b->crossing[i];
        if (b->net->source[c->value].layer != l || !travels(b, c, evaluation)) continue;
        status = message(b, TUTTI_MARK_SEND, tutti_builder_value(b, c->value, s), c->to,
            tutti_crossing_value_edge(i));
    }
    return status;
}

/* ---- gradients ---- */

static int is_wanted(const tutti_builder *b, const tutti_crossing *c)
{
    return b->wanted[b->net->source[c->value].layer];
}

tutti_status tutti_builder_receive_gradients(tutti_builder *b, int s)
{
    tutti_gradients *gradients = tutti_builder_site(b, 0, s)->gradients;
    for (int i = 0; i < b->crossings; i++) {
        const tutti_crossing *c = &b->crossing[i];
        int dy;
        if (c->below != b->own.stage || !is_wanted(b, c)) continue;
        tutti_status status = tutti_gradients_take(gradients, tutti_net_dtype(b->net, c->value),
            tutti_extent_count(tutti_net_extent(b->net, c->value)), &dy);
        if (status == TUTTI_OK)
            status = message(b, TUTTI_MARK_RECV, dy, c->to, tutti_crossing_gradient_edge(i));
        if (status == TUTTI_OK) status = tutti_gradients_add(gradients, c->value, dy);
        if (status != TUTTI_OK) return status;
        tutti_gradients_drop(gradients, dy);
    }
    return TUTTI_OK;
}

/* The sum of what has been contributed so far, to the next one who adds to it. */
static tutti_status send_gradient(tutti_builder *b, int crossing, int s)
{
    const tutti_crossing *c = &b->crossing[crossing];
    const tutti_source from = b->net->source[c->value];
    tutti_gradients *gradients = tutti_builder_site(b, 0, s)->gradients;
    char name[TUTTI_SITE_NAME];
    int dy;
    snprintf(name, sizeof name, "%s:%d.sum_gradients@%d", b->net->layer[from.layer].name,
        from.output, s);
    tutti_status status = tutti_gradients_total(
        gradients, c->value, name, tutti_site_priority(c->lowest, TUTTI_PHASE_BACKWARD_DATA), &dy);
    if (status == TUTTI_OK)
        status = message(b, TUTTI_MARK_SEND, dy, c->below, tutti_crossing_gradient_edge(crossing));
    if (status == TUTTI_OK) tutti_gradients_drop(gradients, dy);
    return status;
}

tutti_status tutti_builder_send_gradients(tutti_builder *b, int l, int s)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < b->crossings && status == TUTTI_OK; i++)
        if (b->crossing[i].to == b->own.stage && b->crossing[i].lowest == l &&
            is_wanted(b, &b->crossing[i]))
            status = send_gradient(b, i, s);
    return status;
}

/* ---- labels, metrics ---- */

/* The edges behind those of crossings. */
enum { LABELS, PARTS, METRICS, VIEWS };

static int edge_of(const tutti_builder *b, int what)
{
    return 2 * b->crossings + what;
}

static int stage_of(const tutti_builder *b, tutti_value value)
{
    return tutti_stage_of(&b->options->placement, b->net->source[value].layer);
}

/* Whether a stage has a loss. */
static int has_loss(const tutti_builder *b, int stage, int evaluation)
{
    int has = stage_of(b, b->net->output) == stage;
    for (int a = 0; !evaluation && a < b->net->auxiliaries; a++)
        has |= stage_of(b, b->net->auxiliary[a].logits) == stage;
    return has;
}

int tutti_builder_has_loss(const tutti_builder *b)
{
    return has_loss(b, b->own.stage, 0);
}

static tutti_status exchange_labels(
    tutti_builder *b, tutti_verb verb, int s, int other, int evaluation)
{
    tutti_status status =
        message(b, verb, b->step->micro_batch[s].labels, other, edge_of(b, LABELS));
    if (status != TUTTI_OK || evaluation || b->options->mixup <= 0) return status;
    return message(b, verb, b->mixture[s].part, other, edge_of(b, PARTS));
}

tutti_status tutti_builder_send_labels(tutti_builder *b, int s, int evaluation)
{
    tutti_status status = TUTTI_OK;
    for (int q = 1; q < b->options->placement.stages && status == TUTTI_OK; q++) {
        if (!has_loss(b, q, evaluation)) continue;
        tutti_graph_set_urgent(b->graph, b->step->micro_batch[s].labels);
        status = exchange_labels(b, TUTTI_MARK_SEND, s, q, evaluation);
    }
    return status;
}

tutti_status tutti_builder_receive_labels(tutti_builder *b, int s, int evaluation)
{
    if (b->own.stage == 0 || !has_loss(b, b->own.stage, evaluation)) return TUTTI_OK;
    return exchange_labels(b, TUTTI_MARK_RECV, s, 0, evaluation);
}

/* views: the logits that an evaluation leaves, or -1. */
static tutti_status exchange_metrics(tutti_builder *b, tutti_verb verb, int s, int other, int views)
{
    tutti_status status =
        message(b, verb, b->step->micro_batch[s].metrics, other, edge_of(b, METRICS));
    return status == TUTTI_OK && views >= 0 ? message(b, verb, views, other, edge_of(b, VIEWS))
                                            : status;
}

tutti_status tutti_builder_send_metrics(tutti_builder *b, int s, int views)
{
    return b->own.stage ? exchange_metrics(b, TUTTI_MARK_SEND, s, 0, views) : TUTTI_OK;
}

tutti_status tutti_builder_receive_metrics(tutti_builder *b, int s, int views)
{
    int last = b->options->placement.stages - 1;
    if (b->own.stage || last < 1) return TUTTI_OK;
    return exchange_metrics(b, TUTTI_MARK_RECV, s, last, views);
}
