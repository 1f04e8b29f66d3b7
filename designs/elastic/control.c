#include "designs/elastic/control.h"

#include "dag/base/clock.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Each begins with one of these bytes. */
enum { BEAT = 'b', MESSAGE = 'm', MOST_OUT = 1 << 20 };

void tutti_elastic_control_open(tutti_elastic_control *c, int socket, double now_s)
{
    memset(c, 0, sizeof *c);
    c->socket = socket;
    c->heard_s = c->sent_s = now_s;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static void break_control(tutti_elastic_control *c, const char *why)
{
    if (c->end) return;
    c->end = TUTTI_ELASTIC_BROKEN;
    snprintf(c->why, sizeof c->why, "%s", why);
}

/* The other end sees a reset. Closing is not enough: another process may keep the connection. */
static void reset_control(tutti_elastic_control *c, const char *why)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    break_control(c, why);
    if (c->socket < 0) return;
    connect(c->socket, &nowhere, sizeof nowhere);
    close(c->socket);
    c->socket = -1;
}

/* ---- writing ---- */

static int is_writable(const tutti_elastic_control *c)
{
    return c->socket >= 0 && !c->shut && !c->held && c->out_at < c->out_end;
}

/* An error is no end: what the other end had sent before its own is still to be read. */
void tutti_elastic_control_flush(tutti_elastic_control *c, double now_s)
{
    while (is_writable(c)) {
        const ssize_t n = send(
            c->socket, c->out + c->out_at, c->out_end - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (n < 0) {
            c->shut = 1;
            return;
        }
        c->out_at += (size_t)n;
        c->sent_s = now_s;
    }
    if (c->out_at == c->out_end) c->out_at = c->out_end = 0;
}

static int make_room(tutti_elastic_control *c, size_t bytes)
{
    const size_t need = c->out_end + bytes;
    if (need <= c->out_room) return 1;
    if (need > MOST_OUT) return 0;
    unsigned char *out = realloc(c->out, 2 * need);
    if (!out) return 0;
    c->out = out;
    c->out_room = 2 * need;
    return 1;
}

static void append(
    tutti_elastic_control *c, unsigned char kind, const unsigned char *data, size_t bytes)
{
    if (c->socket < 0 || c->shut || c->end) return;
    if (!make_room(c, 1 + bytes)) {
        reset_control(c, "accepts no messages");
        return;
    }
    c->out[c->out_end++] = kind;
    if (bytes) memcpy(c->out + c->out_end, data, bytes);
    c->out_end += bytes;
}

void tutti_elastic_control_send(
    tutti_elastic_control *c, const tutti_membership_message *message, double now_s)
{
    unsigned char bytes[TUTTI_MEMBERSHIP_MESSAGE_BYTES];
    tutti_membership_message_write(message, bytes);
    append(c, MESSAGE, bytes, sizeof bytes);
    tutti_elastic_control_flush(c, now_s);
}

void tutti_elastic_control_beat(tutti_elastic_control *c, double every_s, double now_s)
{
    if (c->held || c->out_at < c->out_end || now_s - c->sent_s < every_s) return;
    append(c, BEAT, NULL, 0);
    tutti_elastic_control_flush(c, now_s);
}

void tutti_elastic_control_push(tutti_elastic_control *c, double limit_s)
{
    const double until_s = tutti_clock_s() + limit_s;
    double left_s = limit_s;
    tutti_elastic_control_flush(c, tutti_clock_s());
    while (is_writable(c) && left_s > 0) {
        struct pollfd p = {.fd = c->socket, .events = POLLOUT};
        poll(&p, 1, (int)ceil(1e3 * left_s));
        tutti_elastic_control_flush(c, tutti_clock_s());
        left_s = until_s - tutti_clock_s();
    }
    if (is_writable(c)) reset_control(c, "accepts no messages");
}

void tutti_elastic_control_shut(tutti_elastic_control *c)
{
    if (c->socket >= 0) shutdown(c->socket, SHUT_WR);
    c->shut = 1;
}

/* ---- reading ---- */

/* How many bytes of the next thing are missing. */
static size_t missing(const tutti_elastic_control *c)
{
    return c->came ? sizeof c->coming - c->came : 1;
}

/* 1: some came; 0: none now, or the end. */
static int read_some(tutti_elastic_control *c, double now_s)
{
    ssize_t n;
    do n = recv(c->socket, c->coming + c->came, missing(c), MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        c->came += (size_t)n;
        c->heard_s = now_s;
        return 1;
    }
    if (n == 0)
        c->end = TUTTI_ELASTIC_IN_ORDER;
    else if (errno == ECONNRESET || errno == EPIPE)
        break_control(c, "has reset the connection");
    else if (errno != EAGAIN && errno != EWOULDBLOCK)
        break_control(c, "cannot be read from");
    return 0;
}

int tutti_elastic_control_read(
    tutti_elastic_control *c, tutti_membership_message *message, double now_s)
{
    while (c->socket >= 0 && !c->end && read_some(c, now_s)) {
        if (c->coming[0] == BEAT) c->came = 0;
        if (c->came && c->coming[0] != MESSAGE) {
            break_control(c, "sends an invalid message");
            return 0;
        }
        if (c->came < sizeof c->coming) continue;
        const char *wrong = tutti_membership_message_read(c->coming + 1, message);
        c->came = 0;
        if (!wrong) return 1;
        break_control(c, wrong);
    }
    return 0;
}

struct pollfd tutti_elastic_control_poll(const tutti_elastic_control *c)
{
    return (struct pollfd){
        .fd = c->socket, .events = (short)(POLLIN | (is_writable(c) ? POLLOUT : 0))};
}

void tutti_elastic_control_close(tutti_elastic_control *c)
{
    if (c->socket >= 0) {
        shutdown(c->socket, SHUT_RDWR); /* for the process that keeps it, too */
        close(c->socket);
    }
    c->socket = -1;
    free(c->out);
    c->out = NULL;
    c->out_at = c->out_end = c->out_room = 0;
}
