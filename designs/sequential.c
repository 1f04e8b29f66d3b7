/* Sequential: the oracle. When every collective of the step is ready, that is after the backward pass, the main thread
 * runs them one by one in program order, each to its end. Nothing overlaps; nothing can go wrong.
 *
 * Sums over all ranks of one step do not depend on each other. Other collectives may: a gather on what has been
 * scattered, a message on an answer to the one before. Those are run as soon as they are ready, one after another.
 *
 * One by one is one order, also for lanes that share seats (design.h). With groups there, sums do not wait until all of
 * the step are ready: what some of them are computed from may be a group's, whose turn is between them. */
#include "designs/place.h"

static int is_plain_sum(const tutti_node *node)
{
    return !node->group && node->mark.verb == TUTTI_MARK_ALLREDUCE;
}

/* The indices begin anew at a collective that does not wait until those around it are ready. */
static tutti_status place(tutti_graph *graph, int lanes)
{
    tutti_status status = tutti_place_in_order(graph, lanes, tutti_place_lane_zero);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        if (node->kind != TUTTI_NODE_COLLECTIVE) continue;
        int before = tutti_graph_previous(graph, i);
        const tutti_node *last = before < 0 ? NULL : tutti_graph_get_node(graph, before);
        tutti_place place = node->place;
        int together = last && is_plain_sum(last) && is_plain_sum(node);
        place.index = together ? last->place.index + 1 : 0;
        status = tutti_graph_set_place(graph, i, place);
    }
    return status;
}

const tutti_design tutti_design_sequential = {
    .name = "sequential",
    .summary = "the main thread runs them one by one after the backward pass (oracle, no overlap)",
    .start = &tutti_start_main,
    .needed = TUTTI_THREAD_FUNNELED,
    .place = place,
};
