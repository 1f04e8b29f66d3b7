/* libfabric as a network: memory that is registered, given back while it is lent, or refused; a process that ends
 * between the data and the word that they are there; a key that is not valid any more; a provider that is missing or
 * fails. tests/collectives/test_tcp.c has the cases that all connections share. */
#include "collectives/transport/fabric_parts.h"
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

static void close_networks(void)
{
    for (int e = 0; e < 2; e++) network[e]->ops->close(network[e]);
}

static int has_ended(tutti_connection_message *m, tutti_status wanted)
{
    int done;
    ck_assert_int_eq(tutti_connection_test(m, &done), wanted);
    return done;
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
    open_networks(&little);
    tutti_connection *a = connect_end(0), *b = connect_end(1);
    unsigned char *at = take(0, NULL);
    ck_assert_int_eq(network[0]->ops->take(network[0], NULL, LARGE, &none), TUTTI_ERR_NOMEM);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "1048576 bytes cannot be registered"));
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "ulimit -l"));
    network[0]->ops->give(network[0], at);
    network[0]->ops->give(network[0], take(0, NULL));
    ck_assert_uint_eq(tutti_fabric_registered(network[0]), 0);
    tutti_connection_close(a);
    tutti_connection_close(b);
    close_networks();
}
END_TEST

/* What is given back while the sender may write to it stays registered until it has. With _i, it is in an arena. */
START_TEST(is_given_back_early)
{
    static const tutti_shm_options memory = {
        .rings = 1, .ring_bytes = 1 << 12, .arena_bytes = 4 * LARGE};
    static unsigned char out[LARGE];
    tutti_connection_message *s, *r;
    tutti_shm *arena = NULL;
    int sent = 0, got = 0;
    if (_i) ck_assert_ok(tutti_shm_create(&memory, &arena));
    open_networks(NULL);
    tutti_connection *a = connect_end(0), *b = connect_end(1);
    unsigned char *in = take(1, arena);
    memset(out, 0xAB, LARGE);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    network[1]->ops->give(network[1], in);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), LARGE);
    unsigned char *next = take(1, arena);
    ck_assert_ptr_ne(next, in);
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    for (double until_s = tutti_clock_s() + most_s; !sent || !got;) {
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        if (!sent) sent = has_ended(s, TUTTI_OK);
        if (!got) got = has_ended(r, TUTTI_OK);
        ck_assert_msg(tutti_clock_s() < until_s, "a message does not end");
    }
    ck_assert_uint_eq(tutti_connection_count(b).placed_messages, 1);
    ck_assert_uint_eq(tutti_connection_count(b).streamed_messages, 0);
    ck_assert_uint_eq(next[0], 0xEE);
    if (_i) ck_assert(in[0] == 0xAB && in[LARGE - 1] == 0xAB);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), LARGE);
    network[1]->ops->give(network[1], next);
    ck_assert_uint_eq(tutti_fabric_registered(network[1]), 0);
    if (_i) ck_assert_uint_eq(tutti_shm_used(arena), 0);
    tutti_connection_close(a);
    tutti_connection_close(b);
    close_networks();
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
    tutti_connection *b = connect_end(1);
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
    static const tutti_shm_options memory = {
        .rings = 1, .ring_bytes = 1 << 12, .arena_bytes = 4 * LARGE};
    static unsigned char out[LARGE];
    tutti_connection_message *r;
    tutti_shm *arena;
    const tutti_fabric_options soon = {.lost_s = 0.3};
    int under_way = 0;
    ck_assert_ok(tutti_shm_create(&memory, &arena));
    open_networks(&soon);
    tutti_connection *b = connect_end(1);
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

/* The provider's own connections break, and both processes live: nothing is lost without a word. */
START_TEST(the_provider_fails)
{
    static unsigned char out[LARGE];
    const tutti_fabric_options soon = {.lost_s = 0.3};
    tutti_connection_message *s, *r;
    int sent = 0, got = 0, broke = 0;
    open_networks(&soon);
    tutti_connection *a = connect_end(0), *b = connect_end(1);
    unsigned char *in = take(1, NULL);
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGE, &r));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, out, LARGE, &s));
    while (!sent || !got) {
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        if (!sent) sent = has_ended(s, TUTTI_OK);
        if (!got) got = has_ended(r, TUTTI_OK);
    }
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
    tutti_connection_close(a);
    tutti_connection_close(b);
    close_networks();
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
    tcase_add_test(steps, the_provider_fails);
    return testing_run(suite);
}
