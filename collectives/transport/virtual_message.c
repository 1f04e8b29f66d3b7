/* Messages in virtual time: each waits for its other side, takes a moment of the sender's, travels, and takes a moment
 * of the receiver's. */
#include "collectives/transport/virtual_parts.h"

#include <string.h>
#include <sys/mman.h>

/* How far a message is, by its sending side. */
typedef enum phase {
    POSTED, /* it waits for its receive before it begins */
    SENDS,  /* the sender's moment, and the question if it asks */
    FLOWS,
    ARRIVED,  /* there is no receive yet */
    RECEIVES, /* the receiver's moment */
} phase;

/* Memory of messages, a large page. */
enum { SLAB_BYTES = 2 << 20, SLAB_MESSAGES = SLAB_BYTES / sizeof(tutti_message) };
typedef tutti_virtual_slab slab;
struct tutti_virtual_slab {
    slab *next;
    tutti_message *message; /* [SLAB_MESSAGES] */
};

static tutti_status add_slab(tutti_virtual_world *w)
{
    slab *added = malloc(sizeof *added);
    tutti_message *message = aligned_alloc(SLAB_BYTES, SLAB_BYTES);
    if (!added || !message) {
        free(added);
        free(message);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for messages");
    }
    (void)madvise(message, SLAB_BYTES, MADV_HUGEPAGE); /* else most of their misses cost two */
    *added = (slab){w->slab, message};
    w->slab = added;
    for (int i = SLAB_MESSAGES - 1; i >= 0; i--) {
        message[i] = (tutti_message){.next = w->spare};
        w->spare = &message[i];
    }
    return TUTTI_OK;
}

static tutti_message *new_message(tutti_virtual_world *w, const tutti_message *like)
{
    void *copy = NULL;
    const int copies = like->sends && like->bytes && !tutti_virtual_is_payload(w, like->data);
    if (!w->spare && add_slab(w)) return NULL;
    if (copies && !(copy = malloc(like->bytes))) return NULL;
    if (copies) memcpy(copy, like->data, like->bytes);
    tutti_message *m = w->spare;
    w->spare = m->next;
    *m = *like;
    m->used = 1;
    m->copied = (unsigned char)copies;
    if (copies) m->data = copy;
    m->number = w->posted++;
    return m;
}

static void free_message(tutti_virtual_world *w, tutti_message *m)
{
    if (m->copied) free(m->data);
    m->used = m->copied = 0;
    m->next = w->spare;
    w->spare = m;
}

static void raise_news(const tutti_message *m)
{
    if (!m->news) return;
    *m->news = 1;
    m->watcher->raise(m->watcher->ctx);
}

static void set_ended(tutti_message *m)
{
    m->ended = 1;
    raise_news(m);
}

/* For the poster. */
static void end_message(tutti_virtual_world *w, tutti_message *m, tutti_status status)
{
    m->status = status;
    set_ended(m);
    tutti_virtual_concern(
        w, m->sends ? m->from : m->to, m->news ? TUTTI_VIRTUAL_FLIGHTS : TUTTI_VIRTUAL_MORE);
}

/* For the world. */
static void drop_message(tutti_virtual_world *w, tutti_message *m)
{
    m->busy = 0;
    m->partner = NULL;
    if (m->gone) free_message(w, m);
}

static int asks(const tutti_virtual_world *w, const tutti_message *send)
{
    const double eager = tutti_topology_kind_of(w->topology, send->from)->eager;
    return eager > 0 && (double)send->bytes > eager;
}

/* The sender's moment begins. */
static tutti_status begin_message(tutti_virtual_world *w, tutti_message *send)
{
    double latency_s = 0;
    tutti_status status =
        asks(w, send) ? tutti_flows_latency(w->flows, send->from, send->to, &latency_s) : TUTTI_OK;
    if (status) return status;
    send->phase = SENDS;
    const double moment_s = tutti_topology_kind_of(w->topology, send->from)->send_s;
    return tutti_virtual_add_event(w,
        tutti_virtual_use_time(w, send->from, moment_s) + 2 * latency_s,
        (tutti_virtual_subject){.message = send});
}

static tutti_status begin_flow(tutti_virtual_world *w, tutti_message *send)
{
    int flow;
    tutti_status status =
        tutti_flows_start(w->flows, w->now_s, send->from, send->to, (double)send->bytes, &flow);
    if (status) return status;
    if (flow >= w->flow_room) {
        int room = 2 * flow + 64;
        tutti_message **larger = realloc(w->of_flow, (size_t)room * sizeof *larger);
        if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d messages", room);
        w->of_flow = larger;
        w->flow_room = room;
    }
    w->of_flow[flow] = send;
    send->phase = FLOWS;
    w->account.messages++;
    w->account.sent_bytes += (double)send->bytes;
    return TUTTI_OK;
}

/* The receiver's moment begins. */
static tutti_status begin_reception(tutti_virtual_world *w, tutti_message *send)
{
    send->phase = RECEIVES;
    const double moment_s = tutti_topology_kind_of(w->topology, send->to)->recv_s;
    return tutti_virtual_add_event(
        w, tutti_virtual_use_time(w, send->to, moment_s), (tutti_virtual_subject){.message = send});
}

tutti_status tutti_virtual_end_flow(tutti_virtual_world *w, tutti_message *send)
{
    if (!send->ended) end_message(w, send, TUTTI_OK);
    if (send->partner) return begin_reception(w, send);
    send->phase = ARRIVED;
    return TUTTI_OK;
}

static void end_reception(tutti_virtual_world *w, tutti_message *send)
{
    tutti_message *recv = send->partner;
    if (send->copied && !recv->gone) memcpy(recv->data, send->data, send->bytes);
    end_message(w, recv, TUTTI_OK);
    drop_message(w, recv);
    drop_message(w, send);
}

tutti_status tutti_virtual_advance(tutti_virtual_world *w, tutti_message *send)
{
    if (send->phase == SENDS) return begin_flow(w, send);
    end_reception(w, send);
    return TUTTI_OK;
}

/* Both sides have been posted. */
static tutti_status match_messages(tutti_virtual_world *w, tutti_message *send, tutti_message *recv)
{
    tutti_status status = TUTTI_OK;
    send->partner = recv;
    recv->partner = send;
    if (send->bytes != recv->bytes)
        status = tutti_fail(TUTTI_ERR_MISMATCH,
            "lane %d, tag %d: rank %d sent %zu bytes where rank %d expected %zu: the ranks' "
            "collectives differ in order or size",
            send->lane, send->tag, send->from, send->bytes, send->to, recv->bytes);
    else if (send->bytes && tutti_virtual_is_payload(w, recv->data) == send->copied)
        status = tutti_fail(TUTTI_ERR_INTERNAL,
            "lane %d, tag %d: rank %d sends %s to rank %d, which expects the other: what steers a "
            "run depends on payload",
            send->lane, send->tag, send->from, send->copied ? "data" : "payload", send->to);
    if (!status) {
        if (send->phase == POSTED) return begin_message(w, send);
        return send->phase == ARRIVED ? begin_reception(w, send) : TUTTI_OK;
    }
    recv->status = send->status = status;
    set_ended(recv);
    set_ended(send);
    drop_message(w, recv);
    if (send->phase == POSTED || send->phase == ARRIVED) drop_message(w, send);
    send->partner = NULL;
    status = tutti_virtual_add_event(w, w->now_s, (tutti_virtual_subject){.rank = send->from});
    return status ? status
                  : tutti_virtual_add_event(w, w->now_s, (tutti_virtual_subject){.rank = send->to});
}

static tutti_status post_message(
    tutti_virtual_world *w, const tutti_message *like, tutti_message **posted)
{
    tutti_virtual_waiting *others = tutti_virtual_waiting_for(&w->table, like);
    tutti_message *m = others ? new_message(w, like) : NULL;
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message of %zu bytes", like->bytes);
    m->busy = 1;
    *posted = m;
    tutti_status status = m->sends && !asks(w, m) ? begin_message(w, m) : TUTTI_OK;
    if (status) return status;
    tutti_message *other = others->first;
    if (!other || other->sends == m->sends) {
        tutti_virtual_append(others, m);
        return TUTTI_OK;
    }
    tutti_virtual_remove(others, other);
    return m->sends ? match_messages(w, m, other) : match_messages(w, other, m);
}

static tutti_status virtual_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    const tutti_message like = {.sends = 1,
        .from = t->rank,
        .to = peer,
        .lane = lane,
        .tag = tag,
        .data = (void *)data,
        .bytes = bytes};
    return post_message(((tutti_virtual_transport *)t)->world, &like, message);
}

static tutti_status virtual_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    const tutti_message like = {
        .from = peer, .to = t->rank, .lane = lane, .tag = tag, .data = data, .bytes = bytes};
    return post_message(((tutti_virtual_transport *)t)->world, &like, message);
}

static void leave_message(tutti_virtual_world *w, tutti_message *m)
{
    m->gone = 1;
    m->news = NULL;
    if (!m->busy) free_message(w, m);
}

/* Takes a message that waits for its other side out of the world, unless it travels: then it arrives. */
static void withdraw(tutti_virtual_world *w, tutti_message *m)
{
    if (!m->waits || (m->sends && m->phase != POSTED)) return;
    tutti_virtual_remove(tutti_virtual_waiting_for(&w->table, m), m); /* its key is there */
    drop_message(w, m);
}

static tutti_status virtual_test(tutti_transport *t, tutti_message *message, int *done)
{
    tutti_virtual_world *w = ((tutti_virtual_transport *)t)->world;
    if (w->broken && !message->ended) {
        if (!message->partner) withdraw(w, message);
        message->status = TUTTI_ERR_COMM;
        message->ended = 1;
    }
    *done = message->ended;
    if (!*done) return TUTTI_OK;
    const tutti_status status = message->status;
    leave_message(w, message);
    return status;
}

static int virtual_watch(
    tutti_transport *t, tutti_message *message, int *news, const tutti_watcher *watcher)
{
    message->news = news;
    message->watcher = watcher;
    if (message->ended || ((tutti_virtual_transport *)t)->world->broken) raise_news(message);
    return 1;
}

static void virtual_cancel(tutti_transport *t, tutti_message *message)
{
    if (message->partner || message->ended) return;
    set_ended(message);
    withdraw(((tutti_virtual_transport *)t)->world, message);
}

static void virtual_abandon(tutti_transport *t, tutti_message *message)
{
    tutti_virtual_world *w = ((tutti_virtual_transport *)t)->world;
    if (!message->partner) withdraw(w, message);
    leave_message(w, message);
}

static tutti_status virtual_grow(
    tutti_transport *t, int lanes, const tutti_members *members, int *done)
{
    (void)members;
    t->lanes += lanes;
    *done = 1;
    return TUTTI_OK;
}

static void virtual_close(tutti_transport *t)
{
    tutti_transport_close_device(t);
    free(t->host);
    free(t);
}

const tutti_transport_ops tutti_virtual_ops = {
    .name = "virtual",
    .isend = virtual_isend,
    .irecv = virtual_irecv,
    .test = virtual_test,
    .watch = virtual_watch,
    .cancel = virtual_cancel,
    .abandon = virtual_abandon,
    .grow = virtual_grow,
    .close = virtual_close,
};

/* ---- all messages ---- */

void tutti_virtual_raise_all(const tutti_virtual_world *w)
{
    for (const slab *s = w->slab; s; s = s->next)
        for (int i = 0; i < SLAB_MESSAGES; i++)
            if (s->message[i].used) raise_news(&s->message[i]);
}

void tutti_virtual_free_messages(tutti_virtual_world *w)
{
    for (slab *s = w->slab, *next; s; s = next) {
        next = s->next;
        for (int i = 0; i < SLAB_MESSAGES; i++)
            if (s->message[i].copied) free(s->message[i].data);
        free(s->message);
        free(s);
    }
}
