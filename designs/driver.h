/* Starts and drives the collectives of one rank, in the order that the design asks for. Only this
 * file decides when a collective starts. It has no thread: somebody calls `pass` again and again
 * (designs/comm_thread.h), and each pass starts what may start, moves what is in flight, and ends
 * what is done.
 *
 *   reserve (submission) -> ready (buffers are ready) -> started -> token finished
 *
 * Locks: `comm` (who may call the communicator) is taken before `queue` (entries, sequence
 * numbers). A token is finished with `comm` held; `wake` is called with neither. */
#ifndef TUTTI_DRIVER_H
#define TUTTI_DRIVER_H

#include "collectives/coll.h"
#include "dag/run/meter.h"
#include "dag/run/token.h"
#include "designs/design.h"

typedef struct tutti_driver tutti_driver;

typedef struct tutti_driver_options {
    tutti_order order;
    tutti_meter *meter; /* may be NULL; borrowed */
    /* Called from any thread after an entry became ready or was started elsewhere: whoever passes
     * should not sleep now. */
    void (*wake)(void *ctx);
    void *ctx;
} tutti_driver_options;

/* Borrows the communicator until close. NOMEM. */
tutti_status tutti_driver_open(
    const tutti_driver_options *options, tutti_comm *comm, tutti_driver **driver);
void tutti_driver_close(tutti_driver *driver); /* nobody passes any more; accepts NULL */

/* The next sequence number, for a collective on this lane. -1 when memory ran out (logged). [M] */
int64_t tutti_driver_reserve(tutti_driver *driver, int lane, int64_t index, const char *name);
/* The collective's buffers are ready: it starts when the order allows; its token is finished when
 * it has ended. [A] */
void tutti_driver_ready(
    tutti_driver *driver, int64_t sequence, const tutti_coll_args *args, tutti_token *token);
/* Starts, progresses, ends. Returns whether anything moved. One thread at a time. */
int tutti_driver_pass(tutti_driver *driver);
/* Whether a pass could do something: anything in flight, or ready and allowed to start. [A] */
int tutti_driver_busy(tutti_driver *driver);

#endif
