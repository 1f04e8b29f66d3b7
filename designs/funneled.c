/* Funneled: one comm thread starts every collective on one communicator, in sequence order.
 *
 *   graph:   bwd3 -> [c0] -> upd3    bwd2 -> [c1] -> upd2    bwd1 -> [c2] -> upd1
 *   thread:  waits for c0, starts it; waits for c1, starts it; ...    0, 1, 2 on every rank
 *
 * Where lanes share device slots (design.h), its one lane has their one order; groups and edges wait for their turn
 * in it.
 *
 * No deadlock: all ranks start lane 0 in the order 0, 1, 2...; number n is ready once its gradients are, which depend
 * only on lower numbers; no worker ever waits. */
#include "designs/place.h"

static tutti_status place_collectives(tutti_graph *graph, int lanes)
{
    return tutti_place_in_order(graph, lanes, tutti_place_lane_zero);
}

const tutti_design tutti_design_funneled = {
    .name = "funneled",
    .summary = "one communication thread starts collectives in sequence order",
    .start = &tutti_start_queue,
    .needed = TUTTI_THREAD_FUNNELED,
    .place = place_collectives,
};
