/* Sequential: the oracle. When every collective of the step is ready, that is after the backward pass, the main thread
 * runs them one by one in program order, each to its end. Nothing overlaps; nothing can go wrong.
 *
 * That needs sums that do not depend on each other. Other collectives may: a gather on what has been scattered, a
 * message on an answer to the one before. Those run as soon as they are ready, one after another. A sum of values
 * computed from another sum (the second factor of a codec) starts a new run of sums, after the earlier ones.
 *
 * One by one is one order, also for lanes that share device slots (design.h). With groups there, sums do not wait
 * until all sums of the step are ready: a sum's input may come from a collective of a group, whose turn is between
 * them. */
#include "dag/graph/edges.h"
#include "designs/place.h"

static int is_plain_sum(const tutti_node *node)
{
    return !node->group && node->mark.verb == TUTTI_MARK_ALLREDUCE;
}

/* Whether a collective waits, with the one before it, until both are ready. `begins`: the first one of the current
 * run, in which no collective may depend on another. */
static int is_with_previous(
    const tutti_graph *graph, int n, int begins, const int before[], int befores)
{
    const int previous = tutti_graph_previous(graph, n);
    if (previous < 0 || !is_plain_sum(tutti_graph_get_node(graph, n)) ||
        !is_plain_sum(tutti_graph_get_node(graph, previous)))
        return 0;
    for (int i = 0; i < befores; i++)
        if (before[i] >= begins) return 0;
    return 1;
}

/* Indices restart at 0 at a collective that does not wait until its neighbours are ready. */
static tutti_status place_collectives(tutti_graph *graph, int lanes)
{
    tutti_reach *reach = NULL;
    int begins = 0; /* of plain sums over all ranks: the node with index 0 */
    tutti_status status = tutti_place_in_order(graph, lanes, tutti_place_lane_zero);
    if (!status) status = tutti_reach_new(tutti_graph_tensors(graph), &reach);
    for (int i = 0; i < tutti_graph_nodes(graph) && !status; i++) {
        const tutti_node *node = tutti_graph_get_node(graph, i);
        const int collective = node->kind == TUTTI_NODE_COLLECTIVE, *before = NULL;
        int befores = 0;
        if (node->kind == TUTTI_NODE_MARK) continue;
        status = tutti_reach_add(reach, node, i, collective, &before, &befores);
        if (status || !collective) continue;
        tutti_place place = node->place;
        place.index = 0;
        if (is_with_previous(graph, i, begins, before, befores))
            place.index =
                tutti_graph_get_node(graph, tutti_graph_previous(graph, i))->place.index + 1;
        else if (!node->group)
            begins = i;
        status = tutti_graph_set_place(graph, i, place);
    }
    tutti_reach_free(reach);
    return status;
}

const tutti_design tutti_design_sequential = {
    .name = "sequential",
    .summary = "the main thread runs them one by one after the backward pass (oracle, no overlap)",
    .start = &tutti_start_main,
    .needed = TUTTI_THREAD_FUNNELED,
    .place = place_collectives,
};
