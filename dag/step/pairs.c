/* Pairs of replicas whose mixing steps continue while they train: each sends what it has, and some steps later moves by
 * half of the way from that to what the other had. */
#include "dag/step/builder.h"

#include "dag/kernels/optim.h"

#include <stdio.h>

/* No update waits for a message: what is sent is a copy, from which the way begins later. */
static tutti_status declare(tutti_builder *b, int l, int p, const char *suffix)
{
    tutti_trained *t = tutti_builder_trained(b, l, p);
    const tutti_tensor *weight = tutti_graph_get_tensor(b->graph, t->weight);
    tutti_status status = tutti_builder_tensor(b, "sent.", b->net->layer[l].name, suffix, -1,
        TUTTI_ROLE_SCRATCH, weight->dtype, weight->shape, &t->sent);
    return status == TUTTI_OK ? tutti_builder_declare_near(b, l, p, suffix, 0) : status;
}

static tutti_status join_parameter(tutti_builder *b, int l, int p, const char *suffix)
{
    tutti_status status = declare(b, l, p, suffix);
    if (status != TUTTI_OK) return status;
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    const tutti_pair_desc desc = {.count = t->count};
    const tutti_access access[] = {
        tutti_reads(t->sent), tutti_reads(t->near[0]), tutti_updates(t->weight)};
    char name[TUTTI_SITE_NAME + 8];
    snprintf(name, sizeof name, "%s.%s", tutti_graph_get_tensor(b->graph, t->weight)->name,
        tutti_op_pair.name);
    status =
        tutti_graph_kernel(b->graph, name, &tutti_op_pair, &desc, sizeof desc, 3, access, NULL);
    return status == TUTTI_OK ? tutti_builder_refresh_copy(b, l, p, suffix, 0) : status;
}

tutti_status tutti_builder_complete_pair(tutti_builder *b)
{
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
        status = join_parameter(b, at.l, at.p, at.suffix);
    return status;
}

static tutti_status mix_replicas(tutti_builder *b, int l, int p, const char *suffix, int other)
{
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    tutti_status status = tutti_builder_copy_weight(b, t, t->sent);
    if (status != TUTTI_OK) return status;
    if (other < 0) return tutti_builder_copy_weight(b, t, t->near[0]);
    status = tutti_builder_message(b, TUTTI_MARK_SEND, t->sent, other, t->index);
    return status == TUTTI_OK ? tutti_builder_receive_weights(b, l, p, suffix, 0, other) : status;
}

/* The first layers travel first: the step that a mixing step ends with begins with them. */
tutti_status tutti_builder_mix_pair(tutti_builder *b, int other)
{
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
        status = mix_replicas(b, at.l, at.p, at.suffix, other);
    return status;
}
