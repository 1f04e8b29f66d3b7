/* A sum by blocks, sent straight to where they belong (direct.h), for the builders that have one of all ranks, or of
 * some of them and on a part of the vector. The elements [at, at + total) of OUT are a block for each of the first
 * ranks, its owners: each receives its block from all others, segment by segment, and combines it; then it sends it to
 * all. */
#ifndef TUTTI_SCHED_BLOCKS_H
#define TUTTI_SCHED_BLOCKS_H

#include "collectives/sched/sched.h"

typedef struct tutti_blocks {
    tutti_sched_draft *draft;
    const tutti_sched_shape *shape;
    const int *ranks;   /* [n]; NULL: all */
    int n, owners, own; /* own: this rank's number among them */
    int takes;          /* the input is not yet in OUT */
    int64_t at, total;  /* elements of OUT */
    /* while it sums: elements of a place in scratch, and the number of places for each of the other ranks */
    int64_t place, turns;
} tutti_blocks;

/* A block for each of all ranks, of the whole vector. */
tutti_blocks tutti_blocks_of(tutti_sched_draft *draft, const tutti_sched_shape *shape);
/* Each owner's block becomes the sum. Elements are combined in the order of the ranks; if the shape is wide, in
 * accumulators, and rounded once. */
void tutti_blocks_reduce_scatter(tutti_blocks *blocks);
/* Each owner has its block; then all ranks have all. */
void tutti_blocks_allgather(const tutti_blocks *blocks);

#endif
