/* The engine: runs one rank's schedule over a transport, without blocking.
 *
 *   start -> { progress }* until nothing is left -> free
 *
 * A flight is a schedule under way. Starting posts the messages that wait for nothing. Progress
 * tests the oldest message of each channel (peer and direction; messages of a channel end in order,
 * and a late test does no harm), reduces what has arrived and posts what has become ready: messages
 * before reductions, and reductions and copies in program order. It returns to the messages after some
 * work, even if more is ready.
 *
 * In device memory, local steps are started asynchronously, too, in order. They end with their event:
 * until then no message reads what they write.
 *
 * Threads: one thread at a time on the flights of a transport. Buffers are the caller's and stay
 * valid until the flight is freed. */
#ifndef TUTTI_ENGINE_H
#define TUTTI_ENGINE_H

#include "collectives/buf/buf.h"
#include "collectives/coll.h"
#include "collectives/sched/sched.h"
#include "collectives/transport/transport.h"

#include <stddef.h>

typedef struct tutti_flight tutti_flight;

typedef struct tutti_flight_plan {
    tutti_transport *transport;
    tutti_pool *pool; /* the flight and accumulators come from here */
    tutti_pool *
        received; /* and its scratch space; the same pool, or one of memory that other ranks write to */
    tutti_coll_work *work;    /* copies and reductions are counted here */
    const tutti_sched *sched; /* borrowed */
    /* Borrowed. Buffers in device memory are those of the transport's device, and its arithmetic combines them. */
    const tutti_coll_args *args;
    int lane, tag;
    int credit; /* the limit of messages of a channel under way at once */
    const tutti_watcher
        *watcher; /* called when progress may find something (tutti_flight_is_quiet) */
} tutti_flight_plan;

/* Preallocates, in the transport's arithmetic, the device memory that a flight of such a plan needs. The plan's
 * buffers and tag are ignored. *bytes: how much; 0 in main memory. NOMEM. */
tutti_status tutti_flight_prepare(const tutti_flight_plan *plan, size_t *bytes);
/* NOMEM, or the transport's failure: then *flight has partly started and must be drained, or is NULL. */
tutti_status tutti_flight_start(const tutti_flight_plan *plan, tutti_flight **flight);
/* *moved is set to 1 when anything advanced, else left alone. After a failure the flight no longer
 * advances. */
tutti_status tutti_flight_progress(tutti_flight *flight, int *moved);
/* Whether progress finds nothing until the watcher is called: nothing is under way but messages that are watched
 * (tutti_transport_ops.watch). */
int tutti_flight_is_quiet(const tutti_flight *flight);
/* Fetch into the cache what progress will need: the flight; and then, once messages have ended, steps. Accept NULL. */
void tutti_flight_prefetch(const tutti_flight *flight);
void tutti_flight_prefetch_steps(const tutti_flight *flight);
/* After a failure, called repeatedly: no step starts any more; unmatched messages are cancelled, the
 * others end. Returns how many have not ended. */
int tutti_flight_drain(tutti_flight *flight);
int tutti_flight_done(const tutti_flight *flight);
/* The ranks it waits for, "rank 1 (receiving), rank 3 (sending)", into text; returns text. */
char *tutti_flight_waits_for(const tutti_flight *flight, char *text, size_t size);
/* Abandons what is still under way (nothing, after a drain). Accepts NULL. */
void tutti_flight_free(tutti_flight *flight);

#endif
