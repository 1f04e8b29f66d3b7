#include "collectives/transport/connection_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- writing ---- */

static int is_in_stream(const tutti_connection_message *a, const tutti_connection_message *b)
{
    return a->lane == b->lane && a->tag == b->tag;
}

/* Small messages go first: much waits for little. */
static int goes_before(
    const tutti_connection *t, const tutti_connection_message *a, const tutti_connection_message *b)
{
    const int equal = t->options.urgent_lanes;
    const int lane = a->lane < equal ? a->lane : equal, other = b->lane < equal ? b->lane : equal;
    const size_t small = t->options.early_bytes;
    if (small && (a->bytes <= small) != (b->bytes <= small)) return a->bytes <= small;
    return lane < other || (lane == other && a->priority > b->priority);
}

/* Chooses the matched send that goes before all others, the oldest of equal ones. Sends of one lane
 * and tag go in order: returns the oldest with its lane and tag. */
static tutti_connection_message *next_outgoing(const tutti_connection *t)
{
    tutti_connection_message *best = NULL, *first;
    for (tutti_connection_message *m = t->sends.first; m; m = m->next)
        if (m->wanted && !m->gone && (!best || goes_before(t, m, best))) best = m;
    for (first = best ? t->sends.first : NULL;
         first && (first->gone || !is_in_stream(first, best));)
        first = first->next;
    return first;
}

/* Copies a piece to the receiver's memory, or has the stream write it there; *moves 0: not now. Returns whether that
 * was the last. The frame that says so is written after the data: the stream keeps this order. */
static int copy_piece(tutti_connection *t, tutti_connection_message *m, int *moves)
{
    const tutti_stream_ops *ops = t->stream->ops;
    size_t left = m->bytes - m->moved,
           bytes = left < TUTTI_TCP_PIECE_BYTES ? left : TUTTI_TCP_PIECE_BYTES;
    *moves = 1;
    if (bytes && ops->put) {
        *moves = ops->put(t->stream, m->place, m->moved, m->data + m->moved, bytes, &m->under_way);
        if (*moves < 0) tutti_connection_fail(t, t->stream->why);
        if (*moves <= 0) return *moves = 0;
    } else if (bytes) {
        unsigned char *to = ops->reach(t->stream, m->place, m->bytes);
        memcpy(to + m->moved, m->data + m->moved, bytes);
    }
    t->received.moved_messages += bytes && bytes == left;
    m->moved += bytes;
    return bytes == left;
}

/* What is written next of a matched send. */
static tutti_tcp_frame next_frame(const tutti_connection_message *m)
{
    const size_t left = m->bytes - m->moved;
    tutti_tcp_frame f = {.kind = TUTTI_TCP_DATA, .lane = m->lane, .tag = m->tag};
    if (m->unfit)
        f.kind = TUTTI_TCP_UNFIT;
    else if (m->early)
        f.kind = TUTTI_TCP_EARLY;
    else if (m->place)
        f.kind = TUTTI_TCP_PLACED;
    f.bytes = left < TUTTI_TCP_PIECE_BYTES ? left : TUTTI_TCP_PIECE_BYTES;
    if (m->unfit) f.bytes = m->bytes;
    if (f.kind == TUTTI_TCP_PLACED) f.bytes = m->number;
    return f;
}

/* Returns whether there is more to do; then something is outgoing, unless a piece was copied. */
static int begin_piece(tutti_connection *t)
{
    tutti_connection_message *m = next_outgoing(t);
    if (!m) return 0;
    int moves;
    if (m->place && !m->unfit && !copy_piece(t, m, &moves)) return moves;
    const tutti_tcp_frame f = next_frame(m);
    const int travels = f.kind == TUTTI_TCP_DATA || f.kind == TUTTI_TCP_EARLY;
    t->piece_left = travels ? (size_t)f.bytes : 0;
    tutti_tcp_frame_write(&f, t->header);
    t->header_left = TUTTI_TCP_HEADER_BYTES;
    t->outgoing = m;
    return 1;
}

static void end_piece(tutti_connection *t)
{
    tutti_connection_message *m = t->outgoing;
    t->outgoing = NULL;
    if (m->unfit)
        tutti_connection_end(t, m, TUTTI_ERR_MISMATCH);
    else if (m->moved == m->bytes && m->under_way)
        t->gone += m->gone = 1;
    else if (m->moved == m->bytes)
        tutti_connection_end(t, m, TUTTI_OK);
}

/* Their data are not read any more. */
static void end_gone(tutti_connection *t)
{
    for (tutti_connection_message *m = t->sends.first, *next; m && t->gone; m = next) {
        next = m->next;
        if (m->gone && !m->under_way) tutti_connection_end(t, m, TUTTI_OK);
    }
}

/* 0: the stream accepts no more now. */
static int write_some(tutti_connection *t, const struct iovec *part, int parts, size_t *wrote)
{
    ssize_t n = t->stream->ops->write(t->stream, part, parts);
    if (n < 0) {
        tutti_connection_fail(t, t->stream->why);
        return 0;
    }
    if (!n) {
        if (!t->stuck_s) t->stuck_s = t->now_s;
        return 0;
    }
    t->wrote_s = t->now_s;
    t->stuck_s = 0;
    *wrote = (size_t)n;
    return 1;
}

static int write_control(tutti_connection *t)
{
    tutti_control_frames *c = &t->control;
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
            if (t->outgoing && !write_piece(t)) return;
            continue;
        }
        return;
    }
}

/* ---- reading ---- */

static void begin_data(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_connection_message *m = tutti_connection_oldest_recv(t, f->lane, f->tag);
    if (!m || f->bytes > m->bytes - m->moved || (!f->bytes && m->bytes)) {
        tutti_connection_fail(t, "sends data that was not requested");
        return;
    }
    t->incoming = m;
    t->coming_left = (size_t)f->bytes;
}

static void log_unfit(const tutti_tcp_frame *f, const tutti_connection_message *m)
{
    if (!m->drops)
        tutti_log(TUTTI_LOG_WARN,
            "lane %d, tag %d: the other end sends %llu bytes where %zu were expected", f->lane,
            f->tag, (unsigned long long)f->bytes, m->bytes);
}

static void receive_unfit(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_connection_message *m = tutti_connection_oldest_recv(t, f->lane, f->tag);
    if (!m || m->moved) {
        tutti_connection_fail(t, "refuses data that was not requested");
        return;
    }
    log_unfit(f, m);
    tutti_connection_end(t, m, TUTTI_ERR_MISMATCH);
}

/* The whole message comes, whether a receive is posted or not. */
static void begin_early(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_connection_message *m = tutti_connection_oldest_recv(t, f->lane, f->tag);
    if (f->bytes > t->options.early_bytes || (m && m->moved)) {
        tutti_connection_fail(t, "sends data that was not requested");
        return;
    }
    if (m && m->bytes != f->bytes) {
        tutti_connection_message *drops = tutti_connection_drop(t, m, (size_t)f->bytes);
        log_unfit(f, m);
        tutti_connection_end(t, m, TUTTI_ERR_MISMATCH);
        m = drops;
    } else if (!m) {
        m = t->unexpected_count < TUTTI_CONNECTION_MOST_EARLY
                ? tutti_connection_add_unexpected(t, f->lane, f->tag, (size_t)f->bytes)
                : NULL;
    }
    if (!m) {
        tutti_connection_fail(t, "sends more than was requested");
        return;
    }
    t->incoming = m;
    t->coming_left = (size_t)f->bytes;
}

/* Its number tells it from an earlier message to the same memory. */
static void receive_placed(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_connection_message *m = tutti_connection_oldest_recv(t, f->lane, f->tag);
    if (!m || !m->place || m->moved || m->number != f->bytes) {
        tutti_connection_fail(t, "places data that was not requested");
        return;
    }
    t->received.placed += m->bytes;
    t->received.placed_messages++;
    tutti_connection_end(t, m, TUTTI_OK);
}

static void read_frame(tutti_connection *t)
{
    tutti_tcp_frame f;
    const tutti_tcp_limits limits = {t->options.lanes, t->options.tags};
    const char *fault = tutti_tcp_frame_read(t->coming, &limits, &f);
    if (fault)
        tutti_connection_fail(t, fault);
    else if (f.kind == TUTTI_TCP_WANT)
        tutti_connection_on_want(t, &f);
    else if (f.kind == TUTTI_TCP_DATA)
        begin_data(t, &f);
    else if (f.kind == TUTTI_TCP_UNFIT)
        receive_unfit(t, &f);
    else if (f.kind == TUTTI_TCP_EARLY)
        begin_early(t, &f);
    else if (f.kind == TUTTI_TCP_PLACED)
        receive_placed(t, &f);
    else if (f.kind == TUTTI_TCP_REVOKE)
        tutti_connection_on_revoke(t, &f);
    else if (f.kind == TUTTI_TCP_REVOKED)
        tutti_connection_on_revoked(t, &f);
}

/* 0: there is no more now. */
static int read_some(tutti_connection *t, void *to, size_t most, size_t *got)
{
    ssize_t n = t->stream->ops->read(t->stream, to, most);
    if (n < 0) tutti_connection_fail(t, t->stream->why);
    if (n <= 0) return 0;
    *got = (size_t)n;
    t->last_received_s = t->now_s;
    return 1;
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

static void end_incoming(tutti_connection *t, tutti_connection_message *m)
{
    const int is_small = m->bytes <= t->options.early_bytes;
    *(is_small ? &t->received.small : &t->received.streamed) += m->bytes;
    *(is_small ? &t->received.small_messages : &t->received.streamed_messages) += 1;
    if (m->unexpected)
        tutti_connection_has_unexpected(t, m);
    else
        tutti_connection_end(t, m, TUTTI_OK);
}

static int read_piece(tutti_connection *t)
{
    unsigned char dropped[4096];
    tutti_connection_message *m = t->incoming;
    size_t got = 0, most = t->coming_left;
    if (m->drops && most > sizeof dropped) most = sizeof dropped;
    if (most && !read_some(t, m->drops ? dropped : m->data + m->moved, most, &got)) return 0;
    m->moved += got;
    t->coming_left -= got;
    if (t->coming_left) return 1;
    t->incoming = NULL;
    if (m->moved == m->bytes) end_incoming(t, m);
    return 1;
}

/* Returns whether there may be more. */
static int read_all(tutti_connection *t)
{
    static const double most_s = 10e-3; /* then the thread serves other connections */
    enum { OFTEN = 16 };                /* reads, after which it looks at the clock */
    const double until_s = t->now_s + most_s;
    int more = !t->why[0];
    for (int reads = 1; more; reads++) {
        more = t->incoming ? read_piece(t) : read_header(t);
        if (reads % OFTEN == 0 && tutti_clock_s() > until_s) return more;
    }
    return 0;
}

/* ---- passes ---- */

static void check_silence(tutti_connection *t)
{
    char why[TUTTI_CONNECTION_WHY];
    const double silence_s = t->options.silence_s;
    if (isinf(silence_s)) return;
    const double now_s = t->now_s;
    int deaf = t->stuck_s && now_s - t->stuck_s > silence_s;
    snprintf(why, sizeof why, "has %s for %.1f s", deaf ? "accepted no data" : "been silent",
        now_s - (deaf ? t->stuck_s : t->last_received_s));
    if (deaf || now_s - t->last_received_s > silence_s) tutti_connection_fail(t, why);
    if (!t->shut && !t->control.used && !t->outgoing && now_s - t->wrote_s > silence_s / 4) {
        tutti_connection_queue(t, &(tutti_tcp_frame){.kind = TUTTI_TCP_PING});
        t->wrote_s = now_s;
    }
}

/* What the other end had written before it died is read first. */
void tutti_connection_pass(tutti_connection *t)
{
    if (t->why[0]) return;
    t->now_s = tutti_clock_s();
    int dead = t->stream->ops->is_dead && t->stream->ops->is_dead(t->stream, t->now_s);
    int more = read_all(t);
    if (dead && !more && !t->why[0]) tutti_connection_fail(t, "has died");
    if (!t->why[0]) check_silence(t);
    if (!t->why[0]) end_gone(t);
    write_all(t);
}

static int has_to_write(const tutti_connection *t)
{
    return !t->shut && (t->control.used || t->outgoing || next_outgoing(t));
}

int tutti_connection_may_move(const tutti_connection *t)
{
    const tutti_stream *s = t->stream;
    return s && s->ops->is_ready && s->ops->is_ready(s, has_to_write(t));
}

int tutti_connection_wakes(const tutti_connection *t)
{
    return t->stream && t->stream->wakes;
}

/* Whose message has begun sends all of it. */
static size_t still_comes(const tutti_connection *t)
{
    const tutti_connection_message *m = t->incoming;
    const size_t left = m ? m->bytes - m->moved : 0;
    return left > 1 ? left : 1;
}

struct pollfd tutti_connection_poll(const tutti_connection *t)
{
    const int writes = has_to_write(t);
    tutti_stream *s = t->stream;
    if (s && s->ops->expect) s->ops->expect(s, still_comes(t));
    return (struct pollfd){.fd = t->stream ? t->stream->socket : -1,
        .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
}

struct pollfd tutti_connection_sleep_on(const tutti_connection *t)
{
    struct pollfd p = tutti_connection_poll(t);
    if (p.fd >= 0 || !t->stream) return p;
    return (struct pollfd){.fd = t->stream->file, .events = POLLIN};
}
