/* Queries the ranks' states by control messages (collectives/control.h). Each rank answers with what
 * it knows about a collective, from its driver and its runner's ledger.
 *
 *   rank 0: ask(#18) --QUERY--> rank 1: place of #18 there, the task that blocks it --STATE--> rank 0
 *
 * Threads: pass runs in the driver's pass (comm_lock held); the rest is [A]. The inquiry's lock is
 * taken after comm_lock and before the queue's and the ledger's. */
#ifndef TUTTI_INQUIRY_H
#define TUTTI_INQUIRY_H

#include "dag/run/ledger.h"
#include "collectives/control.h"
#include "designs/drive/driver.h"
#include "designs/watch/stall.h"

typedef struct tutti_inquiry tutti_inquiry;

enum { TUTTI_INQUIRY_NOTHING = -2 };

/* control NULL: a single rank, or one without control messages. Both are borrowed until close.
 * NOMEM. */
tutti_status tutti_inquiry_open(
    tutti_driver *driver, tutti_control *control, tutti_inquiry **inquiry);
void tutti_inquiry_close(tutti_inquiry *inquiry); /* after the last pass; accepts NULL */

int tutti_inquiry_rank(const tutti_inquiry *inquiry);
int tutti_inquiry_ranks(const tutti_inquiry *inquiry);

/* Sets the ledger of what is submitted (NULL: none). whole: it holds all of this rank's tasks, not
 * only its collectives. */
void tutti_inquiry_observe(tutti_inquiry *inquiry, tutti_ledger *ledger, int whole);
/* Sets what the program is doing outside of Tutti ("writes a checkpoint"), for reports. NULL: nothing in
 * particular. announced: the others expect it, and wait longer before they warn. Borrowed until the
 * next call. */
void tutti_inquiry_set_activity(tutti_inquiry *inquiry, const char *doing, int announced);
/* The main thread begins (1) or ends (0) a wait for what was submitted here: only outside such
 * waits can the program continue by itself. Calls nest. */
void tutti_inquiry_wait(tutti_inquiry *inquiry, int begins);
/* For designs whose collectives run only while the main thread waits: how many are ready, and in *for_s how long
 * the program has been outside of Tutti meanwhile. 0: none is ready, or the program waits. */
int tutti_inquiry_left_waiting(tutti_inquiry *inquiry, double now_s, double *for_s);

/* From now on queries the other ranks about this collective (-1: only about themselves), at once and every
 * every_s seconds; TUTTI_INQUIRY_NOTHING: stops. */
void tutti_inquiry_ask(tutti_inquiry *inquiry, int64_t collective, double every_s);
/* Requests a dump from every rank. */
void tutti_inquiry_call(tutti_inquiry *inquiry);
/* Whether another rank has requested a dump since the last call of this. */
int tutti_inquiry_called(tutti_inquiry *inquiry);

/* This rank's own state. *stuck (may be NULL): whether its program waits for unfinished tasks, although none runs
 * and no collective is in flight or may start. */
tutti_stall_state tutti_inquiry_self(
    tutti_inquiry *inquiry, int64_t collective, double now_s, int *stuck);
/* What is known of every rank, including this one. A rank answers if it has reported within
 * `recent_s`. */
void tutti_inquiry_states(tutti_inquiry *inquiry, int64_t collective, double now_s, double recent_s,
    tutti_stall_state state[]);

/* Ends the runner's wait with this status. */
void tutti_inquiry_fail(tutti_inquiry *inquiry, tutti_status status);

/* Sends what is due, and once a second a query to the next rank. In the driver's pass. */
void tutti_inquiry_pass(tutti_inquiry *inquiry);
/* Logs this rank's state: what runs, what is in flight and what is blocked, one line each. */
void tutti_inquiry_say(tutti_inquiry *inquiry, double now_s);

#endif
