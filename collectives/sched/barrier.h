/* Dissemination barrier: in round k rank r signals rank r + 2^k and is signalled by rank r - 2^k.
 * Any P.
 *
 *   P = 3     rank 0    rank 1    rank 2
 *   round 0    -> 1      -> 2      -> 0
 *   round 1    -> 2      -> 0      -> 1
 *
 * ceil(log2 P) steps of one element each. IN and OUT have one element, combined with max, and a signal
 * is such an element: no rank's OUT is complete before every rank has started. The shape's count is 1.
 * Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 17(1), 1988. */
#ifndef TUTTI_SCHED_BARRIER_H
#define TUTTI_SCHED_BARRIER_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_barrier(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
