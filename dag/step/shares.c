/* What replicas that gossip with shares do (dag/kernels/share.h): they give a part of theirs away, and take means
 * that are weighted by the shares that they received. */
#include "dag/step/builder.h"

#include "dag/kernels/share.h"

#include <math.h>
#include <stdio.h>

/* What shares are multiples of. The sum over up to 2^21 replicas fits into the 53 bits of a float64. */
static double unit(void)
{
    return ldexp(1, -32);
}

static tutti_status declare(
    tutti_builder *b, const char *name, int64_t elements, tutti_role role, int *tensor)
{
    return tutti_graph_tensor(
        b->graph, name, role, TUTTI_F64, tutti_shape_of(elements), tensor);
}

tutti_status tutti_builder_declare_shares(tutti_builder *b, int neighbours)
{
    static const char *const received[TUTTI_NEIGHBOURS] = {"share.received", "share.received2"};
    tutti_shares *s = &b->shares;
    s->neighbours = neighbours;
    tutti_status status = declare(b, "share", 1, TUTTI_ROLE_SCRATCH, &s->own);
    if (status == TUTTI_OK) status = declare(b, "share.sent", 1, TUTTI_ROLE_SCRATCH, &s->sent);
    for (int k = 0; k < neighbours && status == TUTTI_OK; k++)
        status = declare(b, received[k], 1, TUTTI_ROLE_SCRATCH, &s->received[k]);
    if (status == TUTTI_OK)
        status = declare(b, "share.factors", 1 + neighbours, TUTTI_ROLE_SCRATCH, &s->factors);
    return status;
}

static tutti_status set(tutti_builder *b, int tensor, double value)
{
    const tutti_share_set_desc desc = {.value = value};
    const tutti_access access = tutti_writes(tensor);
    char name[32];
    snprintf(name, sizeof name, "%s.set", tutti_graph_get_tensor(b->graph, tensor)->name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_share_set, &desc, sizeof desc, 1, &access, NULL);
}

tutti_status tutti_builder_set_share(tutti_builder *b)
{
    return b->shares.neighbours ? set(b, b->shares.own, 1) : TUTTI_OK;
}

/* Behind those of all parameters is the edge of shares. */
static int edge_of_shares(const tutti_builder *b)
{
    return b->step->parameters;
}

tutti_status tutti_builder_give_share(tutti_builder *b, int to, int senders, const int from[])
{
    const tutti_shares *s = &b->shares;
    const tutti_share_halve_desc halve = {.unit = unit()};
    const tutti_access access[] = {tutti_updates(s->own), tutti_writes(s->sent)};
    const int edge = edge_of_shares(b);
    tutti_status status = tutti_graph_kernel(
        b->graph, "share.halve", &tutti_op_share_halve, &halve, sizeof halve, 2, access, NULL);
    if (status == TUTTI_OK) status = tutti_builder_message(b, TUTTI_MARK_SEND, s->sent, to, edge);
    for (int k = 0; k < s->neighbours && status == TUTTI_OK; k++)
        status = k < senders
                     ? tutti_builder_message(b, TUTTI_MARK_RECV, s->received[k], from[k], edge)
                     : set(b, s->received[k], 0);
    return status;
}

tutti_status tutti_builder_weigh_shares(tutti_builder *b)
{
    const tutti_shares *s = &b->shares;
    const tutti_share_weigh_desc desc = {.inputs = s->neighbours};
    tutti_access access[TUTTI_NEIGHBOURS + 2];
    for (int k = 0; k < s->neighbours; k++) access[k] = tutti_reads(s->received[k]);
    access[s->neighbours] = tutti_updates(s->own);
    access[s->neighbours + 1] = tutti_writes(s->factors);
    return tutti_graph_kernel(b->graph, "share.weigh", &tutti_op_share_weigh, &desc, sizeof desc,
        s->neighbours + 2, access, NULL);
}

tutti_status tutti_builder_mix_by_share(tutti_builder *b, int l, int p)
{
    const tutti_shares *s = &b->shares;
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    const tutti_share_mix_desc desc = {.count = t->count, .inputs = s->neighbours};
    tutti_access access[TUTTI_NEIGHBOURS + 2];
    char name[TUTTI_SITE_NAME + 16];
    for (int k = 0; k < s->neighbours; k++) access[k] = tutti_reads(t->near[k]);
    access[s->neighbours] = tutti_reads(s->factors);
    access[s->neighbours + 1] = tutti_updates(t->weight);
    snprintf(name, sizeof name, "%s.%s", tutti_graph_get_tensor(b->graph, t->weight)->name,
        tutti_op_share_mix.name);
    return tutti_graph_kernel(b->graph, name, &tutti_op_share_mix, &desc, sizeof desc,
        s->neighbours + 2, access, NULL);
}

tutti_status tutti_builder_scale_by_share(tutti_builder *b, int l, int p)
{
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    const tutti_share_scale_desc desc = {.count = t->count};
    const tutti_access access[] = {tutti_reads(b->shares.own), tutti_updates(t->weight)};
    char name[TUTTI_SITE_NAME + 16];
    snprintf(name, sizeof name, "%s.%s", tutti_graph_get_tensor(b->graph, t->weight)->name,
        tutti_op_share_scale.name);
    return tutti_graph_kernel(
        b->graph, name, &tutti_op_share_scale, &desc, sizeof desc, 2, access, NULL);
}
