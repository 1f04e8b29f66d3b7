/* Active messages: a few numbers from one rank to another, outside of all collectives. Nothing waits for an active
 * message, and an active message waits for nothing. The store of keys uses them for its requests (designs/kv).
 *
 * Active messages from one rank to another arrive in the order in which they were sent. A rank that starts to listen
 * also receives those that arrived before. A rank that never listens drops them when it closes.
 *
 *   open -> { send, listen, pass }* -> close
 *
 * Threads: send and listen are [M]; pass belongs to the passing thread (designs/drive/driver.h), which also calls
 * `on_message`. */
#ifndef TUTTI_ACTIVE_MESSAGES_H
#define TUTTI_ACTIVE_MESSAGES_H

#include "collectives/control.h"

enum { TUTTI_ACTIVE_MESSAGE_VALUES = 8 };

typedef struct tutti_active_message {
    int rank; /* the receiver or the sender; maybe the rank itself */
    int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES];
} tutti_active_message;

typedef void tutti_active_message_handler(void *ctx, const tutti_active_message *message);

typedef struct tutti_active_messages tutti_active_messages;

/* Borrows the control; NULL: this rank is alone, and sends only to itself. NOMEM. */
tutti_status tutti_active_messages_open(tutti_control *control, tutti_active_messages **messages);
void tutti_active_messages_close(tutti_active_messages *messages); /* accepts NULL */

/* Copies the active message; the next pass sends it. NOMEM; also returns the failure of an earlier one. */
tutti_status tutti_active_messages_send(
    tutti_active_messages *messages, const tutti_active_message *message);
/* From now on every active message goes to on_message(ctx, message). NULL: active messages are kept again; when this
 * returns, the handler is not running and is not called any more. */
void tutti_active_messages_listen(
    tutti_active_messages *messages, tutti_active_message_handler *on_message, void *ctx);
/* In every pass: sends what is queued, and delivers what has arrived. The status of a receive that has failed, once. */
tutti_status tutti_active_messages_pass(tutti_active_messages *messages);
/* Whether passes are needed: active messages are queued, or this rank listens (0 for NULL). [A] */
int tutti_active_messages_busy(tutti_active_messages *messages);

#endif
