/* A collective node as a StarPU task. Its data are held (held.h) until it ends; the ledger records
 * it; the run's hooks start it, and its token ends it.
 *
 *   submit -> (all data are here) -> arrived -> hooks.start, on a worker, unless it is brief -> token -> release */
#ifndef TUTTI_COLLECTIVE_TASK_H
#define TUTTI_COLLECTIVE_TASK_H

#include "dag/run/held.h"
#include "dag/run/ledger.h"
#include "dag/run/run.h"

#include <starpu.h>

typedef struct tutti_collective_task {
    /* kept until release; place.holds: the worker waits for its end */
    const tutti_node *node;
    const tutti_run_hooks *hooks; /* kept until release, as are the ledger and the trace */
    tutti_ledger *ledger;
    tutti_trace *trace; /* NULL: the start is not traced */
    /* What is held, and how the task is submitted: name, start, refused and arg are this room's. Not brief with
     * place.holds. */
    tutti_held_request held;
    /* What the ledger records of its data; kept until release. NULL: the node's accesses */
    const tutti_access *access;
    const void *const *data;
    /* [A] Called when all data are here. Any status but OK ends the collective with it, unstarted.
     * May be NULL. */
    tutti_status (*arrived)(void *arg, const tutti_node *node, const tutti_buffer buf[]);
    void (*release)(void *arg); /* [A] called after the end; may be NULL */
    void *arg;
    int64_t *sequence; /* where its sequence number goes; may be NULL */
} tutti_collective_task;

/* Takes the next sequence number and submits. On failure nothing is submitted, and release is not
 * called. NOMEM, INTERNAL. [M] */
tutti_status tutti_collective_task_submit(const tutti_collective_task *task);

#endif
