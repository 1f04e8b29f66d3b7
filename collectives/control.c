#include "collectives/control.h"

#include "dag/base/log.h"

#include <stdlib.h>

enum { TAG = 0, MOST_RECEIVES = 4, MOST_AT_ONCE = 64 /* messages in one poll */ };

/* A receive from any rank. */
typedef struct incoming {
    tutti_message *receiving; /* NULL: the message has arrived */
    tutti_control_message message;
} incoming;

/* A message being sent, or one to reuse. */
typedef struct outgoing {
    struct outgoing *next;
    tutti_message *sending;
    tutti_control_message message;
} outgoing;

struct tutti_control {
    tutti_control *whole;  /* of a part; else NULL */
    tutti_control *next;   /* of a part: in its list */
    tutti_control *parts[TUTTI_KEY_LISTS]; /* of the whole, by key */
    tutti_members members; /* of a part */
    void (*unknown)(void *ctx, int64_t key);
    void *unknown_ctx;
    tutti_transport *transport;
    int lane, rank, size;
    incoming in[MOST_RECEIVES]; /* a ring: messages arrive in the order of posting */
    int posted, oldest;
    int receive_failed; /* a receive has failed */
    outgoing *sent;     /* under way, newest first */
    outgoing *idle;
    int sending;
    int finishes; /* other ranks that have sent their last message */
    int finished; /* and this rank has */
    struct {
        tutti_control_handler call;
        void *ctx;
    } handler[TUTTI_CONTROL_KINDS];
};

static tutti_status post_receive(tutti_control *c, incoming *in)
{
    return c->transport->ops->irecv(c->transport, c->lane, TUTTI_ANY_RANK, TAG, &in->message,
        sizeof in->message, &in->receiving);
}

tutti_status tutti_control_open(tutti_transport *transport, int lane, tutti_control **control)
{
    tutti_control *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for control messages");
    c->transport = transport;
    c->lane = lane;
    c->rank = transport->rank;
    c->size = transport->size;
    tutti_status status = TUTTI_OK;
    while (c->posted < MOST_RECEIVES && c->posted < c->size - 1 && !status)
        status = post_receive(c, &c->in[c->posted++]);
    if (status) {
        tutti_control_stop(c);
        tutti_control_free(c);
        return status;
    }
    *control = c;
    return TUTTI_OK;
}

tutti_status tutti_control_part(
    tutti_control *whole, const tutti_members *members, tutti_control **part)
{
    tutti_control *c = calloc(1, sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a group's control messages");
    tutti_status status = tutti_members_set(
        members->key, members->size, members->of, members->of[members->rank], &c->members);
    if (status) {
        free(c);
        return status;
    }
    c->whole = whole;
    c->rank = members->rank;
    c->size = members->size;
    tutti_control **list = &whole->parts[tutti_key_list(members->key)];
    c->next = *list;
    *list = c;
    *part = c;
    return TUTTI_OK;
}

void tutti_control_unknown(tutti_control *whole, void (*unknown)(void *ctx, int64_t key), void *ctx)
{
    whole->unknown = unknown;
    whole->unknown_ctx = ctx;
}

int tutti_control_whole_rank(const tutti_control *control, int rank)
{
    return control->whole ? control->members.of[rank] : rank;
}

static tutti_control *find_part(const tutti_control *whole, int64_t key)
{
    tutti_control *c = whole->parts[tutti_key_list(key)];
    while (c && c->members.key != key) c = c->next;
    return c;
}

static void remove_part(const tutti_control *part)
{
    tutti_control **at = &part->whole->parts[tutti_key_list(part->members.key)];
    while (*at && *at != part) at = &(*at)->next;
    if (*at) *at = part->next;
}

void tutti_control_stop(tutti_control *control)
{
    if (!control) return;
    if (control->whole) {
        remove_part(control);
        return;
    }
    tutti_transport *t = control->transport;
    for (int i = 0; i < control->posted; i++)
        if (control->in[i].receiving) t->ops->abandon(t, control->in[i].receiving);
    control->posted = 0;
    for (outgoing *o = control->sent; o; o = o->next) t->ops->abandon(t, o->sending);
    control->transport = NULL;
}

static void free_list(outgoing *list)
{
    for (outgoing *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

void tutti_control_free(tutti_control *control)
{
    if (!control) return;
    tutti_members_free(&control->members);
    free_list(control->sent);
    free_list(control->idle);
    free(control);
}

int tutti_control_rank(const tutti_control *control)
{
    return control->rank;
}

int tutti_control_size(const tutti_control *control)
{
    return control->size;
}

void tutti_control_handle(
    tutti_control *control, tutti_control_kind kind, tutti_control_handler handler, void *ctx)
{
    control->handler[kind].call = handler;
    control->handler[kind].ctx = ctx;
}

/* ---- sending ---- */

static void recycle_send(tutti_control *c, outgoing *o)
{
    o->next = c->idle;
    c->idle = o;
}

static tutti_status send_to(
    tutti_control *control, int64_t key, int to, const tutti_control_message *message)
{
    if (control->finished) return TUTTI_OK;
    outgoing *o = control->idle;
    if (o)
        control->idle = o->next;
    else
        o = malloc(sizeof *o);
    if (!o) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a control message");
    o->message = *message;
    o->message.from = control->rank;
    o->message.key = key;
    o->sending = NULL;
    tutti_transport *t = control->transport;
    tutti_status status =
        t->ops->isend(t, control->lane, to, TAG, &o->message, sizeof o->message, &o->sending);
    if (status || !o->sending) {
        recycle_send(control, o);
        return status;
    }
    o->next = control->sent;
    control->sent = o;
    control->sending++;
    return TUTTI_OK;
}

tutti_status tutti_control_send(
    tutti_control *control, int to, const tutti_control_message *message)
{
    tutti_control *whole = control->whole ? control->whole : control;
    return send_to(whole, control->members.key, tutti_control_whole_rank(control, to), message);
}

tutti_status tutti_control_broadcast(tutti_control *control, const tutti_control_message *message)
{
    tutti_status first = TUTTI_OK;
    for (int r = 0; r < control->size; r++) {
        if (r == control->rank) continue;
        tutti_status status = tutti_control_send(control, r, message);
        if (!first) first = status;
    }
    return first;
}

int tutti_control_sending(const tutti_control *control)
{
    return control->whole ? control->whole->sending : control->sending;
}

tutti_status tutti_control_finish(tutti_control *control)
{
    const tutti_control_message last = {.kind = TUTTI_CONTROL_LAST};
    if (control->finished) return TUTTI_OK;
    tutti_status status = tutti_control_broadcast(control, &last);
    control->finished = 1;
    return status;
}

void tutti_control_finish_silently(tutti_control *control)
{
    control->finished = 1;
}

int tutti_control_finished(const tutti_control *control)
{
    return control->finishes == control->size - 1 && !control->sending;
}

/* A send that has failed may still be under way. */
static tutti_status end_sends(tutti_control *c)
{
    tutti_transport *t = c->transport;
    tutti_status first = TUTTI_OK;
    for (outgoing **at = &c->sent; *at;) {
        outgoing *o = *at;
        int done = 0;
        tutti_status status = t->ops->test(t, o->sending, &done);
        if (!first) first = status;
        if (!done) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        c->sending--;
        recycle_send(c, o);
    }
    return first;
}

/* ---- receiving ---- */

static void call_handler(const tutti_control *c, const tutti_control_message *message)
{
    tutti_control_handler call = c->handler[message->kind].call;
    if (call) call(c->handler[message->kind].ctx, message);
}

static void deliver_to_part(tutti_control *c, const tutti_control_message *message)
{
    const tutti_control *part = find_part(c, message->key);
    tutti_control_message own = *message;
    if (!part && c->unknown) {
        c->unknown(c->unknown_ctx, message->key);
        part = find_part(c, message->key);
    }
    for (own.from = 0; part && own.from < part->size; own.from++)
        if (part->members.of[own.from] == message->from) break;
    if (part && own.from < part->size) call_handler(part, &own);
}

static void deliver_message(tutti_control *c, const tutti_control_message *message)
{
    if ((uint32_t)message->kind >= TUTTI_CONTROL_KINDS) return;
    if (message->key) {
        deliver_to_part(c, message);
        return;
    }
    c->finishes += message->kind == TUTTI_CONTROL_LAST;
    call_handler(c, message);
}

/* Returns the oldest message, if it has arrived, and posts its receive again. One that has failed and has not ended is
 * abandoned by tutti_control_stop. */
static tutti_status receive_oldest(tutti_control *c, tutti_control_message *message, int *arrived)
{
    incoming *in = &c->in[c->oldest];
    tutti_transport *t = c->transport;
    tutti_status status = in->receiving ? t->ops->test(t, in->receiving, arrived) : TUTTI_OK;
    if (!in->receiving) *arrived = 1;
    if (!*arrived) {
        c->receive_failed = status != TUTTI_OK;
        return status;
    }
    in->receiving = NULL;
    *message = in->message;
    if (!status) status = post_receive(c, in);
    c->oldest = (c->oldest + 1) % c->posted;
    c->receive_failed = status != TUTTI_OK;
    return status;
}

tutti_status tutti_control_poll(tutti_control *control, int *moved)
{
    tutti_status status = control->sent ? end_sends(control) : TUTTI_OK;
    if (!control->posted) return status;
    for (int i = 0; i < MOST_AT_ONCE && !status && !control->receive_failed; i++) {
        tutti_control_message message;
        int arrived = 0;
        status = receive_oldest(control, &message, &arrived);
        if (status || !arrived) break;
        *moved = 1;
        deliver_message(control, &message);
    }
    return status;
}
