/* Starts and drives the collectives of one rank, in the order that the design asks for.
 *
 * With ORDER_QUEUE and ORDER_CHAIN a thread of its own opens the communicator (and, in programs,
 * MPI), makes the progress and finishes tokens; with ORDER_MAIN there is no thread, and the
 * caller's main thread does all of it in `main`. Only this file decides when a collective starts.
 *
 * Locks: `comm` (who may call the communicator) is taken before `queue` (entries, sequence
 * numbers). */
#ifndef TUTTI_COMM_THREAD_H
#define TUTTI_COMM_THREAD_H

#include "collectives/coll.h"
#include "dag/run/meter.h"
#include "dag/run/token.h"
#include "designs/design.h"

typedef struct tutti_comm_thread tutti_comm_thread;

typedef struct tutti_comm_thread_options {
    tutti_order order;
    double timeout_s;
    tutti_meter *meter; /* may be NULL */
    /* Called once, on the thread that will use the communicator, before and after everything else.
     */
    tutti_status (*setup)(void *ctx, tutti_comm **comm);
    void (*teardown)(void *ctx, tutti_comm *comm);
    void *ctx;
} tutti_comm_thread_options;

/* Starts the thread (if any) and waits for setup, at most timeout_s: TIMEOUT, and then the thread, and
 * with it ctx, may still be in use. [M] */
tutti_status tutti_comm_thread_open(
    const tutti_comm_thread_options *options, tutti_comm_thread **thread);
/* Stops it; teardown has run when this returns. [M] Accepts NULL. */
void tutti_comm_thread_close(tutti_comm_thread *thread);
tutti_comm *tutti_comm_thread_comm(
    tutti_comm_thread *thread); /* for its size, rank and lanes only */

/* The next sequence number, for a collective on this lane. -1 when memory ran out (logged). [M] */
int64_t tutti_comm_thread_reserve(
    tutti_comm_thread *thread, int lane, int64_t index, const char *name);
/* The collective's buffers are ready: it starts when the order allows; its token is finished when
 * it has ended. [A] */
void tutti_comm_thread_ready(
    tutti_comm_thread *thread, int64_t sequence, const tutti_coll_args *args, tutti_token *token);
/* One collective on lane 0, to its end. [M], nothing else in flight. */
tutti_status tutti_comm_thread_call(tutti_comm_thread *thread, const tutti_coll_args *args);
/* ORDER_MAIN: runs the oldest step's collectives if all of them are ready. [M] */
tutti_status tutti_comm_thread_main(tutti_comm_thread *thread);

#endif
