/* Active messages: a few numbers from one rank to another, outside of all collectives: nothing waits for an active
 * message, and an active message waits for nothing. Servers are asked by active messages (designs/kv).
 *
 * Active messages from one rank to another arrive in the order in which they were sent. A rank that listens
 * gets those that came before, too. Those that come to a rank that never listens are dropped when it
 * closes.
 *
 *   open -> { send, listen, pass }* -> close
 *
 * Threads: send and listen are [M]; pass belongs to the passing thread (designs/drive/driver.h), and
 * so do calls of `heard`. */
#ifndef TUTTI_ACTIVE_MESSAGES_H
#define TUTTI_ACTIVE_MESSAGES_H

#include "collectives/control.h"

enum { TUTTI_ACTIVE_MESSAGE_VALUES = 8 };

typedef struct tutti_active_message {
    int rank; /* whom it goes to, or comes from; maybe the rank itself */
    int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES];
} tutti_active_message;

typedef void tutti_active_message_handler(void *ctx, const tutti_active_message *message);

typedef struct tutti_active_messages tutti_active_messages;

/* Borrows the control; NULL: this rank is alone, and has only itself to write to. NOMEM. */
tutti_status tutti_active_messages_open(tutti_control *control, tutti_active_messages **messages);
void tutti_active_messages_close(tutti_active_messages *messages); /* accepts NULL */

/* Copies the active message, which the next pass sends. NOMEM; the failure of an earlier one, if any. */
tutti_status tutti_active_messages_send(
    tutti_active_messages *messages, const tutti_active_message *message);
/* From now on every active message goes to heard(ctx, message). NULL: active messages are kept again; when
 * this returns, `heard` is not running, and is not called any more. */
void tutti_active_messages_listen(
    tutti_active_messages *messages, tutti_active_message_handler *heard, void *ctx);
/* In every pass: sends what was written, and hands over what has come; for who listens, from all ranks. */
void tutti_active_messages_pass(tutti_active_messages *messages);
/* Whether passes are wanted: active messages are to be sent, or somebody listens (0 for NULL). [A] */
int tutti_active_messages_busy(tutti_active_messages *messages);

#endif
