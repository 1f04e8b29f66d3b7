/* Starts and drives the collectives of one rank. The design's start rule decides which may start now;
 * only driver_start.c starts one. A driver has no thread: its user calls `pass` repeatedly
 * (designs/thread/comm_thread.h), and each pass starts what may start, advances what is in flight, and
 * ends what is done.
 *
 *   reserve (submission) -> ready (buffers are ready) -> started -> token finished
 *
 * Groups and edges: each is a *part*, a driver with its own lanes, numbers, queue and comparison, over
 * the same transport. So nothing of one part ever waits for another. The driver of all ranks is the
 * *root*: it passes over its parts, records what they do, and fails with them. A part's *slot* is its
 * number on this rank; slots of groups are the same on all ranks. Parts wait for each other only where
 * lanes share device slots: there, each collective of a rank that takes a device slot has a *turn* to
 * start.
 *
 * Locks: `comm` (protects calls on the communicator; the transport's lock, if it has one) is taken
 * before `queue` (entries, sequence numbers). A token is finished with `comm` held; `wake` is
 * called with neither. */
#ifndef TUTTI_DRIVER_H
#define TUTTI_DRIVER_H

#include "collectives/coll.h"
#include "collectives/value/members.h"
#include "dag/run/meter.h"
#include "dag/run/sequence.h"
#include "dag/run/token.h"
#include "dag/run/trace.h"
#include "collectives/control.h"
#include "designs/design.h"
#include "designs/queue/observed.h"
#include "designs/queue/queue.h"
#include "designs/queue/record.h"
#include "designs/verify/verify.h"

typedef struct tutti_driver tutti_driver;

/* Priorities of places (driver_grant.c). */
typedef struct tutti_priority_options {
    int on;         /* 0: they are ignored */
    int64_t window; /* bytes that have been granted and have not ended; 0: any number */
} tutti_priority_options;

typedef struct tutti_driver_options {
    const tutti_start_rule *start;
    tutti_meter *meter; /* may be NULL; borrowed */
    tutti_trace *trace; /* may be NULL; borrowed. Changed with the queue lock held */
    /* NULL: ranks exchange no control messages. Borrowed; the driver polls it and handles
     * TUTTI_CONTROL_ABORT. */
    tutti_control *control;
    tutti_verify_options verify; /* how ranks compare their collectives over control */
    /* Need control, and a start rule that reorders; ignored with one_order. */
    tutti_priority_options priorities;
    /* Lanes share device slots (designs/design.h): this rank starts its collectives in the order in which they
     * were reserved, whatever their lane, group or edge (if the edges share device slots). */
    int one_order;
    /* Called from any thread after an entry became ready or was started elsewhere: wakes the passing
     * thread. */
    void (*wake)(void *ctx);
    /* Called in every pass, with comm_lock held, after messages were received; may be NULL. */
    void (*tick)(void *ctx);
    /* Opens a communicator of these members, and their control messages (if there is a control); both
     * live as long as the root's. Called with comm_lock held. NULL: there are no parts. */
    tutti_status (*part)(
        void *part_ctx, const tutti_members *members, tutti_comm **comm, tutti_control **control);
    void *part_ctx;
    void *ctx; /* of wake and tick */
} tutti_driver_options;

/* Borrows the communicator until close. NOMEM. */
tutti_status tutti_driver_open(
    const tutti_driver_options *options, tutti_comm *comm, tutti_driver **driver);
void tutti_driver_close(tutti_driver *driver); /* after the last pass; accepts NULL */

/* ---- parts ---- */

/* The part of these members; opens it if necessary. All ranks open all groups in the same order, also
 * groups that they are not in; an edge is opened by its first use, here or on the other rank. NOMEM,
 * UNSUPPORTED (logged). [M] */
tutti_status tutti_driver_join(tutti_driver *root, const tutti_members *members, int *slot);
/* The driver of a slot; NULL: this rank is not a member. [A] */
tutti_driver *tutti_driver_of(tutti_driver *root, int slot);
/* The members of a slot. [A] */
const tutti_members *tutti_driver_members(tutti_driver *root, int slot);
int tutti_driver_lanes(const tutti_driver *driver);
/* For tutti_chunk_place: chunks of collectives that no graph has. [M] */
int64_t *tutti_driver_inserted(tutti_driver *driver);
/* Conversions between a collective's key and number, which are the same on all ranks, and its sequence
 * number here (dag/run/sequence.h); -1: a group that is not known here. [A] */
int64_t tutti_driver_key_of(tutti_driver *root, int64_t sequence);
/* In a handler of control messages (comm_lock held). */
int64_t tutti_driver_sequence_of(tutti_driver *root, int64_t key, int64_t number);

/* Allocates now the extra GPU memory that the chunks of a collective in GPU memory at this place will need. *bytes:
 * how much. NOMEM (logged). [M] */
tutti_status tutti_driver_prepare(
    tutti_driver *driver, const tutti_place *place, const tutti_coll_args *args, size_t *bytes);
/* Takes the next sequence number for a collective at this place; its further chunks take the
 * numbers that follow. -1: out of memory (logged). [M] */
int64_t tutti_driver_reserve(tutti_driver *driver, const tutti_place *place, const char *name);
/* Where the other rank of an edge receives the message with this sequence number, which is submitted and not ready, if
 * that has posted its receive: it may be written there until wrote. NULL: it has not, or cannot be written to. [A] */
void *tutti_driver_claim(tutti_driver *root, int64_t sequence, const tutti_coll_args *args);
void tutti_driver_wrote(tutti_driver *root, int64_t sequence, const tutti_coll_args *args);
/* Records collectives that end from here on into another trace, or into none (NULL); the previous one
 * is not touched any more. [M] */
void tutti_driver_trace(tutti_driver *driver, tutti_trace *trace);
/* The collective's buffers are ready: its chunks start when the order allows, and its token is
 * finished when all have ended. `driver` is the root, also for a part's collective. [A] */
void tutti_driver_ready(
    tutti_driver *driver, int64_t sequence, const tutti_coll_args *args, tutti_token *token);
/* Starts, progresses and ends collectives. Returns 0: nothing moved; 1: only collectives in flight did, so that
 * another pass finds nothing before more arrives; 2: another pass may find more. One thread at a time. */
int tutti_driver_pass(tutti_driver *driver);
/* The same, cheaper, if since the last pass that returned less than 2 nothing has happened but that messages in flight
 * and local steps have ended. */
int tutti_driver_move(tutti_driver *driver);
/* Whether a pass could do something: anything in flight, or ready and allowed to start. [A] */
int tutti_driver_busy(tutti_driver *driver);
/* As tutti_comm_wait. In the thread of the passes. */
int tutti_driver_wait(tutti_driver *driver, double timeout_s);

/* ---- the order of a step's collectives (designs/exchange/order.h) ---- */

/* Records the times of collectives whose place has slots. Borrowed until await_order, or close.
 * [M] */
void tutti_driver_observe(tutti_driver *driver, tutti_observed *observed);
/* Writes when each piece was ready into ready_s; returns the seconds per byte, or 0 while nothing
 * is known. [M] */
double tutti_driver_observed(tutti_driver *driver, double ready_s[], int pieces);
/* Groups of `slots` slots reserved from here on follow an order, and wait for it. [M] */
void tutti_driver_await_order(tutti_driver *driver, int slots);
/* Sets that order (borrowed until close). A collective of such a group starts on a line
 * (designs/queue/queue.h) only while at most the line's share of `window` bytes is in flight there; 0:
 * no limit. [A] */
void tutti_driver_order(tutti_driver *driver, const int32_t order[], int64_t window);

/* leave sends what is queued for the others, and then that this rank starts nothing more. left, after each pass:
 * whether all others have left too; without control, 1. [M], or the passing thread. */
void tutti_driver_leave(tutti_driver *driver);
int tutti_driver_left(tutti_driver *driver);
/* Once all have left: the last message to them, and whether all have sent theirs. [M], or the passing
 * thread. */
int tutti_driver_finished(tutti_driver *driver);
/* After a failure: whether all ranks have reported that they have nothing in flight. [A] */
int tutti_driver_drained(tutti_driver *driver);
/* Writes the ranks that have not left ("1, 3") into text; returns text. */
char *tutti_driver_missing(tutti_driver *driver, char *text, size_t size);
/* Whether this rank has left: then everything that it sent before is here. 0 without control. [A] */
int tutti_driver_has_left(tutti_driver *driver, int rank);

/* Ends everything with this status: ready collectives at the next pass, collectives in flight once
 * their buffers are no longer in use, which may never happen if another rank does not take part.
 * Nothing starts any more. The first call counts; the thread's last error is its sentence. [A] */
void tutti_driver_fail(tutti_driver *driver, tutti_status status);
/* A failure of this rank, already logged: its lanes are out of step, so the others are made to end, too. In a pass:
 * comm_lock is held. */
void tutti_driver_share(tutti_driver *driver, tutti_status status);
/* If everything has ended with this status, its sentence becomes this thread's last error. [A] */
void tutti_driver_explain(tutti_driver *driver, tutti_status status);
/* As fail, on every rank: logs the sentence here, and on the others with this rank's number. The first
 * call counts. Only inside a pass (comm_lock held). */
void tutti_driver_abort(tutti_driver *driver, tutti_status status, const char *sentence);
/* The same between passes. Returns whether that was the first failure. [M] */
int tutti_driver_give_up(tutti_driver *driver, tutti_status status, const char *sentence);

/* ---- current state, for reports. [A] ---- */

typedef struct tutti_driver_entry {
    int64_t sequence; /* -1: no entry */
    int64_t index, count;
    int lane; /* parts have others than the root */
    tutti_entry_state state;
    tutti_coll_kind kind; /* kind and count are known once it is ready */
    double since_s;       /* when it entered this state or, if started, last moved */
    char name[TUTTI_RECORD_NAME];
} tutti_driver_entry;

typedef struct tutti_driver_look {
    int64_t submitted;            /* collectives of all ranks */
    int64_t all_submitted, ended; /* also those of groups and edges */
    int in_flight;                /* started and not ended */
    int may_start;                /* something is ready, and a pass may start it */
    int leaving;                  /* tutti_driver_leave has been called */
    tutti_status failure;         /* of tutti_driver_fail */
    tutti_driver_entry oldest; /* that has not ended; those of all ranks before those of groups */
    /* The oldest in flight. If none, the oldest at the gate where ranks wait for each other (verify
     * FULL, and priorities). */
    tutti_driver_entry started;
    int main_drives; /* collectives run, and messages are received, only while main passes */
    int ready;       /* how many collectives are ready, if main drives */
} tutti_driver_look;

tutti_driver_look tutti_driver_see(tutti_driver *driver);
/* The lowest sequence number of a group or edge that has not ended here, submitted or not; -1: the group or edge is
 * not known here. */
int64_t tutti_driver_lowest(tutti_driver *driver, int slot);
/* sequence -1: not submitted here; state GONE: it has ended. */
tutti_driver_entry tutti_driver_find(tutti_driver *driver, int64_t sequence);
/* The flight recorder as JSON lines. */
void tutti_driver_write(tutti_driver *driver, double now_s, FILE *out);

#endif
