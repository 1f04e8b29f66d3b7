/* Ring: every rank sends to the next and receives from the one before. Any P.
 *
 * Rank r owns block r (tutti_coll_block). Reduce-scatter, P-1 rounds: in round t rank r sends block r-1-t
 * and adds what it receives to block r-2-t; after the last round its block r is the sum. Allgather, P-1
 * rounds: it sends block r-t and receives r-1-t.
 *
 *   P = 3, blocks a b c   rank 0     rank 1     rank 2          (A: a summed, and so on)
 *   reduce-scatter 0      c -> 1     a -> 2     b -> 0
 *                  1      b -> 1     c -> 2     a -> 0
 *   allgather      0      A -> 1     B -> 2     C -> 0
 *                  1      C -> 1     A -> 2     B -> 0
 *
 * With a segment size, a block travels in segments, which arrive in a few scratch places in turn
 * (doc/algorithms.md).
 *
 *   allreduce        2(P-1) steps   2 S (P-1)/P bytes sent per rank   scratch 2 S/P or the places
 *   reduce-scatter    (P-1) steps     S (P-1)/P                       scratch 2 S/P or the places
 *   allgather         (P-1) steps     S (P-1)/P, S the result's size
 *
 * With counts, the blocks of an allgather are the parts; empty ones are not sent. Each element is
 * summed along one path and then copied, so all ranks hold the same bits. Each block's path begins
 * at a different rank, so ranks are not combined in their order.
 *
 * Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
 * JPDC 69(2), 2009. */
#ifndef TUTTI_SCHED_RING_H
#define TUTTI_SCHED_RING_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_ring_allreduce(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_ring_reduce_scatter(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_ring_allgather(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
