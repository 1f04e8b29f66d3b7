/* Waiting in the program's thread, in view of the judge.
 *
 * A blocking call is a loop: test, and if the operation is not complete, mpicheck_wait_step. That
 * lets others run, reports to the judge what this thread waits for once it takes longer, answers
 * the judge's questions, and ends the process when the judge orders it. At most one wait per
 * thread. */
#ifndef TUTTI_MPICHECK_WAIT_H
#define TUTTI_MPICHECK_WAIT_H

#include "apps/mpicheck/item.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct mpicheck_request;

/* Requests that a call is about to complete, with what is known of each (requests.h). */
typedef struct mpicheck_wanted {
    const MPI_Request *requests; /* the caller's */
    struct mpicheck_request *const *known;
    int count;
} mpicheck_wanted;

typedef struct mpicheck_wait {
    mpicheck_item item;     /* what is waited for, if there are no requests */
    mpicheck_wanted wanted; /* requests: NULL: none */
    bool any;               /* one of the requests is enough */
    /* private */
    int steps, answers;
    int64_t probe;
    double started;
    bool told;
} mpicheck_wait;

mpicheck_wait mpicheck_wait_for(mpicheck_item item);
mpicheck_wait mpicheck_wait_requests(mpicheck_wanted wanted, bool any);
/* To be called after each unsuccessful test. */
void mpicheck_wait_step(mpicheck_wait *wait);
void mpicheck_wait_end(mpicheck_wait *wait);

/* A test or probe by the program itself begins; ends the process when the judge orders it. */
void mpicheck_wait_poll_begins(void);
/* The test or probe was unsuccessful: a thread that has done little else for TUTTI_MPICHECK_TIMEOUT
 * seconds, with the same `wait`, counts as waiting for what that describes, while no other thread of the
 * program runs. */
void mpicheck_wait_polled(mpicheck_wait wait);
/* The thread does something else: it no longer polls. */
void mpicheck_wait_no_poll(void);

#endif
