/* What runners share: waiting for a point of a ledger while other threads do the work, and showing
 * the ledger. [M] */
#ifndef TUTTI_WAIT_H
#define TUTTI_WAIT_H

#include "dag/run/ledger.h"
#include "dag/run/run.h"

/* Until the point is reached, something failed or timeout_s has passed; drives hooks->main
 * meanwhile. */
tutti_status tutti_wait_point(
    tutti_ledger *ledger, const tutti_run_hooks *hooks, int64_t point, double timeout_s);
/* Tells the design which ledger to look at (NULL: none any more), if it wants to know. */
void tutti_run_observe(const tutti_run_hooks *hooks, tutti_ledger *ledger, int whole);

#endif
