/* Elastic runs without training, over loopback, with ranks as threads: they come and go, and all agree on who is
 * there. Ranks as processes, with collectives: test_elastic_ranks.c. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/elastic/control.h"
#include "designs/elastic/elastic.h"
#include "designs/elastic/keeper.h"
#include "designs/elastic/words.h"
#include "tests/support/testing.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 6, EPOCHS = 8, SNAPSHOTS = 5 };

static const char token[] = "0123456789abcdef";
static const double patience_s = 20;

/* One rank: what it does, and what it saw. */
typedef struct rank {
    tutti_elastic_options options;
    char contact[TUTTI_MEMBERSHIP_ADDRESS];
    int dies_at;   /* the step at which it closes; 0: never */
    int waits_for; /* it finishes only in an epoch of this many ranks */
    int slow_ms;   /* before it leaves an epoch */
    int steps;     /* of an epoch, at least; 0: 40 */
    pthread_t thread;
    tutti_membership epoch[EPOCHS];
    int epochs, finished, step;
    tutti_status status;
    char why[TUTTI_ERROR_TEXT];
} rank;

static void open_door(rank *r, int64_t id)
{
    r->options.self.id = id;
    ck_assert_ok(tutti_tcp_listener_open("127.0.0.1", 0, token, &r->options.door));
    snprintf(r->options.self.address, sizeof r->options.self.address, "127.0.0.1:%d",
        tutti_tcp_listener_port(r->options.door));
}

static void set_options(rank *r, const tutti_membership *first)
{
    tutti_elastic_options *o = &r->options;
    o->token = token;
    o->first = first;
    o->run = 11;
    o->options = 22;
    o->least = 1;
    o->most = MOST;
    o->settle_s = 0.02;
    o->ack_s = 5;
    o->join_s = patience_s;
    o->silence_s = 5;
}

/* How far each rank is: its epoch and step. */
enum { EPOCH_STEPS = 1000000 };
static atomic_llong reached[MOST];

/* As a collective does, of all ranks of the epoch. 0: it cannot end. */
static int meet_others(rank *r, tutti_elastic *e)
{
    const tutti_membership *epoch = &r->epoch[r->epochs - 1];
    const long long here = epoch->epoch * EPOCH_STEPS + r->step;
    atomic_store(&reached[r->options.self.id - 10], here);
    for (int i = 0; i < epoch->n; i++)
        while (atomic_load(&reached[epoch->entry[i].id - 10]) < here) {
            if (tutti_elastic_look(e) != TUTTI_ELASTIC_STAY) return 0;
            tutti_clock_sleep(100e-6);
        }
    return 1;
}

/* Trains one epoch. 0: this rank has come to its end. */
static int train_epoch(rank *r, tutti_elastic *e, int64_t *newest, int64_t *before)
{
    const tutti_membership *epoch = &r->epoch[r->epochs - 1];
    const double until_s = tutti_clock_s() + patience_s;
    const int end = r->step + (r->steps ? r->steps : 40);
    *newest = epoch->snapshot;
    *before = -1;
    while (tutti_clock_s() < until_s) {
        if (tutti_elastic_look(e) != TUTTI_ELASTIC_STAY) {
            if (r->slow_ms) tutti_clock_sleep(1e-3 * r->slow_ms);
            return 1;
        }
        if (r->dies_at && r->step >= r->dies_at) return 0;
        if (r->step >= end && epoch->n == r->waits_for) {
            r->status = tutti_elastic_finish(e, &r->finished);
            return !r->status && !r->finished;
        }
        tutti_clock_sleep(1e-3);
        if (!meet_others(r, e)) continue;
        if (++r->step % SNAPSHOTS) continue;
        *before = *newest;
        *newest = r->step;
        tutti_elastic_snapshot(e, *newest, *before);
    }
    return 0;
}

static void *run_rank(void *arg)
{
    rank *r = arg;
    tutti_elastic *e = NULL;
    int64_t newest = r->options.first ? 0 : -1, before = -1;
    r->status = tutti_elastic_open(&r->options, &e);
    int goes_on = !r->status;
    while (goes_on && r->epochs < EPOCHS) {
        r->status = tutti_elastic_enter(e, newest, before, &r->epoch[r->epochs]);
        goes_on = !r->status;
        if (!goes_on) break;
        r->step = (int)r->epoch[r->epochs++].snapshot;
        goes_on = train_epoch(r, e, &newest, &before);
    }
    snprintf(r->why, sizeof r->why, "%s", tutti_last_error());
    tutti_elastic_close(e);
    return NULL;
}

static rank ranks[MOST];
static tutti_membership first;

/* The first `n` of them; ids are 10, 11, ... */
static void prepare(int n)
{
    tutti_log_set_level(TUTTI_LOG_NONE);
    memset(ranks, 0, sizeof ranks);
    memset(&first, 0, sizeof first);
    for (int r = 0; r < MOST; r++) atomic_store(&reached[r], 0);
    first.n = n;
    for (int r = 0; r < n; r++) {
        open_door(&ranks[r], 10 + r);
        first.entry[r] = ranks[r].options.self;
        set_options(&ranks[r], &first);
        ranks[r].waits_for = n;
    }
}

static void prepare_newcomer(int r, int contact)
{
    open_door(&ranks[r], 10 + r);
    set_options(&ranks[r], NULL);
    memcpy(ranks[r].contact, ranks[contact].options.self.address, sizeof ranks[r].contact);
    ranks[r].options.contact = ranks[r].contact;
}

static void start(int from, int to)
{
    for (int r = from; r < to; r++)
        ck_assert_int_eq(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
}

static void join(int from, int to)
{
    for (int r = from; r < to; r++) pthread_join(ranks[r].thread, NULL);
}

static void set_size(int n, int size)
{
    for (int r = 0; r < n; r++) ranks[r].waits_for = size;
}

/* All of these have finished together: their last epochs are the same. */
static void check_finished(int from, int to, int size)
{
    const tutti_membership *like = &ranks[from].epoch[ranks[from].epochs - 1];
    for (int r = from; r < to; r++) {
        ck_assert_msg(!ranks[r].status && ranks[r].finished, "rank %d: %s", r, ranks[r].why);
        const tutti_membership *last = &ranks[r].epoch[ranks[r].epochs - 1];
        ck_assert_int_eq(last->n, size);
        ck_assert_int_eq(last->epoch, like->epoch);
        ck_assert_int_eq(last->snapshot, like->snapshot);
        for (int i = 0; i < size; i++) ck_assert_int_eq(last->entry[i].id, like->entry[i].id);
    }
}

/* Says these words at the door of a rank, which are welcome; the connection. */
static int call_door(int r, const tutti_elastic_words *words)
{
    unsigned char bytes[TUTTI_TCP_WORDS_BYTES];
    char host[TUTTI_ELASTIC_HOST], why[TUTTI_CONNECTION_WHY];
    int port, later, socket;
    tutti_elastic_words_write(words, bytes);
    ck_assert(tutti_elastic_address_read(ranks[r].options.self.address, host, &port));
    const tutti_tcp_call call = {
        .address = host, .port = port, .token = token, .timeout_s = patience_s};
    ck_assert_ok(tutti_tcp_connect(&call, bytes, &later, why, &socket));
    return socket;
}

START_TEST(all_finish)
{
    prepare(_i);
    start(0, _i);
    join(0, _i);
    check_finished(0, _i, _i);
    for (int r = 0; r < _i; r++) ck_assert_int_eq(ranks[r].epochs, 1);
}
END_TEST

/* Rank _i of 3 closes: the coordinator, or another. */
START_TEST(others_go_on)
{
    prepare(3);
    set_size(3, 2);
    ranks[_i].dies_at = 12;
    start(0, 3);
    join(0, 3);
    rank gone = ranks[_i];
    ranks[_i] = ranks[_i ? 0 : 1];
    check_finished(0, 3, 2);
    ck_assert_int_eq(gone.epochs, 1);
    const tutti_membership *last = &ranks[0].epoch[ranks[0].epochs - 1];
    for (int i = 0; i < 2; i++) ck_assert_int_ne(last->entry[i].id, 10 + _i);
    ck_assert_int_eq(last->snapshot % SNAPSHOTS, 0);
}
END_TEST

/* A death that is certain needs no majority. */
START_TEST(one_of_two_goes_on)
{
    prepare(2);
    set_size(2, 1);
    ranks[0].dies_at = 7;
    start(0, 2);
    join(0, 2);
    check_finished(1, 2, 1);
}
END_TEST

/* Two close at once, so that the second is seen while the next list is being decided, or before. */
START_TEST(two_close)
{
    prepare(4);
    set_size(4, 2);
    ranks[0].dies_at = 10;
    ranks[2].dies_at = 10 + _i;
    for (int r = 0; r < 4; r++) ranks[r].slow_ms = 10;
    start(0, 4);
    join(0, 4);
    ranks[2] = ranks[3];
    check_finished(1, 4, 2);
}
END_TEST

START_TEST(too_few_stop)
{
    prepare(3);
    set_size(3, 2);
    ranks[2].dies_at = 8;
    for (int r = 0; r < 3; r++) ranks[r].options.least = 3;
    start(0, 3);
    join(0, 3);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(ranks[r].status, TUTTI_ERR_COMM);
        ck_assert_msg(strstr(ranks[r].why, "needs 3"), "%s", ranks[r].why);
    }
}
END_TEST

/* Newcomers ask member 0, or another. */
START_TEST(newcomers_are_taken_in)
{
    const int newcomers = 1 + _i % 2;
    prepare(2);
    set_size(2, 2 + newcomers);
    start(0, 2);
    for (int r = 2; r < 2 + newcomers; r++) {
        prepare_newcomer(r, _i / 2);
        ranks[r].waits_for = 2 + newcomers;
    }
    start(2, 2 + newcomers);
    join(0, 2 + newcomers);
    check_finished(0, 2 + newcomers, 2 + newcomers);
    for (int r = 2; r < 2 + newcomers; r++) {
        const tutti_membership *e = &ranks[r].epoch[0];
        for (int i = 0; i < e->n; i++)
            if (e->entry[i].id == 10 + r) ck_assert(e->entry[i].fresh);
    }
}
END_TEST

/* A port that nobody answers at; its socket. */
static int open_silent(char address[TUTTI_MEMBERSHIP_ADDRESS])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(door, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(door, 8), 0);
    ck_assert_int_eq(getsockname(door, (struct sockaddr *)&at, &bytes), 0);
    snprintf(address, TUTTI_MEMBERSHIP_ADDRESS, "127.0.0.1:%d", ntohs(at.sin_port));
    return door;
}

/* Two newcomers say hello, and are silent after that, also at their doors. A later one calls them again and again, and
 * the one between them all the same. */
START_TEST(silent_hosts_delay_nobody)
{
    tutti_elastic_words words = {
        .purpose = TUTTI_ELASTIC_CONTROL, .hello = {TUTTI_MEMBERSHIP_VERSION, 0, 11, 22, ""}};
    int door[2], said[2][2];
    prepare(2);
    for (int i = 0; i < 2; i++) {
        prepare_newcomer(4 + i, 1);
        ranks[4 + i].waits_for = 4;
    }
    set_size(2, 4);
    for (int r = 0; r < MOST; r++) ranks[r].options.silence_s = 1;
    start(0, 2);
    while (!(atomic_load(&reached[0]) && atomic_load(&reached[1]))) tutti_clock_sleep(1e-3);
    for (int i = 0; i < 2; i++) {
        words.hello.id = 12 + i;
        door[i] = open_silent(words.hello.address);
        for (int r = 0; r < 2; r++) said[i][r] = call_door(r, &words);
    }
    start(4, 5);
    tutti_clock_sleep(0.2); /* it is known to the members */
    start(5, 6);
    join(0, 2);
    join(4, 6);
    ranks[2] = ranks[4];
    ranks[3] = ranks[5];
    check_finished(0, 4, 4);
    for (int i = 0; i < 2; i++) {
        close(door[i]);
        for (int r = 0; r < 2; r++) close(said[i][r]);
    }
}
END_TEST

/* The newcomer takes the place of one that is lost. */
START_TEST(a_newcomer_replaces_a_rank)
{
    prepare(2);
    prepare_newcomer(2, 0);
    ranks[2].waits_for = 2;
    ranks[1].dies_at = 30;
    for (int r = 0; r < 3; r++) ranks[r].options.most = 2;
    start(0, 3);
    join(0, 3);
    ranks[1] = ranks[0];
    check_finished(0, 3, 2);
}
END_TEST

/* Who does not belong to the run is refused, and disturbs nobody: before the run has begun, or later. */
static const struct {
    uint64_t run, options;
    int64_t id;
    const char *token, *why;
} strangers[] = {
    {12, 22, 13, token, "another run"},
    {11, 23, 13, token, "its options, or its version of Tutti, are not those"},
    {11, 22, 10, token, "another rank has the number"},
    {11, 22, 13, "another token", "token"},
};

START_TEST(strangers_are_refused)
{
    const int late = _i % 2, which = _i / 2;
    prepare(2);
    prepare_newcomer(2, 1);
    ranks[2].options.run = strangers[which].run;
    ranks[2].options.options = strangers[which].options;
    ranks[2].options.self.id = strangers[which].id;
    ranks[2].options.token = strangers[which].token;
    ranks[2].options.join_s = 0.5;
    set_size(2, 2);
    for (int r = 0; r < 2; r++) ranks[r].steps = 300;
    start(0, 2);
    while (late && !(atomic_load(&reached[0]) && atomic_load(&reached[1]))) tutti_clock_sleep(1e-3);
    start(2, 3);
    join(0, 3);
    check_finished(0, 2, 2);
    ck_assert_int_eq(ranks[0].epochs, 1);
    ck_assert_int_eq(ranks[2].status, TUTTI_ERR_COMM);
    ck_assert_msg(strstr(ranks[2].why, strangers[which].why), "%s", ranks[2].why);
}
END_TEST

/* What no rank would say, to a door: with the token, and without it. */
static void disturb(const char *address, const void *said, size_t bytes)
{
    char host[TUTTI_ELASTIC_HOST];
    int port;
    ck_assert(tutti_elastic_address_read(address, host, &port));
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, host, &to.sin_addr);
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(s, (struct sockaddr *)&to, sizeof to), 0);
    ck_assert_int_eq(send(s, said, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
    close(s);
}

START_TEST(noise_is_ignored)
{
    unsigned char greeting[TUTTI_TCP_GREETING_BYTES];
    tutti_tcp_greeting g = {.version = TUTTI_TCP_VERSION};
    snprintf(g.token, sizeof g.token, "%s", token);
    tutti_tcp_greeting_write(&g, greeting);
    prepare(2);
    start(0, 2);
    for (int i = 0; i < 5; i++) {
        disturb(ranks[0].options.self.address, "GET / HTTP/1.0\r\n\r\n", 18);
        memset(g.words, i, sizeof g.words);
        tutti_tcp_greeting_write(&g, greeting);
        disturb(ranks[1].options.self.address, greeting, sizeof greeting);
    }
    join(0, 2);
    check_finished(0, 2, 2);
    ck_assert_int_eq(ranks[0].epochs, 1);
}
END_TEST

START_TEST(who_never_comes_is_named)
{
    prepare(3);
    for (int r = 0; r < 3; r++) ranks[r].options.join_s = 0.3;
    start(0, 2);
    join(0, 2);
    tutti_tcp_listener_close(ranks[2].options.door);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_eq(ranks[r].status, TUTTI_ERR_COMM);
        ck_assert_msg(strstr(ranks[r].why, "rank 12 has not connected within"), "%s", ranks[r].why);
    }
}
END_TEST

/* The others call at its door, where nobody answers yet, and give up and call again before it comes. */
START_TEST(the_first_comes_late)
{
    prepare(3);
    start(1, 3);
    tutti_clock_sleep(2.5);
    start(0, 1);
    join(0, 3);
    check_finished(0, 3, 3);
    for (int r = 0; r < 3; r++) ck_assert_int_eq(ranks[r].epochs, 1);
}
END_TEST

/* One of the first ranks may call again, once it has given up the connection before. */
START_TEST(the_last_call_counts)
{
    const tutti_elastic_words words = {.purpose = TUTTI_ELASTIC_CONTROL,
        .hello = {TUTTI_MEMBERSHIP_VERSION, 12, 11, 22, "host:5"}};
    prepare(3);
    ranks[0].options.join_s = 3;
    start(0, 1);
    for (int i = 0; i < 3; i++) close(call_door(0, &words));
    join(0, 1);
    for (int r = 1; r < 3; r++) tutti_tcp_listener_close(ranks[r].options.door);
    ck_assert_msg(strstr(ranks[0].why, "rank 11 has not connected within"), "%s", ranks[0].why);
}
END_TEST

/* A rank leaves its epoch, and nobody is lost: collectives have failed for another reason. */
START_TEST(nobody_is_lost)
{
    tutti_elastic *e;
    tutti_membership epoch;
    prepare(1);
    ranks[0].options.silence_s = ranks[0].options.ack_s = 0.02;
    ck_assert_ok(tutti_elastic_open(&ranks[0].options, &e));
    ck_assert_ok(tutti_elastic_enter(e, 0, -1, &epoch));
    ck_assert_int_eq(tutti_elastic_enter(e, 0, -1, &epoch), TUTTI_ERR_COMM);
    ck_assert_msg(strstr(tutti_last_error(), "no rank is lost"), "%s", tutti_last_error());
    tutti_elastic_close(e);
}
END_TEST

START_TEST(bad_options)
{
    static const char *const addresses[] = {
        "", "host", "host:", ":5", "host:0", "host:65536", "host:1x", "[]:5", "[::1:5"};
    tutti_elastic *e;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        prepare(1);
        snprintf(first.entry[0].address, sizeof first.entry[0].address, "%s", addresses[i]);
        ck_assert_int_eq(tutti_elastic_open(&ranks[0].options, &e), TUTTI_ERR_USAGE);
    }
    prepare(1);
    ranks[0].options.least = 2;
    start(0, 1);
    join(0, 1);
    ck_assert_int_eq(ranks[0].status, TUTTI_ERR_COMM);
    ck_assert_msg(strstr(ranks[0].why, "begins with 1"), "%s", ranks[0].why);
}
END_TEST

/* Whatever the bytes are, they are words that a rank could have written, or are refused. */
START_TEST(words_are_checked)
{
    unsigned char bytes[TUTTI_TCP_WORDS_BYTES], again[TUTTI_TCP_WORDS_BYTES];
    tutti_elastic_words words = {.purpose = TUTTI_ELASTIC_DATA,
        .epoch = 7,
        .to = 3,
        .hello = {TUTTI_MEMBERSHIP_VERSION, 5, 11, 22, "host:5"}};
    int taken = 0;
    for (int at = 0; at < TUTTI_TCP_WORDS_BYTES; at++)
        for (int value = 0; value < 256; value += 5) {
            tutti_elastic_words read;
            tutti_elastic_words_write(&words, bytes);
            bytes[at] = (unsigned char)value;
            if (tutti_elastic_words_read(bytes, &read)) continue;
            if (read.hello.version != TUTTI_MEMBERSHIP_VERSION) continue;
            tutti_elastic_words_write(&read, again);
            ck_assert(!memcmp(bytes, again, sizeof bytes));
            taken++;
        }
    ck_assert_int_gt(taken, 1000);
}
END_TEST

typedef struct opener {
    tutti_elastic *elastic;
    tutti_transport *mesh;
    tutti_status status;
} opener;

static void *open_mesh(void *arg)
{
    opener *o = arg;
    o->status = tutti_elastic_mesh(o->elastic, 1, &o->mesh);
    return NULL;
}

/* A connection for collectives of another epoch comes first, and is not taken for one of this. */
START_TEST(epochs_do_not_meet)
{
    opener openers[2];
    pthread_t threads[2];
    tutti_membership epoch;
    prepare(2);
    for (int r = 0; r < 2; r++) ranks[r].options.join_s = 3;
    for (int r = 0; r < 2; r++)
        ck_assert_ok(tutti_elastic_open(&ranks[r].options, &openers[r].elastic));
    for (int r = 0; r < 2; r++)
        ck_assert_ok(tutti_elastic_enter(openers[r].elastic, 0, -1, &epoch));
    const tutti_elastic_words words = {.purpose = TUTTI_ELASTIC_DATA,
        .epoch = epoch.epoch + 1,
        .to = 10,
        .hello = {TUTTI_MEMBERSHIP_VERSION, 11, 11, 22, "host:5"}};
    const int other = call_door(0, &words);
    for (int r = 0; r < 2; r++) pthread_create(&threads[r], NULL, open_mesh, &openers[r]);
    for (int r = 0; r < 2; r++) {
        pthread_join(threads[r], NULL);
        ck_assert_ok(openers[r].status);
        ck_assert_int_eq(openers[r].mesh->rank, r);
        openers[r].mesh->abandoned = 1; /* nobody lingers */
    }
    for (int r = 0; r < 2; r++) tutti_transport_close(openers[r].mesh);
    for (int r = 0; r < 2; r++) tutti_elastic_close(openers[r].elastic);
    close(other);
}
END_TEST

/* ---- how a connection ends ---- */

static void connect_pair(int ends[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(ends[0], (struct sockaddr *)&at, sizeof at), 0);
    ends[1] = accept(listener, NULL, NULL);
    ck_assert_int_ge(ends[1], 0);
    close(listener);
}

/* Reads until the end; returns how many messages there were. */
static int read_to_end(tutti_elastic_control *c)
{
    const double until_s = tutti_clock_s() + patience_s;
    tutti_membership_message message;
    int messages = 0;
    while (!c->end && tutti_clock_s() < until_s) {
        while (tutti_elastic_control_read(c, &message, tutti_clock_s())) messages++;
        if (!c->end) tutti_clock_sleep(1e-3);
    }
    return messages;
}

static const tutti_membership_message finish_message = {
    .kind = TUTTI_MEMBERSHIP_FINISH, .epoch = 3};

START_TEST(ends_in_order)
{
    tutti_elastic_control a, b;
    int ends[2];
    connect_pair(ends);
    tutti_elastic_control_open(&a, ends[0], tutti_clock_s());
    tutti_elastic_control_open(&b, ends[1], tutti_clock_s());
    for (int i = 0; i < 5; i++) {
        tutti_elastic_control_send(&a, &finish_message, tutti_clock_s());
        tutti_elastic_control_beat(&a, 0, tutti_clock_s());
    }
    tutti_elastic_control_push(&a, patience_s);
    tutti_elastic_control_close(&a);
    ck_assert_int_eq(read_to_end(&b), 5);
    ck_assert_int_eq(b.end, TUTTI_ELASTIC_IN_ORDER);
    tutti_elastic_control_close(&b);
}
END_TEST

/* What could not be written must not look as if it had been, although another process has the connection, too. */
START_TEST(ends_with_a_reset)
{
    tutti_elastic_control a, b;
    int ends[2], sent = 0;
    connect_pair(ends);
    const int kept = dup(ends[0]);
    tutti_elastic_control_open(&a, ends[0], tutti_clock_s());
    tutti_elastic_control_open(&b, ends[1], tutti_clock_s());
    for (; a.out_at == a.out_end && !a.end; sent++)
        tutti_elastic_control_send(&a, &finish_message, tutti_clock_s());
    tutti_elastic_control_push(&a, 10e-3);
    ck_assert_int_eq(a.end, TUTTI_ELASTIC_BROKEN);
    ck_assert_int_lt(read_to_end(&b), sent);
    ck_assert_int_eq(b.end, TUTTI_ELASTIC_BROKEN);
    tutti_elastic_control_close(&a);
    tutti_elastic_control_close(&b);
    close(kept);
}
END_TEST

/* _i 0: no message; 1: one that no rank sends; 2: a part of one, and the end. */
START_TEST(ends_with_noise)
{
    unsigned char said[1 + TUTTI_MEMBERSHIP_MESSAGE_BYTES] = {_i ? 'm' : 'x'};
    tutti_elastic_control b;
    int ends[2];
    connect_pair(ends);
    tutti_elastic_control_open(&b, ends[1], tutti_clock_s());
    const size_t bytes = _i == 1 ? sizeof said : 100;
    ck_assert_int_eq(send(ends[0], said, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
    close(ends[0]);
    ck_assert_int_eq(read_to_end(&b), 0);
    ck_assert_int_eq(b.end, _i == 2 ? TUTTI_ELASTIC_IN_ORDER : TUTTI_ELASTIC_BROKEN);
    tutti_elastic_control_close(&b);
}
END_TEST

/* A process with unread messages is killed: the kernel resets its connection, but not if a keeper has it (_i). */
START_TEST(ends_with_its_process)
{
    tutti_elastic_control a, b;
    int ends[2], ready[2];
    char byte;
    connect_pair(ends);
    ck_assert_int_eq(pipe(ready), 0);
    const pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        tutti_elastic_keeper keeper = {.socket = -1};
        close(ends[1]);
        if (_i) tutti_elastic_keeper_open(&keeper);
        tutti_elastic_keeper_keep(&keeper, ends[0]);
        tutti_elastic_control_open(&a, ends[0], tutti_clock_s());
        for (int i = 0; i < 5; i++)
            tutti_elastic_control_send(&a, &finish_message, tutti_clock_s());
        if (write(ready[1], "r", 1) == 1) pause();
        _exit(1);
    }
    close(ends[0]);
    tutti_elastic_control_open(&b, ends[1], tutti_clock_s());
    tutti_elastic_control_send(&b, &finish_message, tutti_clock_s());
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    tutti_clock_sleep(10e-3);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(read_to_end(&b), 5);
    ck_assert_int_eq(b.end, _i ? TUTTI_ELASTIC_IN_ORDER : TUTTI_ELASTIC_BROKEN);
    tutti_elastic_control_close(&b);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic");
    TCase *runs = testing_case(suite, "runs");
    tcase_add_loop_test(runs, all_finish, 1, 4);
    tcase_add_loop_test(runs, others_go_on, 0, 3);
    tcase_add_test(runs, one_of_two_goes_on);
    tcase_add_loop_test(runs, two_close, 0, 3);
    tcase_add_test(runs, too_few_stop);
    tcase_add_loop_test(runs, newcomers_are_taken_in, 0, 4);
    tcase_add_test(runs, silent_hosts_delay_nobody);
    tcase_add_test(runs, a_newcomer_replaces_a_rank);
    tcase_add_loop_test(
        runs, strangers_are_refused, 0, 2 * (int)(sizeof strangers / sizeof *strangers));
    tcase_add_test(runs, noise_is_ignored);
    tcase_add_test(runs, who_never_comes_is_named);
    tcase_add_test(runs, the_first_comes_late);
    tcase_add_test(runs, the_last_call_counts);
    tcase_add_test(runs, nobody_is_lost);
    tcase_add_test(runs, bad_options);
    tcase_add_test(runs, words_are_checked);
    TCase *epochs = testing_case(suite, "epochs");
    tcase_add_test(epochs, epochs_do_not_meet);
    TCase *ends = testing_case(suite, "ends");
    tcase_add_test(ends, ends_in_order);
    tcase_add_test(ends, ends_with_a_reset);
    tcase_add_loop_test(ends, ends_with_noise, 0, 3);
    tcase_add_loop_test(ends, ends_with_its_process, 0, 2);
    return testing_run(suite);
}
