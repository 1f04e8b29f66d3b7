/* The listener: a listening socket, and the connections that have not shown the token yet (strangers). Any process may
 * connect. A stranger gets a buffer for one greeting and a deadline; when there are too many, the oldest is
 * rejected. */
#define _GNU_SOURCE /* accept4 */
#include "collectives/transport/tcp.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct stranger {
    int socket;
    double since_s;
    size_t length;
    unsigned char bytes[TUTTI_TCP_GREETING_BYTES];
    char from[TUTTI_TCP_NAME];
} stranger;

struct tutti_tcp_listener {
    int socket, port;
    char token[TUTTI_TCP_TOKEN_BYTES + 1];
    int64_t rejected;
    double full_s; /* until then no connection is accepted: no descriptor was left */
    int count;
    stranger stranger[TUTTI_TCP_PENDING]; /* in the order in which they came */
};

/* Logs the first, the second, the fourth, and so on. */
static void log_rejected(tutti_tcp_listener *listener, const char *from, const char *why)
{
    int64_t n = ++listener->rejected;
    if (n & (n - 1)) return;
    tutti_log(TUTTI_LOG_WARN, "rejected a connection from %s: it %s (%lld so far)", from, why,
        (long long)n);
}

static void remove_stranger(tutti_tcp_listener *listener, int i)
{
    listener->count--;
    memmove(&listener->stranger[i], &listener->stranger[i + 1],
        (size_t)(listener->count - i) * sizeof listener->stranger[0]);
}

static void reject_stranger(tutti_tcp_listener *listener, int i, const char *why)
{
    log_rejected(listener, listener->stranger[i].from, why);
    close(listener->stranger[i].socket);
    remove_stranger(listener, i);
}

static void name_address(const struct sockaddr_storage *address, socklen_t bytes, char *name)
{
    char host[64] = "?", port[16] = "?";
    getnameinfo((const struct sockaddr *)address, bytes, host, sizeof host, port, sizeof port,
        NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(name, TUTTI_TCP_NAME, "%s port %s", host, port);
}

static void accept_stranger(tutti_tcp_listener *listener)
{
    static const double pause_s = 1;
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    int socket = accept4(
        listener->socket, (struct sockaddr *)&address, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
        int full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (full) listener->full_s = tutti_clock_s() + pause_s;
        return;
    }
    if (listener->count == TUTTI_TCP_PENDING)
        reject_stranger(listener, 0, "sent nothing while many others connected");
    stranger *s = &listener->stranger[listener->count++];
    *s = (stranger){.socket = socket, .since_s = tutti_clock_s()};
    name_address(&address, bytes, s->from);
}

int tutti_tcp_listener_poll(const tutti_tcp_listener *listener, struct pollfd *what)
{
    int n = 0;
    if (tutti_clock_s() >= listener->full_s)
        what[n++] = (struct pollfd){.fd = listener->socket, .events = POLLIN};
    for (int i = 0; i < listener->count; i++)
        what[n++] = (struct pollfd){.fd = listener->stranger[i].socket, .events = POLLIN};
    return n;
}

/* 1: its greeting is complete. 0: not yet. -1: it has disconnected, sent something else, or took too long. */
static int read_stranger(stranger *s, const char **why)
{
    static const double patience_s = 5;
    ssize_t n =
        recv(s->socket, s->bytes + s->length, TUTTI_TCP_GREETING_BYTES - s->length, MSG_DONTWAIT);
    if (n > 0) s->length += (size_t)n;
    if (s->length == TUTTI_TCP_GREETING_BYTES) return 1;
    *why = s->length ? "sent only part of a greeting" : "sent nothing";
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return -1;
    *why = "uses another protocol";
    if (s->length >= sizeof(uint64_t) && !tutti_tcp_greeting_begins(s->bytes)) return -1;
    *why = "did not complete a greeting within 5 s";
    return tutti_clock_s() - s->since_s > patience_s ? -1 : 0;
}

/* Whether a greeting has the right version and token; answers it if not. */
static int check_greeting(
    const tutti_tcp_listener *listener, const stranger *s, tutti_tcp_greeting *g, const char **why)
{
    static const unsigned char nothing[TUTTI_TCP_WORDS_BYTES];
    *why = tutti_tcp_greeting_read(s->bytes, g);
    if (*why) return 0;
    if (g->version != TUTTI_TCP_VERSION) {
        *why = "has another version of Tutti";
        tutti_tcp_answer(s->socket, TUTTI_TCP_WRONG_VERSION, nothing);
        return 0;
    }
    if (tutti_tcp_token_equal(g->token, listener->token)) return 1;
    *why = "has another token";
    tutti_tcp_answer(s->socket, TUTTI_TCP_WRONG_TOKEN, nothing);
    return 0;
}

int tutti_tcp_listener_accept(tutti_tcp_listener *listener,
    unsigned char words[TUTTI_TCP_WORDS_BYTES], char from[TUTTI_TCP_NAME])
{
    tutti_tcp_greeting g;
    if (tutti_clock_s() >= listener->full_s) accept_stranger(listener);
    for (int i = 0; i < listener->count;) {
        stranger *s = &listener->stranger[i];
        const char *why = "sent nothing";
        int complete = read_stranger(s, &why);
        if (complete < 0 || (complete && !check_greeting(listener, s, &g, &why))) {
            reject_stranger(listener, i, why);
            continue;
        }
        if (!complete) {
            i++;
            continue;
        }
        int socket = s->socket;
        memcpy(words, g.words, TUTTI_TCP_WORDS_BYTES);
        memcpy(from, s->from, TUTTI_TCP_NAME);
        remove_stranger(listener, i);
        return socket;
    }
    return -1;
}

int tutti_tcp_answer(
    int socket, tutti_tcp_verdict verdict, const unsigned char words[TUTTI_TCP_WORDS_BYTES])
{
    unsigned char bytes[TUTTI_TCP_GREETING_BYTES];
    tutti_tcp_greeting g = {.version = TUTTI_TCP_VERSION, .verdict = verdict};
    memcpy(g.words, words, TUTTI_TCP_WORDS_BYTES);
    tutti_tcp_greeting_write(&g, bytes);
    /* the socket is new: its buffer has room for the answer */
    return send(socket, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof bytes;
}

/* ---- opening ---- */

static int listen_on(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, TUTTI_TCP_PENDING)) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int port_of(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t bytes = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &bytes);
    return ntohs(a.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&a)->sin6_port
                                         : ((const struct sockaddr_in *)&a)->sin_port);
}

/* Takes over the socket, also on failure. */
static tutti_status adopt(int fd, const char *token, tutti_tcp_listener **listener)
{
    tutti_tcp_listener *d = calloc(1, sizeof *d);
    if (!d) {
        close(fd);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory to listen");
    }
    d->socket = fd;
    d->port = port_of(fd);
    snprintf(d->token, sizeof d->token, "%s", token);
    *listener = d;
    return TUTTI_OK;
}

tutti_status tutti_tcp_listener_open(
    const char *address, int port, const char *token, tutti_tcp_listener **listener)
{
    struct addrinfo *all = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    int code = getaddrinfo(address, service, &hints, &all);
    if (code)
        return tutti_fail(TUTTI_ERR_COMM, "cannot listen on %s: %s", address, gai_strerror(code));
    int fd = listen_on(all), why = errno;
    freeaddrinfo(all);
    if (fd < 0)
        return tutti_fail(TUTTI_ERR_COMM, "cannot listen on %s port %d: %s%s", address, port,
            strerror(why),
            why == EADDRINUSE ? ": another program uses it; choose another port, or auto" : "");
    return adopt(fd, token, listener);
}

tutti_status tutti_tcp_listener_adopt(int socket, const char *token, tutti_tcp_listener **listener)
{
    int listens = 0;
    socklen_t bytes = sizeof listens;
    if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) || !listens)
        return tutti_fail(
            TUTTI_ERR_INVAL, "descriptor %d is not a socket on which this process listens", socket);
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    fcntl(socket, F_SETFL, O_NONBLOCK);
    return adopt(socket, token, listener);
}

int tutti_tcp_listener_port(const tutti_tcp_listener *listener)
{
    return listener->port;
}

void tutti_tcp_listener_close(tutti_tcp_listener *listener)
{
    if (!listener) return;
    for (int i = 0; i < listener->count; i++) close(listener->stranger[i].socket);
    close(listener->socket);
    free(listener);
}
