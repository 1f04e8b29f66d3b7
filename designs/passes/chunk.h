/* Chunks: a large allreduce is cut into several of equal size. A more urgent one then need not wait for
 * its end (designs/passes/priority.h), and several lanes share it.
 *
 *   bucket, 10 MB:   [ chunk 0 | chunk 1 | ... | chunk 9 ]    one node, ten collectives on the link
 *
 * The graph keeps one node per bucket, and the node's place holds the number of chunks. The driver
 * gives each chunk a sequence number, and finishes the node's token when all have ended. Chunks
 * depend on size alone: they are the same on every rank and in every design, and so is the order in
 * which the ranks' values are added, element by element. A worker that waits for its collective
 * (naive) waits for one: those stay whole. */
#ifndef TUTTI_CHUNK_H
#define TUTTI_CHUNK_H

#include "collectives/value/args.h"
#include "dag/graph/graph.h"

/* The default upper bound of a chunk. [P] */
int64_t tutti_chunk_default_bytes(void);
/* Cuts the allreduces of a placed graph into chunks of at most `bytes` (0: cuts nothing). The chunks of
 * a collective take the lanes from its own on, in turn. Every chunk beyond a collective's first shifts the
 * later collectives of its group in the section by one lane: without cuts, all keep the design's lane.
 * NOMEM. [M] */
tutti_status tutti_chunk_cut(tutti_graph *graph, int64_t bytes, int lanes);

/* The place of the next collective of a program that has no graph, in program order; advances `next`, which counts
 * the chunks so far. Lanes and chunks are those of one endless section. [P] */
tutti_place tutti_chunk_place(const tutti_coll_args *args, int64_t bytes, int lanes, int64_t *next);

/* The number of chunks of a place, and the lane of one. [P] */
int tutti_chunk_count(const tutti_place *place);
int tutti_chunk_lane(const tutti_place *place, int chunk);
/* One chunk of `chunks` of a collective. Kinds other than allreduce have one chunk: all of it.
 * [P] */
tutti_coll_args tutti_chunk_args(const tutti_coll_args *args, int chunks, int chunk);

#endif
