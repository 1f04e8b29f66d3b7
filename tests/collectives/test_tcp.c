/* Connections over a socket, in shared memory and over libfabric, with and without early messages: messages in random
 * order, sizes that differ, receives taken back, connections that break or fall silent; and the listener, with
 * strangers before it. */
#include "collectives/transport/fabric.h"
#include "collectives/transport/shm.h"
#include "collectives/transport/tcp.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "tests/support/testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LANES = 2, TAGS = 8, MESSAGES = 200, LARGEST = 600000 };

/* What a pair of connections travels on. PLACED: receives are in the arena; WRITTEN: they are registered. */
enum { SOCKET, SOCKET_EARLY, SHARED, SHARED_EARLY, PLACED, FABRIC, FABRIC_EARLY, WRITTEN, WAYS };

static tutti_connection *a, *b;
static tutti_shm *shared[2];
static tutti_interconnect *network[2];
static int way, urgent_lanes;

static int goes_early(void)
{
    return way == SOCKET_EARLY || way == SHARED_EARLY || way == FABRIC_EARLY;
}

static void open_pair(double silence_s)
{
    const tutti_connection_options o = {.lanes = LANES,
        .urgent_lanes = urgent_lanes,
        .tags = TAGS,
        .silence_s = silence_s,
        .early_bytes = goes_early() ? 4096 : 0};
    const tutti_shm_options memory = {.rings = 2,
        .ring_bytes = way == SHARED_EARLY ? 1 << 12 : 1 << 14,
        .arena_bytes = way == PLACED || way == SHARED_EARLY ? 1 << 28 : 0};
    int ends[2];
    if (way >= SHARED && way <= PLACED) {
        for (int e = 0; e < 2; e++) ck_assert_ok(tutti_shm_create(&memory, &shared[e]));
        ck_assert_ok(tutti_shm_connect(shared[0], 1, shared[1], 0, &o, &a));
        ck_assert_ok(tutti_shm_connect(shared[1], 0, shared[0], 1, &o, &b));
        return;
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    for (int e = 0; e < 2 && way < FABRIC; e++)
        ck_assert_ok(tutti_connection_open(ends[e], &o, e ? &b : &a));
    for (int e = 0; e < 2 && way >= FABRIC; e++) {
        ck_assert_ok(tutti_fabric_open(NULL, &network[e]));
        ck_assert_ok(network[e]->ops->connect(network[e], ends[e], &o, e ? &b : &a));
    }
}

static void close_memory(void)
{
    for (int e = 0; e < 2; e++) {
        tutti_shm_close(shared[e]);
        shared[e] = NULL;
        if (network[e]) network[e]->ops->close(network[e]);
        network[e] = NULL;
    }
}

static void close_pair(void)
{
    tutti_connection_close(a);
    tutti_connection_close(b);
    close_memory();
}

/* Memory for what b receives. */
static void *take_memory(size_t bytes)
{
    void *memory;
    if (way != PLACED && way != WRITTEN) return calloc(1, bytes);
    if (way == PLACED)
        ck_assert_ok(tutti_shm_take(shared[1], bytes, &memory));
    else
        ck_assert_ok(network[1]->ops->take(network[1], NULL, bytes, &memory));
    memset(memory, 0, bytes);
    return memory;
}

static void give_memory(void *memory)
{
    if (way == PLACED)
        tutti_shm_give(shared[1], memory);
    else if (way == WRITTEN)
        network[1]->ops->give(network[1], memory);
    else
        free(memory);
}

static void pass_both(void)
{
    tutti_connection_pass(a);
    tutti_connection_pass(b);
}

/* Passes on both until the message ends. */
static tutti_status end_of(tutti_connection_message *m)
{
    double until_s = tutti_clock_s() + 30;
    for (int done = 0;;) {
        pass_both();
        tutti_status status = tutti_connection_test(m, &done);
        if (done) return status;
        ck_assert_msg(tutti_clock_s() < until_s, "a message does not end");
    }
}

static int has_ended(tutti_connection_message *m)
{
    int done;
    ck_assert_ok(tutti_connection_test(m, &done));
    return done;
}

static void fill(unsigned char *data, size_t bytes, unsigned salt)
{
    for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(salt * 31 + i * 7 + (i >> 8));
}

/* ---- messages ---- */

typedef struct message {
    int lane, tag;
    size_t bytes;
    unsigned char *out, *in;
    tutti_connection_message *send, *recv;
} message;

static void draw(message *m, uint64_t seed, uint64_t i)
{
    static const size_t sizes[] = {0, 1, 64, 5000, LARGEST};
    uint64_t n = 0;
    *m = (message){.lane = (int)tutti_rng_below(seed, i, n++, LANES),
        .tag = (int)tutti_rng_below(seed, i, n++, TAGS),
        .bytes =
            sizes[tutti_rng_below(seed, i, n++, 40) % 40 ? tutti_rng_below(seed, i, n++, 4) : 4]};
    m->out = malloc(m->bytes + 1);
    m->in = take_memory(m->bytes + 1);
    fill(m->out, m->bytes, (unsigned)i);
}

/* Sends are posted in their order, receives in theirs, which meet per lane and tag; passes in between. */
START_TEST(messages_in_any_order)
{
    uint64_t seed = testing_seed(71);
    static message all[MESSAGES];
    way = _i;
    open_pair(60);
    for (int i = 0; i < MESSAGES; i++) draw(&all[i], seed, (uint64_t)i);
    for (int sent = 0, received = 0; sent + received < 2 * MESSAGES;) {
        uint64_t draws = (uint64_t)(sent + received);
        int sends =
            received == MESSAGES || (sent < MESSAGES && tutti_rng_below(seed, 1000, draws, 2));
        message *m = &all[sends ? sent++ : received++];
        if (sends)
            ck_assert_ok(tutti_connection_isend(a, m->lane, m->tag, m->out, m->bytes, &m->send));
        else
            ck_assert_ok(tutti_connection_irecv(b, m->lane, m->tag, m->in, m->bytes, &m->recv));
        if (tutti_rng_below(seed, 1001, draws, 2)) tutti_connection_pass(a);
        if (tutti_rng_below(seed, 1002, draws, 2)) tutti_connection_pass(b);
    }
    for (int i = MESSAGES - 1; i >= 0; i--) { /* their ends may be asked for in any order */
        ck_assert_ok(end_of(all[i].recv));
        ck_assert_ok(end_of(all[i].send));
        ck_assert_msg(!memcmp(all[i].in, all[i].out, all[i].bytes), "message %d differs", i);
        give_memory(all[i].in);
        free(all[i].out);
    }
    if (way == PLACED) ck_assert_uint_eq(tutti_shm_used(shared[1]), 0);
    if (way == WRITTEN) ck_assert_uint_eq(tutti_fabric_registered(network[1]), 0);
    ck_assert_int_eq(tutti_connection_flushed(a), 1);
    close_pair();
}
END_TEST

/* A receive that is longer or shorter than its message; no byte of its memory changes. */
START_TEST(sizes_differ)
{
    enum { BYTES = 10, MORE = 11, LESS = 5, MARK = 0xAB };
    char out[BYTES] = "123456789", mark[MORE], *in;
    tutti_connection_message *s, *r;
    way = _i;
    open_pair(60);
    in = take_memory(MORE);
    memset(mark, MARK, sizeof mark);
    for (int c = 0; c < 4; c++) {
        const size_t room = c / 2 ? LESS : MORE;
        const int first = c % 2; /* the receive is posted first, else after the message has come */
        memcpy(in, mark, sizeof mark);
        if (first) ck_assert_ok(tutti_connection_irecv(b, 1, 3, in, room, &r));
        ck_assert_ok(tutti_connection_isend(a, 1, 3, out, BYTES, &s));
        for (int i = 0; i < 100 && !first; i++) pass_both();
        if (!first) ck_assert_ok(tutti_connection_irecv(b, 1, 3, in, room, &r));
        ck_assert_int_eq(end_of(r), TUTTI_ERR_MISMATCH);
        /* a small message that went early has ended when it was sent */
        tutti_status of_send = goes_early() ? TUTTI_OK : TUTTI_ERR_MISMATCH;
        ck_assert_int_eq(end_of(s), of_send);
        ck_assert(!memcmp(in, mark, sizeof mark));
        /* and the next one fits */
        ck_assert_ok(tutti_connection_isend(a, 1, 3, out, BYTES, &s));
        ck_assert_ok(tutti_connection_irecv(b, 1, 3, in, BYTES, &r));
        ck_assert_ok(end_of(r));
        ck_assert_ok(end_of(s));
        ck_assert(!memcmp(in, out, BYTES));
    }
    ck_assert_ptr_null(tutti_connection_broken(a));
    give_memory(in);
    close_pair();
}
END_TEST

START_TEST(taken_back)
{
    char one[4] = "one", two[4] = "two", *in, *other;
    tutti_connection_message *s, *r, *t;
    way = _i;
    open_pair(60);
    in = take_memory(4);
    other = take_memory(4);
    /* a receive, whose message then comes: it goes nowhere, and the next receive gets the next message */
    ck_assert_ok(tutti_connection_irecv(b, 0, 0, in, 4, &r));
    ck_assert_ok(tutti_connection_irecv(b, 0, 0, other, 4, &t));
    tutti_connection_cancel(b, r);
    ck_assert_ok(end_of(r));
    ck_assert_ok(tutti_connection_isend(a, 0, 0, one, 4, &s));
    ck_assert_ok(end_of(s));
    ck_assert_ok(tutti_connection_isend(a, 0, 0, two, 4, &s));
    ck_assert_ok(end_of(s));
    ck_assert_ok(end_of(t));
    ck_assert_str_eq(other, "two");
    /* a send that nobody wants */
    ck_assert_ok(tutti_connection_isend(a, 0, 1, one, 4, &s));
    tutti_connection_cancel(a, s);
    ck_assert_ok(end_of(s));
    if (goes_early()) { /* it has gone all the same */
        ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, 4, &r));
        ck_assert_ok(end_of(r));
    }
    /* one that is under way cannot be taken back */
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, 4, &r));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, two, 4, &s));
    tutti_connection_pass(b);
    tutti_connection_pass(a);
    ck_assert_ok(end_of(r));
    ck_assert_str_eq(in, "two");
    ck_assert_ok(end_of(s));
    /* an abandoned receive is like one taken back */
    ck_assert_ok(tutti_connection_irecv(b, 0, 2, in, 4, &r));
    tutti_connection_abandon(b, r);
    /* unless the other end may write to its memory */
    if (way != PLACED && way != WRITTEN) ck_assert_ptr_null(tutti_connection_broken(b));
    give_memory(in);
    give_memory(other);
    if (way == PLACED) ck_assert_uint_ge(tutti_shm_used(shared[1]), 4);
    if (way == WRITTEN) ck_assert_uint_ge(tutti_fabric_registered(network[1]), 4);
    close_pair();
}
END_TEST

/* Three messages are wanted at a time; which of the receives ends first? */
enum { PIECES = 8, WANTED = 3 };
static unsigned char sent[WANTED][PIECES * TUTTI_TCP_PIECE_BYTES], got[WANTED][sizeof sent[0]];

typedef struct outgoing {
    int lane, tag, priority;
    size_t bytes; /* 0: PIECES pieces */
} outgoing;

static void goes_in_order(const outgoing out[WANTED], const int order[])
{
    tutti_connection_message *s[WANTED], *r[WANTED];
    size_t bytes[WANTED];
    int n = 0, done, here[WANTED] = {0};
    double until_s = tutti_clock_s() + 30;
    open_pair(60);
    for (int i = 0; i < WANTED; i++) {
        bytes[i] = out[i].bytes ? out[i].bytes : sizeof sent[i];
        fill(sent[i], bytes[i], (unsigned)i);
        ck_assert_ok(tutti_connection_irecv(b, out[i].lane, out[i].tag, got[i], bytes[i], &r[i]));
    }
    tutti_connection_pass(b);
    for (int i = 0; i < WANTED; i++) {
        ck_assert_ok(tutti_connection_isend(a, out[i].lane, out[i].tag, sent[i], bytes[i], &s[i]));
        tutti_connection_set_priority(s[i], out[i].priority);
        tutti_connection_pass(a); /* the first is on its way when the others come */
    }
    while (n < WANTED) {
        ck_assert_msg(tutti_clock_s() < until_s, "only %d have come", n);
        for (int i = 0; i < WANTED; i++) {
            if (here[i]) continue;
            ck_assert_ok(tutti_connection_test(r[i], &done));
            if (!done) continue;
            here[i] = 1;
            ck_assert_msg(order[n] == i, "message %d has come as number %d", i, n);
            n++;
        }
        tutti_connection_pass(a);
        tutti_connection_pass(b);
    }
    for (int i = 0; i < WANTED; i++) {
        ck_assert_ok(end_of(s[i]));
        ck_assert(!memcmp(sent[i], got[i], bytes[i]));
    }
    close_pair();
}

START_TEST(the_most_urgent_goes_first)
{
    way = _i;
    goes_in_order((outgoing[]){{1, 0}, {1, 1}, {1, 2}}, (int[]){0, 1, 2});
    goes_in_order((outgoing[]){{1, 0}, {1, 1, 1}, {1, 2, 5}}, (int[]){2, 1, 0});
    goes_in_order((outgoing[]){{1, 0, -3}, {1, 1, -4}, {1, 2, -3}}, (int[]){0, 2, 1});
    /* what stands before it in its stream goes first, ahead of those that are less urgent */
    goes_in_order((outgoing[]){{1, 0}, {1, 1, 1}, {1, 0, 5}}, (int[]){0, 2, 1});
    /* of lanes that are equal the oldest, of others the lower one */
    goes_in_order((outgoing[]){{1, 0}, {1, 1}, {0, 2}}, (int[]){0, 1, 2});
    urgent_lanes = 1;
    goes_in_order((outgoing[]){{1, 0}, {1, 1, 5}, {0, 2}}, (int[]){2, 1, 0});
    urgent_lanes = 0;
    /* a small one does not wait, on whichever lane it is */
    if (goes_early()) goes_in_order((outgoing[]){{0, 0}, {0, 1}, {1, 2, -1, 4}}, (int[]){2, 0, 1});
}
END_TEST

/* A list without its end would take the square of their number. */
START_TEST(many_messages_wait)
{
    enum { MANY = 100000 };
    const double most_s = 3;
    static tutti_connection_message *sends[MANY], *recvs[MANY];
    char c = 0;
    int done;
    way = SOCKET;
    clock_t began = clock();
    open_pair(60);
    for (int i = 0; i < MANY; i++) {
        ck_assert_ok(tutti_connection_isend(a, 0, 0, &c, 1, &sends[i]));
        ck_assert_ok(tutti_connection_irecv(a, 0, 0, &c, 1, &recvs[i]));
    }
    tutti_connection_break(a);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(tutti_connection_test(sends[i], &done), TUTTI_ERR_COMM);
        ck_assert_int_eq(tutti_connection_test(recvs[i], &done), TUTTI_ERR_COMM);
    }
    close_pair();
    ck_assert_double_lt((double)(clock() - began) / CLOCKS_PER_SEC, most_s);
}
END_TEST

START_TEST(breaks)
{
    static unsigned char large[1 << 22];
    char in[4];
    tutti_connection_message *s, *r, *w;
    way = _i;
    open_pair(60);
    ck_assert_ok(tutti_connection_irecv(b, 0, 0, in, 4, &r));
    ck_assert_ok(tutti_connection_irecv(b, 1, 1, large, sizeof large, &w));
    ck_assert_ok(tutti_connection_isend(b, 0, 5, in, 4, &s));
    tutti_connection_pass(b);
    tutti_connection_pass(a);
    if (goes_early()) ck_assert_ok(end_of(s));
    tutti_connection_close(a);
    for (double until_s = tutti_clock_s() + 30; !tutti_connection_broken(b);) {
        tutti_connection_pass(b);
        if (way < FABRIC) break; /* it is seen at once */
        ck_assert_msg(tutti_clock_s() < until_s, "the end is not seen");
    }
    ck_assert_str_eq(tutti_connection_broken(b), "has closed the connection");
    int done;
    tutti_connection_message *all[3] = {r, w, s};
    for (int i = 0; i < 3 - goes_early(); i++) {
        ck_assert_int_eq(tutti_connection_test(all[i], &done), TUTTI_ERR_COMM);
        ck_assert_int_eq(done, 1);
    }
    ck_assert_int_eq(tutti_connection_isend(b, 0, 5, in, 4, &s), TUTTI_ERR_COMM);
    tutti_connection_close(b);
    close_memory();
}
END_TEST

/* Small messages go early, up to a number, and never before an older one of their stream: over a socket, and through
 * shared memory, where the older one is received in the arena or elsewhere. */
enum { EARLY_WAYS = 3 };

START_TEST(early_messages_stay_in_order)
{
    enum { MANY = 1000, MOST_EARLY = 256 };
    static unsigned char large[LARGEST], elsewhere[LARGEST];
    static tutti_connection_message *s[MANY];
    tutti_connection_message *first, *after, *r;
    unsigned char one = 1, received;
    void *in = elsewhere;
    int ended = 0;
    way = _i ? SHARED_EARLY : SOCKET_EARLY;
    open_pair(60);
    if (_i == 2) ck_assert_ok(tutti_shm_take(shared[1], LARGEST, &in));
    fill(large, LARGEST, 2);
    ck_assert_ok(tutti_connection_isend(a, 0, 1, large, LARGEST, &first));
    ck_assert_ok(tutti_connection_isend(a, 0, 1, &one, 1, &after));
    for (int i = 0; i < MANY; i++) ck_assert_ok(tutti_connection_isend(a, 0, 2, &one, 1, &s[i]));
    for (int i = 0; i < 100; i++) { /* many ring's fulls of them */
        tutti_connection_pass(a);
        tutti_connection_pass(b);
    }
    while (ended < MANY && has_ended(s[ended])) ended++;
    ck_assert_int_eq(ended, MOST_EARLY);
    ck_assert(!has_ended(first) && !has_ended(after));
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, in, LARGEST, &r));
    ck_assert_ok(end_of(r));
    ck_assert_ok(end_of(first));
    ck_assert(!memcmp(in, large, LARGEST));
    for (int i = 0; i <= MANY; i++) {
        received = 0;
        ck_assert_ok(tutti_connection_irecv(b, 0, i ? 2 : 1, &received, 1, &r));
        ck_assert_ok(end_of(r));
        ck_assert_uint_eq(received, 1);
    }
    ck_assert_ok(end_of(after));
    while (ended < MANY) ck_assert_ok(end_of(s[ended++]));
    if (_i == 2) tutti_shm_give(shared[1], in);
    close_pair();
}
END_TEST

/* A frame with one byte that nobody asked for; then a pass. */
static void send_early(int end, tutti_connection *to)
{
    unsigned char frame[TUTTI_TCP_HEADER_BYTES + 1] = {0};
    const tutti_tcp_frame f = {.kind = TUTTI_TCP_EARLY, .lane = 1, .tag = 2, .bytes = 1};
    tutti_tcp_frame_write(&f, frame);
    ck_assert_int_eq((int)send(end, frame, sizeof frame, MSG_NOSIGNAL), (int)sizeof frame);
    tutti_connection_pass(to);
}

/* The other end cannot make this one keep more than a number of early messages. */
START_TEST(early_messages_are_limited)
{
    enum { MOST_EARLY = 256 };
    const tutti_connection_options o = {
        .lanes = LANES, .tags = TAGS, .silence_s = 60, .early_bytes = 4096};
    tutti_connection *t;
    tutti_connection_message *r;
    unsigned char in;
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    ck_assert_ok(tutti_connection_open(ends[0], &o, &t));
    for (int i = 0; i < MOST_EARLY; i++) send_early(ends[1], t);
    ck_assert_ok(tutti_connection_irecv(t, 1, 2, &in, 1, &r)); /* makes room for one more */
    ck_assert(has_ended(r));
    send_early(ends[1], t);
    ck_assert_ptr_null(tutti_connection_broken(t));
    send_early(ends[1], t);
    ck_assert_str_eq(tutti_connection_broken(t), "sends more than was requested");
    tutti_connection_close(t);
    close(ends[1]);
}
END_TEST

/* What was sent before the other end closed can be received; nothing else. */
START_TEST(closes_after_early_messages)
{
    tutti_connection_message *s, *r;
    char out = 7, in = 0;
    way = _i ? SHARED_EARLY : SOCKET_EARLY;
    open_pair(60);
    for (int i = 0; i < 2; i++) {
        ck_assert_ok(tutti_connection_isend(a, 0, i, &out, 1, &s));
        tutti_connection_pass(a);
        ck_assert(has_ended(s));
    }
    tutti_connection_shut(a);
    tutti_connection_pass(b);
    ck_assert_str_eq(tutti_connection_broken(b), "has closed the connection");
    ck_assert_ok(tutti_connection_irecv(b, 0, 1, &in, 1, &r));
    ck_assert(has_ended(r) && in == 7);
    ck_assert_int_eq(tutti_connection_irecv(b, 0, 1, &in, 1, &r), TUTTI_ERR_COMM);
    ck_assert_int_eq(tutti_connection_isend(b, 0, 0, &out, 1, &s), TUTTI_ERR_COMM);
    close_pair();
}
END_TEST

START_TEST(silence)
{
    way = SOCKET;
    open_pair(1); /* longer than a loaded machine keeps this thread from running */
    double began_s = tutti_clock_s();
    while (tutti_clock_s() < began_s + 3) { /* both are there: pings keep the line alive */
        tutti_connection_pass(a);
        tutti_connection_pass(b);
        tutti_clock_sleep(5e-3);
    }
    ck_assert_ptr_null(tutti_connection_broken(a));
    while (!tutti_connection_broken(a) && tutti_clock_s() < began_s + 20) {
        tutti_connection_pass(a);
        tutti_clock_sleep(5e-3);
    }
    ck_assert_ptr_nonnull(strstr(tutti_connection_broken(a), "has been silent for 1."));
    close_pair();
}
END_TEST

/* ---- the listener ---- */

static tutti_tcp_listener *listener;

static int dial(void)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)tutti_tcp_listener_port(listener)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(connect(s, (struct sockaddr *)&to, sizeof to), 0);
    return s;
}

static int hear(unsigned char words[])
{
    char from[TUTTI_TCP_NAME];
    double until_s = tutti_clock_s() + 0.3;
    int s = -1;
    while (s < 0 && tutti_clock_s() < until_s) s = tutti_tcp_listener_accept(listener, words, from);
    return s;
}

static void say(int socket, int version, const char *token, size_t bytes)
{
    unsigned char g[TUTTI_TCP_GREETING_BYTES];
    tutti_tcp_greeting greeting = {.version = version, .words = "hello"};
    snprintf(greeting.token, sizeof greeting.token, "%s", token);
    tutti_tcp_greeting_write(&greeting, g);
    ck_assert_int_eq((int)send(socket, g, bytes, 0), (int)bytes);
}

static int verdict(int socket)
{
    unsigned char bytes[TUTTI_TCP_GREETING_BYTES];
    tutti_tcp_greeting g;
    if (recv(socket, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes) return -1;
    ck_assert_ptr_null(tutti_tcp_greeting_read(bytes, &g));
    return g.verdict;
}

START_TEST(strangers)
{
    unsigned char words[TUTTI_TCP_WORDS_BYTES];
    int s[TUTTI_TCP_PENDING + 10];
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_ok(tutti_tcp_listener_open("127.0.0.1", 0, "secret", &listener));
    int silent = dial(), part = dial(), rubbish = dial(), wrong = dial(), other = dial();
    say(part, TUTTI_TCP_VERSION, "secret", 30);
    ck_assert_int_eq((int)send(rubbish, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    say(wrong, TUTTI_TCP_VERSION, "Secret", TUTTI_TCP_GREETING_BYTES);
    say(other, TUTTI_TCP_VERSION + 1, "secret", TUTTI_TCP_GREETING_BYTES);
    ck_assert_int_eq(hear(words), -1);
    ck_assert_int_eq(verdict(rubbish), -1);
    ck_assert_int_eq(verdict(wrong), TUTTI_TCP_WRONG_TOKEN);
    ck_assert_int_eq(verdict(other), TUTTI_TCP_WRONG_VERSION);
    /* one who may come in does so at once, whoever else stands there */
    int friend = dial();
    say(friend, TUTTI_TCP_VERSION, "secret", TUTTI_TCP_GREETING_BYTES);
    int in = hear(words);
    ck_assert_int_ge(in, 0);
    ck_assert_str_eq((char *)words, "hello");
    ck_assert_int_eq(tutti_tcp_answer(in, TUTTI_TCP_WELCOME, words), 1);
    ck_assert_int_eq(verdict(friend), TUTTI_TCP_WELCOME);
    /* more of them than there is room */
    for (int i = 0; i < TUTTI_TCP_PENDING + 10; i++) {
        char from[TUTTI_TCP_NAME];
        s[i] = dial();
        ck_assert_int_eq(tutti_tcp_listener_accept(listener, words, from), -1);
        if (i % 16 == 0) hear(words);
    }
    close(friend);
    close(in);
    friend = dial();
    say(friend, TUTTI_TCP_VERSION, "secret", TUTTI_TCP_GREETING_BYTES);
    in = hear(words);
    ck_assert_int_ge(in, 0);
    for (int i = 0; i < TUTTI_TCP_PENDING + 10; i++) close(s[i]);
    const int all[] = {silent, part, rubbish, wrong, other, friend, in};
    for (int i = 0; i < 7; i++) close(all[i]);
    tutti_tcp_listener_close(listener);
    tutti_log_set_level(TUTTI_LOG_INFO);
}
END_TEST

START_TEST(who_may_not)
{
    unsigned char words[TUTTI_TCP_WORDS_BYTES] = "hello";
    char why[TUTTI_CONNECTION_WHY];
    int later, s;
    tutti_tcp_listener *second;
    tutti_log_set_level(TUTTI_LOG_NONE);
    ck_assert_ok(tutti_tcp_listener_open("127.0.0.1", 0, "secret", &listener));
    int port = tutti_tcp_listener_port(listener);
    ck_assert_int_eq(tutti_tcp_listener_open("127.0.0.1", port, "secret", &second), TUTTI_ERR_COMM);
    ck_assert_ptr_nonnull(strstr(tutti_last_error(), "another program uses it"));
    ck_assert_int_eq(tutti_tcp_listener_open("203.0.113.7", 0, "secret", &second), TUTTI_ERR_COMM);
    /* nobody answers */
    double began_s = tutti_clock_s();
    tutti_tcp_call call = {
        .address = "127.0.0.1", .port = port, .token = "secret", .timeout_s = 0.2};
    ck_assert_int_eq(tutti_tcp_connect(&call, words, &later, why, &s), TUTTI_ERR_TIMEOUT);
    ck_assert_int_eq(later, 1);
    ck_assert_ptr_nonnull(strstr(why, "no answer"));
    ck_assert(tutti_clock_s() - began_s < 10);
    tutti_tcp_listener_close(listener);
    /* nobody is there */
    call.timeout_s = 5;
    ck_assert_int_eq(tutti_tcp_connect(&call, words, &later, why, &s), TUTTI_ERR_TIMEOUT);
    ck_assert_int_eq(later, 1);
    ck_assert_ptr_nonnull(strstr(why, "refused"));
    tutti_log_set_level(TUTTI_LOG_INFO);
}
END_TEST

int main(void)
{
    const int ways = tutti_fabric_lacks() ? FABRIC : WAYS; /* test_fabric is not built, either */
    Suite *suite = suite_create("tcp");
    TCase *messages = testing_case(suite, "messages");
    tcase_add_loop_test(messages, messages_in_any_order, 0, ways);
    tcase_add_loop_test(messages, sizes_differ, 0, ways);
    tcase_add_loop_test(messages, taken_back, 0, ways);
    tcase_add_loop_test(messages, the_most_urgent_goes_first, 0, SHARED);
    tcase_add_loop_test(messages, early_messages_stay_in_order, 0, EARLY_WAYS);
    tcase_add_test(messages, early_messages_are_limited);
    tcase_add_loop_test(messages, closes_after_early_messages, 0, 2);
    tcase_add_test(messages, many_messages_wait);
    tcase_add_loop_test(messages, breaks, 0, ways);
    tcase_add_test(messages, silence);
    TCase *listening = testing_case(suite, "listener");
    tcase_add_test(listening, strangers);
    tcase_add_test(listening, who_may_not);
    return testing_run(suite);
}
