/* Long broadcasts and reduces in two halves: the root scatters blocks, which then go round a ring until all ranks
 * have all; or blocks go round a ring until each is summed on one rank, which sends it to the root. Any P, any
 * root.
 *
 * Ranks count from the root: v = (r - root) mod P, and v owns block v. The scatter follows a binomial tree: v
 * sends blocks v + b to v + 2 b - 1 to v + b, for bits b from the highest on. The ring is that of ring.h.
 *
 *   P = 4, root 0, blocks a b c d   rank 0     rank 1   rank 2   rank 3
 *   broadcast   scatter             c d -> 2
 *                                   b -> 1              d -> 3
 *               ring      0         a -> 1     b -> 2   c -> 3   d -> 0
 *                         1         d -> 1     a -> 2   b -> 3   c -> 0
 *                         2         c -> 1     d -> 2   a -> 3   b -> 0
 *
 *   broadcast   ceil(log2 P) + P - 1 steps   up to 2 S (P-1)/P bytes sent per rank
 *   reduce      P steps                      S, and S (P-1)/P received by the root   scratch as in ring.h
 *
 * Each element is summed along one path that begins at another rank for each block: ranks are not combined in
 * their order.
 *
 * Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, "Building a high-performance collective
 * communication library", SC'94. */
#ifndef TUTTI_SCHED_SCATTER_RING_H
#define TUTTI_SCHED_SCATTER_RING_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_scatter_ring_broadcast(
    const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_scatter_ring_reduce(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
