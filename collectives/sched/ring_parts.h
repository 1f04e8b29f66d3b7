/* The steps of a ring (ring.h), for the builders that have one on some ranks, or on a part of the vector. */
#ifndef TUTTI_SCHED_RING_PARTS_H
#define TUTTI_SCHED_RING_PARTS_H

#include "collectives/sched/sched.h"

typedef struct tutti_ring {
    tutti_sched_draft *draft;
    int rank, P;  /* this rank's number in the ring, of P */
    int to, from; /* the ranks after it and before it */
    int takes;    /* the input is not yet in OUT */
    int64_t at, total, segment; /* OUT's elements [at, at + total) are P blocks; elements of a segment */
    const int64_t *counts; /* of the blocks; NULL: blocks differ by at most one element */
    /* while it sums: elements of a place in scratch, the number of places, messages that took one */
    int64_t place, places, arrivals;
} tutti_ring;

/* The ring of all ranks. */
tutti_ring tutti_ring_of(tutti_sched_draft *draft, const tutti_sched_shape *shape);
/* Block r becomes the sum on number r of the ring. */
void tutti_ring_reduce_scatter(tutti_ring *ring);
/* Each rank has block r of its own number r; then all. */
void tutti_ring_allgather(const tutti_ring *ring);

#endif
