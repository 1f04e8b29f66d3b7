/* Connects to an address and exchanges greetings. */
#include "collectives/transport/tcp.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct call {
    const tutti_tcp_call *to;
    double until_s;
    int socket;
    char *why; /* [TUTTI_CONNECTION_WHY] */
} call;

/* The following functions return 1, or 0 with why[]. */

static int set_reason(const call *c, const char *what)
{
    snprintf(c->why, TUTTI_CONNECTION_WHY, "%s port %d: %s", c->to->address, c->to->port, what);
    return 0;
}

static int wait_for(const call *c, short events, double until_s)
{
    for (;;) {
        double left_s = until_s - tutti_clock_s();
        struct pollfd p = {.fd = c->socket, .events = events};
        int n = left_s > 0 ? poll(&p, 1, (int)ceil(1e3 * left_s)) : 0;
        if (n > 0) return 1;
        if (n == 0) return set_reason(c, "no answer");
        if (errno != EINTR) return set_reason(c, strerror(errno));
    }
}

static int connect_socket(call *c, const struct addrinfo *a, double until_s)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    c->socket = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->socket < 0) return set_reason(c, strerror(errno));
    if (!connect(c->socket, a->ai_addr, a->ai_addrlen)) return 1;
    if (errno != EINPROGRESS) return set_reason(c, strerror(errno));
    if (!wait_for(c, POLLOUT, until_s)) return 0;
    getsockopt(c->socket, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return error ? set_reason(c, strerror(error)) : 1;
}

/* A host answers by itself, whatever its programs do. An address that is not reached leaves time for the next one. */
static double choose_until(const call *c, const struct addrinfo *a)
{
    const double now_s = tutti_clock_s();
    double left_s = c->until_s - now_s;
    int addresses = 0;
    for (; a; a = a->ai_next) addresses++;
    if (c->to->reach_s > 0) left_s = fmin(left_s, c->to->reach_s);
    return now_s + left_s / addresses;
}

static int connect_address(call *c)
{
    struct addrinfo *all = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char service[16];
    snprintf(service, sizeof service, "%d", c->to->port);
    int code = getaddrinfo(c->to->address, service, &hints, &all), reached = 0;
    if (code) return set_reason(c, gai_strerror(code));
    for (const struct addrinfo *a = all; a && !reached; a = a->ai_next) {
        reached = connect_socket(c, a, choose_until(c, a));
        if (reached || c->socket < 0) continue;
        close(c->socket);
        c->socket = -1;
    }
    freeaddrinfo(all);
    return reached;
}

static int write_greeting(const call *c, const unsigned char bytes[])
{
    for (size_t sent = 0; sent < TUTTI_TCP_GREETING_BYTES;) {
        ssize_t n = send(c->socket, bytes + sent, TUTTI_TCP_GREETING_BYTES - sent, MSG_NOSIGNAL);
        if (n > 0) sent += (size_t)n;
        if (n >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) return set_reason(c, strerror(errno));
        if (!wait_for(c, POLLOUT, c->until_s)) return 0;
    }
    return 1;
}

static int read_greeting(const call *c, unsigned char bytes[])
{
    for (size_t got = 0; got < TUTTI_TCP_GREETING_BYTES;) {
        if (!wait_for(c, POLLIN, c->until_s)) return 0;
        ssize_t n = recv(c->socket, bytes + got, TUTTI_TCP_GREETING_BYTES - got, 0);
        if (n == 0) return set_reason(c, "closes the connection before it answers");
        if (n > 0) got += (size_t)n;
        if (n < 0 && errno != EINTR && errno != EAGAIN) return set_reason(c, strerror(errno));
    }
    return 1;
}

/* Logs a failure; of a stale address, which may belong to another program, sets *later instead. */
static tutti_status fail_or_retry(const call *c, tutti_status status, const char *what, int *later)
{
    *later = c->to->stale;
    if (!c->to->stale)
        return tutti_fail(status, "%s port %d %s", c->to->address, c->to->port, what);
    snprintf(c->why, TUTTI_CONNECTION_WHY, "%s port %d %s", c->to->address, c->to->port, what);
    return TUTTI_ERR_TIMEOUT;
}

/* Converts the answer's verdict to a status. */
static tutti_status check_verdict(const call *c, const tutti_tcp_greeting *g, int *later)
{
    char words[TUTTI_TCP_WORDS_BYTES + 1] = {0}, version[160];
    memcpy(words, g->words, TUTTI_TCP_WORDS_BYTES);
    *later = g->verdict == TUTTI_TCP_LATER;
    switch (g->verdict) {
    case TUTTI_TCP_WELCOME:
        return TUTTI_OK;
    case TUTTI_TCP_WRONG_TOKEN:
        return fail_or_retry(c, TUTTI_ERR_USAGE,
            "does not know this token: all jobs of a run must have the same", later);
    case TUTTI_TCP_WRONG_VERSION:
        snprintf(version, sizeof version,
            "uses another version of the protocol (this library's is %d): install the same Tutti "
            "for "
            "all jobs",
            TUTTI_TCP_VERSION);
        return fail_or_retry(c, TUTTI_ERR_MISMATCH, version, later);
    case TUTTI_TCP_LATER:
        set_reason(c, words);
        return TUTTI_ERR_TIMEOUT;
    default:
        return tutti_fail(
            TUTTI_ERR_USAGE, "%s port %d refuses: %s", c->to->address, c->to->port, words);
    }
}

static tutti_status exchange_greetings(
    call *c, const char *token, unsigned char words[], int *later)
{
    unsigned char bytes[TUTTI_TCP_GREETING_BYTES];
    tutti_tcp_greeting g = {.version = TUTTI_TCP_VERSION};
    *later = 1;
    if (!connect_address(c)) return TUTTI_ERR_TIMEOUT;
    snprintf(g.token, sizeof g.token, "%s", token);
    memcpy(g.words, words, TUTTI_TCP_WORDS_BYTES);
    tutti_tcp_greeting_write(&g, bytes);
    if (!write_greeting(c, bytes) || !read_greeting(c, bytes)) return TUTTI_ERR_TIMEOUT;
    const char *fault = tutti_tcp_greeting_read(bytes, &g);
    if (fault) {
        char what[160];
        snprintf(what, sizeof what, "is not a Tutti server: it %s", fault);
        return fail_or_retry(c, TUTTI_ERR_COMM, what, later);
    }
    memcpy(words, g.words, TUTTI_TCP_WORDS_BYTES);
    return check_verdict(c, &g, later);
}

tutti_status tutti_tcp_connect(const tutti_tcp_call *to, unsigned char words[TUTTI_TCP_WORDS_BYTES],
    int *later, char why[TUTTI_CONNECTION_WHY], int *socket)
{
    call c = {.to = to, .until_s = tutti_clock_s() + to->timeout_s, .socket = -1, .why = why};
    tutti_status status = exchange_greetings(&c, to->token, words, later);
    if (!status)
        *socket = c.socket;
    else if (c.socket >= 0)
        close(c.socket);
    return status;
}
