/* Binomial tree: broadcast from the root, reduce to the root, allreduce as reduce to rank 0 and
 * broadcast. Any P, any root.
 *
 * Ranks count from the root: v = (r - root) mod P. The parent of v is v without its lowest set bit.
 *
 *   P = 5, root 0   rank 0     1      2      3      4
 *   broadcast       0 ------------------------------> 4
 *                   0 ------------->  2
 *                   0 -----> 1        2 ---> 3
 *   reduce: the same backwards, children first
 *
 *   broadcast, reduce   ceil(log2 P) steps    up to S ceil(log2 P) bytes sent by one rank
 *   allreduce           2 ceil(log2 P) steps
 *   reduce needs scratch 2 S
 *
 * A rank that sends one message at a time takes that many steps; the longest chain of messages has
 * as many as the most bits set in any number below P. With a segment size, the tree works on one
 * segment after the other, and levels overlap. Only the root forms the sum, which is then copied,
 * so all ranks hold the same bits. The tree of rank 0 combines ranks in their order; an ordered
 * reduce to another root uses that tree and takes one more step.
 *
 * Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
 * MPICH", IJHPCA 19(1), 2005. */
#ifndef TUTTI_SCHED_TREE_H
#define TUTTI_SCHED_TREE_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_tree_broadcast(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_tree_reduce(const tutti_sched_shape *shape, tutti_sched **sched);
tutti_status tutti_sched_tree_allreduce(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
