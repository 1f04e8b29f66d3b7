/* Sums in each machine first, then across machines: what crosses a machine's link does not grow with its ranks.
 * Any P, any ranks on any machines (sched.h: host).
 *
 * Allreduce: the L ranks of a machine reduce-scatter the vector by a ring; then rank j of each machine has block j
 * of L, and those with the same j allreduce it by a ring; then the ranks of a machine allgather. Where machines
 * have different numbers of ranks, L is the least; each further rank first sends its vector to one of these on its
 * machine, and gets the result from it.
 *
 *   P = 4, 2 machines, blocks a b   rank 0    rank 1    | rank 2    rank 3   (A: a summed in a machine, AA: of all)
 *   in machines                     b  -> 1   a  -> 0   | b  -> 3   a  -> 2
 *   across                          A <-> 2   B <-> 3
 *   in machines                     AA -> 1   BB -> 0   | AA -> 3   BB -> 2
 *
 *   H machines of L ranks   2 (L-1) + 2 (H-1) steps   2 S (L-1)/L bytes sent per rank in its machine,
 *                                                     2 S/L (H-1)/H across
 *                           scratch as in ring.h, for the larger block
 *
 * With `wide` in the shape, a level is direct (direct.h): each rank of a machine, further ones too, sends block j
 * straight to the machine's rank j, which adds them in accumulators, in their order, and rounds once. Then those with
 * block j do so across machines, and blocks go straight to all. A sum is rounded twice on any number of ranks.
 *
 * Broadcast and reduce: along a binomial tree of the first ranks of the machines, and a chain in each (forest.h).
 *
 * All ranks hold the same bits. Ranks are not combined in their order.
 *
 * Source: Cho, Muller, Finkler, Hunter, "Powerai DDL", arXiv:1708.02188. */
#ifndef TUTTI_SCHED_HIERARCHICAL_H
#define TUTTI_SCHED_HIERARCHICAL_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_hierarchical_allreduce(
    const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_hierarchical_broadcast(
    const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_hierarchical_reduce(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
