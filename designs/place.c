#include "designs/place.h"

tutti_status tutti_place_in_order(
    tutti_graph *graph, int lanes, int (*lane)(int64_t index, int lanes))
{
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        int before = tutti_graph_previous(graph, i);
        int64_t index = before < 0 ? 0 : tutti_graph_get_node(graph, before)->place.index + 1;
        tutti_place place = {.lane = lane(index, node->edge ? 1 : lanes),
            .index = index,
            .priority = node->place.priority};
        tutti_status status = tutti_graph_set_place(graph, i, place);
        if (status) return status;
    }
    return TUTTI_OK;
}

int tutti_place_lane_zero(int64_t index, int lanes)
{
    (void)index;
    (void)lanes;
    return 0;
}

int tutti_place_lane_by_index(int64_t index, int lanes)
{
    return (int)(index % lanes);
}
