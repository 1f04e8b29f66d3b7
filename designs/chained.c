/* Chained: a dependency chain in the graph itself fixes the order.
 *
 *   bwd3 --> [c0] --> upd3
 *             : token (a collective passes it on when it has started)
 *   bwd2 --> [c1] --> upd2
 *             :
 *   bwd1 --> [c2] --> upd1
 *
 * The worker that finds a collective ready and holds the token posts its first messages, passes the token on, and
 * continues; the node ends when the collective has ended. No deadlock: posting waits for nobody, so the token reaches
 * every ready collective, in the same order on all ranks. */
#include "designs/place.h"

static tutti_status place(tutti_graph *graph, int lanes)
{
    tutti_status status = tutti_place_in_order(graph, lanes, tutti_place_lane_zero);
    if (status) return status;
    int token;
    status = tutti_graph_tensor(
        graph, "chain", TUTTI_ROLE_TOKEN, TUTTI_U8, (tutti_shape){.rank = 0}, &token);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++)
        if (tutti_graph_get_node(graph, i)->kind == TUTTI_NODE_COLLECTIVE)
            status = tutti_graph_add_access(graph, i, (tutti_access){token, TUTTI_CHAIN});
    return status;
}

const tutti_design tutti_design_chained = {
    .name = "chained",
    .summary = "a token that collective tasks hand on when they have started fixes the order",
    .start = &tutti_start_ready,
    .chain = 1,
    .needed = TUTTI_THREAD_SERIALIZED,
    .place = place,
};
