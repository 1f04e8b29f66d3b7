/* Proves the schedules of all ranks together: every send has its recv of the same size, nobody
 * waits in a circle, and what ends in OUT is what the kind promises.
 *
 * The schedules are walked through with symbols for values: each element carries whose
 * contributions are in it, and how they were put together. So the proof covers that
 *   - every contribution is in the result exactly once (barrier: at least once), and no other one,
 *   - ranks are combined in their order where the shape says so,
 *   - every element is in its own place, and nothing is read before it is written,
 *   - an allreduce is put together in the same way on every rank, and so has the same bits,
 *   - neither depends on timing: several orders of events are drawn, and must give the same.
 * Cost: P * P * count symbols; meant for short vectors, which take the same paths as long ones. */
#ifndef TUTTI_SCHED_MATCH_H
#define TUTTI_SCHED_MATCH_H

#include "collectives/sched/sched.h"

/* MISMATCH (logged, naming rank and element) when anything of the above does not hold. NOMEM. [P]
 */
tutti_status tutti_sched_match(const tutti_sched *const ranks[], int P);

#endif
