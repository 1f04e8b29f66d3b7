/* What runners share: waiting for a point of a ledger while other threads work, and showing the
 * ledger to the design. [M] */
#ifndef TUTTI_WAIT_H
#define TUTTI_WAIT_H

#include "dag/run/binding.h"
#include "dag/run/ledger.h"
#include "dag/run/run.h"

/* Waits until everything between two points has ended, something has failed or timeout_s has passed (TIMEOUT, logged
 * unless timeout_s is 0, which only looks). Drives hooks->main meanwhile. */
tutti_status tutti_wait_point(tutti_ledger *ledger, const tutti_run_hooks *hooks, int64_t from,
    int64_t point, double timeout_s);
/* Notifies the design, if it has the hook, that the main thread begins or ends a wait. */
void tutti_run_waits(const tutti_run_hooks *hooks, int begins);
/* OK when everything submitted has ended, so that the main thread may have a tensor; else INVAL
 * (logged, with the tensor's name). */
tutti_status tutti_wait_over(tutti_ledger *ledger, const tutti_binding *binding, int tensor);
/* After a failure, waits at most patience_s until everything submitted has ended; drives
 * hooks->main meanwhile. Returns whether it has: then nothing in flight touches its data. */
int tutti_wait_drained(tutti_ledger *ledger, const tutti_run_hooks *hooks, double patience_s);
/* Passes the ledger to the design, if it has the hook; NULL: there is none any more. */
void tutti_run_observe(const tutti_run_hooks *hooks, tutti_ledger *ledger, int whole);

/* Where a run's graph is bound, with the design's memory for what collectives receive. */
static inline tutti_binding_place tutti_run_place(const tutti_run_options *options)
{
    const tutti_run_hooks *hooks = &options->hooks;
    tutti_binding_place place = options->place;
    place.received = (tutti_binding_memory){hooks->ctx, hooks->take_memory, hooks->give_memory};
    return place;
}

#endif
