#include "tests/support/loop.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/device_slots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A posted send or recv. It stays in the mailbox of the receiving rank until it is matched. */
struct tutti_message {
    tutti_message *next;
    struct mailbox *box;
    int is_send, from, lane, tag; /* from TUTTI_ANY_RANK: of a recv */
    double due_s;                 /* sends: earliest time of delivery */
    void *data;
    size_t bytes;
    int eager; /* a send that owns its data and has no poster any more: freed once received */
    atomic_int ended;
    tutti_status status;            /* valid once ended */
    tutti_device_slot *device_slot; /* not NULL: a device slot, not a message */
};

/* Oldest first. */
typedef struct queue {
    tutti_message *first, **end; /* end: where to append */
} queue;

/* The messages posted to one rank. */
typedef struct mailbox {
    pthread_mutex_t lock; /* protects both lists; no other lock is taken under it */
    queue sends, recvs;
    uint64_t arrivals;
} mailbox;

struct tutti_loop_world {
    int size;
    tutti_loop_options options;
    mailbox *box;
    tutti_device_slots *device_slots; /* NULL: there are none */
};

typedef struct loop {
    tutti_transport base;
    tutti_loop_world *world;
} loop;

static int same_key(const tutti_message *a, const tutti_message *b)
{
    const int any = a->from == TUTTI_ANY_RANK || b->from == TUTTI_ANY_RANK;
    return (any || a->from == b->from) && a->lane == b->lane && a->tag == b->tag;
}

static void append_message(queue *l, tutti_message *m)
{
    *l->end = m;
    l->end = &m->next;
}

/* Removes the message that `at` points to from the queue. */
static tutti_message *take_out(queue *l, tutti_message **at)
{
    tutti_message *m = *at;
    *at = m->next;
    if (!m->next) l->end = at;
    return m;
}

/* Where the oldest message with this key is in the queue, or its end. */
static tutti_message **find_message(queue *l, const tutti_message *key)
{
    tutti_message **at = &l->first;
    while (*at && !same_key(*at, key)) at = &(*at)->next;
    return at;
}

static void free_message(tutti_message *m)
{
    if (m->eager) free(m->data);
    free(m);
}

/* Afterwards the poster may free the message at any moment. */
static void end_message(tutti_message *m, tutti_status status)
{
    if (m->eager) {
        free_message(m);
        return;
    }
    m->status = status;
    atomic_store_explicit(&m->ended, 1, memory_order_release);
}

static void match_messages(tutti_message *send, tutti_message *recv)
{
    tutti_status status = TUTTI_OK;
    if (send->bytes != recv->bytes)
        status = tutti_fail(TUTTI_ERR_MISMATCH,
            "lane %d, tag %d: rank %d sent %zu bytes where %zu were expected: the ranks' "
            "collectives differ in order or size",
            send->lane, send->tag, send->from, send->bytes, recv->bytes);
    else if (send->bytes)
        memcpy(recv->data, send->data, send->bytes);
    end_message(send, status);
    end_message(recv, status);
}

/* Matches every send that is due with its recv. Lock held. */
static void deliver_due(mailbox *box, double now_s)
{
    for (tutti_message **s = &box->sends.first; *s;) {
        tutti_message **r = (*s)->due_s > now_s ? NULL : find_message(&box->recvs, *s);
        if (!r || !*r)
            s = &(*s)->next;
        else
            match_messages(take_out(&box->sends, s), take_out(&box->recvs, r));
    }
}

/* Without delays only a new message can have a match: older ones with a partner are gone. Lock held. */
static void match_new(mailbox *box, tutti_message *m)
{
    queue *others = m->is_send ? &box->recvs : &box->sends;
    tutti_message **at = find_message(others, m), *other = *at ? take_out(others, at) : NULL;
    if (!other)
        append_message(m->is_send ? &box->sends : &box->recvs, m);
    else if (m->is_send)
        match_messages(m, other);
    else
        match_messages(other, m);
}

/* A new send's delivery time: random, but not before an older one with the same key. Lock held. */
static double due(const tutti_loop_world *w, mailbox *box, const tutti_message *send, double now_s)
{
    uint64_t stream = (uint64_t)(box - w->box);
    double late_s =
        w->options.delay_s * tutti_rng_uniform(w->options.seed, stream, box->arrivals++);
    double due_s = now_s + late_s;
    for (const tutti_message *m = box->sends.first; m; m = m->next)
        if (same_key(m, send) && m->due_s > due_s) due_s = m->due_s;
    return due_s;
}

/* Copies the message; an eager send also copies its data. */
static tutti_message *new_message(const tutti_message *like, const tutti_loop_options *options)
{
    tutti_message *m = malloc(sizeof *m);
    if (!m) return NULL;
    *m = *like;
    m->eager = m->is_send && m->bytes <= options->eager_bytes;
    if (!m->eager) return m;
    m->data = malloc(m->bytes + 1);
    if (!m->data) {
        free(m);
        return NULL;
    }
    if (m->bytes) memcpy(m->data, like->data, m->bytes);
    return m;
}

static tutti_status post_message(loop *l, int to, const tutti_message *like, tutti_message **posted)
{
    tutti_message *m = new_message(like, &l->world->options);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message of %zu bytes", like->bytes);
    mailbox *box = m->box = &l->world->box[to];
    double now_s = tutti_clock_s();
    *posted = m->eager ? NULL : m;
    pthread_mutex_lock(&box->lock);
    if (l->world->options.delay_s <= 0) {
        match_new(box, m);
    } else {
        if (m->is_send) m->due_s = due(l->world, box, m, now_s);
        append_message(m->is_send ? &box->sends : &box->recvs, m);
        deliver_due(box, now_s);
    }
    pthread_mutex_unlock(&box->lock);
    return TUTTI_OK;
}

static tutti_status loop_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    const tutti_message like = {.is_send = 1,
        .from = t->rank,
        .lane = lane,
        .tag = tag,
        .data = (void *)data,
        .bytes = bytes};
    return post_message((loop *)t, peer, &like, message);
}

static tutti_status loop_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    const tutti_message like = {
        .from = peer, .lane = lane, .tag = tag, .data = data, .bytes = bytes};
    return post_message((loop *)t, t->rank, &like, message);
}

static tutti_status loop_take_slot(
    tutti_transport *t, int lane, int tag, const tutti_members *members, tutti_message **message)
{
    const loop *l = (const loop *)t;
    *message = NULL;
    if (!l->world->device_slots) return TUTTI_OK;
    tutti_message *m = calloc(1, sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a device slot");
    tutti_status status = tutti_device_slots_take(
        l->world->device_slots, t->rank, lane, tag, members, &m->device_slot);
    if (status)
        free(m);
    else
        *message = m;
    return status;
}

static void release_slot(const loop *l, tutti_message *message)
{
    tutti_device_slots_release(l->world->device_slots, message->device_slot);
    free(message);
}

static tutti_status loop_test(tutti_transport *t, tutti_message *message, int *done)
{
    const loop *l = (const loop *)t;
    if (message->device_slot) {
        *done = atomic_load(&message->ended) ||
                tutti_device_slots_complete(l->world->device_slots, message->device_slot);
        if (*done) release_slot(l, message);
        return TUTTI_OK;
    }
    if (l->world->options.delay_s > 0 && !atomic_load(&message->ended)) {
        pthread_mutex_lock(&message->box->lock);
        deliver_due(message->box, tutti_clock_s());
        pthread_mutex_unlock(&message->box->lock);
    }
    *done = atomic_load_explicit(&message->ended, memory_order_acquire);
    if (!*done) return TUTTI_OK;
    tutti_status status = message->status;
    free_message(message);
    return status;
}

static void remove_message(queue *l, const tutti_message *m)
{
    tutti_message **at = &l->first;
    while (*at && *at != m) at = &(*at)->next;
    if (*at) take_out(l, at);
}

static void loop_abandon(tutti_transport *t, tutti_message *message)
{
    mailbox *box = message->box;
    if (message->device_slot) {
        release_slot((loop *)t, message);
        return;
    }
    pthread_mutex_lock(&box->lock);
    remove_message(message->is_send ? &box->sends : &box->recvs, message);
    pthread_mutex_unlock(&box->lock);
    free_message(message);
}

/* Cancels sends, too: no rank reads their data once they are out of the mailbox. */
static void loop_cancel(tutti_transport *t, tutti_message *message)
{
    (void)t;
    mailbox *box = message->box;
    if (message->device_slot) {
        atomic_store(&message->ended, 1);
        return;
    }
    pthread_mutex_lock(&box->lock);
    remove_message(message->is_send ? &box->sends : &box->recvs, message);
    if (!atomic_load(&message->ended)) end_message(message, TUTTI_OK);
    pthread_mutex_unlock(&box->lock);
}

/* A lane is a number in each message. */
static tutti_status loop_grow(
    tutti_transport *t, int lanes, const tutti_members *members, int *done)
{
    (void)members;
    t->lanes += lanes;
    *done = 1;
    return TUTTI_OK;
}

static void loop_close(tutti_transport *t)
{
    tutti_transport_close_device(t);
    free(t->host);
    free(t);
}

static const tutti_transport_ops loop_ops = {
    .name = "loop",
    .isend = loop_isend,
    .irecv = loop_irecv,
    .take_slot = loop_take_slot,
    .test = loop_test,
    .cancel = loop_cancel,
    .abandon = loop_abandon,
    .collective = NULL,
    .grow = loop_grow,
    .close = loop_close,
};

tutti_status tutti_transport_loop(
    tutti_loop_world *world, int rank, int lanes, tutti_transport **transport)
{
    if (rank < 0 || rank >= world->size || lanes < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "no rank %d with %d lanes in a world of %d ranks", rank,
            lanes, world->size);
    int hosts = world->options.hosts;
    loop *l = malloc(sizeof *l);
    int *host = hosts ? malloc((size_t)world->size * sizeof *host) : NULL;
    if (!l || (hosts && !host)) {
        free(l);
        free(host);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a transport");
    }
    for (int r = 0; hosts && r < world->size; r++) host[r] = r % hosts;
    *l = (loop){.base = {.ops = &loop_ops,
                    .rank = rank,
                    .size = world->size,
                    .lanes = lanes,
                    .host = host,
                    .shares_slots = world->device_slots != NULL,
                    .edges_aside = world->options.edges_aside,
                    .tags = (int64_t)1 << 30},
        .world = world};
    *transport = &l->base;
    return TUTTI_OK;
}

tutti_status tutti_loop_world_new(
    int size, const tutti_loop_options *options, tutti_loop_world **world)
{
    if (size < 1) return tutti_fail(TUTTI_ERR_INVAL, "a world of %d ranks", size);
    tutti_loop_world *w = calloc(1, sizeof *w);
    mailbox *box = calloc((size_t)size, sizeof *box);
    if (!w || !box) {
        free(w);
        free(box);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a world of %d ranks", size);
    }
    w->size = size;
    w->options = options ? *options : (tutti_loop_options){.eager_bytes = 4096};
    w->box = box;
    tutti_status status = w->options.device_slots ? tutti_device_slots_new(size,
                                                        w->options.device_slots, &w->device_slots)
                                                  : TUTTI_OK;
    if (status) {
        free(w);
        free(box);
        return status;
    }
    for (int r = 0; r < size; r++) {
        pthread_mutex_init(&box[r].lock, NULL);
        box[r].sends.end = &box[r].sends.first;
        box[r].recvs.end = &box[r].recvs.first;
    }
    *world = w;
    return TUTTI_OK;
}

static void free_messages(const queue *l)
{
    for (tutti_message *m = l->first, *next; m; m = next) {
        next = m->next;
        free_message(m);
    }
}

void tutti_loop_world_free(tutti_loop_world *world)
{
    if (!world) return;
    for (int r = 0; r < world->size; r++) {
        free_messages(&world->box[r].sends);
        free_messages(&world->box[r].recvs);
        pthread_mutex_destroy(&world->box[r].lock);
    }
    tutti_device_slots_free(world->device_slots);
    free(world->box);
    free(world);
}
