/* Waiting in the program's thread, in view of the judge.
 *
 * A blocking call is a loop: test, and when it is not done, tutti_wait_step, which lets others run, says
 * to the judge what this thread waits for once that takes longer, answers its questions, and ends the
 * process when the judge says so. One thread, one wait. */
#ifndef TUTTI_CHECK_WAIT_H
#define TUTTI_CHECK_WAIT_H

#include "apps/check/item.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct tutti_request;

/* Requests that a call is about to complete, with what is known of each (requests.h). */
typedef struct tutti_wanted {
    const MPI_Request *requests; /* the caller's */
    struct tutti_request *const *known;
    int count;
} tutti_wanted;

typedef struct tutti_wait {
    tutti_item item;     /* what is waited for, when there are no requests */
    tutti_wanted wanted; /* requests: NULL: there are none */
    bool any;            /* one of the requests is enough */
    /* private */
    int steps, answers;
    int64_t probe;
    double started;
    bool told;
} tutti_wait;

tutti_wait tutti_wait_for(tutti_item item);
tutti_wait tutti_wait_requests(tutti_wanted wanted, bool any);
/* After a test that has found nothing. */
void tutti_wait_step(tutti_wait *wait);
void tutti_wait_end(tutti_wait *wait);

/* After a test or probe of the program's own that has found nothing: a thread that has done nothing else for
 * TUTTI_CHECK_TIMEOUT seconds waits, too. `wait` says for what. */
void tutti_wait_polled(tutti_wait wait);
/* The thread does something else: it does not poll. */
void tutti_wait_no_poll(void);

#endif
