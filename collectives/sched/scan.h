/* Scan (inclusive prefix) by recursive doubling: before round k, rank r holds the result of the 2^k
 * ranks up to itself. It sends this to rank r + 2^k, and combines what rank r - 2^k sends from the left.
 * Any P.
 *
 *   P = 5     rank 0     1        2        3        4
 *   round 0    a -> 1     b -> 2   c -> 3   d -> 4
 *             a          ab       bc       cd       de
 *   round 1    a -> 2     ab -> 3  bc -> 4
 *             a          ab       abc      abcd     bcde
 *   round 2    a -> 4                                abcde
 *
 *   up to ceil(log2 P) steps, up to S ceil(log2 P) bytes sent per rank (by rank 0), scratch 2 S
 *
 * With a segment size, each segment passes through the rounds independently. Ranks are combined in
 * their order.
 *
 * Source: Hillis, Steele, "Data parallel algorithms", CACM 29(12), 1986. */
#ifndef TUTTI_SCHED_SCAN_H
#define TUTTI_SCHED_SCAN_H

#include "collectives/sched/sched.h"

tutti_status tutti_sched_scan(const tutti_sched_shape *shape, tutti_sched **sched);

#endif
