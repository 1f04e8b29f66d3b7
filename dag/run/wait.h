/* What runners share: waiting for a point of a ledger while other threads do the work, and showing
 * the ledger. [M] */
#ifndef TUTTI_WAIT_H
#define TUTTI_WAIT_H

#include "dag/run/binding.h"
#include "dag/run/ledger.h"
#include "dag/run/run.h"

/* Until the point is reached, something failed or timeout_s has passed (TIMEOUT; logged but for 0, which only
 * looks); drives hooks->main meanwhile. */
tutti_status tutti_wait_point(
    tutti_ledger *ledger, const tutti_run_hooks *hooks, int64_t point, double timeout_s);
/* Tells the design that the main thread begins to wait, or ends it, if it wants to know. */
void tutti_run_waits(const tutti_run_hooks *hooks, int begins);
/* Whether everything that was submitted has ended, so that the main thread may have a tensor; INVAL (logged,
 * with its name) otherwise. */
tutti_status tutti_wait_over(tutti_ledger *ledger, const tutti_binding *binding, int tensor);
/* After a failure: until all that was submitted has ended, at most patience_s; drives hooks->main
 * meanwhile. Returns whether it has: then nothing in flight touches its data. */
int tutti_wait_drained(tutti_ledger *ledger, const tutti_run_hooks *hooks, double patience_s);
/* Tells the design which ledger to look at (NULL: none any more), if it wants to know. */
void tutti_run_observe(const tutti_run_hooks *hooks, tutti_ledger *ledger, int whole);

#endif
