#define _GNU_SOURCE /* eventfd */
#include "designs/kv/connections.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The lanes of a connection: active messages go before data. */
enum { MESSAGES, DATA, LANES };
/* Receives of active messages that are posted at a time. */
enum { RECEIVES = 32 };

/* A message of StarPU's data. */
typedef struct data_message {
    tutti_ordered_message ordered; /* first */
    struct data_message *next;
    tutti_connections *connections;
    int priority;
    size_t bytes;
    void *memory;                  /* once the data are here */
    struct command *ready_command; /* queued then */
    tutti_status refused;
    tutti_held *held; /* NULL: there is nothing to release */
    tutti_status *result;
    tutti_connection_message *message;
    double mark; /* the meter's, while it is under way */
} data_message;

/* An active message that is being sent. */
typedef struct outgoing {
    struct outgoing *next;
    int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES];
    tutti_connection_message *message;
} outgoing;

/* A peer, and the connection to it. */
typedef struct endpoint {
    struct endpoint *next;
    int peer;
    tutti_connection *connection;
    data_message *data_messages;
    outgoing *outgoing, **outgoing_end;
    int64_t received[RECEIVES][TUTTI_ACTIVE_MESSAGE_VALUES];
    tutti_connection_message *receiving[RECEIVES];
    int oldest;   /* of receiving */
    double cut_s; /* when a cut connection is broken at the latest; 0: it is not cut */
} endpoint;

/* What other threads ask of this one. */
typedef enum command_kind { ADD, ACCEPT, WRITE, SUBMIT, READY, CUT, CUT_ALL, STOP } command_kind;
typedef struct command {
    struct command *next;
    command_kind kind;
    int peer, gently;
    endpoint *endpoint;
    outgoing *outgoing;
    data_message *data_message;
    tutti_tcp_listener *listener;
} command;

struct tutti_connections {
    tutti_connections_user user;
    pthread_t thread;
    int wakeup;           /* an eventfd: written when there are commands */
    atomic_int pending;   /* data messages */
    atomic_int ended;     /* the thread */
    pthread_mutex_t lock; /* protects the commands */
    command *first, **end;
    /* the thread's own */
    endpoint *endpoints;
    tutti_message_order order;
    tutti_tcp_listener *listener;
    int stopping;
};

/* ---- commands ---- */

static void wake_thread(const tutti_connections *connections)
{
    uint64_t one = 1;
    while (write(connections->wakeup, &one, sizeof one) < 0 && errno == EINTR) continue;
}

/* Takes over the command. The thread is woken under the lock: it may end with this command, and all else with it. */
static void queue_command(tutti_connections *connections, command *c)
{
    c->next = NULL;
    pthread_mutex_lock(&connections->lock);
    *connections->end = c;
    connections->end = &c->next;
    wake_thread(connections);
    pthread_mutex_unlock(&connections->lock);
}

static tutti_status queue_copy(tutti_connections *connections, const command *like)
{
    command *c = malloc(sizeof *c);
    if (!c) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection's work");
    *c = *like;
    queue_command(connections, c);
    return TUTTI_OK;
}

static command *take_commands(tutti_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    command *all = connections->first;
    connections->first = NULL;
    connections->end = &connections->first;
    pthread_mutex_unlock(&connections->lock);
    return all;
}

/* ---- data messages ---- */

static void end_data_message(data_message *m, tutti_status status)
{
    tutti_connections *connections = m->connections;
    tutti_held *held = m->held;
    if (status && m->result) *m->result = status;
    if (!status) tutti_message_order_arrived(&connections->order, &m->ordered);
    free(m);
    if (held) tutti_datum_let_go(held);
    atomic_fetch_sub(&connections->pending, 1);
}

static endpoint *find_endpoint(const tutti_connections *connections, int peer)
{
    endpoint *e = connections->endpoints;
    while (e && (e->peer != peer || e->cut_s > 0)) e = e->next;
    return e;
}

static tutti_peer_state state_of(void *ctx, int peer)
{
    const endpoint *e = find_endpoint(ctx, peer);
    return !e                                       ? TUTTI_PEER_AWAY
           : tutti_connection_broken(e->connection) ? TUTTI_PEER_BROKEN
                                                    : TUTTI_PEER_HERE;
}

static void begin_data_message(void *ctx, tutti_ordered_message *o)
{
    data_message *m = (data_message *)o;
    const tutti_connections_user *user = &m->connections->user;
    endpoint *e = find_endpoint(ctx, o->peer);
    tutti_connection *t = e ? e->connection : NULL;
    /* after a close that gave up there is no connection, and the user may be gone */
    const tutti_status failure =
        t && o->sends && user->failure ? user->failure(user->ctx) : TUTTI_OK;
    tutti_status status =
        m->refused ? m->refused
        : failure  ? failure
        : !t       ? TUTTI_ERR_COMM
        : o->sends ? tutti_connection_isend(t, DATA, o->tag, m->memory, m->bytes, &m->message)
                   : tutti_connection_irecv(t, DATA, o->tag, m->memory, m->bytes, &m->message);
    if (status) {
        end_data_message(m, status);
        return;
    }
    if (o->sends) tutti_connection_set_priority(m->message, m->priority);
    m->mark = tutti_meter_enter(m->connections->user.meter, TUTTI_METER_COMM);
    m->next = e->data_messages;
    e->data_messages = m;
}

/* Ends what is complete. Once the peer is lost it ends the rest, too, or puts it back for its spare. */
static void test_data_messages(endpoint *e)
{
    tutti_connection *t = e->connection;
    int lost = tutti_connection_broken(t) && !e->cut_s;
    for (data_message **at = &e->data_messages, *m; (m = *at);) {
        int done;
        tutti_status status = tutti_connection_test(m->message, &done);
        if (!done) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        tutti_meter_leave(m->connections->user.meter, TUTTI_METER_COMM, m->mark);
        if (status && lost && m->ordered.has_spare)
            tutti_message_order_put_back(&m->connections->order, &m->ordered);
        else
            end_data_message(m, status);
    }
}

/* ---- active messages ---- */

static void send_outgoing(tutti_connections *connections, int peer, outgoing *o)
{
    endpoint *e = find_endpoint(connections, peer);
    tutti_connection *t = e ? e->connection : NULL;
    if (!e || tutti_connection_isend(t, MESSAGES, 0, o->value, sizeof o->value, &o->message)) {
        free(o);
        return;
    }
    o->next = NULL;
    *e->outgoing_end = o;
    e->outgoing_end = &o->next;
}

static void write_message(void *ctx, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    tutti_connections *connections = ctx;
    outgoing *o = calloc(1, sizeof *o);
    endpoint *e = find_endpoint(connections, peer);
    if (o) {
        memcpy(o->value, value, sizeof o->value);
        send_outgoing(connections, peer, o);
    } else if (e) {
        tutti_connection_break(e->connection); /* it would wait for this forever */
    }
}

static void test_outgoing(endpoint *e)
{
    for (int done = 1; e->outgoing && done;) {
        outgoing *o = e->outgoing;
        tutti_connection_test(o->message, &done);
        if (!done) return;
        e->outgoing = o->next;
        if (!e->outgoing) e->outgoing_end = &e->outgoing;
        free(o);
    }
}

static void post_receive(endpoint *e, int i)
{
    tutti_connection *t = e->connection;
    if (tutti_connection_irecv(
            t, MESSAGES, 0, e->received[i], sizeof e->received[i], &e->receiving[i]))
        e->receiving[i] = NULL;
}

static void test_receives(tutti_connections *connections, endpoint *e)
{
    for (int done = 1; done;) {
        int i = e->oldest;
        tutti_active_message message = {.rank = e->peer};
        if (!e->receiving[i]) return;
        tutti_status status = tutti_connection_test(e->receiving[i], &done);
        if (!done) return;
        memcpy(message.value, e->received[i], sizeof message.value);
        e->receiving[i] = NULL;
        e->oldest = (i + 1) % RECEIVES;
        if (status) continue;
        post_receive(e, i);
        if (!e->cut_s) connections->user.on_message(connections->user.ctx, &message);
    }
}

/* ---- connections ---- */

static void free_endpoint(endpoint *e)
{
    test_data_messages(e);
    test_outgoing(e);
    tutti_connection_close(e->connection);
    free(e);
}

/* Closing a connection ends its messages: test them first. */
static void drop_endpoint(tutti_connections *connections, endpoint *e)
{
    char why[TUTTI_CONNECTION_WHY];
    const char *broken = tutti_connection_broken(e->connection);
    int cut = e->cut_s > 0, peer = e->peer;
    snprintf(why, sizeof why, "%s", broken ? broken : "");
    for (endpoint **at = &connections->endpoints; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    free_endpoint(e);
    if (!cut) tutti_message_order_redirect(&connections->order, peer);
    if (!cut) connections->user.on_lost(connections->user.ctx, peer, why);
}

static void cut_endpoint(endpoint *e, int gently)
{
    static const double patience_s = 5;
    if (!e->cut_s) e->cut_s = tutti_clock_s() + patience_s;
    if (!gently) tutti_connection_break(e->connection);
}

/* Once all is sent this end shuts down, and the other closes. */
static void finish_cut(endpoint *e)
{
    if (!e->outgoing && tutti_connection_flushed(e->connection))
        tutti_connection_shut(e->connection);
    if (tutti_clock_s() > e->cut_s) tutti_connection_break(e->connection);
}

static void pass_endpoint(tutti_connections *connections, endpoint *e)
{
    tutti_connection_pass(e->connection);
    test_data_messages(e);
    test_outgoing(e);
    test_receives(connections, e);
    if (e->cut_s > 0) finish_cut(e);
    if (!tutti_connection_broken(e->connection)) return;
    test_receives(connections, e);
    drop_endpoint(connections, e);
}

static void add_endpoint(tutti_connections *connections, endpoint *e)
{
    for (int i = 0; i < RECEIVES; i++) post_receive(e, i);
    e->next = connections->endpoints;
    connections->endpoints = e;
}

static endpoint *open_endpoint(const tutti_connections *connections, int peer, int socket)
{
    const tutti_connection_options options = {.lanes = LANES,
        .urgent_lanes = DATA,
        .tags = connections->user.tags,
        .silence_s = connections->user.silence_s};
    endpoint *e = calloc(1, sizeof *e);
    if (!e) {
        close(socket);
        tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection");
        return NULL;
    }
    e->peer = peer;
    e->outgoing_end = &e->outgoing;
    if (!tutti_connection_open(socket, &options, &e->connection)) return e;
    free(e);
    return NULL;
}

static void run_commands(tutti_connections *connections);

/* Those who wait at the listener. One who is welcome may be an earlier peer's next life: earlier commands, as to cut
 * that one's connection, are not about this one. */
static void accept_peers(tutti_connections *connections)
{
    unsigned char words[TUTTI_TCP_WORDS_BYTES];
    char from[TUTTI_TCP_NAME];
    int socket, peer;
    while ((socket = tutti_tcp_listener_accept(connections->listener, words, from)) >= 0) {
        tutti_tcp_verdict verdict =
            connections->user.admit(connections->user.ctx, words, from, &peer);
        endpoint *e = NULL;
        int answered = tutti_tcp_answer(socket, verdict, words);
        if (verdict == TUTTI_TCP_WELCOME) run_commands(connections);
        if (verdict == TUTTI_TCP_WELCOME) e = open_endpoint(connections, peer, socket);
        if (verdict != TUTTI_TCP_WELCOME) close(socket);
        if (e) add_endpoint(connections, e);
        if (verdict == TUTTI_TCP_WELCOME && !e)
            connections->user.on_lost(connections->user.ctx, peer, "has no memory here");
        if (e && connections->stopping) cut_endpoint(e, 1);
        if (e && !answered) tutti_connection_break(e->connection);
    }
}

/* ---- the thread ---- */

static void run_command(tutti_connections *connections, command *c)
{
    switch (c->kind) {
    case ADD:
        add_endpoint(connections, c->endpoint);
        break;
    case ACCEPT:
        connections->listener = c->listener;
        break;
    case WRITE:
        send_outgoing(connections, c->peer, c->outgoing);
        break;
    case SUBMIT:
        tutti_message_order_add(&connections->order, &c->data_message->ordered);
        break;
    case READY:
        tutti_message_order_ready(&connections->order, &c->data_message->ordered);
        break;
    case CUT:
        if (find_endpoint(connections, c->peer))
            cut_endpoint(find_endpoint(connections, c->peer), c->gently);
        break;
    case STOP:
        connections->stopping = 1; /* and cuts all */
        __attribute__((fallthrough));
    case CUT_ALL:
        for (endpoint *e = connections->endpoints; e; e = e->next) cut_endpoint(e, 1);
        break;
    }
}

static void run_commands(tutti_connections *connections)
{
    for (command *c = take_commands(connections), *next; c; c = next) {
        next = c->next;
        run_command(connections, c);
        free(c);
    }
}

static void wait_for_work(tutti_connections *connections)
{
    static const int most_ms = 50; /* to keep time */
    int n = 1;
    for (endpoint *e = connections->endpoints; e; e = e->next) n++;
    struct pollfd what[n + TUTTI_TCP_PENDING + 1];
    what[0] = (struct pollfd){.fd = connections->wakeup, .events = POLLIN};
    n = 1;
    for (endpoint *e = connections->endpoints; e; e = e->next)
        what[n++] = tutti_connection_poll(e->connection);
    if (connections->listener && !connections->stopping)
        n += tutti_tcp_listener_poll(connections->listener, what + n);
    poll(what, (nfds_t)n, most_ms);
    uint64_t rung;
    if (what[0].revents && read(connections->wakeup, &rung, sizeof rung) < 0) return;
}

static void *run_thread(void *arg)
{
    tutti_connections *connections = arg;
    while (
        !connections->stopping || connections->endpoints || !tutti_connections_idle(connections)) {
        wait_for_work(connections);
        run_commands(connections);
        for (endpoint *e = connections->endpoints, *next; e; e = next) {
            next = e->next;
            pass_endpoint(connections, e);
        }
        if (connections->listener && !connections->stopping) accept_peers(connections);
    }
    tutti_tcp_listener_close(connections->listener);
    atomic_store(&connections->ended, 1);
    return NULL;
}

/* ---- for the user ---- */

tutti_status tutti_connections_open(
    const tutti_connections_user *user, tutti_connections **connections)
{
    tutti_connections *opened = calloc(1, sizeof *opened);
    if (!opened) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for connections");
    opened->user = *user;
    opened->order.user =
        (tutti_message_order_user){opened, state_of, begin_data_message, write_message};
    opened->end = &opened->first;
    opened->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&opened->lock, NULL);
    if (opened->wakeup >= 0 && !pthread_create(&opened->thread, NULL, run_thread, opened)) {
        *connections = opened;
        return TUTTI_OK;
    }
    if (opened->wakeup >= 0) close(opened->wakeup);
    free(opened);
    return tutti_fail(TUTTI_ERR_INTERNAL, "the system gives no thread for connections");
}

tutti_status tutti_connections_add(tutti_connections *connections, int peer, int socket)
{
    endpoint *e = open_endpoint(connections, peer, socket);
    if (!e) return TUTTI_ERR_NOMEM;
    tutti_status status = queue_copy(connections, &(command){.kind = ADD, .endpoint = e});
    if (status) free_endpoint(e);
    return status;
}

tutti_status tutti_connections_accept(tutti_connections *connections, tutti_tcp_listener *listener)
{
    return queue_copy(connections, &(command){.kind = ACCEPT, .listener = listener});
}

tutti_status tutti_connections_write(
    tutti_connections *connections, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    outgoing *o = calloc(1, sizeof *o);
    if (!o) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an active message");
    memcpy(o->value, value, sizeof o->value);
    tutti_status status =
        queue_copy(connections, &(command){.kind = WRITE, .peer = peer, .outgoing = o});
    if (status) free(o);
    return status;
}

/* The data are available. */
static void mark_ready(void *arg, const tutti_buffer buf[])
{
    data_message *m = arg;
    m->memory = buf[0].pointer;
    queue_command(m->connections, m->ready_command);
}

static void refuse_message(void *arg, tutti_status status)
{
    data_message *m = arg;
    m->refused = status;
    queue_command(m->connections, m->ready_command);
}

static tutti_status submit_message(
    tutti_connections *connections, const tutti_connections_data *what, int sends)
{
    data_message *m = calloc(1, sizeof *m);
    command *ready = calloc(1, sizeof *ready);
    if (!m || !ready) {
        free(m);
        free(ready);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message");
    }
    *m = (data_message){.ordered = {.sends = sends, .peer = what->peer, .tag = what->tag},
        .connections = connections,
        .priority = what->priority,
        .bytes = (size_t)what->count * tutti_dtype_bytes(what->dtype),
        .ready_command = ready,
        .result = what->result};
    if (what->spare) {
        m->ordered.has_spare = 1;
        m->ordered.spare = *what->spare;
    }
    *ready = (command){.kind = READY, .data_message = m};
    const tutti_datum_hold hold = {.name = "kv message",
        .data = what->data,
        .mode = sends ? TUTTI_READ : TUTTI_WRITE,
        .start = mark_ready,
        .refused = refuse_message,
        .arg = m};
    tutti_status status = queue_copy(connections, &(command){.kind = SUBMIT, .data_message = m});
    if (status) {
        free(m);
        free(ready);
        return status;
    }
    atomic_fetch_add(&connections->pending, 1);
    status = tutti_datum_hold_on(&hold, &m->held);
    if (!status) return TUTTI_OK;
    m->held = NULL;
    m->result = NULL; /* the caller gets the status */
    refuse_message(m, status);
    return status;
}

tutti_status tutti_connections_send(
    tutti_connections *connections, const tutti_connections_data *what)
{
    return submit_message(connections, what, 1);
}

tutti_status tutti_connections_recv(
    tutti_connections *connections, const tutti_connections_data *what)
{
    return submit_message(connections, what, 0);
}

void tutti_connections_cut(tutti_connections *connections, int peer, int gently)
{
    queue_copy(connections, &(command){.kind = CUT, .peer = peer, .gently = gently});
}

void tutti_connections_cut_all(tutti_connections *connections)
{
    queue_copy(connections, &(command){.kind = CUT_ALL});
}

int tutti_connections_idle(tutti_connections *connections)
{
    return !atomic_load(&connections->pending);
}

/* Cutting all takes 5 s at most. What is left then are messages whose data never become available. */
static int await_end(const tutti_connections *connections)
{
    static const double patience_s = 60;
    const double until_s = tutti_clock_s() + patience_s;
    while (!atomic_load(&connections->ended) && tutti_clock_s() < until_s) tutti_clock_sleep(1e-3);
    return atomic_load(&connections->ended);
}

void tutti_connections_close(tutti_connections *connections)
{
    if (!connections) return;
    while (queue_copy(connections, &(command){.kind = STOP})) tutti_clock_sleep(1e-3);
    if (!await_end(connections)) {
        tutti_log(
            TUTTI_LOG_WARN, "messages of a store have not ended within 60 s: their memory stays");
        pthread_detach(connections->thread); /* which uses it */
        return;
    }
    pthread_join(connections->thread, NULL);
    for (command *c = connections->first, *next; c; c = next) { /* queued after STOP */
        next = c->next;
        run_command(connections, c);
        free(c);
    }
    close(connections->wakeup);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
}
