/* Naive: what goes wrong when a task simply calls a blocking collective. There is no order: each rank starts a
 * collective when it finds it ready, on the lane of its index, and the worker waits for its end. With one lane, two
 * ranks that find different collectives ready sum the wrong buffers; with one lane per collective, all workers can
 * wait, and the run hangs, as soon as W <= K(P-1)/P (doc/designs.md). Runs only with --unsafe. */
#include "designs/place.h"

static tutti_status place_collectives(tutti_graph *graph, int lanes)
{
    tutti_status status = tutti_place_in_order(graph, lanes, tutti_place_lane_by_index);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        tutti_place place = node->place;
        place.holds = 1;
        if (node->kind == TUTTI_NODE_COLLECTIVE) status = tutti_graph_set_place(graph, i, place);
    }
    return status;
}

const tutti_design tutti_design_naive = {
    .name = "naive",
    .summary = "each worker starts what it finds ready and waits (can hang or sum wrongly: unsafe)",
    .start = &tutti_start_ready,
    .many_lanes = 1,
    .unsafe = 1,
    .needed = TUTTI_THREAD_SERIALIZED,
    .place = place_collectives,
};
