/* Control messages: small messages between ranks about their collectives, on a separate lane. They never wait for a
 * collective, and no collective waits for them.
 *
 * A few receives from any rank are always posted, so memory and the cost of a poll do not depend on the number of
 * ranks. A send copies its message; poll makes progress, and calls the handler of each message that has arrived.
 * Messages from one rank to another arrive in the order in which they were sent; all have one size.
 *
 *   open -> { handle }* -> { send, broadcast, poll }* -> stop -> (transport closed) -> free
 *
 * A group has a part: its messages have the group's key, its ranks the group's numbers, and it has its own handlers.
 * The whole sends and receives them.
 *
 * Threads: not locked; the driver's comm_lock covers it (designs/drive/driver.h), in handlers, too.
 * Handlers may send; they do not poll. Errors: COMM, NOMEM. */
#ifndef TUTTI_CONTROL_H
#define TUTTI_CONTROL_H

#include "collectives/transport/transport.h"
#include "collectives/value/members.h"

#include <stdint.h>

/* The kinds of messages. The sender and the handler define the values and the text. */
typedef enum tutti_control_kind {
    TUTTI_CONTROL_ABORT,  /* value[0]: status; text: the reason. Every rank ends (driver_fail.c) */
    TUTTI_CONTROL_PRINTS, /* hashes of what was started (compare.c) */
    TUTTI_CONTROL_GATE,   /* hash of what waits to start (gate.c) */
    TUTTI_CONTROL_ASK,    /* which collective has this number on your rank? (verify.c) */
    TUTTI_CONTROL_FINGERPRINT, /* the answer: its fingerprint (verify.c) */
    TUTTI_CONTROL_BYE,         /* the sender ends, having started this many (shutdown.c) */
    TUTTI_CONTROL_QUERY,       /* what is your state of this collective? (inquiry.c) */
    TUTTI_CONTROL_STATE,       /* the answer (inquiry.c) */
    TUTTI_CONTROL_HELLO,       /* the sender's process (inquiry.c) */
    TUTTI_CONTROL_DUMP,        /* write out your flight recorder (inquiry.c) */
    TUTTI_CONTROL_CLOCK,       /* what time is it on your rank? (clocks.c) */
    TUTTI_CONTROL_TIME,        /* value[0]: nanoseconds of the sender's clock (clocks.c) */
    TUTTI_CONTROL_WISH,        /* the sender wants to stop (halt.c) */
    TUTTI_CONTROL_LIMIT,       /* value[0]: the first step that no rank submits (halt.c) */
    TUTTI_CONTROL_RECEIVED,    /* the sender knows the limit (halt.c) */
    /* after a failure: nothing of the sender is in flight (driver_drain.c) */
    TUTTI_CONTROL_DRAINED,
    TUTTI_CONTROL_READY,          /* these collectives are ready here (driver_grant.c) */
    TUTTI_CONTROL_GRANT,          /* these start next, in this order (driver_grant.c) */
    TUTTI_CONTROL_ACTIVE_MESSAGE, /* value: an active message (active_messages.c) */
    TUTTI_CONTROL_LAST,           /* the sender sends nothing more (control.c) */
    TUTTI_CONTROL_KINDS
} tutti_control_kind;

enum { TUTTI_CONTROL_VALUES = 12, TUTTI_CONTROL_TEXT = 440 };

typedef struct tutti_control_message {
    int32_t kind, from; /* send fills `from` and `key` in */
    int64_t key;        /* of the group; 0: all ranks */
    int64_t value[TUTTI_CONTROL_VALUES];
    union {
        char text[TUTTI_CONTROL_TEXT]; /* terminated by 0 if it is text */
        uint64_t word[TUTTI_CONTROL_TEXT / 8];
    };
} tutti_control_message;

typedef void (*tutti_control_handler)(void *ctx, const tutti_control_message *message);

typedef struct tutti_control tutti_control;

/* Borrows the transport until stop. All ranks open it on the same lane, which has no other use. */
tutti_status tutti_control_open(tutti_transport *transport, int lane, tutti_control **control);
/* Abandons all messages under way; called before the transport is closed. Accepts NULL. */
void tutti_control_stop(tutti_control *control);
/* Called after the transport was closed, because an abandoned send may be read until then. Accepts
 * NULL. */
void tutti_control_free(tutti_control *control);

/* The part of these members, this rank among them; stop and free it before the whole. NOMEM. */
tutti_status tutti_control_part(
    tutti_control *whole, const tutti_members *members, tutti_control **part);
/* Sets a function that is called for a message with a key without a part: it may open one, which gets the message. */
void tutti_control_unknown(
    tutti_control *whole, void (*unknown)(void *ctx, int64_t key), void *ctx);
/* The number of a part's rank among all ranks. */
int tutti_control_whole_rank(const tutti_control *control, int rank);

int tutti_control_rank(const tutti_control *control);
int tutti_control_size(const tutti_control *control);

/* Sets the handler of this kind of message; messages without a handler are dropped. */
void tutti_control_handle(
    tutti_control *control, tutti_control_kind kind, tutti_control_handler handler, void *ctx);
/* Never waits. */
tutti_status tutti_control_send(
    tutti_control *control, int to, const tutti_control_message *message);
/* To every other rank. */
tutti_status tutti_control_broadcast(tutti_control *control, const tutti_control_message *message);
/* Of the whole: receives messages that have arrived, up to a limit. *moved is set to 1 if there was one. */
tutti_status tutti_control_poll(tutti_control *control, int *moved);
/* Sends LAST to all, once; later sends are dropped. A message that is never received would outlive the communicator,
 * and could be received on another one to which MPI gives the same number. COMM, NOMEM. */
tutti_status tutti_control_finish(tutti_control *control);
/* Later sends are dropped, but LAST is not sent: the others do not expect it. */
void tutti_control_finish_silently(tutti_control *control);
/* Whether every other rank has sent its last message, and none of this rank's is under way. */
int tutti_control_finished(const tutti_control *control);
/* How many sends are under way. */
int tutti_control_sending(const tutti_control *control);

#endif
