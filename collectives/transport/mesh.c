#define _GNU_SOURCE /* ppoll */
#include "collectives/transport/mesh.h"

#include "collectives/transport/mesh_any.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct tutti_message {
    tutti_message *next; /* while idle */
    int peer;
    tutti_connection_message *of;
    tutti_mesh_receive any; /* any.port: NULL unless it is a receive from any rank */
    unsigned looked; /* the latest look when it was last tested */
};

typedef struct mesh {
    tutti_transport base;
    tutti_connection **peer;
    tutti_shm *mine, **theirs;
    tutti_interconnect *network;
    int *claimed; /* [size] how much of theirs is being written to: it stays mapped */
    const atomic_int *broken; /* tutti_mesh_options */
    int broke;
    atomic_size_t refused; /* no room for a buffer of this size in `mine`; SIZE_MAX: not known */
    atomic_int woken; /* since it last slept */
    enum { CANNOT_SLEEP, SLEEPS_IN_MEMORY, SLEEPS_IN_POLL } sleeps;
    atomic_int dozes; /* in poll(2), or is about to */
    int bell;         /* wakes it there; -1: none */
    struct pollfd *nap; /* [2 + size] what it sleeps on there: its two bells, and files of connections */
    int *reported; /* [size] it was said that this rank is gone */
    struct pollfd *socket;
    int *socket_of;
    tutti_mesh_any any;
    tutti_message *idle;
    unsigned looks;
} mesh;

static tutti_message *new_message(mesh *t, const tutti_message *like)
{
    tutti_message *m = t->idle;
    if (m)
        t->idle = m->next;
    else
        m = malloc(sizeof *m);
    if (!m) return NULL;
    *m = *like;
    m->looked = t->looks;
    return m;
}

static void recycle_message(mesh *t, tutti_message *m)
{
    m->next = t->idle;
    t->idle = m;
}

/* A connection has failed, and a message with it. */
static tutti_status report_peer(mesh *t, int peer)
{
    if (t->broke == 1) tutti_fail(TUTTI_ERR_COMM, "the connections to the other ranks were closed");
    if (t->broke) {
        t->broke = 2;
        return TUTTI_ERR_COMM;
    }
    const char *why = tutti_connection_broken(t->peer[peer]);
    if (t->reported[peer] || !why) return TUTTI_ERR_COMM;
    t->reported[peer] = 1;
    return tutti_fail(TUTTI_ERR_COMM, "rank %d %s", peer, why);
}

/* ---- progress ---- */

static void break_all(mesh *t)
{
    t->broke = 1;
    atomic_store(&t->base.severed, 1);
    for (int r = 0; r < t->base.size; r++)
        if (t->peer[r]) tutti_connection_break(t->peer[r]);
}

/* Memory is looked at; of the sockets, one call finds those that can move. */
static void look(mesh *t)
{
    int sockets = 0;
    t->looks++;
    if (t->broken && !t->broke && atomic_load(t->broken)) break_all(t);
    for (int r = 0; r < t->base.size; r++) {
        if (!t->peer[r]) continue;
        struct pollfd p = tutti_connection_poll(t->peer[r]);
        if (p.fd < 0) {
            tutti_connection_pass(t->peer[r]);
            continue;
        }
        t->socket_of[sockets] = r;
        t->socket[sockets++] = p;
    }
    if (!sockets || poll(t->socket, (nfds_t)sockets, 0) <= 0) return;
    for (int i = 0; i < sockets; i++)
        if (t->socket[i].revents) tutti_connection_pass(t->peer[t->socket_of[i]]);
}

static void mesh_sweep(tutti_transport *transport, int first, int lanes)
{
    (void)first, (void)lanes;
    look((mesh *)transport);
}

/* ---- messages ---- */

static tutti_status post_message(
    mesh *t, int peer, tutti_status status, tutti_connection_message *of, tutti_message **message)
{
    if (status == TUTTI_ERR_COMM) return report_peer(t, peer);
    if (status) return status;
    *message = new_message(t, &(tutti_message){.peer = peer, .of = of});
    if (*message) return TUTTI_OK;
    tutti_connection_abandon(t->peer[peer], of);
    return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message");
}

static tutti_status check_peer(const mesh *t, int peer)
{
    if (peer >= 0 && peer < t->base.size && t->peer[peer]) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "rank %d has no connection to rank %d", t->base.rank, peer);
}

static tutti_status receive_any(
    mesh *t, int lane, int tag, void *data, size_t bytes, tutti_message **message)
{
    tutti_message *m = new_message(t, &(tutti_message){.peer = TUTTI_ANY_RANK});
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message");
    tutti_status status = tutti_mesh_any_post(&t->any, lane, tag, data, bytes, &m->any);
    if (status)
        recycle_message(t, m);
    else
        *message = m;
    return status;
}

static tutti_status mesh_isend(tutti_transport *transport, int lane, int peer, int tag,
    const void *data, size_t bytes, tutti_message **message)
{
    mesh *t = (mesh *)transport;
    tutti_connection_message *of;
    tutti_status status = check_peer(t, peer);
    if (status) return status;
    status = tutti_connection_isend(t->peer[peer], lane, tag, data, bytes, &of);
    return post_message(t, peer, status, of, message);
}

static tutti_status mesh_irecv(tutti_transport *transport, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    mesh *t = (mesh *)transport;
    tutti_connection_message *of;
    if (peer == TUTTI_ANY_RANK) return receive_any(t, lane, tag, data, bytes, message);
    tutti_status status = check_peer(t, peer);
    if (status) return status;
    status = tutti_connection_irecv(t->peer[peer], lane, tag, data, bytes, &of);
    return post_message(t, peer, status, of, message);
}

static tutti_status test_once(const mesh *t, tutti_message *m, int *done)
{
    return m->any.port ? tutti_mesh_any_test(&t->any, &m->any, done)
                       : tutti_connection_test(m->of, done);
}

/* Looks at all connections when a message is tested for the second time since the last look. */
static tutti_status mesh_test(tutti_transport *transport, tutti_message *message, int *done)
{
    mesh *t = (mesh *)transport;
    tutti_status status = test_once(t, message, done);
    if (!*done && !status && message->looked == t->looks) {
        look(t);
        status = test_once(t, message, done);
    }
    message->looked = t->looks;
    if (!*done) return status;
    if (status == TUTTI_ERR_COMM) status = report_peer(t, message->peer);
    recycle_message(t, message);
    return status;
}

static void mesh_cancel(tutti_transport *transport, tutti_message *message)
{
    const mesh *t = (const mesh *)transport;
    if (message->any.port)
        tutti_mesh_any_leave(&message->any);
    else
        tutti_connection_cancel(t->peer[message->peer], message->of);
}

static void mesh_abandon(tutti_transport *transport, tutti_message *message)
{
    mesh *t = (mesh *)transport;
    if (message->any.port)
        tutti_mesh_any_leave(&message->any);
    else
        tutti_connection_abandon(t->peer[message->peer], message->of);
    recycle_message(t, message);
}

static void remember_refused(mesh *t, size_t bytes)
{
    size_t least = atomic_load(&t->refused);
    while (bytes < least && !atomic_compare_exchange_weak(&t->refused, &least, bytes)) continue;
}

/* Without an arena, or where that has no room, messages go through rings, as small ones always do. */
static tutti_status mesh_take_memory(tutti_transport *transport, size_t bytes, void **memory)
{
    mesh *t = (mesh *)transport;
    tutti_interconnect *n = t->network;
    if ((!n && !t->mine) || bytes <= TUTTI_MESH_EARLY_BYTES || bytes >= atomic_load(&t->refused))
        return TUTTI_ERR_NOMEM;
    tutti_status status =
        n ? n->ops->take(n, t->mine, bytes, memory) : tutti_shm_take(t->mine, bytes, memory);
    if (status) remember_refused(t, bytes);
    return status;
}

static void mesh_give_memory(tutti_transport *transport, void *memory)
{
    mesh *t = (mesh *)transport;
    if (t->network)
        t->network->ops->give(t->network, memory);
    else
        tutti_shm_give(t->mine, memory);
    atomic_store(&t->refused, SIZE_MAX);
}

/* The credit may lie in memory that was not looked at since. */
static void *mesh_claim(tutti_transport *transport, int lane, int peer, int tag, size_t bytes)
{
    mesh *t = (mesh *)transport;
    if (bytes <= TUTTI_MESH_EARLY_BYTES || !t->theirs[peer]) return NULL;
    tutti_connection_pass(t->peer[peer]);
    void *memory = tutti_connection_claim(t->peer[peer], lane, tag, bytes);
    t->claimed[peer] += memory != NULL;
    return memory;
}

static void mesh_wrote(tutti_transport *transport, int lane, int peer, int tag)
{
    mesh *t = (mesh *)transport;
    tutti_connection_wrote(t->peer[peer], lane, tag);
    t->claimed[peer]--;
}

static void mesh_count(tutti_transport *transport, tutti_transport_counts *counts)
{
    const mesh *t = (const mesh *)transport;
    *counts = (tutti_transport_counts){0};
    for (int r = 0; r < t->base.size; r++) {
        if (!t->peer[r]) continue;
        const tutti_connection_received one = tutti_connection_count(t->peer[r]);
        counts->placed += (int64_t)one.placed_messages;
        counts->placed_bytes += (int64_t)one.placed;
        counts->copied += (int64_t)one.streamed_messages;
        counts->copied_bytes += (int64_t)one.streamed;
        counts->small += (int64_t)one.small_messages;
        counts->small_bytes += (int64_t)one.small;
        counts->written += (int64_t)one.written_messages;
        counts->moved += (int64_t)one.moved_messages;
    }
}

/* A lane is a number in each message. */
static tutti_status mesh_grow(
    tutti_transport *t, int lanes, const tutti_members *members, int *done)
{
    (void)members;
    if (lanes > TUTTI_MESH_LANES - t->lanes)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "a mesh has at most %d lanes", TUTTI_MESH_LANES);
    t->lanes += lanes;
    *done = 1;
    return TUTTI_OK;
}

/* ---- opening and closing ---- */

static int is_open(const mesh *t)
{
    int open = 0;
    for (int r = 0; r < t->base.size; r++)
        open |= t->peer[r] && !tutti_connection_broken(t->peer[r]) &&
                !tutti_connection_wakes(t->peer[r]);
    return open;
}

/* A socket that is closed with unread data would drop what was sent last: all wait until the others have closed. */
static void linger(mesh *t)
{
    static const double most_s = 2, poll_s = 200e-6;
    const double until_s = tutti_clock_s() + most_s;
    for (int r = 0; r < t->base.size; r++)
        if (t->peer[r]) tutti_connection_shut(t->peer[r]);
    while (is_open(t) && tutti_clock_s() < until_s) {
        look(t);
        tutti_clock_sleep(poll_s);
    }
}

static void mesh_close(tutti_transport *transport)
{
    mesh *t = (mesh *)transport;
    if (!transport->abandoned && is_open(t)) linger(t);
    tutti_mesh_any_close(&t->any);
    for (int r = 0; r < t->base.size && t->peer; r++)
        if (t->peer[r]) tutti_connection_close(t->peer[r]);
    if (t->network) t->network->ops->close(t->network);
    for (int r = 0; r < t->base.size && t->theirs; r++)
        if (!t->claimed || !t->claimed[r]) tutti_shm_close(t->theirs[r]);
    tutti_shm_close(t->mine);
    for (tutti_message *m = t->idle, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    free(t->peer);
    free(t->theirs);
    free(t->claimed);
    free(t->reported);
    free(t->socket);
    free(t->socket_of);
    free(t->nap);
    if (t->bell >= 0) close(t->bell);
    free(t->base.host);
    free(t);
}

typedef struct sleeper {
    mesh *mesh;
    pthread_mutex_t *lock;
} sleeper;

/* Asked once the others know that this rank sleeps. */
static int may_move(void *ctx)
{
    const sleeper *s = ctx;
    mesh *t = s->mesh;
    int moves = atomic_exchange(&t->woken, 0);
    pthread_mutex_lock(s->lock); /* other threads of this rank may post */
    for (int r = 0; r < t->base.size && !moves; r++)
        moves = t->peer[r] && tutti_connection_may_move(t->peer[r]);
    pthread_mutex_unlock(s->lock);
    return moves;
}

/* The files that may wake it, behind its own bells. */
static int find_naps(mesh *t, pthread_mutex_t *lock, int naps)
{
    pthread_mutex_lock(lock);
    for (int r = 0; r < t->base.size; r++) {
        if (!t->peer[r]) continue;
        t->nap[naps] = tutti_connection_sleep_on(t->peer[r]);
        naps += t->nap[naps].fd >= 0;
    }
    pthread_mutex_unlock(lock);
    return naps;
}

/* Where some of what moves comes through files. */
static int doze(mesh *t, pthread_mutex_t *lock, double timeout_s)
{
    sleeper s = {t, lock};
    const struct timespec most = {
        (time_t)timeout_s, (long)(1e9 * (timeout_s - (double)(time_t)timeout_s))};
    uint64_t rings;
    atomic_store(&t->dozes, 1);
    t->nap[0] = (struct pollfd){.fd = t->bell, .events = POLLIN};
    t->nap[1] = (struct pollfd){.fd = t->mine ? tutti_shm_doze(t->mine) : -1, .events = POLLIN};
    const int naps = find_naps(t, lock, 2), sleeps = !may_move(&s),
              woken = sleeps && ppoll(t->nap, (nfds_t)naps, &most, NULL) > 0;
    atomic_store(&t->dozes, 0);
    if (t->mine) tutti_shm_rise(t->mine, woken && t->nap[1].revents);
    if (woken && t->nap[0].revents) (void)!read(t->bell, &rings, sizeof rings);
    return sleeps;
}

/* Where all is in memory, its writers wake who sleeps there. */
static int mesh_wait(tutti_transport *transport, pthread_mutex_t *lock, double timeout_s)
{
    mesh *t = (mesh *)transport;
    sleeper s = {t, lock};
    if (t->sleeps == SLEEPS_IN_POLL) return doze(t, lock, timeout_s);
    return t->sleeps && tutti_shm_sleep(t->mine, may_move, &s, timeout_s);
}

static void mesh_wake(tutti_transport *transport)
{
    static const uint64_t ring = 1;
    mesh *t = (mesh *)transport;
    atomic_store(&t->woken, 1);
    if (t->sleeps == SLEEPS_IN_MEMORY)
        tutti_shm_wake(t->mine);
    else if (atomic_load(&t->dozes) && atomic_exchange(&t->dozes, 0))
        (void)!write(t->bell, &ring, sizeof ring);
}

static const tutti_transport_ops mesh_ops = {
    .name = "mesh",
    .isend = mesh_isend,
    .irecv = mesh_irecv,
    .take_memory = mesh_take_memory,
    .give_memory = mesh_give_memory,
    .claim = mesh_claim,
    .wrote = mesh_wrote,
    .count = mesh_count,
    .test = mesh_test,
    .cancel = mesh_cancel,
    .sweep = mesh_sweep,
    .abandon = mesh_abandon,
    .wait = mesh_wait,
    .wake = mesh_wake,
    .grow = mesh_grow,
    .close = mesh_close,
};

/* Keepalive finds a host that is gone while nothing is under way. Else the stall limit does: TCP_USER_TIMEOUT would
 * also end a connection to a rank that stands still, with full buffers, on a host that answers. */
tutti_status tutti_mesh_connect_socket(
    tutti_interconnect *network, int socket, tutti_connection **connection)
{
    static const int idle_s = 10, interval_s = 5, probes = 4;
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    if (network) return network->ops->connect(network, socket, &tutti_mesh_connection, connection);
    return tutti_connection_open(socket, &tutti_mesh_connection, connection);
}

/* Sleeping needs that all that moves wakes. */
static tutti_status open_bell(mesh *t)
{
    int all_in_memory = t->mine != NULL, all_wake = 1;
    for (int r = 0; r < t->base.size; r++) {
        if (!t->peer[r]) continue;
        const int wakes = tutti_connection_wakes(t->peer[r]);
        all_in_memory &= wakes;
        all_wake &= wakes ? t->mine != NULL : tutti_connection_sleep_on(t->peer[r]).fd >= 0;
    }
    if (all_in_memory) t->sleeps = SLEEPS_IN_MEMORY;
    if (all_in_memory || !all_wake || t->base.size == 1) return TUTTI_OK;
    t->sleeps = SLEEPS_IN_POLL;
    t->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->bell >= 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM, "no file for a mesh to sleep on: %s", strerror(errno));
}

static void close_options(const tutti_mesh_options *o)
{
    for (int r = 0; r < o->size; r++) {
        if (o->peer[r]) tutti_connection_close(o->peer[r]);
        if (o->theirs) tutti_shm_close(o->theirs[r]);
    }
    if (o->network) o->network->ops->close(o->network);
    tutti_shm_close(o->mine);
}

tutti_status tutti_transport_mesh(const tutti_mesh_options *o, tutti_transport **transport)
{
    const size_t size = (size_t)o->size;
    int valid = o->size > 0 && o->rank >= 0 && o->rank < o->size && o->lanes > 0 &&
                o->lanes <= TUTTI_MESH_LANES;
    for (int r = 0; r < o->size && valid; r++) valid = !o->peer[r] == (r == o->rank);
    if (!valid) {
        close_options(o);
        return tutti_fail(TUTTI_ERR_INVAL, "no mesh of %d ranks with %d lanes for rank %d", o->size,
            o->lanes, o->rank);
    }
    mesh *t = calloc(1, sizeof *t);
    if (t) {
        t->bell = -1;
        t->nap = calloc(size + 2, sizeof *t->nap);
        t->peer = calloc(size, sizeof *t->peer);
        t->theirs = calloc(size, sizeof *t->theirs);
        t->claimed = calloc(size, sizeof *t->claimed);
        t->reported = calloc(size, sizeof *t->reported);
        t->socket = calloc(size, sizeof *t->socket);
        t->socket_of = calloc(size, sizeof *t->socket_of);
        t->base.host = calloc(size, sizeof *t->base.host);
    }
    if (!t || !t->peer || !t->theirs || !t->claimed || !t->reported || !t->socket ||
        !t->socket_of || !t->nap || !t->base.host) {
        close_options(o);
        if (t) mesh_close(&t->base);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a mesh of %d ranks", o->size);
    }
    memcpy(t->peer, o->peer, size * sizeof *t->peer);
    t->any = (tutti_mesh_any){.peer = t->peer, .size = o->size};
    if (o->theirs) memcpy(t->theirs, o->theirs, size * sizeof *t->theirs);
    t->mine = o->mine;
    t->refused = SIZE_MAX;
    t->network = o->network;
    t->base.far_memory = o->network != NULL;
    if (o->host) memcpy(t->base.host, o->host, size * sizeof *t->base.host);
    t->base.ops = &mesh_ops;
    t->base.rank = o->rank;
    t->base.size = o->size;
    t->base.lanes = o->lanes;
    t->base.near = o->near;
    t->broken = o->broken;
    t->base.tags = tutti_mesh_connection.tags;
    t->base.small_bytes = tutti_mesh_connection.early_bytes;
    tutti_status status = open_bell(t);
    if (status) {
        mesh_close(&t->base);
        return status;
    }
    *transport = &t->base;
    return TUTTI_OK;
}
