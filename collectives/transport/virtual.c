#include "collectives/transport/virtual.h"

#include "collectives/links/events.h"
#include "collectives/links/flows.h"
#include "collectives/transport/virtual_waiting.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Address space for payload: nothing of it is ever there. */
static const size_t PAYLOAD_BYTES = (size_t)1 << 40;

/* How far a message is, by its sending side. */
typedef enum phase {
    POSTED, /* it waits for its receive before it begins */
    SENDS,  /* the sender's moment, and the question if it asks */
    FLOWS,
    ARRIVED,  /* there is no receive yet */
    RECEIVES, /* the receiver's moment */
} phase;

/* Memory of messages. */
enum { SLAB_MESSAGES = 1024 };
typedef struct slab {
    struct slab *next;
    tutti_message *message; /* [SLAB_MESSAGES] */
} slab;

struct tutti_local_step {
    int ended;
    int gone; /* it was taken for ended before its time */
};

/* What an event is about: one of these. */
typedef struct subject {
    tutti_message *message;
    tutti_local_step *step;
    int rank; /* who is woken */
    int next; /* of the list of unused ones */
} subject;

/* A rank's own. */
typedef struct place {
    double free_s; /* when its own time is free again */
    int concerned;
} place;

struct tutti_virtual_world {
    const tutti_topology *topology;
    int ranks;
    double now_s;
    tutti_flows *flows;
    tutti_events events; /* what: a subject */
    subject *subject;
    int subjects, subject_room, unused;
    tutti_message **of_flow;
    int flow_room;
    tutti_virtual_table table;
    slab *slab;
    tutti_message *spare;    /* messages that are free */
    place *place;            /* [ranks] */
    int *concerned, concerns;
    char *payload;
    int broken;
    tutti_virtual_account account;
};

typedef struct virtual
{
    tutti_transport base;
    tutti_virtual_world *world;
}
virtual;

typedef struct arithmetic {
    tutti_arithmetic base;
    tutti_virtual_world *world;
    int rank;
} arithmetic;

/* ---- who is concerned, and when ---- */

static void concern(tutti_virtual_world *w, int rank)
{
    if (w->place[rank].concerned) return;
    w->place[rank].concerned = 1;
    w->concerned[w->concerns++] = rank;
}

static tutti_status add_event(tutti_virtual_world *w, double at_s, subject s)
{
    int number = w->unused;
    if (number >= 0) {
        w->unused = w->subject[number].next;
    } else {
        if (w->subjects == w->subject_room) {
            int room = w->subject_room ? 2 * w->subject_room : 256;
            subject *larger = realloc(w->subject, (size_t)room * sizeof *larger);
            if (!larger) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d events", room);
            w->subject = larger;
            w->subject_room = room;
        }
        number = w->subjects++;
    }
    w->subject[number] = s;
    return tutti_events_add(&w->events, at_s, number);
}

/* Uses a rank's own time from now on, or from when it is free. Returns when that ends. */
static double use_time(tutti_virtual_world *w, int rank, double for_s)
{
    if (!(for_s > 0)) return w->now_s;
    if (w->place[rank].free_s < w->now_s) w->place[rank].free_s = w->now_s;
    return w->place[rank].free_s += for_s;
}

static int is_payload(const tutti_virtual_world *w, const void *address)
{
    const char *a = address;
    return a >= w->payload && a < w->payload + PAYLOAD_BYTES;
}

/* ---- messages ---- */

static tutti_status add_slab(tutti_virtual_world *w)
{
    slab *added = malloc(sizeof *added);
    tutti_message *message = aligned_alloc(TUTTI_VIRTUAL_LINE, SLAB_MESSAGES * sizeof *message);
    if (!added || !message) {
        free(added);
        free(message);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for messages");
    }
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
    const int copies = like->sends && like->bytes && !is_payload(w, like->data);
    if (!w->spare && add_slab(w)) return NULL;
    if (copies && !(copy = malloc(like->bytes))) return NULL;
    if (copies) memcpy(copy, like->data, like->bytes);
    tutti_message *m = w->spare;
    w->spare = m->next;
    *m = *like;
    m->used = 1;
    m->copied = (unsigned char)copies;
    if (copies) m->data = copy;
    m->number = (uint64_t)w->account.messages++;
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
    concern(w, m->sends ? m->from : m->to);
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
    return add_event(
        w, use_time(w, send->from, moment_s) + 2 * latency_s, (subject){.message = send});
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
    w->account.sent_bytes += (double)send->bytes;
    return TUTTI_OK;
}

/* The receiver's moment begins. */
static tutti_status begin_reception(tutti_virtual_world *w, tutti_message *send)
{
    send->phase = RECEIVES;
    const double moment_s = tutti_topology_kind_of(w->topology, send->to)->recv_s;
    return add_event(w, use_time(w, send->to, moment_s), (subject){.message = send});
}

static tutti_status end_flow(tutti_virtual_world *w, tutti_message *send)
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
    else if (send->bytes && is_payload(w, recv->data) == send->copied)
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
    status = tutti_virtual_wake_at(w, w->now_s, send->from);
    return status ? status : tutti_virtual_wake_at(w, w->now_s, send->to);
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
    return post_message(((virtual *)t)->world, &like, message);
}

static tutti_status virtual_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    const tutti_message like = {
        .from = peer, .to = t->rank, .lane = lane, .tag = tag, .data = data, .bytes = bytes};
    return post_message(((virtual *)t)->world, &like, message);
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
    tutti_virtual_world *w = ((virtual *)t)->world;
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
    if (message->ended || ((virtual *)t)->world->broken) raise_news(message);
    return 1;
}

static void virtual_cancel(tutti_transport *t, tutti_message *message)
{
    if (message->partner || message->ended) return;
    set_ended(message);
    withdraw(((virtual *)t)->world, message);
}

static void virtual_abandon(tutti_transport *t, tutti_message *message)
{
    tutti_virtual_world *w = ((virtual *)t)->world;
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

static const tutti_transport_ops virtual_ops = {
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

/* ---- local steps ---- */

static int arithmetic_combines(const tutti_arithmetic *a, tutti_dtype dtype, tutti_reduce_op op)
{
    (void)a, (void)dtype, (void)op;
    return 1;
}

static tutti_status arithmetic_start(
    tutti_arithmetic *base, const tutti_local *local, tutti_local_step **step)
{
    arithmetic *a = (arithmetic *)base;
    const tutti_point_kind *kind = tutti_topology_kind_of(a->world->topology, a->rank);
    const double bytes = (double)local->count * (double)tutti_dtype_bytes(local->dtype);
    const double rate = local->kind == TUTTI_LOCAL_COPY ? kind->copy : kind->reduce;
    tutti_local_step *s = malloc(sizeof *s);
    if (!s) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a step");
    *s = (tutti_local_step){.ended = 0};
    tutti_status status =
        add_event(a->world, use_time(a->world, a->rank, rate > 0 ? bytes / rate : 0),
            (subject){.step = s, .rank = a->rank});
    if (status)
        free(s);
    else
        *step = s;
    return status;
}

static tutti_status arithmetic_test(tutti_arithmetic *base, tutti_local_step *step, int *done)
{
    *done = step->ended;
    if (*done)
        free(step);
    else if (((arithmetic *)base)->world->broken)
        *done = step->gone = 1;
    return TUTTI_OK;
}

static tutti_status arithmetic_prepare(tutti_arithmetic *base, size_t bytes)
{
    (void)base, (void)bytes;
    return TUTTI_OK;
}

static tutti_status arithmetic_take(tutti_arithmetic *base, size_t bytes, void **memory)
{
    (void)bytes;
    *memory = tutti_virtual_payload(((arithmetic *)base)->world);
    return TUTTI_OK;
}

static void arithmetic_give(tutti_arithmetic *base, void *memory)
{
    (void)base, (void)memory;
}

static void arithmetic_close(tutti_arithmetic *base)
{
    free(base);
}

static const tutti_arithmetic_ops arithmetic_ops = {
    .combines = arithmetic_combines,
    .start = arithmetic_start,
    .test = arithmetic_test,
    .prepare = arithmetic_prepare,
    .take = arithmetic_take,
    .give = arithmetic_give,
    .close = arithmetic_close,
};

/* ---- worlds ---- */

tutti_status tutti_transport_virtual(
    tutti_virtual_world *world, int rank, int lanes, tutti_transport **transport)
{
    if (rank < 0 || rank >= world->ranks || lanes < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "no rank %d with %d lanes in a world of %d ranks", rank,
            lanes, world->ranks);
    virtual *v = malloc(sizeof *v);
    arithmetic *a = malloc(sizeof *a);
    int *host = malloc((size_t)world->ranks * sizeof *host);
    if (!v || !a || !host) {
        free(v);
        free(a);
        free(host);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a transport");
    }
    const tutti_topology *t = world->topology;
    int near = 1;
    for (int r = 0; r < world->ranks; r++) {
        host[r] = t->point[t->rank_point[r]].host;
        near &= host[r] == host[0];
    }
    *a = (arithmetic){.base = {&arithmetic_ops}, .world = world, .rank = rank};
    *v = (virtual){.base = {.ops = &virtual_ops,
                       .rank = rank,
                       .size = world->ranks,
                       .lanes = lanes,
                       .near = near,
                       .host = host,
                       .tags = (int64_t)1 << 30,
                       .arithmetic = &a->base},
        .world = world};
    *transport = &v->base;
    return TUTTI_OK;
}

tutti_status tutti_virtual_world_new(
    const tutti_topology *topology, int ranks, tutti_virtual_world **world)
{
    if (ranks < 1 || ranks > topology->ranks)
        return tutti_fail(TUTTI_ERR_INVAL, "a simulation of %d ranks on a topology that has %d",
            ranks, topology->ranks);
    tutti_virtual_world *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a simulation");
    w->topology = topology;
    w->ranks = ranks;
    w->unused = -1;
    w->payload =
        mmap(NULL, PAYLOAD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    w->place = calloc((size_t)ranks, sizeof *w->place);
    w->concerned = malloc((size_t)ranks * sizeof *w->concerned);
    tutti_status status = tutti_flows_open(topology, &w->flows);
    if (!status && (w->payload == MAP_FAILED || !w->place || !w->concerned))
        status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a simulation of %d ranks", ranks);
    if (status)
        tutti_virtual_world_free(w);
    else
        *world = w;
    return status;
}

static void free_slabs(tutti_virtual_world *w)
{
    for (slab *s = w->slab, *next; s; s = next) {
        next = s->next;
        for (int i = 0; i < SLAB_MESSAGES; i++)
            if (s->message[i].copied) free(s->message[i].data);
        free(s->message);
        free(s);
    }
}

void tutti_virtual_world_free(tutti_virtual_world *w)
{
    if (!w) return;
    free_slabs(w);
    for (tutti_timed_event e;
         tutti_events_take(&w->events, HUGE_VAL, &e);) /* steps that were not tested */
        free(w->subject[e.what].step);
    if (w->payload && w->payload != MAP_FAILED) munmap(w->payload, PAYLOAD_BYTES);
    tutti_events_free(&w->events);
    tutti_flows_close(w->flows);
    free(w->subject);
    free(w->of_flow);
    free(w->table.slot);
    free(w->place);
    free(w->concerned);
    free(w);
}

void *tutti_virtual_payload(const tutti_virtual_world *world)
{
    return world->payload;
}

void tutti_virtual_break(tutti_virtual_world *world)
{
    world->broken = 1;
    for (const slab *s = world->slab; s; s = s->next)
        for (int i = 0; i < SLAB_MESSAGES; i++)
            if (s->message[i].used) raise_news(&s->message[i]);
}

double tutti_virtual_now(const tutti_virtual_world *world)
{
    return world->now_s;
}

tutti_status tutti_virtual_wake_at(tutti_virtual_world *world, double at_s, int rank)
{
    return add_event(world, at_s > world->now_s ? at_s : world->now_s, (subject){.rank = rank});
}

tutti_status tutti_virtual_when(tutti_virtual_world *world, double *at_s)
{
    tutti_status status = tutti_flows_next(world->flows, at_s);
    if (!status) *at_s = fmin(*at_s, tutti_events_next(&world->events));
    return status;
}

static void end_step(tutti_local_step *step)
{
    step->ended = 1;
    if (step->gone) free(step);
}

static tutti_status run_event(tutti_virtual_world *w, int number)
{
    const subject s = w->subject[number];
    w->subject[number].next = w->unused;
    w->unused = number;
    w->account.events++;
    if (s.message && s.message->phase == SENDS) return begin_flow(w, s.message);
    if (s.message)
        end_reception(w, s.message);
    else if (s.step)
        end_step(s.step);
    if (!s.message) concern(w, s.rank);
    return TUTTI_OK;
}

/* What happens now. */
static tutti_status run_instant(tutti_virtual_world *w)
{
    tutti_timed_event event;
    int flow = -1;
    tutti_status status = tutti_flows_end(w->flows, w->now_s, &flow);
    while (!status && flow >= 0) {
        w->account.events++;
        status = end_flow(w, w->of_flow[flow]);
        if (!status) status = tutti_flows_end(w->flows, w->now_s, &flow);
    }
    while (!status && tutti_events_take(&w->events, w->now_s, &event))
        status = run_event(w, (int)event.what);
    return status;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

tutti_status tutti_virtual_next(tutti_virtual_world *w, const int **rank, int *ranks)
{
    double at_s;
    for (int i = 0; i < w->concerns; i++) w->place[w->concerned[i]].concerned = 0;
    w->concerns = 0;
    tutti_status status = tutti_virtual_when(w, &at_s);
    while (!status && !w->concerns && at_s < HUGE_VAL) {
        if (at_s > w->now_s) w->now_s = at_s;
        status = run_instant(w);
        if (!status) status = tutti_virtual_when(w, &at_s);
    }
    qsort(w->concerned, (size_t)w->concerns, sizeof *w->concerned, by_number);
    *rank = w->concerned;
    *ranks = w->concerns;
    return status;
}

tutti_virtual_account tutti_virtual_totals(const tutti_virtual_world *world)
{
    return world->account;
}

int tutti_virtual_busiest(const tutti_virtual_world *world, double *share)
{
    int busiest = -1;
    *share = 0;
    for (int c = 0; c < world->topology->capacities; c++) {
        const double most = world->topology->capacity[c] * world->now_s;
        const double used = most > 0 ? tutti_flows_carried(world->flows, c) / most : 0;
        if (used <= *share) continue;
        *share = used;
        busiest = c;
    }
    return busiest;
}
