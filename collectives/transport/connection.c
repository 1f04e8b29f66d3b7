#include "collectives/transport/connection.h"

#include "collectives/transport/tcp_frame.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* The limit of the other end's unmatched receives, and the first size of the buffer for outgoing frames. */
enum { MOST_WANTS = 1 << 16, CONTROL_BYTES = 1 << 12 };

struct tutti_connection_message {
    tutti_connection_message *next;
    int is_send, lane, tag;
    int priority;        /* of a send */
    unsigned char *data; /* NULL: received data are dropped, and then this struct is freed */
    size_t bytes, moved;
    int wanted; /* of a send: it is matched */
    int unfit;  /* of a send: it is not sent, because the receive has another size */
    int ended;
    tutti_status status;
};

/* Oldest first. */
typedef struct list {
    tutti_connection_message *first, **end; /* end: where the next one is put */
} list;

/* A receive of the other end without a matching send here. */
typedef struct want {
    struct want *next;
    int lane, tag;
    uint64_t bytes;
} want;

/* Frames without data that are to be written; grows. */
typedef struct control {
    unsigned char *bytes;
    size_t used, sent, room;
} control;

struct tutti_connection {
    int lanes;
    int64_t tags;
    int socket, shut;
    double silence_s, last_received_s, wrote_s;
    double stuck_s; /* since when the socket accepts nothing; 0: it does */
    list sends, recvs;
    want *wants, **wants_end;
    int wanting;
    control control;
    /* what is being written: a header, then a piece of a message */
    unsigned char header[TUTTI_TCP_HEADER_BYTES];
    size_t header_left, piece_left;
    tutti_connection_message *outgoing;
    /* what is being read */
    unsigned char coming[TUTTI_TCP_HEADER_BYTES];
    size_t coming_got, coming_left;
    tutti_connection_message *incoming;
    char why[TUTTI_CONNECTION_WHY]; /* why it broke; "": it works */
};

static int has_tag(const tutti_connection_message *m, int lane, int tag)
{
    return m->lane == lane && m->tag == tag;
}

static void append_message(list *l, tutti_connection_message *m)
{
    *l->end = m;
    l->end = &m->next;
}

static void unlink_from(list *l, const tutti_connection_message *m)
{
    tutti_connection_message **at = &l->first;
    while (*at && *at != m) at = &(*at)->next;
    if (!*at) return;
    *at = m->next;
    if (!m->next) l->end = at;
}

/* Ends a message; tutti_connection_test frees it. */
static void end_message(tutti_connection *t, tutti_connection_message *m, tutti_status status)
{
    unlink_from(m->is_send ? &t->sends : &t->recvs, m);
    m->status = status;
    m->ended = 1;
    if (!m->is_send && !m->data && m->bytes) free(m);
}

static void break_connection(tutti_connection *t, const char *why)
{
    if (t->why[0]) return;
    snprintf(t->why, sizeof t->why, "%s", why);
    close(t->socket);
    t->socket = -1;
    t->outgoing = t->incoming = NULL;
    while (t->sends.first) end_message(t, t->sends.first, TUTTI_ERR_COMM);
    while (t->recvs.first) end_message(t, t->recvs.first, TUTTI_ERR_COMM);
}

static void break_with_errno(tutti_connection *t, const char *what)
{
    char why[TUTTI_CONNECTION_WHY];
    if (errno == ECONNRESET || errno == EPIPE) {
        break_connection(t, "has closed the connection"); /* with something on its way */
        return;
    }
    snprintf(why, sizeof why, "%s: %s", what, strerror(errno));
    break_connection(t, why);
}

/* ---- frames without data ---- */

static void queue_frame(tutti_connection *t, tutti_tcp_kind kind, int lane, int tag, size_t bytes)
{
    control *c = &t->control;
    if (t->why[0]) return;
    if (c->used + TUTTI_TCP_HEADER_BYTES > c->room) {
        size_t room = c->room ? 2 * c->room : CONTROL_BYTES;
        unsigned char *wider = realloc(c->bytes, room);
        if (!wider) {
            break_connection(t, "no memory for outgoing frames");
            return;
        }
        c->bytes = wider;
        c->room = room;
    }
    tutti_tcp_frame_write(
        &(tutti_tcp_frame){.kind = kind, .lane = lane, .tag = tag, .bytes = bytes},
        c->bytes + c->used);
    c->used += TUTTI_TCP_HEADER_BYTES;
}

/* ---- sends and receives are matched ---- */

static void match_send(tutti_connection_message *send, uint64_t wanted)
{
    send->wanted = 1;
    send->unfit = send->bytes != wanted;
}

static void receive_want(tutti_connection *t, const tutti_tcp_frame *f)
{
    for (tutti_connection_message *m = t->sends.first; m; m = m->next)
        if (!m->wanted && has_tag(m, f->lane, f->tag)) {
            match_send(m, f->bytes);
            return;
        }
    want *w = t->wanting < MOST_WANTS ? malloc(sizeof *w) : NULL;
    if (!w) {
        break_connection(t, "requests more messages than allowed");
        return;
    }
    *w = (want){.lane = f->lane, .tag = f->tag, .bytes = f->bytes};
    *t->wants_end = w;
    t->wants_end = &w->next;
    t->wanting++;
}

static void find_want(tutti_connection *t, tutti_connection_message *send)
{
    for (want **at = &t->wants, *w; (w = *at); at = &w->next)
        if (has_tag(send, w->lane, w->tag)) {
            match_send(send, w->bytes);
            *at = w->next;
            if (!w->next) t->wants_end = at;
            free(w);
            t->wanting--;
            return;
        }
}

static tutti_status post_message(
    tutti_connection *t, const tutti_connection_message *like, tutti_connection_message **message)
{
    if (t->why[0]) return TUTTI_ERR_COMM;
    tutti_connection_message *m = malloc(sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message of %zu bytes", like->bytes);
    *m = *like;
    if (m->is_send)
        find_want(t, m);
    else
        queue_frame(t, TUTTI_TCP_WANT, m->lane, m->tag, m->bytes);
    if (t->why[0]) { /* the connection broke: all earlier messages have ended */
        free(m);
        return TUTTI_ERR_COMM;
    }
    append_message(m->is_send ? &t->sends : &t->recvs, m);
    *message = m;
    return TUTTI_OK;
}

tutti_status tutti_connection_isend(tutti_connection *t, int lane, int tag, const void *data,
    size_t bytes, tutti_connection_message **message)
{
    const tutti_connection_message like = {
        .is_send = 1, .lane = lane, .tag = tag, .data = (void *)data, .bytes = bytes};
    return post_message(t, &like, message);
}

tutti_status tutti_connection_irecv(tutti_connection *t, int lane, int tag, void *data,
    size_t bytes, tutti_connection_message **message)
{
    const tutti_connection_message like = {.lane = lane, .tag = tag, .data = data, .bytes = bytes};
    return post_message(t, &like, message);
}

tutti_status tutti_connection_test(tutti_connection_message *message, int *done)
{
    *done = message->ended;
    if (!*done) return TUTTI_OK;
    tutti_status status = message->status;
    free(message);
    return status;
}

/* Data for a cancelled receive are dropped. */
void tutti_connection_cancel(tutti_connection *t, tutti_connection_message *m)
{
    if (m->ended || (m->is_send && m->wanted) || m->moved || t->incoming == m) return;
    tutti_connection_message *drops = !m->is_send && m->bytes ? malloc(sizeof *drops) : NULL;
    if (!m->is_send && m->bytes && !drops) return; /* no memory: it ends with its partner */
    if (drops) {
        *drops = (tutti_connection_message){
            .next = m->next, .lane = m->lane, .tag = m->tag, .bytes = m->bytes};
        m->next = drops; /* in its place */
        if (!drops->next) t->recvs.end = &drops->next;
    }
    if (m->is_send || m->bytes) end_message(t, m, TUTTI_OK);
}

void tutti_connection_abandon(tutti_connection *t, tutti_connection_message *m)
{
    tutti_connection_cancel(t, m);
    if (!m->ended) break_connection(t, "was closed in the middle of a message");
    free(m);
}

void tutti_connection_close(tutti_connection *t)
{
    break_connection(t, "is closed");
    for (want *w = t->wants, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    free(t->control.bytes);
    free(t);
}

/* ---- writing ---- */

static int goes_before(const tutti_connection_message *a, const tutti_connection_message *b)
{
    return a->lane < b->lane || (a->lane == b->lane && a->priority > b->priority);
}

/* Chooses the matched send of the lowest lane with the highest priority, the oldest of equal ones. Sends of one lane
 * and tag go in order: returns the oldest with its lane and tag. */
static tutti_connection_message *next_outgoing(const tutti_connection *t)
{
    tutti_connection_message *best = NULL, *first;
    for (tutti_connection_message *m = t->sends.first; m; m = m->next)
        if (m->wanted && (!best || goes_before(m, best))) best = m;
    for (first = best ? t->sends.first : NULL; first && !has_tag(first, best->lane, best->tag);)
        first = first->next;
    return first;
}

static int begin_piece(tutti_connection *t)
{
    tutti_connection_message *m = next_outgoing(t);
    if (!m) return 0;
    size_t left = m->bytes - m->moved;
    t->piece_left = m->unfit ? 0 : left < TUTTI_TCP_PIECE_BYTES ? left : TUTTI_TCP_PIECE_BYTES;
    tutti_tcp_frame_write(&(tutti_tcp_frame){.kind = m->unfit ? TUTTI_TCP_UNFIT : TUTTI_TCP_DATA,
                              .lane = m->lane,
                              .tag = m->tag,
                              .bytes = m->unfit ? m->bytes : t->piece_left},
        t->header);
    t->header_left = TUTTI_TCP_HEADER_BYTES;
    t->outgoing = m;
    return 1;
}

static void end_piece(tutti_connection *t)
{
    tutti_connection_message *m = t->outgoing;
    t->outgoing = NULL;
    if (m->unfit)
        end_message(t, m, TUTTI_ERR_MISMATCH);
    else if (m->moved == m->bytes)
        end_message(t, m, TUTTI_OK);
}

/* 0: the socket accepts no more now. */
static int write_some(tutti_connection *t, struct iovec *part, int parts, size_t *wrote)
{
    struct msghdr out = {.msg_iov = part, .msg_iovlen = (size_t)parts};
    ssize_t n = sendmsg(t->socket, &out, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) n = 0;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        break_with_errno(t, "cannot be written to");
    if (n < 0) {
        if (!t->stuck_s) t->stuck_s = tutti_clock_s();
        return 0;
    }
    if (n) t->wrote_s = tutti_clock_s();
    t->stuck_s = 0;
    *wrote = (size_t)n;
    return 1;
}

static int write_control(tutti_connection *t)
{
    control *c = &t->control;
    size_t wrote = 0;
    struct iovec part = {c->bytes + c->sent, c->used - c->sent};
    int more = write_some(t, &part, 1, &wrote);
    c->sent += wrote;
    if (c->sent == c->used) c->sent = c->used = 0;
    return more;
}

static int write_piece(tutti_connection *t)
{
    tutti_connection_message *m = t->outgoing;
    size_t wrote = 0;
    struct iovec part[2] = {{t->header + TUTTI_TCP_HEADER_BYTES - t->header_left, t->header_left},
        {m->data + m->moved, t->piece_left}};
    int more = write_some(t, part, t->piece_left ? 2 : 1, &wrote);
    if (t->why[0]) return 0;
    size_t of_header = wrote < t->header_left ? wrote : t->header_left;
    t->header_left -= of_header;
    t->piece_left -= wrote - of_header;
    m->moved += wrote - of_header;
    if (!t->header_left && !t->piece_left) end_piece(t);
    return more;
}

static void write_all(tutti_connection *t)
{
    while (!t->why[0] && !t->shut) {
        if (!t->outgoing && t->control.used) {
            if (!write_control(t)) return;
            continue;
        }
        if (t->outgoing || begin_piece(t)) {
            if (!write_piece(t)) return;
            continue;
        }
        return;
    }
}

/* ---- reading ---- */

static tutti_connection_message *oldest_recv(const tutti_connection *t, int lane, int tag)
{
    tutti_connection_message *m = t->recvs.first;
    while (m && !has_tag(m, lane, tag)) m = m->next;
    return m;
}

static void begin_data(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_connection_message *m = oldest_recv(t, f->lane, f->tag);
    if (!m || f->bytes > m->bytes - m->moved || (!f->bytes && m->bytes)) {
        break_connection(t, "sends data that was not requested");
        return;
    }
    t->incoming = m;
    t->coming_left = (size_t)f->bytes;
}

static void receive_unfit(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_connection_message *m = oldest_recv(t, f->lane, f->tag);
    if (!m || m->moved) {
        break_connection(t, "refuses data that was not requested");
        return;
    }
    tutti_log(TUTTI_LOG_WARN,
        "lane %d, tag %d: the other end sends %llu bytes where %zu were expected", f->lane, f->tag,
        (unsigned long long)f->bytes, m->bytes);
    end_message(t, m, TUTTI_ERR_MISMATCH);
}

static void read_frame(tutti_connection *t)
{
    tutti_tcp_frame f;
    const tutti_tcp_limits limits = {t->lanes, t->tags};
    const char *fault = tutti_tcp_frame_read(t->coming, &limits, &f);
    if (fault)
        break_connection(t, fault);
    else if (f.kind == TUTTI_TCP_WANT)
        receive_want(t, &f);
    else if (f.kind == TUTTI_TCP_DATA)
        begin_data(t, &f);
    else if (f.kind == TUTTI_TCP_UNFIT)
        receive_unfit(t, &f);
}

/* 0: there is no more now. */
static int read_some(tutti_connection *t, void *to, size_t most, size_t *got)
{
    ssize_t n = recv(t->socket, to, most, MSG_DONTWAIT);
    if (n > 0) {
        *got = (size_t)n;
        t->last_received_s = tutti_clock_s();
        return 1;
    }
    if (n == 0) break_connection(t, "has closed the connection");
    if (n < 0 && errno == EINTR) return 1;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        break_with_errno(t, "cannot be read from");
    return 0;
}

static int read_header(tutti_connection *t)
{
    size_t got = 0;
    if (!read_some(t, t->coming + t->coming_got, TUTTI_TCP_HEADER_BYTES - t->coming_got, &got))
        return 0;
    t->coming_got += got;
    if (t->coming_got < TUTTI_TCP_HEADER_BYTES) return 1;
    t->coming_got = 0;
    read_frame(t);
    return !t->why[0];
}

static int read_piece(tutti_connection *t)
{
    unsigned char dropped[4096];
    tutti_connection_message *m = t->incoming;
    size_t got = 0, most = t->coming_left;
    if (!m->data && most > sizeof dropped) most = sizeof dropped;
    if (most && !read_some(t, m->data ? m->data + m->moved : dropped, most, &got)) return 0;
    m->moved += got;
    t->coming_left -= got;
    if (t->coming_left) return 1;
    t->incoming = NULL;
    if (m->moved == m->bytes) end_message(t, m, TUTTI_OK);
    return 1;
}

static void read_all(tutti_connection *t)
{
    static const double most_s = 10e-3; /* then the thread serves other connections */
    double until_s = tutti_clock_s() + most_s;
    int more = !t->why[0];
    while (more) {
        more = t->incoming ? read_piece(t) : read_header(t);
        if (t->last_received_s > until_s) return;
    }
}

/* ---- passes ---- */

static void check_silence(tutti_connection *t)
{
    char why[TUTTI_CONNECTION_WHY];
    double now_s = tutti_clock_s();
    int deaf = t->stuck_s && now_s - t->stuck_s > t->silence_s;
    snprintf(why, sizeof why, "has %s for %.1f s", deaf ? "accepted no data" : "been silent",
        now_s - (deaf ? t->stuck_s : t->last_received_s));
    if (deaf || now_s - t->last_received_s > t->silence_s) break_connection(t, why);
    if (!t->shut && !t->control.used && !t->outgoing && now_s - t->wrote_s > t->silence_s / 4) {
        queue_frame(t, TUTTI_TCP_PING, 0, 0, 0);
        t->wrote_s = now_s;
    }
}

void tutti_connection_pass(tutti_connection *t)
{
    if (t->why[0]) return;
    read_all(t);
    if (!t->why[0]) check_silence(t);
    write_all(t);
}

struct pollfd tutti_connection_poll(const tutti_connection *t)
{
    int writes = !t->shut && (t->control.used || t->outgoing || next_outgoing(t));
    return (struct pollfd){.fd = t->socket, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
}

const char *tutti_connection_broken(const tutti_connection *t)
{
    return t->why[0] ? t->why : NULL;
}

void tutti_connection_break(tutti_connection *t)
{
    break_connection(t, "was closed by this side");
}

void tutti_connection_set_priority(tutti_connection_message *message, int priority)
{
    message->priority = priority;
}

void tutti_connection_shut(tutti_connection *t)
{
    if (t->why[0] || t->shut) return;
    t->shut = 1;
    shutdown(t->socket, SHUT_WR);
}

int tutti_connection_flushed(const tutti_connection *t)
{
    return t->why[0] || (!t->sends.first && !t->control.used);
}

tutti_status tutti_connection_open(
    int socket, const tutti_connection_options *options, tutti_connection **connection)
{
    const tutti_connection_options *o = options;
    int valid =
        o->lanes > 0 && o->tags > 0 && o->tags <= (int64_t)INT32_MAX + 1 && o->silence_s > 0;
    tutti_connection *t = valid ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        close(socket);
        return valid ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection")
                     : tutti_fail(TUTTI_ERR_INVAL, "no connection of %d lanes and %lld tags",
                           o->lanes, (long long)o->tags);
    }
    double now_s = tutti_clock_s();
    *t = (tutti_connection){.lanes = o->lanes,
        .tags = o->tags,
        .socket = socket,
        .silence_s = o->silence_s,
        .last_received_s = now_s,
        .wrote_s = now_s};
    t->sends.end = &t->sends.first;
    t->recvs.end = &t->recvs.first;
    t->wants_end = &t->wants;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    *connection = t;
    return TUTTI_OK;
}
