/* A collective node as a StarPU task. Its data are held (held.h) until it ends; the ledger knows it; the hooks of the
 * run start it, and its token ends it.
 *
 *   submit -> (all data are here) -> arrived -> hooks.start, on a worker -> token -> release */
#ifndef TUTTI_COLLECTIVE_TASK_H
#define TUTTI_COLLECTIVE_TASK_H

#include "dag/run/ledger.h"
#include "dag/run/run.h"

#include <starpu.h>

typedef struct tutti_collective_task {
    const tutti_node *node;       /* until release. place.holds: the worker waits for the end */
    const tutti_run_hooks *hooks; /* as the ledger and the trace: until release */
    tutti_ledger *ledger;
    tutti_trace *trace; /* NULL: the start is not traced */
    int priority;
    int counted; /* starpu_task_wait_for_all waits for the end, as for a task's */
    int handles;
    const starpu_data_handle_t *handle; /* copied, as the modes; as of tutti_held_request */
    const tutti_mode *mode;
    /* [A] All data are here: any status but OK ends the collective with it, unstarted. NULL: fine. */
    tutti_status (*arrived)(void *arg, const tutti_node *node, void *const buf[]);
    void (*release)(void *arg); /* [A] after the end. NULL: nothing */
    void *arg;
} tutti_collective_task;

/* Takes the next sequence number, and submits. After a failure nothing is submitted, and release is not called. NOMEM,
 * INTERNAL. [M] */
tutti_status tutti_collective_task_submit(const tutti_collective_task *task);

#endif
