/* Chained: a dependency chain in the graph itself fixes the order.
 *
 *   bwd3 --> [c0] --> upd3
 *             : token (a collective passes it on when it has started)
 *   bwd2 --> [c1] --> upd2
 *             :
 *   bwd1 --> [c2] --> upd1
 *
 * The worker that finds a collective ready and holds the token posts its first messages, passes the token on, and
 * continues; the node ends when the collective has ended. No deadlock: posting never waits, so the token reaches
 * every ready collective, in the same order on all ranks. Each group, and each edge, has its own chain.
 *
 * The token is passed on at the start, so the chain is also the order that lanes with shared device slots need
 * (design.h). With several chains, the driver starts each collective in its turn: if a worker comes early, the comm
 * thread starts it. */
#include "designs/place.h"

#include <stdio.h>

/* The token of a group's chain; the group's first collective creates it. */
static tutti_status token_of(tutti_graph *graph, int group, int *token)
{
    char name[32] = "chain";
    if (group) snprintf(name, sizeof name, "chain.%d", group);
    *token = tutti_graph_find(graph, name);
    if (*token >= 0 && tutti_graph_get_tensor(graph, *token)->role == TUTTI_ROLE_TOKEN)
        return TUTTI_OK;
    return tutti_graph_tensor(
        graph, name, TUTTI_ROLE_TOKEN, TUTTI_U8, (tutti_shape){.rank = 0}, token);
}

static tutti_status place_collectives(tutti_graph *graph, int lanes)
{
    tutti_status status = tutti_place_in_order(graph, lanes, tutti_place_lane_zero);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        int token;
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        status = token_of(graph, node->group, &token);
        if (!status) status = tutti_graph_add_access(graph, i, (tutti_access){token, TUTTI_CHAIN});
    }
    return status;
}

const tutti_design tutti_design_chained = {
    .name = "chained",
    .summary = "a token that collective tasks pass on when they have started fixes the order",
    .start = &tutti_start_ready,
    .chain = 1,
    .needed = TUTTI_THREAD_SERIALIZED,
    .place = place_collectives,
};
