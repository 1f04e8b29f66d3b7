/* Recursive doubling allreduce: in round k every rank exchanges all it has with the rank whose
 * number differs in bit k. Any P, by the fold (fold.h) where P is not a power of two. Fewest steps:
 * the choice for short vectors.
 *
 *   P = 4     rank 0     rank 1     rank 2     rank 3
 *   bit 0     0 <--> 1              2 <--> 3
 *   bit 1     0 <---------> 2       1 <---------> 3
 *
 *   log2 P steps, S log2 P bytes sent per rank (fold: 2 steps and up to S bytes more), scratch 2 S
 *
 * With a segment size, each segment passes through the rounds independently, except for the fold.
 * At P = 2 that is S bytes in a single step, as few as the ring sends in two. Both ends of an
 * exchange combine in the same order (lower number first), so all ranks hold the same bits.
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
 * MPICH", IJHPCA 19(1), 2005. */
#ifndef TUTTI_SCHED_DOUBLING_H
#define TUTTI_SCHED_DOUBLING_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_doubling_allreduce(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
