#include "designs/thread/active_messages.h"

#include "dag/base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept {
    tutti_active_message message;
    struct kept *next;
} kept;

/* First in, first out. */
typedef struct line {
    kept *first, **end;
} line;

struct tutti_active_messages {
    tutti_control *control;
    int rank;
    pthread_mutex_t lock; /* protects what follows; only `on_message` takes other locks under it */
    line out, in;
    tutti_active_message_handler *on_message;
    void *ctx;
    tutti_status status;
};

static void open_line(line *l)
{
    l->first = NULL;
    l->end = &l->first;
}

static tutti_status append_message(line *l, const tutti_active_message *message)
{
    kept *k = malloc(sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an active message");
    *k = (kept){.message = *message};
    *l->end = k;
    l->end = &k->next;
    return TUTTI_OK;
}

/* Takes all messages of the line. */
static kept *take_all(line *l)
{
    kept *all = l->first;
    open_line(l);
    return all;
}

static void free_all(kept *all)
{
    for (kept *next; all; all = next) {
        next = all->next;
        free(all);
    }
}

/* Lock held. */
static void set_failure(tutti_active_messages *n, tutti_status status)
{
    if (!n->status) n->status = status;
}

static void receive_message(void *ctx, const tutti_control_message *wire)
{
    tutti_active_messages *n = ctx;
    tutti_active_message message = {.rank = wire->from};
    memcpy(message.value, wire->value, sizeof message.value);
    pthread_mutex_lock(&n->lock);
    set_failure(n, append_message(&n->in, &message));
    pthread_mutex_unlock(&n->lock);
}

tutti_status tutti_active_messages_open(tutti_control *control, tutti_active_messages **messages)
{
    tutti_active_messages *n = calloc(1, sizeof *n);
    if (!n) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for active messages between ranks");
    n->control = control;
    n->rank = control ? tutti_control_rank(control) : 0;
    open_line(&n->out);
    open_line(&n->in);
    pthread_mutex_init(&n->lock, NULL);
    if (control) tutti_control_handle(control, TUTTI_CONTROL_ACTIVE_MESSAGE, receive_message, n);
    *messages = n;
    return TUTTI_OK;
}

void tutti_active_messages_close(tutti_active_messages *messages)
{
    if (!messages) return;
    free_all(messages->out.first);
    free_all(messages->in.first);
    pthread_mutex_destroy(&messages->lock);
    free(messages);
}

tutti_status tutti_active_messages_send(
    tutti_active_messages *messages, const tutti_active_message *message)
{
    pthread_mutex_lock(&messages->lock);
    tutti_status status = messages->status;
    if (!status) status = append_message(&messages->out, message);
    pthread_mutex_unlock(&messages->lock);
    return status;
}

void tutti_active_messages_listen(
    tutti_active_messages *messages, tutti_active_message_handler *on_message, void *ctx)
{
    pthread_mutex_lock(&messages->lock);
    messages->on_message = on_message;
    messages->ctx = ctx;
    pthread_mutex_unlock(&messages->lock);
}

/* Lock held. */
static tutti_status send_message(tutti_active_messages *n, const tutti_active_message *message)
{
    tutti_control_message wire = {.kind = TUTTI_CONTROL_ACTIVE_MESSAGE};
    if (message->rank == n->rank) return append_message(&n->in, message);
    memcpy(wire.value, message->value, sizeof message->value);
    return tutti_control_send(n->control, message->rank, &wire);
}

static int is_listening(tutti_active_messages *n)
{
    pthread_mutex_lock(&n->lock);
    int listening = n->on_message != NULL;
    pthread_mutex_unlock(&n->lock);
    return listening;
}

/* A rank that listens also receives here, so that an active message does not wait for the driver's next pass. */
tutti_status tutti_active_messages_pass(tutti_active_messages *messages)
{
    int moved;
    tutti_status status = messages->control && is_listening(messages)
                              ? tutti_control_poll(messages->control, &moved)
                              : TUTTI_OK;
    pthread_mutex_lock(&messages->lock);
    set_failure(messages, status);
    kept *out = take_all(&messages->out);
    for (kept *k = out; k; k = k->next) set_failure(messages, send_message(messages, &k->message));
    kept *in = messages->on_message ? take_all(&messages->in) : NULL;
    for (kept *k = in; k; k = k->next) messages->on_message(messages->ctx, &k->message);
    if (!status) status = messages->status; /* of a message that could not be kept, or sent */
    pthread_mutex_unlock(&messages->lock);
    free_all(out);
    free_all(in);
    return status;
}

int tutti_active_messages_busy(tutti_active_messages *messages)
{
    if (!messages) return 0;
    pthread_mutex_lock(&messages->lock);
    int busy = messages->out.first || messages->on_message;
    pthread_mutex_unlock(&messages->lock);
    return busy;
}
