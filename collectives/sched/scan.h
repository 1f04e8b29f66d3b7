/* Scan (inclusive prefix) by recursive doubling: before round k rank r has ranks r - 2^k + 1 to r together;
 * it hands them to rank r + 2^k, and puts what rank r - 2^k hands it in front. Any P.
 *
 *   P = 5     rank 0     1        2        3        4
 *   round 0    a -> 1     b -> 2   c -> 3   d -> 4
 *             a          ab       bc       cd       de
 *   round 1    a -> 2     ab -> 3  bc -> 4
 *             a          ab       abc      abcd     bcde
 *   round 2    a -> 4                                abcde
 *
 *   up to ceil(log2 P) steps, up to S ceil(log2 P) bytes sent a rank (by rank 0), scratch 2 S
 * With a segment size, each segment goes through its rounds by itself. Ranks are combined in their order.
 * Source: Hillis, Steele, "Data parallel algorithms", CACM 29(12), 1986. */
#ifndef TUTTI_SCHED_SCAN_H
#define TUTTI_SCHED_SCAN_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_scan(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
