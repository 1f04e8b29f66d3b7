/* libfabric as a network: memory that is registered, given back while it is lent, or refused; a process that ends
 * between the data and the word that they are there; a key that is not valid any more; a provider that is missing or
 * fails. tests/collectives/test_tcp.c has the cases that all connections share. */
#include "collectives/transport/fabric_parts.h"
#include "collectives/transport/mesh.h"
#include "collectives/transport/tcp_frame.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "tests/support/testing.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 1 << 20, MOST_FILES = 256 };

static const tutti_connection_options through = {
    .lanes = 1, .tags = 4, .silence_s = INFINITY, .early_bytes = 256};
static const double most_s = 20;

static tutti_interconnect *network[2];
static int ends[2];

static void open_networks(const tutti_fabric_options *options)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    for (int e = 0; e < 2; e++) ck_assert_ok(tutti_fabric_open(options, &network[e]));
}

static tutti_connection *connect_end(int e)
{
    tutti_connection *c;
    ck_assert_ok(network[e]->ops->connect(network[e], ends[e], &through, &c));
    return c;
}

static unsigned char *take(int e, tutti_shm *arena)
{
    void *at;
    ck_assert_ok(network[e]->ops->take(network[e], arena, LARGE, &at));
    memset(at, 0xEE, LARGE);
    return at;
}

static const tutti_shm_options memory = {
    .rings = 1, .ring_bytes = 1 << 12, .arena_bytes = 4 * LARGE};

static void close_networks(void)
{
    for (int e = 0; e < 2; e++) network[e]->ops->close(network[e]);
}

static tutti_connection *a, *b; /* the ends, where a test has both */

static void open_pair(const tutti_fabric_options *options)
{
    open_networks(options);
    a = connect_end(0);
    b = connect_end(1);
}

static void close_pair(void)
{
    tutti_connection_close(a);
    tutti_connection_close(b);
    close_networks();
}

static int has_ended(tutti_connection_message *m, tutti_status wanted)
{
    int done;
    ck_assert_int_eq(tutti_connection_test(m, &done), wanted);
    return done;
}

static void transfer(tutti_connection_message *s, tutti_connection_message *r)
{
    int sent = 0, got = 0;
    for (double until_s = tutti_clock_s() + most_s; !sent || !got;) {
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        if (!sent) sent = has_ended(s, TUTTI_OK);
        if (!got) got = has_ended(r, TUTTI_OK);
        ck_assert_msg(tutti_clock_s() < until_s, "a message does not end");
    }
}

static void pass_until_broken(tutti_connection *c)
{
    for (double until_s = tutti_clock_s() + most_s; !tutti_connection_broken(c);) {
        tutti_connection_pass(c);
        ck_assert_msg(tutti_clock_s() < until_s, "nothing breaks");
    }
}

/* PSM's library, which Debian's libfabric brings along, takes signals over when it is loaded. Each test is a process
 * that has not loaded any. */
START_TEST(signals_stay_as_they_are)
{
    static const int ends_program[] = {SIGINT, SIGTERM, SIGABRT, SIGILL, SIGSEGV, SIGBUS};
    enum { N = sizeof ends_program / sizeof *ends_program };
    struct sigaction before[N], after;
    for (int i = 0; i < N; i++) sigaction(ends_program[i], NULL, &before[i]);
    open_networks(NULL);
    for (int i = 0; i < N; i++) {
        sigaction(ends_program[i], NULL, &after);
        ck_assert_msg(after.sa_handler == before[i].sa_handler, "signal %d", ends_program[i]);
    }
    close_networks();
}
END_TEST

START_TEST(no_provider)
{
    const tutti_fabric_options none = {.provider = "nonsense"};
    tutti_interconnect *n;
    ck_assert_int_eq(tutti_fabric_open(&none, &n), TUTTI_ERR_USAGE);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "no provider nonsense"));
    setenv("TUTTI_FABRIC_PROVIDER", "neither", 1);
    ck_assert_int_eq(tutti_fabric_open(NULL, &n), TUTTI_ERR_USAGE);
    unsetenv("TUTTI_FABRIC_PROVIDER");
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "no provider neither"));
}
END_TEST

START_TEST(too_much_is_registered)
{
    const tutti_fabric_options little = {.most_bytes = LARGE + 1};
    void *none;
    open_pair(&little);
    unsigned char *at = take(0, NULL);
    ck_assert_int_eq(network[0]->ops->take(network[0], NULL, LARGE, &none), TUTTI_ERR_NOMEM);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "1048576 bytes cannot be registered"));
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "ulimit -l"));
    network[0]->ops->give(network[0], at);
    network[0]->ops->give(network[0], take(0, NULL));
    ck_assert_uint_eq(tutti_fabric_registered(network[0]), 0);
    close_pair();
}
END_TEST

/* What is given back while the sender may write to it stays registered until it has. With _i, it is in an arena. */
START_TEST(is_given_back_early)
{
    static unsigned char out[LARGE];
    tutti_connection_message *s, *r;
    tutti_shm *arena = NULL;
    if (_i) ck_assert_ok(tutti_shm_create(&memory, &arena));
    open_pair(NULL);
    unsigned char *in = take(1, arena);
    memset(out, 0xAB, LARGE);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    network[1]->ops->give(network[1], in);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), LARGE);
    unsigned char *next = take(1, arena);
    ck_assert_ptr_ne(next, in);
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    transfer(s, r);
    ck_assert_uint_eq(tutti_connection_count(b).placed_messages, 1);
    ck_assert_uint_eq(tutti_connection_count(b).streamed_messages, 0);
    ck_assert_uint_eq(next[0], 0xEE);
    if (_i) ck_assert(in[0] == 0xAB && in[LARGE - 1] == 0xAB);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), LARGE);
    network[1]->ops->give(network[1], next);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), 0);
    if (_i) ck_assert_uint_eq(tutti_shm_used(arena), 0);
    close_pair();
    tutti_shm_close(arena);
}
END_TEST

/* ---- an end that does as it likes ---- */

static tutti_stream *open_stream(int e)
{
    tutti_connection *spare; /* opens the domain */
    tutti_stream *s;
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    ck_assert_ok(network[e]->ops->connect(network[e], pair[0], &through, &spare));
    tutti_connection_close(spare);
    close(pair[1]);
    ck_assert_ok(tutti_fabric_stream((tutti_fabric *)network[e], ends[e], &s));
    return s;
}

/* The place that the first WANT names. */
static uint64_t read_want(tutti_stream *s, tutti_connection *other)
{
    const tutti_tcp_limits limits = {through.lanes, through.tags};
    unsigned char header[TUTTI_TCP_HEADER_BYTES];
    tutti_tcp_frame f;
    size_t got = 0;
    for (double until_s = tutti_clock_s() + most_s; got < sizeof header;) {
        if (other) tutti_connection_pass(other);
        ssize_t n = s->ops->read(s, header + got, sizeof header - got);
        if (n < 0 || tutti_clock_s() > until_s) abort();
        got += (size_t)n;
    }
    if (tutti_tcp_frame_read(header, &limits, &f) || f.kind != TUTTI_TCP_WANT) abort();
    return f.place;
}

/* Writes the data, and never says so. */
static void write_alone(tutti_stream *s, uint64_t place)
{
    static unsigned char out[LARGE];
    int under_way = 0;
    memset(out, 0xAB, LARGE);
    if (s->ops->put(s, place, 0, out, LARGE, &under_way) != 1) abort();
    for (double until_s = tutti_clock_s() + most_s; under_way;) {
        char none;
        if (s->ops->read(s, &none, 1) < 0 || tutti_clock_s() > until_s) abort();
    }
}

/* How the sender ends between the data and the word. */
enum { CLOSES, DIES, ENDS };

START_TEST(between_the_data_and_the_word)
{
    int status;
    open_networks(NULL);
    const pid_t child = fork();
    if (!child) {
        alarm(60);
        close(ends[1]);
        tutti_stream *s = open_stream(0);
        write_alone(s, read_want(s, NULL));
        if (_i == DIES) raise(SIGKILL);
        s->ops->close(s);
        _exit(0);
    }
    close(ends[0]);
    b = connect_end(1);
    tutti_connection_message *r;
    unsigned char *in = take(1, NULL);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    pass_until_broken(b);
    ck_assert_str_eq(
        tutti_connection_broken(b), _i == DIES ? "has died" : "has closed the connection");
    ck_assert(has_ended(r, TUTTI_ERR_COMM));
    ck_assert(in[0] == 0xAB && in[LARGE - 1] == 0xAB);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, _i == DIES ? SIGKILL : 0);
    /* what it could write to stays */
    network[1]->ops->give(network[1], in);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), LARGE);
    tutti_connection_close(b);
    close_networks();
}
END_TEST

/* Memory that is not registered any more is not written to: who tries is told. */
START_TEST(a_key_is_not_valid_any_more)
{
    static unsigned char out[LARGE];
    tutti_connection_message *r;
    tutti_shm *arena;
    const tutti_fabric_options soon = {.lost_s = 0.3};
    int under_way = 0;
    ck_assert_ok(tutti_shm_create(&memory, &arena));
    open_networks(&soon);
    b = connect_end(1);
    unsigned char *in = take(1, arena);
    tutti_stream *s = open_stream(0);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    const uint64_t place = read_want(s, b);
    ck_assert(!s->ops->finds(s, place, LARGE + 1));
    ck_assert(!s->ops->finds(s, place + ((uint64_t)1 << 50), 1));
    tutti_fabric *f = (tutti_fabric *)network[1];
    network[1]->ops->give(network[1], in);
    pthread_mutex_lock(&f->lock);
    tutti_fabric_take_back(f, &f->region[(place >> TUTTI_FABRIC_OFFSET_BITS) - 1]);
    pthread_mutex_unlock(&f->lock);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), 0);
    ck_assert_int_eq(s->ops->put(s, place, 0, out, LARGE, &under_way), 1);
    unsigned char header[TUTTI_TCP_HEADER_BYTES];
    tutti_tcp_frame_write(&(tutti_tcp_frame){.kind = TUTTI_TCP_PLACED, .tag = 1}, header);
    const struct iovec word = {header, sizeof header};
    ssize_t wrote = 0;
    const double word_s = tutti_clock_s() + 0.1;
    for (double until_s = tutti_clock_s() + most_s; !tutti_connection_broken(b);) {
        char none;
        tutti_connection_pass(b);
        /* the provider has broken its connection by then, and makes another */
        if (!wrote && tutti_clock_s() > word_s) wrote = s->ops->write(s, &word, 1);
        (void)s->ops->is_dead(s, tutti_clock_s());
        (void)s->ops->read(s, &none, 1);
        ck_assert_msg(tutti_clock_s() < until_s, "nothing breaks");
    }
    ck_assert_msg(strstr(tutti_connection_broken(b), "has sent what has not arrived"), "%s",
        tutti_connection_broken(b));
    for (int i = 0; i < LARGE; i++) ck_assert_uint_eq(in[i], 0xEE);
    s->ops->close(s);
    pass_until_broken(b);
    ck_assert(has_ended(r, TUTTI_ERR_COMM));
    tutti_connection_close(b);
    close_networks();
    tutti_shm_close(arena);
}
END_TEST

/* ---- sleeping ---- */

static tutti_transport *open_mesh(int e)
{
    tutti_connection *peer[2] = {NULL};
    tutti_transport *t;
    ck_assert_ok(network[e]->ops->connect(network[e], ends[e], &tutti_mesh_connection, &peer[!e]));
    ck_assert_ok(tutti_transport_mesh(
        &(tutti_mesh_options){
            .rank = e, .size = 2, .lanes = 1, .peer = peer, .network = network[e]},
        &t));
    return t;
}

/* Returns how often it was tested. */
static int sleep_until(tutti_transport *t, tutti_message *m)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const double begun_s = tutti_clock_s();
    int done = 0, tests = 0;
    for (; t->ops->test(t, m, &done) == TUTTI_OK && !done; tests++) t->ops->wait(t, &lock, most_s);
    if (!done || tutti_clock_s() - begun_s > most_s / 2) abort();
    return tests;
}

static void *send_two(void *arg)
{
    static unsigned char out[LARGE];
    tutti_transport *t = open_mesh(0);
    tutti_message *m;
    (void)arg;
    for (int tag = 0; tag < 2; tag++) {
        tutti_clock_sleep(50e-3);
        if (t->ops->isend(t, 0, 1, tag, out, tag ? LARGE : 1, &m)) abort();
        sleep_until(t, m);
    }
    tutti_transport_close(t);
    return NULL;
}

/* Both ends sleep until a frame or data move, and do not spin meanwhile, once they know each other. */
START_TEST(sleeps_until_sent_to)
{
    enum { MOST_TESTS = 200 };
    unsigned char small;
    void *large;
    tutti_message *m;
    pthread_t other;
    open_networks(NULL);
    ck_assert_int_eq(pthread_create(&other, NULL, send_two, NULL), 0);
    tutti_transport *t = open_mesh(1);
    ck_assert_ok(t->ops->take_memory(t, LARGE, &large));
    ck_assert_ok(t->ops->irecv(t, 0, 0, 0, &small, 1, &m));
    sleep_until(t, m);
    ck_assert_ok(t->ops->irecv(t, 0, 0, 1, large, LARGE, &m));
    const int tests = sleep_until(t, m);
    ck_assert_int_le(tests, MOST_TESTS);
    t->ops->give_memory(t, large);
    tutti_transport_close(t);
    pthread_join(other, NULL);
}
END_TEST

/* ---- an endpoint of a stranger ---- */

typedef struct stranger {
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    fi_addr_t peer;
    tutti_fabric_packet packet;
    struct fi_context2 context;
} stranger;

static void send_name(stranger *it, int socket)
{
    unsigned char name[TUTTI_FABRIC_NAME] = {0};
    size_t bytes = sizeof name - 1;
    ck_assert_int_eq(fi_getname(&it->ep->fid, name + 1, &bytes), 0);
    ck_assert_int_eq(write(socket, name, sizeof name), sizeof name);
    ck_assert_int_eq(recv(socket, name, sizeof name, MSG_WAITALL), sizeof name);
    ck_assert_int_eq(fi_av_insert(it->av, name + 1, 1, &it->peer, 0, NULL), 1);
}

static void open_stranger(stranger *it, tutti_fabric *f, int socket)
{
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_DATA};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    ck_assert_int_eq(fi_cq_open(f->domain, &cq, &it->cq, NULL), 0);
    ck_assert_int_eq(fi_av_open(f->domain, &av, &it->av, NULL), 0);
    ck_assert_int_eq(fi_endpoint(f->domain, f->info, &it->ep, NULL), 0);
    ck_assert_int_eq(fi_ep_bind(it->ep, &it->av->fid, 0), 0);
    ck_assert_int_eq(fi_ep_bind(it->ep, &it->cq->fid, FI_TRANSMIT | FI_RECV), 0);
    ck_assert_int_eq(fi_enable(it->ep), 0);
    send_name(it, socket);
}

static void close_stranger(stranger *it)
{
    fi_close(&it->ep->fid);
    fi_close(&it->av->fid);
    fi_close(&it->cq->fid);
}

/* A packet of the stream with one byte that says it has more, a description of memory that ends early, and no packet at
 * all: what is left of an earlier packet is not taken for theirs. */
START_TEST(a_packet_is_shorter_than_it_says)
{
    static const struct {
        uint32_t kind, says;
        size_t has;
    } wrong[] = {{TUTTI_FABRIC_STREAM, 2, 1}, {TUTTI_FABRIC_STREAM, UINT32_MAX, 100},
        {TUTTI_FABRIC_MEMORY, 32, 31}};
    static stranger it;
    struct fi_cq_data_entry done;
    ssize_t code = -FI_EAGAIN;
    open_networks(NULL);
    b = connect_end(1);
    open_stranger(&it, (tutti_fabric *)network[1], ends[0]);
    it.packet = (tutti_fabric_packet){.kind = wrong[_i].kind, .bytes = wrong[_i].says, .number = 1};
    const size_t bytes = offsetof(tutti_fabric_packet, data) + wrong[_i].has;
    for (double until_s = tutti_clock_s() + most_s; !tutti_connection_broken(b);) {
        if (code) code = fi_send(it.ep, &it.packet, bytes, NULL, it.peer, &it.context);
        ck_assert(!code || code == -FI_EAGAIN);
        (void)!fi_cq_read(it.cq, &done, 1);
        tutti_connection_pass(b);
        ck_assert_msg(tutti_clock_s() < until_s, "nothing breaks");
    }
    ck_assert_str_eq(tutti_connection_broken(b), "sends a packet that is shorter than it says");
    tutti_connection_close(b);
    close_stranger(&it);
    close(ends[0]);
    close_networks();
}
END_TEST

/* The provider's own connections break, and both processes live: nothing is lost without a word. */
START_TEST(the_provider_fails)
{
    static unsigned char out[LARGE];
    const tutti_fabric_options soon = {.lost_s = 0.3};
    tutti_connection_message *s, *r;
    int sent, broke = 0;
    open_pair(&soon);
    unsigned char *in = take(1, NULL);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    transfer(s, r);
    for (int fd = 0; fd < MOST_FILES; fd++) {
        struct sockaddr_storage peer;
        socklen_t bytes = sizeof peer;
        if (!getpeername(fd, (struct sockaddr *)&peer, &bytes) && peer.ss_family == AF_INET)
            broke += !shutdown(fd, SHUT_RDWR);
    }
    ck_assert_int_gt(broke, 0);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    for (double until_s = tutti_clock_s() + most_s;
         !tutti_connection_broken(a) || !tutti_connection_broken(b);) {
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        ck_assert_msg(tutti_clock_s() < until_s, "nothing breaks");
    }
    const char *why[2] = {tutti_connection_broken(a), tutti_connection_broken(b)};
    ck_assert_msg(strstr(why[0], "(tcp;ofi_rxm") || strstr(why[1], "(tcp;ofi_rxm") ||
                      strstr(why[1], "has not arrived"),
        "%s; %s", why[0], why[1]);
    ck_assert(has_ended(r, TUTTI_ERR_COMM));
    (void)tutti_connection_test(s, &sent); /* its data had left, perhaps */
    ck_assert(sent);
    network[1]->ops->give(network[1], in);
    close_pair();
}
END_TEST

/* A rank that computes, or is stopped, for longer than what is lost may take: all is there when it passes again. */
START_TEST(one_end_is_away)
{
    static const double away_s = 1.5; /* the other one says within a second what it has sent */
    const tutti_fabric_options soon = {.lost_s = 0.3};
    unsigned char out[64] = {1}, in[64];
    tutti_connection_message *s, *r;
    open_pair(&soon);
    for (int i = 0; i < 3; i++) {
        for (double until_s = tutti_clock_s() + 0.2; tutti_clock_s() < until_s;) {
            tutti_connection_pass(a);
            tutti_connection_pass(b);
        }
        ck_assert_ok(tutti_connection_irecv(b, 0, i, in, sizeof in, &r));
        ck_assert_ok(tutti_connection_isend(a, 0, i, out, sizeof out, &s));
        if (i)
            for (double until_s = tutti_clock_s() + away_s; tutti_clock_s() < until_s;) {
                tutti_connection_pass(a);
                tutti_clock_sleep(1e-3);
            }
        transfer(s, r);
        ck_assert_ptr_null(tutti_connection_broken(b));
    }
    close_pair();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fabric");
    TCase *steps = testing_case(suite, "steps");
    tcase_add_test(steps, signals_stay_as_they_are);
    tcase_add_test(steps, no_provider);
    tcase_add_test(steps, too_much_is_registered);
    tcase_add_loop_test(steps, is_given_back_early, 0, 2);
    tcase_add_loop_test(steps, between_the_data_and_the_word, 0, ENDS);
    tcase_add_test(steps, a_key_is_not_valid_any_more);
    tcase_add_loop_test(steps, a_packet_is_shorter_than_it_says, 0, 3);
    tcase_add_test(steps, the_provider_fails);
    tcase_add_test(steps, one_end_is_away);
    tcase_add_test(steps, sleeps_until_sent_to);
    return testing_run(suite);
}
