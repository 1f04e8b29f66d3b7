/* Sequential: the oracle. When every collective of the step is ready, that is after the backward pass, the main thread
 * runs them one by one in program order, each to its end. Nothing overlaps; nothing can go wrong. */
#include "designs/place.h"

static tutti_status place(tutti_graph *graph, int lanes)
{
    return tutti_place_in_order(graph, lanes, tutti_place_lane_zero);
}

const tutti_design tutti_design_sequential = {
    .name = "sequential",
    .summary = "the main thread runs them one by one after the backward pass (oracle, no overlap)",
    .start = &tutti_start_main,
    .needed = TUTTI_THREAD_FUNNELED,
    .place = place,
};
