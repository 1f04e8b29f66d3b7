/* A client that has the token and sends what no client of a store sends:   nonsense FILE SERVERS CLIENTS TYPE
 *
 * FILE (without ".0") says where server 0 is. For each row of the table it joins as one more client, writes the row's
 * active messages, and prints what the server answers; a server that says nothing within 10 s has not refused it.
 * Then one client
 * stays and says nothing, and one sends bytes that are no frames. Exit status: how many were not refused. */
#include "dag/base/clock.h"
#include "designs/kv/hello.h"
#include "designs/kv/jobs.h"
#include "designs/kv/kv_parts.h"
#include "designs/kv/connections.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES = 2, FLOAT = TUTTI_F32 };

typedef struct row {
    const char *what;
    int64_t message[NOTES][TUTTI_ACTIVE_MESSAGE_VALUES];
    int messages;
} row;

#define INIT                                                                                       \
    {                                                                                              \
        TUTTI_KV_INIT, 0, 1, FLOAT, 0                                                              \
    }
#define MANY ((int64_t)1 << 40)
static const row rows[] = {
    {"another size", {{TUTTI_KV_INIT, 0, 2, FLOAT, 0}}, 1},
    {"another type", {{TUTTI_KV_INIT, 0, 1, TUTTI_I32, 0}}, 1},
    {"another key", {{TUTTI_KV_INIT, 0, 1, FLOAT, 9}}, 1},
    {"a type that is none", {{TUTTI_KV_INIT, 1, 1, 99, 1}}, 1},
    {"no elements", {{TUTTI_KV_INIT, 1, 0, FLOAT, 1}}, 1},
    {"fewer than none", {{TUTTI_KV_INIT, 1, -5, FLOAT, 1}}, 1},
    {"too many elements", {{TUTTI_KV_INIT, 1, MANY, FLOAT, 1}}, 1},
    {"a key number below 0", {{TUTTI_KV_INIT, -1, 1, FLOAT, 0}}, 1},
    {"a key number beyond all", {{TUTTI_KV_INIT, MANY, 1, FLOAT, 0}}, 1},
    {"a key twice", {INIT, INIT}, 2},
    {"another optimizer", {{TUTTI_KV_OPTIMIZER, 2 * TUTTI_OPTIMIZER_ASSIGN}}, 1},
    {"an optimizer that is none", {{TUTTI_KV_OPTIMIZER, 77}}, 1},
    {"an optimizer below 0", {{TUTTI_KV_OPTIMIZER, -1}}, 1},
    {"a push beyond all keys", {{TUTTI_KV_PUSH, MANY, 0}}, 1},
    {"a push of a key below 0", {{TUTTI_KV_PUSH, -7, 0}}, 1},
    {"a rate that is no number", {INIT, {TUTTI_KV_PUSH, 0, -1}}, 2},
    {"a pull of pushes that it has not made", {INIT, {TUTTI_KV_PULL, 0, 5}}, 2},
    {"a pull of pushes below 0", {INIT, {TUTTI_KV_PULL, 0, -5}}, 2},
    {"a release that nobody asked for", {INIT, {TUTTI_KV_RELEASE, 0, 1}}, 2},
    {"a release of a key that is none", {{TUTTI_KV_RELEASE, 4, 0}}, 1},
    {"a pull that stands by", {INIT, {TUTTI_KV_STAND_BY, 0, 0}}, 2},
    {"a server that is taken over", {{TUTTI_KV_TAKE_OVER, 0}}, 1},
    {"a word of servers", {{TUTTI_KV_END, 0}}, 1},
    {"a word of the server's own", {{TUTTI_KV_LOST}}, 1},
    {"another", {{TUTTI_KV_JOINED}}, 1},
    {"a word below 0", {{-3}}, 1},
    {"a word that there is not", {{1000}}, 1},
};

typedef struct client_entry {
    atomic_int ended, lost;
    char said[TUTTI_KV_SENTENCE + 1];
} client_entry;

static void hear(void *ctx, const tutti_active_message *message)
{
    client_entry *g = ctx;
    int64_t piece = message->value[1];
    if (message->value[0] == TUTTI_KV_WHY && piece >= 0 && piece < TUTTI_KV_PIECES)
        memcpy(g->said + piece * TUTTI_KV_PIECE, &message->value[2], TUTTI_KV_PIECE);
    if (message->value[0] == TUTTI_KV_END && message->value[1]) atomic_store(&g->ended, 1);
}

static void lose(void *ctx, int peer, const char *why)
{
    client_entry *g = ctx;
    (void)peer, (void)why;
    atomic_store(&g->lost, 1);
}

static int greet(const tutti_server_address *m, char **argv)
{
    unsigned char words[TUTTI_TCP_WORDS_BYTES];
    char why[TUTTI_CONNECTION_WHY];
    int later = 0, socket = -1;
    static int64_t life;
    tutti_hello h = {.servers = atoi(argv[2]),
        .clients = atoi(argv[3]),
        .copies = 1,
        .any = 1,
        .workers = 1,
        .life = ++life};
    if (tutti_consistency_read(argv[4], &h.rule)) return -1;
    tutti_hello_name(&h);
    tutti_hello_write(&h, words);
    for (int i = 0; i < 100 && socket < 0; i++) {
        const tutti_tcp_call call = {
            .address = m->address, .port = m->port, .token = m->token, .timeout_s = 10};
        tutti_status status = tutti_tcp_connect(&call, words, &later, why, &socket);
        if (status && !later) printf("not let in: %s\n", why);
        if (!later) break;
        tutti_clock_sleep(0.05);
    }
    return socket;
}

static int await(atomic_int *flag)
{
    double until_s = tutti_clock_s() + 10;
    while (!atomic_load(flag) && tutti_clock_s() < until_s) tutti_clock_sleep(1e-3);
    return atomic_load(flag);
}

/* Whether the server has refused it. */
static int try(const row *r, const tutti_server_address *m, char **argv)
{
    client_entry g = {0};
    tutti_connections *connections;
    const tutti_connections_user user = {
        .ctx = &g, .on_message = hear, .on_lost = lose, .silence_s = 30, .tags = 16};
    int socket = greet(m, argv);
    if (socket < 0 || tutti_connections_open(&user, &connections)) return 0;
    int failed = tutti_connections_add(connections, 0, socket);
    if (!failed && r->message[0][0] != TUTTI_KV_OPTIMIZER)
        failed = tutti_connections_write(connections, 0,
            (int64_t[TUTTI_ACTIVE_MESSAGE_VALUES]){TUTTI_KV_OPTIMIZER, 2 * TUTTI_OPTIMIZER_ADD});
    for (int i = 0; i < r->messages && !failed; i++)
        failed = tutti_connections_write(connections, 0, r->message[i]);
    int refused = !failed && await(&g.ended);
    printf("%s: %s\n", r->what, refused ? g.said : "not refused");
    tutti_connections_close(connections);
    return refused && g.said[0];
}

/* Whether the server breaks off. */
static int try_bytes(const tutti_server_address *m, char **argv)
{
    unsigned char bytes[4096];
    int socket = greet(m, argv);
    if (socket < 0) return 0;
    memset(bytes, 0xa5, sizeof bytes);
    ssize_t wrote = write(socket, bytes, sizeof bytes), n = 1;
    struct pollfd p = {.fd = socket, .events = POLLIN};
    while (n > 0 && poll(&p, 1, 10000) > 0) n = read(socket, bytes, sizeof bytes);
    close(socket);
    return wrote > 0 && n <= 0;
}

int main(int argc, char **argv)
{
    char why[256];
    tutti_jobs jobs = {.servers = 1};
    tutti_server_address m;
    int bad = 0;
    if (argc < 5) return 99;
    snprintf(jobs.meet, sizeof jobs.meet, "%s", argv[1]);
    if (tutti_jobs_find(&jobs, 0, &m, why, sizeof why) != 1) return 99;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) bad += !try(&rows[i], &m, argv);
    int silent = greet(&m, argv); /* it stays, and says nothing */
    bad += silent < 0;
    bad += !try_bytes(&m, argv);
    printf("%d not refused\n", bad);
    return bad;
}
