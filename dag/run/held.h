/* A collective among StarPU's tasks: its data are held from before its start until its end.
 *
 * A task's data are StarPU's again as soon as the task's function has returned, even if the task itself ends
 * later (doc/threads.md, "Memory in flight"): StarPU may then copy, move or free a buffer that MPI still writes.
 * So the data of a collective are not a task's. The program acquires them, one by one, in the order of submission
 * that a task would have had; when all are here, a task without data starts the collective on a worker; and they
 * are released when it has ended.
 *
 *   open -> submit -> (all data are here) -> start, on a worker -> end
 *
 * Home: data are held in main memory (STARPU_MAIN_RAM), wherever tasks last wrote them. What is registered there
 * lies at its registered address, so that data which are neighbours there are neighbours for the collective.
 *
 * Source of the idea: StarPU-MPI acquires data around its requests in the same way. */
#ifndef TUTTI_HELD_H
#define TUTTI_HELD_H

#include "dag/graph/graph.h"

#include <starpu.h>

typedef struct tutti_held tutti_held;

typedef struct tutti_held_request {
    const char *name; /* of the start's task; borrowed until the end */
    int priority;
    int counted; /* starpu_task_wait_for_all waits for the end, as for a task's */
    int handles;
    const starpu_data_handle_t *handle; /* each at most once; copied */
    const tutti_mode *mode;             /* CHAIN: held until start has returned; copied */
    /* [A] All data are here: starts the collective. buf: where each handle's data are, NULL for a link of a
     * chain. What `end` frees may be gone before start returns. */
    void (*start)(void *arg, void *const buf[]);
    /* [A] Instead of start: StarPU refused the task, or some of the data. */
    void (*refused)(void *arg, tutti_status status);
    void *arg;
} tutti_held_request;

/* NOMEM; nothing is submitted. [M] */
tutti_status tutti_held_open(const tutti_held_request *request, tutti_held **held);
/* Asks for the data. start may run, and end may come, before this returns. INTERNAL: nothing is submitted. [M] */
tutti_status tutti_held_submit(tutti_held *held);
/* Releases the data and frees `held`: once after start or refused was called, or before submit. [A] */
void tutti_held_end(tutti_held *held);

#endif
