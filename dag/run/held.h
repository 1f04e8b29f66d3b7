/* A collective among StarPU's tasks: its data are held from before its start until its end.
 *
 * StarPU regains a task's data as soon as the task's function returns, even if the task itself ends
 * later (doc/threads.md, "Memory in flight"): it may then copy, move or free a buffer that MPI is
 * still writing. So the data of a collective do not belong to a task. They are acquired one by one,
 * in the submission order that a task would have had. When all are here, a task without data starts
 * the collective on a worker; when it has ended, they are released. A start that is brief needs no
 * task: a message does not wait for a worker that is busy, or has lost its processor.
 *
 *   open -> submit -> (all data are here) -> start, on a worker -> end
 *
 * Where: data are held on one memory node, wherever tasks last wrote them: main memory, or a GPU's where
 * the collective works there. Data registered with memory there stay at their registered addresses, so
 * that neighbours in memory are neighbours for the collective. Links of a chain stay in main memory.
 *
 * StarPU-MPI acquires data around its requests in the same way. */
#ifndef TUTTI_HELD_H
#define TUTTI_HELD_H

#include "dag/base/buffer.h"
#include "dag/graph/graph.h"

#include <starpu.h>

typedef struct tutti_held tutti_held;

typedef struct tutti_held_request {
    const char *name; /* of the task that starts it; borrowed until the end */
    int priority;
    int counted; /* starpu_task_wait_for_all waits for it as for a task */
    /* start waits for nothing, and takes no lock but a queue's, for a moment: whatever thread brings the last
     * of the data may call it, the comm thread, too. Without links of a chain. */
    int brief;
    int handles;
    const starpu_data_handle_t *handle; /* each at most once; copied */
    const tutti_mode *mode;             /* CHAIN: held until start has returned; copied */
    unsigned memory_node;               /* StarPU's memory node; 0: STARPU_MAIN_RAM */
    tutti_memory memory;                /* what kind of memory that is, and of which device */
    int device;
    /* [A] All data are here: starts the collective. buf: where each handle's data are, pointer NULL for
     * a link of a chain. `end` may be called, and free what it frees, before start returns. */
    void (*start)(void *arg, const tutti_buffer buf[]);
    /* [A] Called instead of start when StarPU refused the task or some of the data. */
    void (*refused)(void *arg, tutti_status status);
    void *arg;
} tutti_held_request;

/* Submits nothing yet. NOMEM. [M] */
tutti_status tutti_held_open(const tutti_held_request *request, tutti_held **held);
/* Requests the data. start may run, and end may be called, before this returns. INTERNAL: nothing
 * is submitted. [M] */
tutti_status tutti_held_submit(tutti_held *held);
/* Releases the data and frees `held`. Called once, after start or refused was called, or before
 * submit. [A] */
void tutti_held_end(tutti_held *held);
/* Whether this is the task that starts a collective. [A] */
int tutti_held_is(const struct starpu_task *task);
/* Frees a task that was never submitted, which StarPU does not; its cl_arg stays. Accepts NULL. */
void tutti_starpu_task_discard(struct starpu_task *task);

#endif
