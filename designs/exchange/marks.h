/* From marks to collectives: all passes over a graph, one after the other.
 *
 *   marks -> buckets (bucket.h) -> allreduces -> places, by the design -> chunks (chunk.h) */
#ifndef TUTTI_MARKS_H
#define TUTTI_MARKS_H

#include "dag/graph/graph.h"
#include "designs/design.h"

/* Every mark of the graph becomes an allreduce (sum, in place) of a bucket, on a lane below
 * `lanes`. bucket_bytes -1: the default; chunk_bytes as in tutti_chunk_cut. NOMEM; INVAL (logged)
 * if the design writes places that it does not declare. [M] */
tutti_status tutti_marks_turn(tutti_graph *graph, const tutti_design *design, int lanes,
    int64_t bucket_bytes, int64_t chunk_bytes);

#endif
