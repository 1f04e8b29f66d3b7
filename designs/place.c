#include "designs/place.h"

tutti_status tutti_place_in_order(
    tutti_graph *graph, int lanes, int (*lane)(int64_t index, int lanes))
{
    int section = -1;
    int64_t index = 0;
    for (int i = 0; i < tutti_graph_nodes(graph); i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->section != section) {
            section = node->section;
            index = 0;
        }
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        tutti_place place = {
            .lane = lane(index, lanes), .index = index, .priority = node->place.priority};
        tutti_status status = tutti_graph_set_place(graph, i, place);
        if (status) return status;
        index++;
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
