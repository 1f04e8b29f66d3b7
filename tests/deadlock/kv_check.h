/* What can be said of a case of keys without running it. Pushes and pulls have no order that ranks
 * must agree on, so the ordering law is no judge of them. What is left is who waits for whom, which
 * does not depend on the schedule: what may go can only become more, with each push that has gone
 * and each client that has left. So one order of events, as far as it leads, decides for all of
 * them.
 *
 *   order     workers of one client make different calls
 *   missing   a pull waits for a push that its client will not make, and this client does not leave; a
 *             worker does not meet the others; a client dies in sync; servers die, and no other has their keys
 *   cycle     clients wait for each other
 *
 * It sees no buffers, no sums and no messages; of a client that dies only that nobody waits for it, of a server that
 * another has its keys. [P] */
#ifndef TUTTI_DEADLOCK_KV_CHECK_H
#define TUTTI_DEADLOCK_KV_CHECK_H

#include "designs/check/check.h"
#include "tests/deadlock/kv_case.h"

void kv_check(const kv_case *c, tutti_verdict *verdict);

#endif
