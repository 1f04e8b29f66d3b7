#define _GNU_SOURCE /* eventfd */
#include "designs/kv/connections.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The lanes of a connection: active messages go before data. */
enum { NOTES, DATA, LANES };
/* Receives of active messages that are posted at a time. */
enum { HEARING = 32 };

/* A message of StarPU's data. */
typedef struct move {
    tutti_ordered_message way; /* first */
    struct move *next;
    tutti_connections *connections;
    int priority;
    size_t bytes;
    void *memory;       /* once the data are here */
    struct order *here; /* which then goes out */
    tutti_status refused;
    tutti_held *held; /* NULL: there is nothing to let go */
    tutti_status *result;
    tutti_connection_message *message;
    double mark; /* the meter's, while it is on a line */
} move;

/* An active message on its way out. */
typedef struct letter {
    struct letter *next;
    int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES];
    tutti_connection_message *message;
} letter;

typedef struct line {
    struct line *next;
    int peer;
    tutti_connection *connection;
    move *moves;
    letter *letters, **letters_end;
    int64_t heard[HEARING][TUTTI_ACTIVE_MESSAGE_VALUES];
    tutti_connection_message *hearing[HEARING];
    int oldest;   /* of hearing */
    double cut_s; /* 0: it is not to be broken; else by when */
} line;

/* What other threads want of this one. */
typedef enum order_kind { ADD, LET_IN, WRITE, MOVE, READY, CUT, CUT_ALL, STOP } order_kind;
typedef struct order {
    struct order *next;
    order_kind kind;
    int peer, gently;
    line *line;
    letter *letter;
    move *move;
    tutti_tcp_door *door;
} order;

struct tutti_connections {
    tutti_connections_user user;
    pthread_t thread;
    int bell;             /* an eventfd: rings when there are orders */
    atomic_int pending;   /* moves */
    pthread_mutex_t lock; /* protects the orders */
    order *first, **end;
    /* the thread's own */
    line *lines;
    tutti_message_order order;
    tutti_tcp_door *door;
    int stopping;
};

/* ---- orders ---- */

static void ring(tutti_connections *connections)
{
    uint64_t one = 1;
    while (write(connections->bell, &one, sizeof one) < 0)
        continue; /* it never blocks: EINTR alone */
}

/* Takes over the order. */
static void give(tutti_connections *connections, order *o)
{
    o->next = NULL;
    pthread_mutex_lock(&connections->lock);
    *connections->end = o;
    connections->end = &o->next;
    pthread_mutex_unlock(&connections->lock);
    ring(connections);
}

static tutti_status give_copy(tutti_connections *connections, const order *like)
{
    order *o = malloc(sizeof *o);
    if (!o) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection's work");
    *o = *like;
    give(connections, o);
    return TUTTI_OK;
}

static order *take_orders(tutti_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    order *all = connections->first;
    connections->first = NULL;
    connections->end = &connections->first;
    pthread_mutex_unlock(&connections->lock);
    return all;
}

/* ---- moves ---- */

static void end_move(move *m, tutti_status status)
{
    tutti_connections *connections = m->connections;
    tutti_held *held = m->held;
    if (status && m->result) *m->result = status;
    if (!status) tutti_message_order_arrived(&connections->order, &m->way);
    free(m);
    if (held) tutti_datum_let_go(held);
    atomic_fetch_sub(&connections->pending, 1);
}

static line *find(const tutti_connections *connections, int peer)
{
    line *l = connections->lines;
    while (l && (l->peer != peer || l->cut_s > 0)) l = l->next;
    return l;
}

static tutti_peer_state state_of(void *ctx, int peer)
{
    const line *l = find(ctx, peer);
    return !l                                       ? TUTTI_PEER_AWAY
           : tutti_connection_broken(l->connection) ? TUTTI_PEER_BROKEN
                                                    : TUTTI_PEER_HERE;
}

static void begin_move(void *ctx, tutti_ordered_message *streamed)
{
    move *m = (move *)streamed;
    const tutti_ordered_message *way = &m->way;
    line *l = find(ctx, way->peer);
    tutti_connection *t = l ? l->connection : NULL;
    tutti_status status =
        m->refused   ? m->refused
        : !t         ? TUTTI_ERR_COMM
        : way->sends ? tutti_connection_isend(t, DATA, way->tag, m->memory, m->bytes, &m->message)
                     : tutti_connection_irecv(t, DATA, way->tag, m->memory, m->bytes, &m->message);
    if (status) {
        end_move(m, status);
        return;
    }
    if (way->sends) tutti_connection_set_priority(m->message, m->priority);
    m->mark = tutti_meter_enter(m->connections->user.meter, TUTTI_METER_COMM);
    m->next = l->moves;
    l->moves = m;
}

/* What has come ends; the rest, too, or it waits for a spare, once the peer is lost. */
static void test_moves(line *l)
{
    tutti_connection *t = l->connection;
    int lost = tutti_connection_broken(t) && !l->cut_s;
    for (move **at = &l->moves, *m; (m = *at);) {
        int done;
        tutti_status status = tutti_connection_test(m->message, &done);
        if (!done) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        tutti_meter_leave(m->connections->user.meter, TUTTI_METER_COMM, m->mark);
        if (status && lost && m->way.has_spare)
            tutti_message_order_put_back(&m->connections->order, &m->way);
        else
            end_move(m, status);
    }
}

/* ---- active messages ---- */

static void write_letter(tutti_connections *connections, int peer, letter *w)
{
    line *l = find(connections, peer);
    tutti_connection *t = l ? l->connection : NULL;
    if (!l || tutti_connection_isend(t, NOTES, 0, w->value, sizeof w->value, &w->message)) {
        free(w);
        return;
    }
    w->next = NULL;
    *l->letters_end = w;
    l->letters_end = &w->next;
}

static void write_message(void *ctx, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    tutti_connections *connections = ctx;
    letter *w = calloc(1, sizeof *w);
    line *l = find(connections, peer);
    if (w) {
        memcpy(w->value, value, sizeof w->value);
        write_letter(connections, peer, w);
    } else if (l) {
        tutti_connection_break(l->connection); /* it would wait for this for ever */
    }
}

static void test_letters(line *l)
{
    for (int done = 1; l->letters && done;) {
        letter *w = l->letters;
        tutti_connection_test(w->message, &done);
        if (!done) return;
        l->letters = w->next;
        if (!l->letters) l->letters_end = &l->letters;
        free(w);
    }
}

static void receive_on(line *l, int i)
{
    tutti_connection *t = l->connection;
    if (tutti_connection_irecv(t, NOTES, 0, l->heard[i], sizeof l->heard[i], &l->hearing[i]))
        l->hearing[i] = NULL;
}

static void test_hearing(tutti_connections *connections, line *l)
{
    for (int done = 1; done;) {
        int i = l->oldest;
        tutti_active_message message = {.rank = l->peer};
        if (!l->hearing[i]) return;
        tutti_status status = tutti_connection_test(l->hearing[i], &done);
        if (!done) return;
        memcpy(message.value, l->heard[i], sizeof message.value);
        l->hearing[i] = NULL;
        l->oldest = (i + 1) % HEARING;
        if (status) continue;
        receive_on(l, i);
        if (!l->cut_s) connections->user.heard(connections->user.ctx, &message);
    }
}

/* ---- connections ---- */

static void free_line(line *l)
{
    test_moves(l);
    test_letters(l);
    tutti_connection_close(l->connection);
    free(l);
}

/* Closing a connection ends its messages: test them first. */
static void drop_line(tutti_connections *connections, line *l)
{
    char why[TUTTI_CONNECTION_WHY];
    const char *broken = tutti_connection_broken(l->connection);
    int cut = l->cut_s > 0, peer = l->peer;
    snprintf(why, sizeof why, "%s", broken ? broken : "");
    for (line **at = &connections->lines; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    free_line(l);
    if (!cut) tutti_message_order_redirect(&connections->order, peer);
    if (!cut) connections->user.lost(connections->user.ctx, peer, why);
}

static void cut(line *l, int gently)
{
    static const double patience_s = 5;
    if (!l->cut_s) l->cut_s = tutti_clock_s() + patience_s;
    if (!gently) tutti_connection_break(l->connection);
}

/* Once all is out this end says so, and the other closes. */
static void go_apart(line *l)
{
    if (!l->letters && tutti_connection_flushed(l->connection))
        tutti_connection_shut(l->connection);
    if (tutti_clock_s() > l->cut_s) tutti_connection_break(l->connection);
}

static void pass(tutti_connections *connections, line *l)
{
    tutti_connection_pass(l->connection);
    test_moves(l);
    test_letters(l);
    test_hearing(connections, l);
    if (l->cut_s > 0) go_apart(l);
    if (!tutti_connection_broken(l->connection)) return;
    test_hearing(connections, l);
    drop_line(connections, l);
}

static void add_line(tutti_connections *connections, line *l)
{
    for (int i = 0; i < HEARING; i++) receive_on(l, i);
    l->next = connections->lines;
    connections->lines = l;
}

static line *open_line(const tutti_connections *connections, int peer, int socket)
{
    const tutti_connection_options o = {
        .lanes = LANES, .tags = connections->user.tags, .silence_s = connections->user.silence_s};
    line *l = calloc(1, sizeof *l);
    if (!l) {
        close(socket);
        tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection");
        return NULL;
    }
    l->peer = peer;
    l->letters_end = &l->letters;
    if (!tutti_connection_open(socket, &o, &l->connection)) return l;
    free(l);
    return NULL;
}

static void obey_all(tutti_connections *connections);

/* Those who wait at the door. One who is welcome may be an earlier peer's next life: what was ordered before, as to cut
 * that one's connection, is not about this one. */
static void open_door(tutti_connections *connections)
{
    unsigned char words[TUTTI_TCP_WORDS_BYTES];
    char from[TUTTI_TCP_NAME];
    int socket, peer;
    while ((socket = tutti_tcp_door_receive(connections->door, words, from)) >= 0) {
        tutti_tcp_verdict verdict =
            connections->user.greeted(connections->user.ctx, words, from, &peer);
        line *l = NULL;
        int told = tutti_tcp_answer(socket, verdict, words);
        if (verdict == TUTTI_TCP_WELCOME) obey_all(connections);
        if (verdict == TUTTI_TCP_WELCOME) l = open_line(connections, peer, socket);
        if (verdict != TUTTI_TCP_WELCOME) close(socket);
        if (l) add_line(connections, l);
        if (verdict == TUTTI_TCP_WELCOME && !l)
            connections->user.lost(connections->user.ctx, peer, "has no memory here");
        if (l && connections->stopping) cut(l, 1);
        if (l && !told) tutti_connection_break(l->connection);
    }
}

/* ---- the thread ---- */

static void obey(tutti_connections *connections, order *o)
{
    switch (o->kind) {
    case ADD:
        add_line(connections, o->line);
        break;
    case LET_IN:
        connections->door = o->door;
        break;
    case WRITE:
        write_letter(connections, o->peer, o->letter);
        break;
    case MOVE:
        tutti_message_order_add(&connections->order, &o->move->way);
        break;
    case READY:
        tutti_message_order_ready(&connections->order, &o->move->way);
        break;
    case CUT:
        if (find(connections, o->peer)) cut(find(connections, o->peer), o->gently);
        break;
    case STOP:
        connections->stopping = 1; /* and cuts all */
        __attribute__((fallthrough));
    case CUT_ALL:
        for (line *l = connections->lines; l; l = l->next) cut(l, 1);
        break;
    }
}

static void obey_all(tutti_connections *connections)
{
    for (order *o = take_orders(connections), *next; o; o = next) {
        next = o->next;
        obey(connections, o);
        free(o);
    }
}

static void wait_for_work(tutti_connections *connections)
{
    static const int most_ms = 50; /* to keep time */
    int n = 1;
    for (line *l = connections->lines; l; l = l->next) n++;
    struct pollfd what[n + TUTTI_TCP_STRANGERS + 1];
    what[0] = (struct pollfd){.fd = connections->bell, .events = POLLIN};
    n = 1;
    for (line *l = connections->lines; l; l = l->next)
        what[n++] = tutti_connection_poll(l->connection);
    if (connections->door) n += tutti_tcp_door_poll(connections->door, what + n);
    poll(what, (nfds_t)n, most_ms);
    uint64_t rung;
    if (what[0].revents && read(connections->bell, &rung, sizeof rung) < 0) return;
}

static void *drive(void *arg)
{
    tutti_connections *connections = arg;
    while (!connections->stopping || connections->lines) {
        wait_for_work(connections);
        obey_all(connections);
        for (line *l = connections->lines, *next; l; l = next) {
            next = l->next;
            pass(connections, l);
        }
        if (connections->door && !connections->stopping) open_door(connections);
    }
    tutti_tcp_door_close(connections->door);
    return NULL;
}

/* ---- for the user ---- */

tutti_status tutti_connections_open(
    const tutti_connections_user *user, tutti_connections **connections)
{
    tutti_connections *l = calloc(1, sizeof *l);
    if (!l) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for connections");
    l->user = *user;
    l->order.user = (tutti_message_order_user){l, state_of, begin_move, write_message};
    l->end = &l->first;
    l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&l->lock, NULL);
    if (l->bell >= 0 && !pthread_create(&l->thread, NULL, drive, l)) {
        *connections = l;
        return TUTTI_OK;
    }
    if (l->bell >= 0) close(l->bell);
    free(l);
    return tutti_fail(TUTTI_ERR_INTERNAL, "the system gives no thread for connections");
}

tutti_status tutti_connections_add(tutti_connections *connections, int peer, int socket)
{
    line *l = open_line(connections, peer, socket);
    if (!l) return TUTTI_ERR_NOMEM;
    tutti_status status = give_copy(connections, &(order){.kind = ADD, .line = l});
    if (status) free_line(l);
    return status;
}

tutti_status tutti_connections_accept(tutti_connections *connections, tutti_tcp_door *door)
{
    return give_copy(connections, &(order){.kind = LET_IN, .door = door});
}

tutti_status tutti_connections_write(
    tutti_connections *connections, int peer, const int64_t value[TUTTI_ACTIVE_MESSAGE_VALUES])
{
    letter *w = calloc(1, sizeof *w);
    if (!w) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for an active message");
    memcpy(w->value, value, sizeof w->value);
    tutti_status status =
        give_copy(connections, &(order){.kind = WRITE, .peer = peer, .letter = w});
    if (status) free(w);
    return status;
}

/* The data are here. */
static void start(void *arg, const tutti_buffer buf[])
{
    move *m = arg;
    m->memory = buf[0].pointer;
    give(m->connections, m->here);
}

static void refuse(void *arg, tutti_status status)
{
    move *m = arg;
    m->refused = status;
    give(m->connections, m->here);
}

static tutti_status submit(
    tutti_connections *connections, const tutti_connections_data *what, int sends)
{
    move *m = calloc(1, sizeof *m);
    order *here = calloc(1, sizeof *here);
    if (!m || !here) {
        free(m);
        free(here);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message");
    }
    *m = (move){.way = {.sends = sends, .peer = what->peer, .tag = what->tag},
        .connections = connections,
        .priority = what->priority,
        .bytes = (size_t)what->count * tutti_dtype_bytes(what->dtype),
        .here = here,
        .result = what->result};
    if (what->spare) {
        m->way.has_spare = 1;
        m->way.spare = *what->spare;
    }
    *here = (order){.kind = READY, .move = m};
    const tutti_datum_hold hold = {.name = "kv message",
        .data = what->data,
        .mode = sends ? TUTTI_READ : TUTTI_WRITE,
        .start = start,
        .refused = refuse,
        .arg = m};
    tutti_status status = give_copy(connections, &(order){.kind = MOVE, .move = m});
    if (status) {
        free(m);
        free(here);
        return status;
    }
    atomic_fetch_add(&connections->pending, 1);
    status = tutti_datum_hold_on(&hold, &m->held);
    if (!status) return TUTTI_OK;
    m->held = NULL;
    m->result = NULL; /* the caller hears of it at once */
    refuse(m, status);
    return status;
}

tutti_status tutti_connections_send(
    tutti_connections *connections, const tutti_connections_data *what)
{
    return submit(connections, what, 1);
}

tutti_status tutti_connections_recv(
    tutti_connections *connections, const tutti_connections_data *what)
{
    return submit(connections, what, 0);
}

void tutti_connections_cut(tutti_connections *connections, int peer, int gently)
{
    give_copy(connections, &(order){.kind = CUT, .peer = peer, .gently = gently});
}

void tutti_connections_cut_all(tutti_connections *connections)
{
    give_copy(connections, &(order){.kind = CUT_ALL});
}

int tutti_connections_idle(tutti_connections *connections)
{
    return !atomic_load(&connections->pending);
}

void tutti_connections_close(tutti_connections *connections)
{
    if (!connections) return;
    while (give_copy(connections, &(order){.kind = STOP})) tutti_clock_sleep(1e-3);
    pthread_join(connections->thread, NULL);
    for (order *o = connections->first, *next; o; o = next) { /* what came too late */
        next = o->next;
        obey(connections, o);
        free(o);
    }
    close(connections->bell);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
}
