/* Concurrent: K communicators in flight at once, driven by one thread that never blocks.
 *
 *   lane 0:  c0 -------- c3 ----- c6     the lane of the i-th collective of a step is i mod K;
 *   lane 1:  c1 --- c4 ------ c7         within a lane they start in sequence order;
 *   lane 2:  c2 ------- c5 -- c8         lanes do not wait for each other
 *
 * Where lanes share device slots (design.h), they are one line: K collectives may be in flight, but they start in
 * one order, and the window of an agreed order is one.
 *
 * No deadlock: each lane alone is the funneled case, lanes share no communicator, and because the one thread never
 * blocks inside a collective, K collectives in flight occupy no thread (the bound W > K(P-1)/P is for blocked
 * threads). */
#include "designs/place.h"

static tutti_status place_collectives(tutti_graph *graph, int lanes)
{
    return tutti_place_in_order(graph, lanes, tutti_place_lane_by_index);
}

const tutti_design tutti_design_concurrent = {
    .name = "concurrent",
    .summary =
        "collectives in flight on several communicators, driven by one thread that never blocks",
    .start = &tutti_start_queue,
    .many_lanes = 1,
    .needed = TUTTI_THREAD_FUNNELED,
    .place = place_collectives,
};
