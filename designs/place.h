/* Placing collective nodes, shared by the designs: index in program order, lane from a function.
 * [M] */
#ifndef TUTTI_PLACE_H
#define TUTTI_PLACE_H

#include "designs/design.h"

/* In every section the collective nodes of a group get index 0, 1, ... in program order and
 * lane(index). An edge has one lane. */
tutti_status tutti_place_in_order(
    tutti_graph *graph, int lanes, int (*lane)(int64_t index, int lanes));

/* Lane 0, whatever the index. [P] */
int tutti_place_lane_zero(int64_t index, int lanes);
/* index modulo lanes. [P] */
int tutti_place_lane_by_index(int64_t index, int lanes);

#endif
