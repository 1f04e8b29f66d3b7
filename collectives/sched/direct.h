/* Direct: every part goes straight from its source rank to its destination rank. Any P, parts of any
 * length; a part without elements is an empty message.
 *
 *   P = 3      rank 0        rank 1        rank 2
 *   gather, root 0           b -> 0        c -> 0
 *   scatter, root 0   b -> 1, c -> 2
 *   alltoall   0b -> 1       1c -> 2       2a -> 0        round 1: to the next rank
 *              0c -> 2       1a -> 0       2b -> 1        round 2: to the one after it
 *
 * All messages may be under way at once; in each round every rank has a different partner, so no rank
 * receives from all others first. The root of a gather (scatter) receives (sends) every byte once. No
 * tree does better: a tree has fewer messages at the root, but carries bytes several times elsewhere.
 *
 *   gather, scatter  1 step, S the size of all parts; S (P-1)/P bytes at the root  scratch 0
 *   alltoall         1 step, S (P-1)/P bytes sent per rank            scratch S when in place
 *   reduce-scatter   1 step, S (P-1)/P bytes sent per rank            scratch S (P-1)/P or less
 *   allreduce        2 steps, 2 S (P-1)/P bytes sent per rank         scratch S (P-1)/P or less
 *
 * The reduce-scatter is an alltoall of blocks, which each rank combines in the order of ranks: it also
 * serves operators that do not commute. The allreduce then sends every rank's block to all others; it
 * sends as many bytes as a ring.
 *
 *   P = 3, blocks a b c   rank 0          rank 1          rank 2          (A: a combined, ...)
 *   reduce-scatter        b -> 1, c -> 2  c -> 2, a -> 0  a -> 0, b -> 1
 *   allgather             A -> 1, A -> 2  B -> 2, B -> 0  C -> 0, C -> 1
 *
 * Every element is combined from rank 0 on, ((x0 + x1) + x2) + ..., wherever it lies. With `wide` in the
 * shape, the sum is kept in accumulators and rounded once. doc/algorithms.md: segments, scratch, bits.
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
tutti_status tutti_sched_direct_allreduce(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
