/* Direct: every part goes straight from the rank that has it to the rank that wants it. Any P,
 * parts of any length; a part without elements is an empty message.
 *
 *   P = 3      rank 0        rank 1        rank 2
 *   gather, root 0           b -> 0        c -> 0
 *   scatter, root 0   b -> 1, c -> 2
 *   alltoall   0b -> 1       1c -> 2       2a -> 0        round 1: to the next rank
 *              0c -> 2       1a -> 0       2b -> 1        round 2: to the one after it
 *
 * All messages may be under way at once; in each round every rank has a different partner, so that
 * no rank is everybody's first. The root of a gather (scatter) receives (sends) every byte once,
 * which no tree can better: a tree has fewer messages at the root but carries bytes several times
 * elsewhere.
 *
 *   gather, scatter  1 step, S the size of all parts; S (P-1)/P bytes at the root  scratch 0
 *   alltoall         1 step, S (P-1)/P bytes sent per rank            scratch S when in place
 *   reduce-scatter   1 step, S (P-1)/P bytes sent per rank            scratch S (P-1)/P
 *
 * The reduce-scatter is an alltoall of blocks, which each rank combines in the order of ranks: for
 * operators that do not commute.
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
 * MPICH", IJHPCA 19(1), 2005. */
#ifndef TUTTI_SCHED_DIRECT_H
#define TUTTI_SCHED_DIRECT_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_direct_gather(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_direct_scatter(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_direct_alltoall(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_direct_reduce_scatter(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
