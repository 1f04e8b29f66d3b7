/* From marks to collectives: all passes over a graph, one after the other.
 *
 *   marks -> buckets (bucket.h) -> collectives -> places, by the design -> chunks (chunk.h) */
#ifndef TUTTI_MARKS_H
#define TUTTI_MARKS_H

#include "collectives/value/members.h"
#include "dag/graph/graph.h"
#include "designs/design.h"

typedef struct tutti_marks_options {
    const tutti_design *design;
    int lanes;
    int64_t bucket_bytes; /* -1: the default */
    int64_t chunk_bytes;  /* as in tutti_chunk_cut */
    /* The members of a group; NULL: no group has this number. */
    const tutti_members *(*members)(void *ctx, int group);
    /* The group of the messages from one rank to another with this edge number. INVAL, UNSUPPORTED. */
    tutti_status (*edge)(void *ctx, int from, int to, int edge, int *group);
    void *ctx;
} tutti_marks_options;

/* Lowers every mark of the graph to its collective, in place; sums are fused into buckets before. Then each
 * group's collectives get places on its lanes. Marks of a group that has only this rank stay as they are:
 * they need no communication. NOMEM; INVAL (logged): a group that does not exist or that this rank is not
 * in; a root outside of the group; a mark that adds vectors in a group that has only this rank; a design
 * that writes places that it does not declare. [M] */
tutti_status tutti_marks_lower(tutti_graph *graph, const tutti_marks_options *options);
/* Checks the marks of a run with one rank, which stay as they are: INVAL (logged) if one is a message, or
 * adds vectors. [P] */
tutti_status tutti_marks_alone(const tutti_graph *graph);

#endif
