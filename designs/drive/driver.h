/* Starts and drives the collectives of one rank. The design's start rule says which may start now; that it
 * starts is decided here (driver_start.c) and nowhere else. A driver has no thread: somebody calls `pass` again
 * and again (designs/thread/comm_thread.h), and each pass starts what may start, moves what is in flight, and
 * ends what is done.
 *
 *   reserve (submission) -> ready (buffers are ready) -> started -> token finished
 *
 * Locks: `comm` (who may call the communicator; the transport's lock, where it has one) is taken before
 * `queue` (entries, sequence numbers). A token is finished with `comm` held; `wake` is called with neither. */
#ifndef TUTTI_DRIVER_H
#define TUTTI_DRIVER_H

#include "collectives/coll.h"
#include "dag/run/meter.h"
#include "dag/run/token.h"
#include "dag/run/trace.h"
#include "collectives/control.h"
#include "designs/design.h"
#include "designs/queue/observed.h"
#include "designs/queue/queue.h"
#include "designs/queue/record.h"
#include "designs/verify/verify.h"

typedef struct tutti_driver tutti_driver;

typedef struct tutti_driver_options {
    const tutti_start_rule *start;
    tutti_meter *meter;     /* may be NULL; borrowed */
    tutti_trace *trace;     /* may be NULL; borrowed */
    tutti_control *control; /* NULL: ranks do not talk about their collectives; borrowed. The driver
                               polls it, and handles TUTTI_CONTROL_ABORT */
    tutti_verify_options verify; /* how ranks compare their collectives over control */
    /* Called from any thread after an entry became ready or was started elsewhere: whoever passes
     * should not sleep now. */
    void (*wake)(void *ctx);
    /* Called in every pass, with comm_lock held, after messages were heard; may be NULL. */
    void (*tick)(void *ctx);
    void *ctx;
} tutti_driver_options;

/* Borrows the communicator until close. NOMEM. */
tutti_status tutti_driver_open(
    const tutti_driver_options *options, tutti_comm *comm, tutti_driver **driver);
void tutti_driver_close(tutti_driver *driver); /* nobody passes any more; accepts NULL */

/* The next sequence number, for a collective at this place; its further chunks have the numbers
 * behind. -1 when memory ran out (logged). [M] */
int64_t tutti_driver_reserve(tutti_driver *driver, const tutti_place *place, const char *name);
/* The collective's buffers are ready: its chunks start when the order allows; its token is finished
 * when all have ended. [A] */
void tutti_driver_ready(
    tutti_driver *driver, int64_t sequence, const tutti_coll_args *args, tutti_token *token);
/* Starts, progresses, ends. Returns whether anything moved. One thread at a time. */
int tutti_driver_pass(tutti_driver *driver);
/* Whether a pass could do something: anything in flight, or ready and allowed to start. [A] */
int tutti_driver_busy(tutti_driver *driver);

/* ---- the order of a step's collectives (designs/exchange/order.h) ---- */

/* Notes what happens to collectives whose place has slots. Borrowed until await_order, or close. [M] */
void tutti_driver_observe(tutti_driver *driver, tutti_observed *observed);
/* What has been noted so far: when each of the pieces was ready, into ready_s; returns the seconds that
 * a byte took, 0 while nothing is known. [M] */
double tutti_driver_observed(tutti_driver *driver, double ready_s[], int pieces);
/* Groups of so many slots that are reserved from here on follow an order, and wait for it. [M] */
void tutti_driver_await_order(tutti_driver *driver, int slots);
/* This order (borrowed until close), with at most `window` bytes in flight on a lane before the next of such a
 * group starts there; 0: any number. [A] */
void tutti_driver_order(tutti_driver *driver, const int32_t order[], int64_t window);

/* Tells the others that this rank starts nothing any more; then, after each pass, whether all of
 * them have left, too. With no control they have. [M] or who passes */
void tutti_driver_leave(tutti_driver *driver);
int tutti_driver_left(tutti_driver *driver);
/* After a failure: whether all ranks have said that nothing of theirs is in flight. [A] */
int tutti_driver_drained(tutti_driver *driver);
/* "1, 3": the ranks that have not left, into text; returns text. */
char *tutti_driver_missing(tutti_driver *driver, char *text, size_t size);

/* Ends everything with this status: what becomes ready, at the next pass, and what is in flight once
 * nobody touches its buffers any more, which can be never where another rank does not do its part.
 * Nothing starts any more. The first call counts; the thread's last error is its sentence. [A] */
void tutti_driver_fail(tutti_driver *driver, tutti_status status);
/* Where this status is what everything has ended with, its sentence becomes this thread's last error. [A] */
void tutti_driver_explain(tutti_driver *driver, tutti_status status);
/* The same on every rank: logs the sentence here, and on the others that this rank said it. The
 * first call counts. For whoever passes, inside a pass (comm_lock held). */
void tutti_driver_abort(tutti_driver *driver, tutti_status status, const char *sentence);

/* ---- what is going on, for reports. [A] ---- */

typedef struct tutti_driver_entry {
    int64_t sequence; /* -1: there is none */
    int64_t index, count;
    int lane;
    tutti_entry_state state;
    tutti_coll_kind kind; /* it and count are known once it is ready */
    int blocked;          /* inside the post: MPI's own blocking collective */
    double since_s;       /* in this state since; of a started one: it last moved then */
    char name[TUTTI_RECORD_NAME];
} tutti_driver_entry;

typedef struct tutti_driver_look {
    int64_t submitted, ended;  /* how many */
    int in_flight;             /* started and not ended */
    int may_start;             /* something is ready, and whoever passes may start it */
    tutti_status failure;      /* of tutti_driver_fail */
    tutti_driver_entry oldest; /* that has not ended */
    tutti_driver_entry
        started;     /* the oldest in flight, or one that is inside MPI; with none, the oldest
                                   that has come to where ranks wait for each other (verify FULL) */
    int main_drives; /* collectives run, and other ranks are heard, only while main passes */
    int ready;       /* where main drives: how many collectives are */
} tutti_driver_look;

tutti_driver_look tutti_driver_see(tutti_driver *driver);
/* sequence -1 when it has not been submitted here; state GONE when it has ended. */
tutti_driver_entry tutti_driver_find(tutti_driver *driver, int64_t sequence);
/* The flight recorder as JSON lines. */
void tutti_driver_write(tutti_driver *driver, double now_s, FILE *out);

#endif
