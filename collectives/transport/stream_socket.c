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

static ssize_t socket_read(tutti_stream *s, void *to, size_t most)
{
    ssize_t n = recv(s->socket, to, most, MSG_DONTWAIT);
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
    .shut = socket_shut,
    .close = socket_close,
};

tutti_status tutti_stream_socket(int socket, tutti_stream **stream)
{
    tutti_stream *s = malloc(sizeof *s);
    if (!s) {
        close(socket);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection");
    }
    *s = (tutti_stream){.ops = &socket_ops, .socket = socket, .file = socket};
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    *stream = s;
    return TUTTI_OK;
}
