/* Proves the schedules of all ranks together: every send has a recv of the same size, no ranks
 * wait in a cycle, and OUT ends up with the result that the kind defines.
 *
 * The schedules are executed on symbols instead of values: each element records whose contributions
 * it contains, and how they were combined. Each extra vector of a rank is a separate contribution; ranks
 * may have different numbers of them. So the proof covers that
 *   - every contribution is in the result exactly once (barrier: at least once), and no other is,
 *   - ranks, and the vectors of a rank, are combined in their order where the shape requires it,
 *   - between an input and a result are at most as many roundings as the shape requires, or one more if
 *     any rank has extra vectors,
 *   - every element is in its place, nothing is read before it is written, and steps use WIDE only as
 *     allowed (sched.h),
 *   - an allreduce is combined in the same way on every rank, and so has the same bits,
 *   - none of this depends on timing: several orders of events are drawn and must agree.
 * Cost: P * vectors * count symbols; meant for short vectors, which take the same paths as long ones. */
#ifndef TUTTI_SCHED_MATCH_H
#define TUTTI_SCHED_MATCH_H

#include "collectives/sched/sched.h"

/* MISMATCH (logged, naming rank and element) when any of this does not hold. NOMEM. [P] */
tutti_status tutti_sched_match(const tutti_sched *const ranks[], int P);

#endif
