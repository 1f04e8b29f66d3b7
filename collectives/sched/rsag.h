/* Reduce-scatter by recursive halving, then allgather by recursive doubling (Rabenseifner's
 * allreduce). Any P, by the fold (fold.h) where P is not a power of two. For powers of two, it
 * sends as few bytes as the ring, in fewer steps.
 *
 *   P = 4, blocks abcd   rank 0        rank 1        rank 2        rank 3       keeps
 *   halving   distance 2  cd -> 2       cd -> 3       ab -> 0       ab -> 1     ab ab cd cd
 *             distance 1  b  -> 1       a  -> 0       d  -> 3       c  -> 2     a  b  c  d
 *   doubling  distance 1  A  -> 1       B  -> 0       C  -> 3       D  -> 2
 *             distance 2  AB -> 2       AB -> 3       CD -> 0       CD -> 1
 *
 *   2 log2 P steps, 2 S (P-1)/P bytes sent per rank, scratch S (fold: 2 steps, up to S bytes more)
 *
 * With a segment size, spans of blocks travel in segments, except for the fold. Each element is
 * summed on one rank and then copied, so all ranks hold the same bits.
 *
 * Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, LNCS 3036. */
#ifndef TUTTI_SCHED_RSAG_H
#define TUTTI_SCHED_RSAG_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_rsag_allreduce(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
