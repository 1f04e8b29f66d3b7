/* Waiting in the program's thread, in view of the judge.
 *
 * A blocking call is a loop: test, and when it is not done, mpicheck_wait_step, which lets others run, says
 * to the judge what this thread waits for once that takes longer, answers its questions, and ends the
 * process when the judge says so. One thread, one wait. */
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
    mpicheck_item item;     /* what is waited for, when there are no requests */
    mpicheck_wanted wanted; /* requests: NULL: there are none */
    bool any;               /* one of the requests is enough */
    /* private */
    int steps, answers;
    int64_t probe;
    double started;
    bool told;
} mpicheck_wait;

mpicheck_wait mpicheck_wait_for(mpicheck_item item);
mpicheck_wait mpicheck_wait_requests(mpicheck_wanted wanted, bool any);
/* After a test that has found nothing. */
void mpicheck_wait_step(mpicheck_wait *wait);
void mpicheck_wait_end(mpicheck_wait *wait);

/* After a test or probe of the program's own that has found nothing: a thread that has done nothing else for
 * TUTTI_MPICHECK_TIMEOUT seconds waits, too. `wait` says for what. */
void mpicheck_wait_polled(mpicheck_wait wait);
/* The thread does something else: it does not poll. */
void mpicheck_wait_no_poll(void);

#endif
