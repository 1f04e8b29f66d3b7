/* Slices: a large allreduce is cut into several of equal size, so that a more urgent one need not
 * wait for its end (designs/passes/priority.h), and lanes share it.
 *
 *   bucket, 10 MB:   [ slice 0 | slice 1 | ... | slice 9 ]    one node, ten collectives on the link
 *
 * The graph keeps one node a bucket, whose place says how many slices there are; the driver gives
 * each a sequence number, and finishes the node's token when all have ended. Slices follow from
 * size alone: they are the same on every rank and in every design, and so is the order in which the
 * ranks' numbers are added, element by element. A worker that waits for its collective's end (naive)
 * waits for one: those stay whole. */
#ifndef TUTTI_SLICE_H
#define TUTTI_SLICE_H

#include "collectives/value/args.h"
#include "dag/graph/graph.h"

/* What a slice has at most when nobody says. [P] */
int64_t tutti_slice_default_bytes(void);
/* Cuts the allreduces of a placed graph into slices of at most `bytes` (0: cuts nothing). A collective
 * stays on the lane where the design has put it while nothing before it in its section is cut; its
 * slices go to the lanes after it in turn, and every slice beyond the first of a collective moves those
 * that follow by one lane. [M] */
tutti_status tutti_slice_cut(tutti_graph *graph, int64_t bytes, int lanes);

/* How many slices a place has; on which lane one goes. [P] */
int tutti_slice_count(const tutti_place *place);
int tutti_slice_lane(const tutti_place *place, int slice);
/* One of `slices` of a collective. Kinds other than allreduce have one, which is all of it. [P] */
tutti_coll_args tutti_slice_args(const tutti_coll_args *args, int slices, int slice);

#endif
