#include "collectives/transport/connection_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int has_tag(const tutti_connection_message *m, int lane, int tag)
{
    return m->lane == lane && m->tag == tag;
}

static void append_message(tutti_message_list *l, tutti_connection_message *m)
{
    m->next = NULL;
    *l->end = m;
    l->end = &m->next;
}

static void unlink_from(tutti_message_list *l, const tutti_connection_message *m)
{
    tutti_connection_message **at = &l->first;
    while (*at && *at != m) at = &(*at)->next;
    if (!*at) return;
    *at = m->next;
    if (!m->next) l->end = at;
}

static tutti_connection_message *find_tag(const tutti_message_list *l, int lane, int tag)
{
    tutti_connection_message *m = l->first;
    while (m && !has_tag(m, lane, tag)) m = m->next;
    return m;
}

tutti_connection_message *tutti_connection_oldest_recv(const tutti_connection *t, int lane, int tag)
{
    return find_tag(&t->recvs, lane, tag);
}

/* Memory that was lent to a connection that broke is never taken back: the other end may still write to it. */
void tutti_connection_end(tutti_connection *t, tutti_connection_message *m, tutti_status status)
{
    if (!m->is_send && m->place && t->stream) t->stream->ops->take_back(t->stream, m->place);
    unlink_from(m->is_send ? &t->sends : &t->recvs, m);
    t->gone -= m->gone;
    m->status = status;
    m->ended = 1;
    if (m->drops) free(m);
}

void tutti_connection_fail(tutti_connection *t, const char *why)
{
    if (t->why[0]) return;
    snprintf(t->why, sizeof t->why, "%s", why);
    t->stream->ops->close(t->stream);
    t->stream = NULL;
    t->outgoing = t->incoming = NULL;
    while (t->sends.first) tutti_connection_end(t, t->sends.first, TUTTI_ERR_COMM);
    while (t->recvs.first) tutti_connection_end(t, t->recvs.first, TUTTI_ERR_COMM);
}

/* ---- frames without data ---- */

enum { CONTROL_BYTES = 1 << 12 /* the first size of the buffer for outgoing frames */ };

void tutti_connection_queue(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_control_frames *c = &t->control;
    if (t->why[0]) return;
    if (c->used + TUTTI_TCP_HEADER_BYTES > c->room) {
        size_t room = c->room ? 2 * c->room : CONTROL_BYTES;
        unsigned char *wider = realloc(c->bytes, room);
        if (!wider) {
            tutti_connection_fail(t, "no memory for outgoing frames");
            return;
        }
        c->bytes = wider;
        c->room = room;
    }
    tutti_tcp_frame_write(f, c->bytes + c->used);
    c->used += TUTTI_TCP_HEADER_BYTES;
}

/* ---- wants ---- */

static int add_want(tutti_want_list *l, const tutti_want *like)
{
    tutti_want *w = l->count < TUTTI_CONNECTION_MOST_WANTS ? malloc(sizeof *w) : NULL;
    if (!w) return 0;
    *w = *like;
    *l->end = w;
    l->end = &w->next;
    l->count++;
    return 1;
}

/* Removes the oldest of this lane and tag. Returns whether there was one. */
static int take_want(tutti_want_list *l, int lane, int tag, tutti_want *taken)
{
    tutti_want **at = &l->first, *w;
    while ((w = *at) && (w->lane != lane || w->tag != tag)) at = &w->next;
    if (!w) return 0;
    *at = w->next;
    if (!w->next) l->end = at;
    *taken = *w;
    free(w);
    l->count--;
    return 1;
}

static void free_wants(tutti_want_list *l)
{
    for (tutti_want *w = l->first, *next; w; w = next) {
        next = w->next;
        free(w);
    }
}

/* ---- sends and receives are matched ---- */

/* Whether the other end has lent this place. */
static int is_found(tutti_stream *s, uint64_t place, size_t bytes)
{
    if (s->ops->finds) return s->ops->finds(s, place, bytes);
    return s->ops->reach && s->ops->reach(s, place, bytes);
}

static void match_send(tutti_connection *t, tutti_connection_message *send, const tutti_want *w)
{
    send->wanted = 1;
    send->unfit = send->bytes != w->bytes;
    send->number = w->number;
    send->place = w->place;
    if (!w->place) return;
    if (w->claim == TUTTI_CLAIMED) tutti_connection_fail(t, "was sent what is still written");
    if (w->claim == TUTTI_WRITTEN && !send->unfit) {
        send->moved = send->bytes;
        t->received.written_messages++;
    }
    if (!t->why[0] && !is_found(t->stream, w->place, (size_t)w->bytes))
        tutti_connection_fail(t, "asks for data in memory that it does not share");
}

/* The oldest send of this lane and tag that is not matched. */
static tutti_connection_message *find_unmatched(const tutti_connection *t, int lane, int tag)
{
    tutti_connection_message *m = t->sends.first;
    while (m && (m->wanted || !has_tag(m, lane, tag))) m = m->next;
    return m;
}

void tutti_connection_on_want(tutti_connection *t, const tutti_tcp_frame *f)
{
    const tutti_want w = {.lane = f->lane,
        .tag = f->tag,
        .bytes = f->bytes,
        .number = t->got_asked++,
        .place = f->place};
    tutti_want early;
    if (take_want(&t->owed, f->lane, f->tag, &early)) return;
    tutti_connection_message *m = find_unmatched(t, f->lane, f->tag);
    if (m)
        match_send(t, m, &w);
    else if (!add_want(&t->wants, &w))
        tutti_connection_fail(t, "requests more messages than allowed");
}

/* A small message goes before its receive is known, unless an older one waits for its own. */
static void send_early(tutti_connection *t, tutti_connection_message *send)
{
    const tutti_want owed = {.lane = send->lane, .tag = send->tag, .bytes = send->bytes};
    if (send->bytes > t->options.early_bytes || t->owed.count >= TUTTI_CONNECTION_MOST_EARLY ||
        find_unmatched(t, send->lane, send->tag))
        return;
    send->early = send->wanted = add_want(&t->owed, &owed);
}

static void find_want(tutti_connection *t, tutti_connection_message *send)
{
    tutti_want w;
    if (take_want(&t->wants, send->lane, send->tag, &w))
        match_send(t, send, &w);
    else if (t->options.early_bytes)
        send_early(t, send);
}

static tutti_want *oldest_want(const tutti_want_list *l, int lane, int tag)
{
    tutti_want *w = l->first;
    while (w && (w->lane != lane || w->tag != tag)) w = w->next;
    return w;
}

void *tutti_connection_claim(tutti_connection *t, int lane, int tag, size_t bytes)
{
    tutti_want *w = oldest_want(&t->wants, lane, tag);
    if (t->why[0] || !w || !w->place || w->claim || w->bytes != bytes) return NULL;
    void *memory = t->stream->ops->reach ? t->stream->ops->reach(t->stream, w->place, bytes) : NULL;
    if (memory) w->claim = TUTTI_CLAIMED;
    return memory;
}

/* Messages that may come early need no place. */
static void ask_for(tutti_connection *t, tutti_connection_message *recv)
{
    tutti_stream *s = t->stream;
    recv->number = t->asked++;
    if (recv->bytes > t->options.early_bytes && s->ops->lend)
        recv->place = s->ops->lend(s, recv->data, recv->bytes);
    tutti_connection_queue(t, &(tutti_tcp_frame){.kind = TUTTI_TCP_WANT,
                                  .lane = recv->lane,
                                  .tag = recv->tag,
                                  .bytes = recv->bytes,
                                  .place = recv->place});
}

/* ---- messages that come before their receive ---- */

/* Whether it is right; else the receive ends. */
static tutti_status check_size(
    int lane, int tag, uint64_t sent, const tutti_connection_message *recv)
{
    if (sent == recv->bytes) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_MISMATCH,
        "lane %d, tag %d: the other end sends %llu bytes where %zu were expected", lane, tag,
        (unsigned long long)sent, recv->bytes);
}

tutti_connection_message *tutti_connection_add_unexpected(
    tutti_connection *t, int lane, int tag, size_t bytes)
{
    tutti_connection_message *m = malloc(sizeof *m + bytes);
    if (!m) return NULL;
    *m = (tutti_connection_message){.lane = lane,
        .tag = tag,
        .data = (unsigned char *)(m + 1),
        .bytes = bytes,
        .unexpected = 1};
    t->unexpected_count++;
    append_message(&t->unexpected, m);
    return m;
}

static void deliver_unexpected(tutti_connection *t, tutti_connection_message *m)
{
    tutti_connection_message *recv = m->taker;
    tutti_status status = check_size(m->lane, m->tag, m->bytes, recv);
    if (!status && m->bytes) memcpy(recv->data, m->data, m->bytes);
    unlink_from(&t->unexpected, m);
    t->unexpected_count--;
    free(m);
    tutti_connection_end(t, recv, status);
}

void tutti_connection_has_unexpected(tutti_connection *t, tutti_connection_message *m)
{
    m->ended = 1;
    if (m->taker) deliver_unexpected(t, m);
}

/* The receive that a message of the list waits for cannot be cancelled. */
static int takes_unexpected(const tutti_connection *t, const tutti_connection_message *recv)
{
    const tutti_connection_message *m = t->unexpected.first;
    while (m && m->taker != recv) m = m->next;
    return m != NULL;
}

static tutti_connection_message *find_unexpected(
    const tutti_connection *t, const tutti_connection_message *recv)
{
    tutti_connection_message *m = t->unexpected.first;
    while (m && (m->taker || !has_tag(m, recv->lane, recv->tag))) m = m->next;
    return m;
}

static void take_unexpected(tutti_connection *t, tutti_connection_message *recv)
{
    tutti_connection_message *m = find_unexpected(t, recv);
    if (!m) return;
    m->taker = recv;
    if (m->ended) deliver_unexpected(t, m);
}

/* ---- posting ---- */

/* What the other end has sent before it closed can still be received. */
static int has_arrived(const tutti_connection *t, const tutti_connection_message *like)
{
    const tutti_connection_message *m = like->is_send ? NULL : find_unexpected(t, like);
    return m && m->ended;
}

static tutti_status post_message(
    tutti_connection *t, const tutti_connection_message *like, tutti_connection_message **message)
{
    const int is_late = t->why[0] != 0;
    if (is_late && !has_arrived(t, like)) return TUTTI_ERR_COMM;
    tutti_connection_message *m = malloc(sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message of %zu bytes", like->bytes);
    *m = *like;
    if (m->is_send)
        find_want(t, m);
    else if (!is_late)
        ask_for(t, m);
    if (t->why[0] && !is_late) { /* the connection broke: all earlier messages have ended */
        free(m);
        return TUTTI_ERR_COMM;
    }
    append_message(m->is_send ? &t->sends : &t->recvs, m);
    if (!m->is_send && t->unexpected.first) take_unexpected(t, m);
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

tutti_connection_message *tutti_connection_drop(
    tutti_connection *t, tutti_connection_message *m, size_t bytes)
{
    tutti_connection_message *drops = malloc(sizeof *drops);
    if (!drops) return NULL;
    *drops = (tutti_connection_message){
        .next = m->next, .lane = m->lane, .tag = m->tag, .bytes = bytes, .drops = 1};
    m->next = drops; /* in its place */
    if (!drops->next) t->recvs.end = &drops->next;
    return drops;
}

/* A receive whose memory was lent ends when the other end has answered, or has written to it. */
static void revoke(tutti_connection *t, tutti_connection_message *m)
{
    if (m->revoked) return;
    m->revoked = 1;
    tutti_connection_queue(
        t, &(tutti_tcp_frame){
               .kind = TUTTI_TCP_REVOKE, .lane = m->lane, .tag = m->tag, .bytes = m->number});
}

void tutti_connection_cancel(tutti_connection *t, tutti_connection_message *m)
{
    if (m->ended || (m->is_send && m->wanted) || m->moved || t->incoming == m) return;
    if (!m->is_send && takes_unexpected(t, m)) return;
    if (!m->is_send && m->place)
        revoke(t, m);
    else if (m->is_send ||
             tutti_connection_drop(t, m, m->bytes)) /* no memory: it ends with its partner */
        tutti_connection_end(t, m, TUTTI_OK);
}

static void answer_revoke(tutti_connection *t, const tutti_tcp_frame *f, uint64_t *place)
{
    *place = 0;
    tutti_connection_queue(
        t, &(tutti_tcp_frame){
               .kind = TUTTI_TCP_REVOKED, .lane = f->lane, .tag = f->tag, .bytes = f->bytes});
}

/* Without an answer PLACED, UNFIT or an early message is on its way, or will be. */
void tutti_connection_on_revoke(tutti_connection *t, const tutti_tcp_frame *f)
{
    for (tutti_want *w = t->wants.first; w; w = w->next) {
        if (!w->place || w->number != f->bytes) continue;
        if (w->claim == TUTTI_CLAIMED)
            w->revoked = 1;
        else
            answer_revoke(t, f, &w->place);
    }
    for (tutti_connection_message *m = t->sends.first; m; m = m->next)
        if (m->place && m->number == f->bytes && !m->moved && !m->gone && t->outgoing != m)
            answer_revoke(t, f, &m->place);
}

void tutti_connection_wrote(tutti_connection *t, int lane, int tag)
{
    tutti_want *w = oldest_want(&t->wants, lane, tag);
    if (!w || w->claim != TUTTI_CLAIMED) return;
    const tutti_tcp_frame revoke = {.lane = lane, .tag = tag, .bytes = w->number};
    w->claim = TUTTI_WRITTEN;
    if (w->revoked) answer_revoke(t, &revoke, &w->place);
}

void tutti_connection_on_revoked(tutti_connection *t, const tutti_tcp_frame *f)
{
    tutti_connection_message *m = t->recvs.first;
    while (m && (!m->revoked || m->number != f->bytes)) m = m->next;
    if (!m)
        tutti_connection_fail(t, "answers what was not asked");
    else if (tutti_connection_drop(t, m, m->bytes))
        tutti_connection_end(t, m, TUTTI_OK);
    else
        tutti_connection_fail(t, "was left for lack of memory");
}

void tutti_connection_abandon(tutti_connection *t, tutti_connection_message *m)
{
    tutti_connection_cancel(t, m);
    if (!m->ended) tutti_connection_fail(t, "was closed in the middle of a message");
    free(m);
}

/* ---- the connection ---- */

void tutti_connection_close(tutti_connection *t)
{
    tutti_connection_fail(t, "is closed");
    free_wants(&t->wants);
    free_wants(&t->owed);
    for (tutti_connection_message *m = t->unexpected.first, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    free(t->control.bytes);
    free(t);
}

const char *tutti_connection_broken(const tutti_connection *t)
{
    return t->why[0] ? t->why : NULL;
}

void tutti_connection_break(tutti_connection *t)
{
    tutti_connection_fail(t, "was closed by this side");
}

void tutti_connection_set_priority(tutti_connection_message *message, int priority)
{
    message->priority = priority;
}

void tutti_connection_shut(tutti_connection *t)
{
    if (t->why[0] || t->shut) return;
    t->shut = 1;
    t->stream->ops->shut(t->stream);
}

tutti_connection_received tutti_connection_count(const tutti_connection *t)
{
    return t->received;
}

int tutti_connection_flushed(const tutti_connection *t)
{
    return t->why[0] || (!t->sends.first && !t->control.used);
}

tutti_status tutti_connection_open_over(
    tutti_stream *stream, const tutti_connection_options *options, tutti_connection **connection)
{
    const tutti_connection_options *o = options;
    int valid = o->lanes > 0 && o->tags > 0 && o->tags <= (int64_t)INT32_MAX + 1 &&
                o->silence_s > 0 && o->early_bytes <= TUTTI_TCP_PIECE_BYTES;
    tutti_connection *t = valid ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        stream->ops->close(stream);
        return valid ? tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection")
                     : tutti_fail(TUTTI_ERR_INVAL, "no connection of %d lanes and %lld tags",
                           o->lanes, (long long)o->tags);
    }
    double now_s = tutti_clock_s();
    *t = (tutti_connection){
        .options = *o, .stream = stream, .last_received_s = now_s, .wrote_s = now_s};
    t->sends.end = &t->sends.first;
    t->recvs.end = &t->recvs.first;
    t->unexpected.end = &t->unexpected.first;
    t->wants.end = &t->wants.first;
    t->owed.end = &t->owed.first;
    *connection = t;
    return TUTTI_OK;
}

tutti_status tutti_connection_open(
    int socket, const tutti_connection_options *options, tutti_connection **connection)
{
    tutti_stream *stream;
    tutti_status status = tutti_stream_socket(socket, &stream);
    return status ? status : tutti_connection_open_over(stream, options, connection);
}
