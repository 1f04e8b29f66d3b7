/* A mesh of ranks as threads, connected by shared memory, sockets, or both: every case of collectives, groups of it,
 * receives from any rank, a failure, a rank that goes, and a mesh that is made from sockets. */
#include "collectives/transport/mesh.h"
#include "collectives/choose.h"
#include "collectives/coll.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/collectives/cases.h"
#include "tests/support/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 5, LANES = 3 };

/* How ranks are connected. MIXED: those of r / 2 share memory. PLACED: each maps the memory of the others, as processes
 * do, and collectives receive into it; those of r / 2 alone where it is MIXED_PLACED. */
enum { MEMORY, SOCKETS, MIXED, PLACED, WAYS, MIXED_PLACED = WAYS };

static int shares(int way, int a, int b)
{
    return way == MEMORY || way == PLACED || (way != SOCKETS && a / 2 == b / 2);
}

static int maps(int way)
{
    return way == PLACED || way == MIXED_PLACED;
}

/* The memory of rank b for rank a. */
static tutti_shm *map_memory(tutti_mesh_options mesh[], int way, int a, int b)
{
    tutti_shm_name name;
    if (!maps(way)) return mesh[b].mine;
    tutti_shm_get_name(mesh[b].mine, &name);
    ck_assert_ok(tutti_shm_map(&name, &mesh[a].theirs[b]));
    return mesh[a].theirs[b];
}

static void connect_ranks(tutti_mesh_options mesh[], int way, int a, int b)
{
    int ends[2];
    if (!shares(way, a, b)) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        ck_assert_ok(tutti_connection_open(ends[0], &tutti_mesh_connection, &mesh[a].peer[b]));
        ck_assert_ok(tutti_connection_open(ends[1], &tutti_mesh_connection, &mesh[b].peer[a]));
        return;
    }
    ck_assert_ok(tutti_shm_connect(
        mesh[a].mine, b, map_memory(mesh, way, a, b), a, &tutti_mesh_connection, &mesh[a].peer[b]));
    ck_assert_ok(tutti_shm_connect(
        mesh[b].mine, a, map_memory(mesh, way, b, a), b, &tutti_mesh_connection, &mesh[b].peer[a]));
}

/* Threads of one process use the very memory of the others, which is closed last. */
static tutti_shm *memory[MOST], *arena[MOST];
static tutti_connection *peer[MOST][MOST];

static void open_world(int P, int way, tutti_transport *transport[])
{
    tutti_mesh_options mesh[MOST];
    tutti_shm *theirs[MOST][MOST] = {{NULL}};
    const tutti_shm_options options = {
        .rings = MOST, .ring_bytes = 1 << 12, .arena_bytes = maps(way) ? 1 << 24 : 0};
    memset(peer, 0, sizeof peer);
    for (int r = 0; r < P; r++) {
        mesh[r] = (tutti_mesh_options){.rank = r,
            .size = P,
            .lanes = LANES,
            .peer = peer[r],
            .theirs = theirs[r],
            .near = way == MEMORY};
        ck_assert_ok(tutti_shm_create(&options, &memory[r]));
        mesh[r].mine = arena[r] = memory[r];
    }
    for (int a = 0; a < P; a++)
        for (int b = a + 1; b < P; b++) connect_ranks(mesh, way, a, b);
    for (int r = 0; r < P; r++) {
        if (maps(way))
            memory[r] = NULL;
        else
            mesh[r].mine = NULL;
        ck_assert_ok(tutti_transport_mesh(&mesh[r], &transport[r]));
    }
}

typedef struct rank {
    tutti_transport *transport;
    const char *algorithm;
    int index, failures;
    void (*body)(struct rank *r);
} rank;

static void *run_rank(void *arg)
{
    rank *r = arg;
    r->body(r);
    return NULL;
}

static void run_world(int P, int way, const char *algorithm, void (*body)(rank *r))
{
    tutti_transport *transport[MOST];
    rank ranks[MOST];
    pthread_t threads[MOST];
    open_world(P, way, transport);
    for (int r = 0; r < P; r++) {
        ranks[r] = (rank){transport[r], algorithm, r, 0, body};
        ck_assert_int_eq(pthread_create(&threads[r], NULL, run_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < P; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < P; r++) {
        ck_assert_msg(!ranks[r].failures, "%s on %d ranks: rank %d has %d failures",
            algorithm ? algorithm : "-", P, r, ranks[r].failures);
        tutti_shm_close(memory[r]);
    }
}

static tutti_comm *open_comm(tutti_transport *transport, const char *algorithm)
{
    tutti_comm *comm;
    const tutti_comm_options options = {.algorithm = algorithm};
    if (tutti_comm_new(transport, &options, &comm)) abort();
    return comm;
}

static void every_case(rank *r)
{
    tutti_comm *comm = open_comm(r->transport, r->algorithm);
    r->failures = cases_run(comm, r->algorithm) + cases_in_order(comm) + cases_whole(comm) +
                  cases_extras(comm, 11) + cases_same_bits(comm, 11, 0);
    tutti_comm_free(comm);
}

static const char *const algorithms[] = {"ring", "recursive-doubling", "tree", "direct", "auto"};

START_TEST(runs_every_case)
{
    const int way = _i % WAYS;
    for (int P = 1; P <= (testing_fewer() ? 3 : MOST); P++)
        run_world(P, way, algorithms[(P + _i) % 5], every_case);
}
END_TEST

/* A ring of sums: each rank receives all parts but its own into memory that its neighbour writes to, and then the sums
 * of all parts but one into the program's memory, through the ring of bytes. */
static void sum_in_place(rank *r)
{
    enum { COUNT = 400000 };
    tutti_comm *comm = open_comm(r->transport, "ring");
    const int P = tutti_comm_size(comm), left = (r->index + P - 1) % P;
    float *x = calloc(COUNT, sizeof *x);
    for (int round = 1; round <= 2; round++) {
        const tutti_coll_args args = {.count = COUNT, .recv = x};
        tutti_coll_request *request;
        for (int i = 0; i < COUNT; i++) x[i] = 1;
        if (tutti_coll_post(comm, 0, &args, &request)) abort();
        if (tutti_coll_wait(comm, request, 60)) abort();
        tutti_coll_free(request);
        for (int i = 0; i < COUNT; i++) r->failures += x[i] != (float)P;
        const tutti_connection_received got = tutti_connection_count(peer[r->index][left]);
        const uint64_t parts = (uint64_t)(round * (P - 1)) * COUNT * sizeof *x / (uint64_t)P;
        r->failures += got.placed != parts || got.streamed != parts;
    }
    tutti_comm_free(comm);
    free(x);
}

START_TEST(receives_in_place)
{
    run_world(4, PLACED, NULL, sum_in_place);
}
END_TEST

/* An abandoned collective leaves memory that its neighbour may still write to: the next one receives elsewhere. */
START_TEST(abandoned_memory_stays)
{
    enum { COUNT = 400000 };
    static float x[2][COUNT];
    tutti_transport *transport[MOST];
    tutti_coll_request *request;
    size_t used[3];
    open_world(2, PLACED, transport);
    tutti_comm *comm = open_comm(transport[0], "ring");
    for (int i = 0; i < 2; i++) {
        const tutti_coll_args args = {.count = COUNT, .recv = x[i]};
        const tutti_status status = tutti_coll_post(comm, 0, &args, &request);
        used[i] = tutti_shm_used(arena[0]);
        ck_assert_int_eq(status, i ? TUTTI_ERR_COMM : TUTTI_OK);
        if (!i) tutti_coll_free(request);
    }
    ck_assert_uint_gt(used[0], COUNT / 2 * sizeof **x);
    ck_assert_uint_eq(used[1], 2 * used[0]);
    while (!tutti_comm_drain(comm)) continue;
    tutti_comm_free(comm);
    transport[1]->abandoned = 1; /* it does not linger */
    tutti_transport_close(transport[1]);
}
END_TEST

/* A buffer that does not fit keeps no smaller one from the arena, and memory that is given back can be taken again. */
START_TEST(memory_that_was_refused)
{
    const size_t MiB = 1 << 20;
    tutti_transport *transport[MOST];
    void *whole, *half, *more;
    open_world(2, PLACED, transport);
    tutti_transport *t = transport[0];
    ck_assert_int_eq(t->ops->take_memory(t, 17 * MiB, &whole), TUTTI_ERR_NOMEM);
    ck_assert_ok(t->ops->take_memory(t, 12 * MiB, &whole));
    ck_assert_int_eq(t->ops->take_memory(t, 8 * MiB, &half), TUTTI_ERR_NOMEM);
    const unsigned errors = tutti_error_count();
    ck_assert_int_eq(t->ops->take_memory(t, 8 * MiB, &half), TUTTI_ERR_NOMEM); /* said once */
    ck_assert_uint_eq(tutti_error_count(), errors);
    ck_assert_ok(t->ops->take_memory(t, 2 * MiB, &more));
    t->ops->give_memory(t, whole);
    ck_assert_ok(t->ops->take_memory(t, 8 * MiB, &half));
    t->ops->give_memory(t, half);
    t->ops->give_memory(t, more);
    ck_assert_uint_eq(tutti_shm_used(arena[0]), 0);
    for (int r = 0; r < 2; r++) {
        transport[r]->abandoned = 1; /* none lingers */
        tutti_transport_close(transport[r]);
    }
}
END_TEST

/* A group on a channel of a shared lane, beside all ranks. */
static void in_groups(rank *r)
{
    static const int of[] = {3, 1, 0};
    int done = 0;
    tutti_transport *part = NULL;
    tutti_members members;
    tutti_comm *comm = NULL;
    if (r->transport->ops->grow(r->transport, 1, NULL, &done) || !done) abort();
    if (tutti_members_set(1, 3, of, r->index, &members)) abort();
    const tutti_part where = {&members, LANES, 2, 7};
    if (members.rank >= 0 && tutti_transport_part(r->transport, &where, &part)) abort();
    if (part) comm = open_comm(part, NULL);
    if (comm) r->failures += cases_run(comm, NULL);
    tutti_comm_free(comm);
    tutti_members_free(&members);
    tutti_transport_close(r->transport);
}

START_TEST(has_groups)
{
    run_world(4, _i, NULL, in_groups);
}
END_TEST

/* Rank 0 receives from any; each of the others sends its messages in order, more of them than are received at once. */
static void any_rank(rank *r)
{
    enum { EACH = 500, AT_ONCE = 3 };
    tutti_transport *t = r->transport;
    int wire[AT_ONCE][2], next[MOST] = {0}, done, left = EACH * (t->size - 1), posted = left;
    tutti_message *m[AT_ONCE] = {NULL};
    const double until_s = tutti_clock_s() + 60;
    for (int i = 0; r->index && i < EACH; i++) {
        wire[0][0] = r->index;
        wire[0][1] = i;
        if (t->ops->isend(t, 1, 0, 5, wire[0], sizeof wire[0], &m[0])) abort();
        for (done = 0; !done;)
            if (t->ops->test(t, m[0], &done) || tutti_clock_s() > until_s) abort();
    }
    for (int i = 0; !r->index && i < AT_ONCE; i++, posted--)
        if (t->ops->irecv(t, 1, TUTTI_ANY_RANK, 5, wire[i], sizeof wire[i], &m[i])) abort();
    for (int i = 0; !r->index && left; i = (i + 1) % AT_ONCE) {
        for (done = 0; !done;)
            if (t->ops->test(t, m[i], &done) || tutti_clock_s() > until_s) abort();
        r->failures += next[wire[i][0]]++ != wire[i][1];
        left--;
        if (posted-- > 0 &&
            t->ops->irecv(t, 1, TUTTI_ANY_RANK, 5, wire[i], sizeof wire[i], &m[i]))
            abort();
    }
    /* one that never comes is cancelled, and one is abandoned */
    for (int i = 0; i < 2; i++)
        if (t->ops->irecv(t, 2, TUTTI_ANY_RANK, 5, wire[i], sizeof wire[i], &m[i])) abort();
    t->ops->cancel(t, m[0]);
    r->failures += t->ops->test(t, m[0], &done) || !done;
    t->ops->abandon(t, m[1]);
    r->failures += t->ops->irecv(t, 2, TUTTI_ANY_RANK, 5, wire[0], 1, &m[0]) != TUTTI_ERR_INVAL;
    tutti_transport_close(t);
}

START_TEST(receives_from_any_rank)
{
    run_world(4, _i, NULL, any_rank);
}
END_TEST

/* The ranks disagree about a count; all get their buffers back, and the next sum is right on another lane. */
static void disagree(rank *r)
{
    tutti_comm *comm = open_comm(r->transport, "ring");
    enum { COUNT = 30000 };
    float *x = calloc(COUNT, sizeof *x);
    const tutti_coll_args args = {.count = COUNT - 3000 * (r->index == 1), .recv = x};
    tutti_coll_request *request;
    if (tutti_coll_post(comm, 0, &args, &request)) abort();
    tutti_status status = tutti_coll_wait(comm, request, 1);
    /* a rank between two that fit waits for them, until they leave */
    r->failures +=
        status != TUTTI_ERR_MISMATCH && status != TUTTI_ERR_TIMEOUT && status != TUTTI_ERR_COMM;
    const double until_s = tutti_clock_s() + 20;
    while (!tutti_comm_drain(comm) && tutti_clock_s() < until_s) continue;
    r->failures += !tutti_comm_drain(comm);
    /* those that end first still answer the others */
    for (double rest_s = tutti_clock_s() + 0.3; tutti_clock_s() < rest_s;) tutti_comm_drain(comm);
    tutti_coll_free(request);
    tutti_comm_free(comm);
    free(x);
}

START_TEST(ends_after_a_failure)
{
    run_world(3, _i, NULL, disagree);
}
END_TEST

/* The last rank closes; the others learn who is gone. */
static void lose_one(rank *r)
{
    tutti_transport *t = r->transport;
    char byte = 0;
    int done = 0;
    tutti_message *m;
    tutti_status status = TUTTI_OK;
    t->abandoned = 1; /* nobody lingers */
    if (r->index < t->size - 1) {
        status = t->ops->irecv(t, 0, t->size - 1, 0, &byte, 1, &m);
        for (double until_s = tutti_clock_s() + 20; !status && tutti_clock_s() < until_s;)
            status = t->ops->test(t, m, &done);
        r->failures += status != TUTTI_ERR_COMM;
        r->failures += strcmp(tutti_last_error(), "rank 2 has closed the connection") != 0;
        r->failures += t->ops->isend(t, 0, t->size - 1, 0, &byte, 1, &m) != TUTTI_ERR_COMM;
        r->failures += t->ops->isend(t, 0, r->index, 0, &byte, 1, &m) != TUTTI_ERR_INVAL;
    }
    tutti_transport_close(t);
}

START_TEST(says_who_is_gone)
{
    run_world(3, _i, NULL, lose_one);
}
END_TEST

/* ---- sleeping ---- */

static const double longest_s = 5, soon_s = 2.5, later_s = 20e-3;
static pthread_mutex_t its_lock = PTHREAD_MUTEX_INITIALIZER;

static void *wake_later(void *arg)
{
    tutti_transport *t = arg;
    tutti_clock_sleep(later_s);
    t->ops->wake(t);
    return NULL;
}

/* Sleeps until the message has ended. Returns how often, or a large number where it took too long. */
static int sleep_until(tutti_transport *t, tutti_message *m)
{
    const double begun_s = tutti_clock_s();
    int done = 0, slept = 0;
    while (t->ops->test(t, m, &done) == TUTTI_OK && !done && slept < 1000)
        slept += t->ops->wait(t, &its_lock, longest_s);
    return done && tutti_clock_s() - begun_s < soon_s ? slept : 1000;
}

/* Rank 0 sleeps until each of the others sends, in their order; then until its own thread wakes it, and until time is
 * up. A large message is sent by a rank that sleeps until there is room. */
static void sleep_and_wake(rank *r)
{
    enum { LARGE = 1 << 19 };
    static char from[2][LARGE], to[2][LARGE];
    tutti_transport *t = r->transport;
    tutti_message *m;
    pthread_t other;
    char last;
    int sleeps = 0;
    for (int round = 0; round < 2; round++)
        for (int p = 1; p < t->size; p++) {
            const size_t bytes = round ? LARGE : 1;
            if (r->index == p) {
                tutti_clock_sleep(p * later_s);
                if (t->ops->isend(t, 0, 0, round, from[p - 1], bytes, &m)) abort();
                r->failures += sleep_until(t, m) > 500;
            }
            if (r->index == 0) {
                if (t->ops->irecv(t, 0, p, round, to[p - 1], bytes, &m)) abort();
                const int slept = sleep_until(t, m);
                r->failures += slept > (round ? 900 : 8);
                sleeps += slept;
            }
        }
    if (r->index == 0) {
        double begun_s = tutti_clock_s();
        r->failures += !sleeps;
        if (pthread_create(&other, NULL, wake_later, t)) abort();
        while (tutti_clock_s() - begun_s < later_s) {
            t->ops->sweep(t, 0, 1);
            (void)t->ops->wait(t, &its_lock, longest_s);
        }
        pthread_join(other, NULL);
        r->failures += tutti_clock_s() - begun_s > soon_s;
        begun_s = tutti_clock_s();
        for (int i = 0; i < 20 && tutti_clock_s() - begun_s < later_s; i++) {
            t->ops->sweep(t, 0, 1);
            (void)t->ops->wait(t, &its_lock, later_s);
        }
        r->failures += tutti_clock_s() - begun_s < later_s;
        for (int p = 1; p < t->size; p++)
            if (t->ops->isend(t, 0, p, 2, from[0], 1, &m) || sleep_until(t, m) > 8) abort();
    } else if (t->ops->irecv(t, 0, 0, 2, &last, 1, &m) || sleep_until(t, m) > 8) {
        r->failures++;
    }
    tutti_transport_close(t);
}

START_TEST(sleeps_until_woken)
{
    static const int ways[] = {PLACED, SOCKETS, MIXED_PLACED};
    run_world(3, ways[_i], NULL, sleep_and_wake);
}
END_TEST

/* ---- made from sockets ---- */

/* A rank as a thread that opens its mesh, and talks to the next one. */
typedef struct maker {
    tutti_mesh_sockets options;
    int socket[3], value;
    tutti_status opened, talked, severed;
} maker;

static tutti_status transfer(tutti_transport *t, int *value)
{
    const int from = (t->rank + t->size - 1) % t->size, to = (t->rank + 1) % t->size;
    const double until_s = tutti_clock_s() + 20;
    tutti_message *out = NULL, *in = NULL;
    int sent = 0, received = 0, mine = 100 + t->rank;
    tutti_status status = t->ops->irecv(t, 0, from, 0, value, sizeof *value, &in);
    if (!status) status = t->ops->isend(t, 0, to, 0, &mine, sizeof mine, &out);
    while (!status && !(sent && received) && tutti_clock_s() < until_s) {
        if (!sent) status = t->ops->test(t, out, &sent);
        if (!status && !received) status = t->ops->test(t, in, &received);
    }
    return status ? status : sent && received ? TUTTI_OK : TUTTI_ERR_TIMEOUT;
}

/* What waits for ever ends when the mesh is severed. */
static tutti_status await_nothing(tutti_transport *t)
{
    const double until_s = tutti_clock_s() + 5;
    tutti_message *m;
    char byte;
    int done = 0;
    tutti_status status = t->ops->irecv(t, 1, (t->rank + 1) % t->size, 7, &byte, 1, &m);
    while (!done && !status && tutti_clock_s() < until_s) status = t->ops->test(t, m, &done);
    return status;
}

static atomic_int severs, talked;

static void *make_mesh(void *arg)
{
    maker *m = arg;
    tutti_transport *t;
    m->opened = tutti_transport_mesh_sockets(&m->options, &t);
    if (m->opened) return NULL;
    m->talked = transfer(t, &m->value);
    atomic_fetch_add(&talked, 1);
    if (m->options.broken) m->severed = await_nothing(t);
    t->ops->sweep(t, 0, 1); /* another may have been severed, and closed, before */
    if (m->options.broken && (!t->severed || !t->near)) m->severed = TUTTI_OK;
    tutti_transport_close(t);
    return NULL;
}

static void prepare_makers(maker makers[3])
{
    for (int r = 0; r < 3; r++) {
        makers[r] = (maker){.socket = {-1, -1, -1}};
        makers[r].options = (tutti_mesh_sockets){.rank = r,
            .size = 3,
            .lanes = LANES,
            .socket = makers[r].socket,
            .until_s = tutti_clock_s() + 20,
            .broken = &severs};
    }
    for (int a = 0; a < 3; a++)
        for (int b = a + 1; b < 3; b++) {
            int ends[2];
            ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
            makers[a].socket[b] = ends[0];
            makers[b].socket[a] = ends[1];
        }
}

START_TEST(made_from_sockets)
{
    maker makers[3];
    pthread_t threads[3];
    prepare_makers(makers);
    atomic_store(&severs, 0);
    atomic_store(&talked, 0);
    for (int r = 0; r < 3; r++) pthread_create(&threads[r], NULL, make_mesh, &makers[r]);
    for (int i = 0; i < 20000 && atomic_load(&talked) < 3; i++) tutti_clock_sleep(1e-3);
    atomic_store(&severs, 1);
    for (int r = 0; r < 3; r++) {
        pthread_join(threads[r], NULL);
        ck_assert_ok(makers[r].opened);
        ck_assert_ok(makers[r].talked);
        ck_assert_int_eq(makers[r].value, 100 + (r + 2) % 3);
        ck_assert_int_eq(makers[r].severed, TUTTI_ERR_COMM);
    }
}
END_TEST

/* A rank that is missing, has gone, or is none. */
START_TEST(sockets_that_fail)
{
    static const tutti_status wanted[] = {
        TUTTI_ERR_TIMEOUT, TUTTI_ERR_COMM, TUTTI_ERR_COMM, TUTTI_ERR_COMM};
    const char noise[64] = "GET / HTTP/1.0";
    maker makers[3];
    prepare_makers(makers);
    atomic_store(&severs, _i == 3);
    makers[0].options.until_s = tutti_clock_s() + (_i ? 20 : 0.05);
    for (int r = 1; r < 3; r++) {
        if (_i == 1) close(makers[r].socket[0]);
        if (_i == 2) ck_assert_int_eq(send(makers[r].socket[0], noise, 64, 0), 64);
    }
    make_mesh(&makers[0]);
    ck_assert_int_eq(makers[0].opened, wanted[_i]);
    close(makers[1].socket[2]);
    close(makers[2].socket[1]);
    for (int r = 1; r < 3 && _i != 1; r++) close(makers[r].socket[0]);
}
END_TEST

/* Another machine, as its bytes: there is no memory to share, so the socket carries the messages. */
START_TEST(another_machine_keeps_the_socket)
{
    const unsigned char card[64] = {'t', 'u', 't', 'c', 'a', 'r', 'd', '2', 5, [16] = 1};
    unsigned char theirs[64], maps = 0;
    const tutti_connection_options *options = &tutti_mesh_connection;
    int ends[2], value = 7, mine = 0, done = 0;
    pthread_t thread;
    tutti_connection *c;
    tutti_connection_message *out, *in;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    maker m = {.socket = {-1, ends[0], -1}};
    m.options = (tutti_mesh_sockets){
        .size = 2, .lanes = LANES, .socket = m.socket, .until_s = tutti_clock_s() + 20};
    pthread_create(&thread, NULL, make_mesh, &m);
    ck_assert_int_eq(send(ends[1], card, sizeof card, 0), sizeof card);
    ck_assert_int_eq(recv(ends[1], theirs, sizeof theirs, MSG_WAITALL), sizeof theirs);
    ck_assert(!memcmp(card, theirs, 8));
    ck_assert_int_eq(send(ends[1], &maps, 1, 0), 1);
    ck_assert_int_eq(recv(ends[1], &maps, 1, MSG_WAITALL), 1);
    ck_assert_int_eq(maps, 0);
    ck_assert_ok(tutti_connection_open(ends[1], options, &c));
    ck_assert_ok(tutti_connection_isend(c, 0, 0, &value, sizeof value, &out));
    ck_assert_ok(tutti_connection_irecv(c, 0, 0, &mine, sizeof mine, &in));
    while (!done) {
        tutti_connection_pass(c);
        ck_assert_ok(tutti_connection_test(in, &done));
    }
    for (done = 0; !done;) {
        tutti_connection_pass(c);
        ck_assert_ok(tutti_connection_test(out, &done));
    }
    tutti_connection_close(c);
    pthread_join(thread, NULL);
    ck_assert_ok(m.opened);
    ck_assert_ok(m.talked);
    ck_assert_int_eq(m.value, 7);
    ck_assert_int_eq(mine, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mesh");
    TCase *mesh = testing_case(suite, "mesh");
    tcase_add_loop_test(mesh, runs_every_case, 0, WAYS);
    tcase_add_test(mesh, receives_in_place);
    tcase_add_test(mesh, abandoned_memory_stays);
    tcase_add_test(mesh, memory_that_was_refused);
    tcase_add_loop_test(mesh, has_groups, 0, WAYS);
    tcase_add_loop_test(mesh, receives_from_any_rank, 0, WAYS);
    tcase_add_loop_test(mesh, ends_after_a_failure, 0, WAYS);
    tcase_add_loop_test(mesh, says_who_is_gone, 0, WAYS);
    tcase_add_loop_test(mesh, sleeps_until_woken, 0, 3);
    TCase *sockets = testing_case(suite, "sockets");
    tcase_add_test(sockets, made_from_sockets);
    tcase_add_loop_test(sockets, sockets_that_fail, 0, 4);
    tcase_add_test(sockets, another_machine_keeps_the_socket);
    return testing_run(suite);
}
