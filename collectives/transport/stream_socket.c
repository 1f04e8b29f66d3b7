#include "collectives/transport/stream.h"
#include "dag/base/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct socket_stream {
    tutti_stream base;
    int low;   /* it is readable from this many bytes on */
    int empty; /* the last read has got less than it asked for: the next one would find nothing */
} socket_stream;

/* Returns what write and read do when the call has failed. */
static ssize_t explain_errno(tutti_stream *s, const char *what)
{
    if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno == ECONNRESET || errno == EPIPE) /* with something on its way */
        snprintf(s->why, sizeof s->why, "has closed the connection");
    else
        snprintf(s->why, sizeof s->why, "%s: %s", what, strerror(errno));
    return -1;
}

static ssize_t socket_write(tutti_stream *s, const struct iovec *part, int parts)
{
    struct msghdr out = {.msg_iov = (struct iovec *)part, .msg_iovlen = (size_t)parts};
    ssize_t n = sendmsg(s->socket, &out, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 ? explain_errno(s, "cannot be written to") : n;
}

/* Waking costs as much as copying some 10 KiB; and more than this the kernel does not keep at once. What it keeps can
 * be read when it keeps no more, however much is expected. */
static void socket_expect(tutti_stream *base, size_t bytes)
{
    enum { MOST = 1 << 18 };
    socket_stream *s = (socket_stream *)base;
    const int low = bytes < MOST ? (int)bytes : MOST;
    if (low == s->low || setsockopt(base->socket, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low))
        return;
    s->low = low;
}

static ssize_t socket_read(tutti_stream *s, void *to, size_t most)
{
    socket_stream *m = (socket_stream *)s;
    const int skips = m->empty;
    m->empty = 0;
    if (skips) return 0;
    ssize_t n = recv(s->socket, to, most, MSG_DONTWAIT);
    m->empty = n > 0 && (size_t)n < most;
    if (n < 0) return explain_errno(s, "cannot be read from");
    if (n > 0) return n;
    snprintf(s->why, sizeof s->why, "has closed the connection");
    return -1;
}

static void socket_shut(tutti_stream *s)
{
    shutdown(s->socket, SHUT_WR);
}

static void socket_close(tutti_stream *s)
{
    close(s->socket);
    free(s);
}

static const tutti_stream_ops socket_ops = {
    .write = socket_write,
    .read = socket_read,
    .expect = socket_expect,
    .shut = socket_shut,
    .close = socket_close,
};

tutti_status tutti_stream_socket(int socket, tutti_stream **stream)
{
    socket_stream *s = malloc(sizeof *s);
    if (!s) {
        close(socket);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection");
    }
    *s = (socket_stream){{.ops = &socket_ops, .socket = socket, .file = socket}, .low = 1};
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    /* What the kernel has accepted, which would be megabytes, goes before all that comes later: also before the word
     * that a receive is posted, which the other side waits for. */
    setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){1 << 17}, sizeof(int));
    *stream = &s->base;
    return TUTTI_OK;
}
