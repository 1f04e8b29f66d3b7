/* A stream over an endpoint of libfabric. Packets carry it in their order. A provider may lose its own connection and
 * make it anew without a word, and without what was on its way. So each packet has a number, and says how many writes
 * went before it, which the other end counts by their remote completion data; and the other end receives over the
 * socket how many packets there are. */
#include "collectives/transport/fabric_parts.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Writes under way are limited, so that those of other connections are not delayed for long. */
enum { RECEIVES = 32, SENDS = 32, WRITES = 64, COUNT = 8 };

static const double look_s = 50e-3; /* how often to look at the socket */
static const double after_s = 0.2;  /* what a process had sent before it ended arrives within */
static const double named_s = 30;   /* the other end names its endpoint within */
static const double drain_s = 0.5;  /* what closes waits so long for what it has sent */

/* Over the socket, instead of a count: this end has closed. */
static const uint64_t closing = UINT64_MAX;

/* A region of the other end, as TUTTI_FABRIC_MEMORY describes it. */
typedef struct memory {
    uint64_t region, base, key, bytes;
} memory;

/* Something under way; what libfabric has until it ends. */
typedef struct op {
    struct fi_context2 context; /* first */
    struct op *next;
    enum { RECEIVES_PACKET, SENDS_PACKET, WRITES_DATA } what;
    int *under_way; /* of a write */
    size_t came;    /* bytes, of a packet that has arrived */
    tutti_fabric_packet *packet;
} op;

typedef struct fabric_stream {
    tutti_stream base;
    tutti_fabric *fabric;
    int control; /* the socket */
    struct fid_cq *cq;
    struct fid_av *av;
    struct fid_ep *ep;
    fi_addr_t peer;
    int named; /* the other end's endpoint is known */
    int begins; /* of the two ends, this one sends first */
    unsigned char own_name[TUTTI_FABRIC_NAME], name[TUTTI_FABRIC_NAME];
    size_t named_bytes;
    op op[RECEIVES + SENDS + WRITES];
    tutti_fabric_packet *packets; /* [RECEIVES + SENDS] */
    op *free_sends, *free_writes;
    int under_way; /* sends and writes */
    op *arrived, **arrived_end;
    size_t read;              /* of the first that has arrived */
    uint64_t sent, received;  /* packets */
    uint64_t written, placed; /* writes: of this end, and here */
    uint64_t reported;        /* of `sent`, over the socket */
    unsigned char counts[COUNT];
    size_t counted;
    uint64_t seen;     /* packets and writes, when the other end was last known to be there */
    uint64_t expected; /* how many the other end says that it has sent */
    double reported_s, behind_s, opened_s, looked_s, gone_s;
    double hold_s;   /* it is broken, and from then on it says why */
    uint64_t *shown; /* [regions] the version of each region that the other end knows */
    int shows, *unshown, unshown_count, unshown_room;
    memory *theirs; /* by number of the region */
    int theirs_count;
    enum { IS_NOT_DUE, IS_DUE, IS_SENT } ends; /* TUTTI_FABRIC_END */
    int broken;
} fabric_stream;

/* What a read or write returns. */
static int is_broken(const fabric_stream *s)
{
    return s->broken ? tutti_clock_s() < s->hold_s ? 0 : -1 : 1;
}

static int break_stream(fabric_stream *s, const char *what)
{
    if (!s->broken) snprintf(s->base.why, sizeof s->base.why, "%s", what);
    s->broken = 1;
    return -1;
}

/* The provider has failed. If the other process has ended, the socket will say so, and that is the reason. */
static int break_endpoint(fabric_stream *s, const char *what, ssize_t code)
{
    char why[TUTTI_STREAM_WHY];
    if (s->broken) return is_broken(s);
    snprintf(why, sizeof why, "%s (%s: %s)", what, s->fabric->info->fabric_attr->prov_name,
        s->fabric->library.strerror((int)(code < 0 ? -code : code)));
    break_stream(s, why);
    s->hold_s = tutti_clock_s() + after_s;
    s->looked_s = 0;
    return 0;
}

static int close_stream(fabric_stream *s)
{
    s->broken = 0;
    s->hold_s = 0;
    return break_stream(s, "has closed the connection");
}

/* ---- the endpoint ---- */

static op *take_op(op **list)
{
    op *o = *list;
    if (o) *list = o->next;
    return o;
}

static void put_op(op **list, op *o)
{
    o->next = *list;
    *list = o;
}

static int post_receive(fabric_stream *s, op *o)
{
    const ssize_t code =
        fi_recv(s->ep, o->packet, sizeof *o->packet, NULL, FI_ADDR_UNSPEC, &o->context);
    return code ? break_endpoint(s, "cannot be received from", code) : 0;
}

static void end_op(fabric_stream *s, op *o, size_t bytes)
{
    if (o->what == RECEIVES_PACKET) {
        o->came = bytes;
        o->next = NULL;
        *s->arrived_end = o;
        s->arrived_end = &o->next;
        return;
    }
    s->under_way--;
    if (o->what == WRITES_DATA) --*o->under_way;
    put_op(o->what == WRITES_DATA ? &s->free_writes : &s->free_sends, o);
}

static void read_error(fabric_stream *s)
{
    struct fi_cq_err_entry error = {0};
    if (fi_cq_readerr(s->cq, &error, 0) < 0) return;
    const op *o = error.op_context;
    static const char *const what[] = {
        "was lost", "cannot be sent to", "does not let its memory be written to, or was lost"};
    break_endpoint(s, what[o ? o->what : 0], error.err);
}

/* Also lets the provider move what is under way. */
static void progress(fabric_stream *s)
{
    enum { MOST = 16 };
    struct fi_cq_data_entry done[MOST];
    ssize_t n = MOST;
    while (n == MOST && !s->broken) {
        n = fi_cq_read(s->cq, done, MOST);
        for (ssize_t i = 0; i < n; i++)
            if (done[i].flags & FI_REMOTE_WRITE)
                s->placed++;
            else
                end_op(s, done[i].op_context, done[i].len);
        if (n == -FI_EAVAIL)
            read_error(s);
        else if (n < 0 && n != -FI_EAGAIN)
            break_endpoint(s, "cannot be served", n);
    }
}

/* ---- the socket ---- */

static int lose_socket(fabric_stream *s, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
    if (n < 0 && errno != ECONNRESET && errno != EPIPE) return break_endpoint(s, "was lost", errno);
    if (!s->gone_s) s->gone_s = tutti_clock_s();
    return 0;
}

/* The name of the other end's endpoint comes first. */
static void read_name(fabric_stream *s)
{
    const ssize_t n = recv(
        s->control, s->name + s->named_bytes, TUTTI_FABRIC_NAME - s->named_bytes, MSG_DONTWAIT);
    if (n <= 0) {
        lose_socket(s, n);
        if (s->gone_s) close_stream(s);
        if (tutti_clock_s() - s->opened_s > named_s)
            break_stream(s, "has not named its endpoint within 30 s");
        return;
    }
    s->named_bytes += (size_t)n;
    if (s->named_bytes < TUTTI_FABRIC_NAME) return;
    if (fi_av_insert(s->av, s->name + 1, 1, &s->peer, 0, NULL) != 1)
        break_stream(s, "has named no valid endpoint");
    s->named = !s->broken;
    s->begins = memcmp(s->own_name, s->name, TUTTI_FABRIC_NAME) < 0;
}

/* A count that has come whole is what the other end has sent. */
static void read_counts(fabric_stream *s)
{
    for (;;) {
        const ssize_t n =
            recv(s->control, s->counts + s->counted, COUNT - s->counted, MSG_DONTWAIT);
        if (n <= 0) {
            lose_socket(s, n);
            return;
        }
        s->counted += (size_t)n;
        if (s->counted < COUNT) continue;
        memcpy(&s->expected, s->counts, COUNT);
        s->counted = 0;
    }
}

static void report_count(fabric_stream *s, double now_s)
{
    static const double every_s = 1;
    if (s->reported == s->sent || now_s - s->reported_s < every_s) return;
    s->reported_s = now_s;
    const ssize_t n = send(s->control, &s->sent, COUNT, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == COUNT) s->reported = s->sent;
    if (n < 0)
        lose_socket(s, n);
    else if (n < COUNT)
        break_stream(s, "accepts no data");
}

/* Packets that were sent, while neither packets nor writes arrive. */
static void check_lost(fabric_stream *s, double now_s)
{
    char why[TUTTI_STREAM_WHY];
    const int is_behind = s->received < s->expected && s->expected != closing;
    if (!is_behind || s->seen != s->received + s->placed) {
        s->seen = s->received + s->placed;
        s->behind_s = now_s;
    }
    if (!is_behind || now_s - s->behind_s < s->fabric->lost_s) return;
    snprintf(why, sizeof why, "has sent what has not arrived for %g s (%s)", s->fabric->lost_s,
        s->fabric->info->fabric_attr->prov_name);
    break_stream(s, why);
}

static int fabric_is_dead(tutti_stream *base, double now_s)
{
    fabric_stream *s = (fabric_stream *)base;
    if (now_s - s->looked_s >= look_s && s->named && (!s->broken || s->hold_s)) {
        /* If this end has been away, what has arrived meanwhile was not looked at. */
        if (now_s - s->looked_s > fmax(2 * look_s, s->fabric->lost_s / 4)) s->behind_s = now_s;
        s->looked_s = now_s;
        read_counts(s);
        report_count(s, now_s);
        check_lost(s, now_s);
    }
    if (!s->gone_s || (!s->hold_s && now_s - s->gone_s < after_s)) return 0;
    return s->expected != closing || !close_stream(s);
}

/* ---- writing ---- */

/* A provider over connections makes one for an endpoint's first packet. Where both ends do so at once, libfabric 2.1
 * sometimes loses what one has sent: so the other end waits for a packet. */
static int may_send(const fabric_stream *s)
{
    return s->named && (s->begins || s->received > 0);
}

/* Returns 1; 0: not now; -1: broken. */
static int send_packet(fabric_stream *s, op *o, tutti_fabric_kind kind, size_t bytes)
{
    tutti_fabric_packet *p = o->packet;
    p->kind = kind;
    p->bytes = (uint32_t)bytes;
    p->number = s->sent + 1;
    p->writes = s->written;
    const ssize_t code =
        fi_send(s->ep, p, offsetof(tutti_fabric_packet, data) + bytes, NULL, s->peer, &o->context);
    if (code) {
        put_op(&s->free_sends, o);
        return code == -FI_EAGAIN ? 0 : break_endpoint(s, "cannot be sent to", code);
    }
    s->under_way++;
    s->sent++;
    return 1;
}

/* What the other end is lent is shown to it before the frames that say so. */
static int show_memory(fabric_stream *s)
{
    while (s->unshown_count) {
        op *o = take_op(&s->free_sends);
        if (!o) return 0;
        const int number = s->unshown[s->unshown_count - 1];
        pthread_mutex_lock(&s->fabric->lock);
        const tutti_fabric_region *g = &s->fabric->region[number];
        const memory m = {(uint64_t)number, g->base, g->key, g->bytes};
        pthread_mutex_unlock(&s->fabric->lock);
        memcpy(o->packet->data, &m, sizeof m);
        const int sent = send_packet(s, o, TUTTI_FABRIC_MEMORY, sizeof m);
        if (sent <= 0) return sent;
        s->unshown_count--;
    }
    return 1;
}

static ssize_t fabric_write(tutti_stream *base, const struct iovec *part, int parts)
{
    fabric_stream *s = (fabric_stream *)base;
    if (s->broken) return is_broken(s);
    if (!may_send(s)) return 0;
    const int shown = show_memory(s);
    if (shown <= 0) return shown;
    op *o = take_op(&s->free_sends);
    if (!o) return 0;
    size_t bytes = 0;
    for (int i = 0; i < parts; i++) {
        const size_t left = TUTTI_FABRIC_PACKET - bytes,
                     now = part[i].iov_len < left ? part[i].iov_len : left;
        if (now) memcpy(o->packet->data + bytes, part[i].iov_base, now);
        bytes += now;
    }
    const int sent = send_packet(s, o, TUTTI_FABRIC_STREAM, bytes);
    return sent > 0 ? (ssize_t)bytes : sent;
}

/* What is due besides the stream's data. */
static void send_due(fabric_stream *s)
{
    const int begin = s->begins && !s->sent, end = s->ends == IS_DUE && may_send(s);
    op *o = (begin || end) && !s->broken ? take_op(&s->free_sends) : NULL;
    if (!o) return;
    const int sent = send_packet(s, o, begin ? TUTTI_FABRIC_BEGIN : TUTTI_FABRIC_END, 0);
    if (sent && !begin) s->ends = IS_SENT;
}

/* ---- reading ---- */

static int learn_memory(fabric_stream *s, const tutti_fabric_packet *p)
{
    memory m;
    memcpy(&m, p->data, sizeof m);
    if (p->bytes != sizeof m || m.region >= TUTTI_FABRIC_MOST_REGIONS)
        return break_stream(s, "describes no valid memory");
    if (m.region >= (uint64_t)s->theirs_count) {
        const size_t room = 2 * (size_t)m.region + 64;
        memory *more = realloc(s->theirs, room * sizeof *more);
        if (!more) return break_stream(s, "was left for lack of memory");
        memset(more + s->theirs_count, 0, (room - (size_t)s->theirs_count) * sizeof *more);
        s->theirs = more;
        s->theirs_count = (int)room;
    }
    s->theirs[m.region] = m;
    return 0;
}

/* Returns 1 for a packet of the stream; 0: it is done with; -1: the end. What has not come is left from the packet
 * before. */
static int look_at(fabric_stream *s, const op *o)
{
    const tutti_fabric_packet *p = o->packet;
    const size_t head = offsetof(tutti_fabric_packet, data);
    if (o->came < head || p->bytes > o->came - head)
        return break_stream(s, "sends a packet that is shorter than it says");
    if (p->kind >= TUTTI_FABRIC_KINDS) return break_stream(s, "sends no valid packet");
    if (p->number != s->received + 1 || p->writes > s->placed)
        return break_stream(s, "has sent what has not arrived");
    s->received++;
    if (p->kind == TUTTI_FABRIC_END) return close_stream(s);
    if (p->kind == TUTTI_FABRIC_BEGIN) return 0;
    return p->kind == TUTTI_FABRIC_MEMORY ? learn_memory(s, p) : 1;
}

static int next_packet(fabric_stream *s)
{
    op *o = s->arrived;
    s->arrived = o->next;
    if (!o->next) s->arrived_end = &s->arrived;
    s->read = 0;
    return post_receive(s, o);
}

static ssize_t fabric_read(tutti_stream *base, void *to, size_t most)
{
    fabric_stream *s = (fabric_stream *)base;
    if (!s->named && !s->broken) read_name(s);
    if (!s->arrived && !s->broken) {
        progress(s);
        send_due(s);
    }
    while (s->arrived) { /* what had arrived before it broke is read */
        const tutti_fabric_packet *p = s->arrived->packet;
        const int is_stream = s->read ? 1 : look_at(s, s->arrived);
        if (is_stream < 0) return -1;
        const size_t left = p->bytes - s->read, bytes = left < most ? left : most;
        if (is_stream) memcpy(to, p->data + s->read, bytes);
        s->read += bytes;
        if ((!is_stream || s->read == p->bytes) && next_packet(s)) return -1;
        if (is_stream && bytes) return (ssize_t)bytes;
    }
    return s->broken ? is_broken(s) : 0;
}

/* Asked before the completion queue's file is slept on. A provider that accepts nothing, although nothing is under way,
 * does not say when it will; nor that another end makes a connection. */
static int fabric_is_ready(const tutti_stream *base, int writes)
{
    const fabric_stream *s = (const fabric_stream *)base;
    struct fid *queue = &s->cq->fid;
    return s->sent + s->received == 0 || s->arrived || s->broken || (writes && !s->under_way) ||
           fi_trywait(s->fabric->fabric, &queue, 1) != 0;
}

/* ---- memory ---- */

static uint64_t fabric_lend(tutti_stream *base, const void *data, size_t bytes)
{
    fabric_stream *s = (fabric_stream *)base;
    tutti_fabric *f = s->fabric;
    uint64_t place = 0;
    pthread_mutex_lock(&f->lock);
    tutti_fabric_region *g = tutti_fabric_find(f, data, bytes);
    const int number = g ? (int)(g - f->region) : -1;
    if (number >= s->shows) {
        uint64_t *more = realloc(s->shown, (size_t)f->regions * sizeof *more);
        int *unshown = more ? realloc(s->unshown, (size_t)f->regions * sizeof *unshown) : NULL;
        if (more) s->shown = more;
        if (unshown) {
            s->unshown = unshown;
            memset(more + s->shows, 0, (size_t)(f->regions - s->shows) * sizeof *more);
            s->shows = f->regions;
        }
    }
    if (g && number < s->shows) {
        place = ((uint64_t)number + 1) << TUTTI_FABRIC_OFFSET_BITS |
                (uint64_t)((const unsigned char *)data - g->at);
        g->lent++;
        if (s->shown[number] != g->version) s->unshown[s->unshown_count++] = number;
        s->shown[number] = g->version;
    }
    pthread_mutex_unlock(&f->lock);
    return place;
}

static void fabric_take_back(tutti_stream *base, uint64_t place)
{
    tutti_fabric *f = ((fabric_stream *)base)->fabric;
    pthread_mutex_lock(&f->lock);
    tutti_fabric_take_back(f, &f->region[(place >> TUTTI_FABRIC_OFFSET_BITS) - 1]);
    pthread_mutex_unlock(&f->lock);
}

/* NULL: the other end has shown no such memory. */
static const memory *find_place(const fabric_stream *s, uint64_t place, size_t bytes)
{
    const uint64_t number = (place >> TUTTI_FABRIC_OFFSET_BITS) - 1,
                   at = place & (((uint64_t)1 << TUTTI_FABRIC_OFFSET_BITS) - 1);
    const memory *m = number < (uint64_t)s->theirs_count ? &s->theirs[number] : NULL;
    return m && at < m->bytes && bytes <= m->bytes - at ? m : NULL;
}

static int fabric_finds(const tutti_stream *base, uint64_t place, size_t bytes)
{
    return find_place((const fabric_stream *)base, place, bytes) != NULL;
}

static int fabric_put(
    tutti_stream *base, uint64_t place, size_t at, const void *data, size_t bytes, int *under_way)
{
    fabric_stream *s = (fabric_stream *)base;
    const memory *m = find_place(s, place, at + bytes);
    if (!m) return break_stream(s, "asks for data in memory that it does not share");
    op *o = s->broken ? NULL : take_op(&s->free_writes);
    if (!o) return s->broken ? is_broken(s) : 0;
    const uint64_t offset = place & (((uint64_t)1 << TUTTI_FABRIC_OFFSET_BITS) - 1);
    o->under_way = under_way;
    const ssize_t code = fi_writedata(
        s->ep, data, bytes, NULL, 0, s->peer, m->base + offset + at, m->key, &o->context);
    if (code) {
        put_op(&s->free_writes, o);
        return code == -FI_EAGAIN ? 0 : break_endpoint(s, "cannot be written to", code);
    }
    s->under_way++;
    s->written++;
    ++*under_way;
    return 1;
}

/* ---- opening, closing ---- */

static void fabric_shut(tutti_stream *base)
{
    fabric_stream *s = (fabric_stream *)base;
    if (!s->ends) s->ends = IS_DUE;
    send_due(s);
}

/* Nothing writes to this process's memory, or reads from it, when the endpoint is closed. */
static void free_stream(fabric_stream *s)
{
    (void)!send(s->control, &closing, COUNT, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (s->ep) fi_close(&s->ep->fid);
    if (s->av) fi_close(&s->av->fid);
    if (s->cq) fi_close(&s->cq->fid);
    close(s->control);
    free(s->packets);
    free(s->shown);
    free(s->unshown);
    free(s->theirs);
    free(s);
}

/* What was sent goes out first, if the other end is there. */
static void fabric_close_stream(tutti_stream *base)
{
    fabric_stream *s = (fabric_stream *)base;
    const double until_s = tutti_clock_s() + drain_s;
    const int is_there = s->named && !s->gone_s && !s->hold_s;
    s->broken = 0; /* also if it has closed: it still reads */
    if (!s->ends) s->ends = IS_DUE;
    while (is_there && !s->broken && (s->under_way || s->ends == IS_DUE) &&
           tutti_clock_s() < until_s) {
        progress(s);
        send_due(s);
        read_counts(s);
        if (s->gone_s) break;
    }
    free_stream(s);
}

static const tutti_stream_ops fabric_stream_ops = {
    .write = fabric_write,
    .read = fabric_read,
    .is_dead = fabric_is_dead,
    .is_ready = fabric_is_ready,
    .lend = fabric_lend,
    .take_back = fabric_take_back,
    .finds = fabric_finds,
    .put = fabric_put,
    .shut = fabric_shut,
    .close = fabric_close_stream,
};

static int open_endpoint(fabric_stream *s)
{
    tutti_fabric *f = s->fabric;
    struct fi_cq_attr cq = {
        .format = FI_CQ_FORMAT_DATA, .size = RECEIVES + SENDS + WRITES, .wait_obj = FI_WAIT_FD};
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    int code = fi_cq_open(f->domain, &cq, &s->cq, NULL);
    if (!code) code = fi_control(&s->cq->fid, FI_GETWAIT, &s->base.file);
    if (!code) code = fi_av_open(f->domain, &av, &s->av, NULL);
    if (!code) code = fi_endpoint(f->domain, f->info, &s->ep, NULL);
    if (!code) code = fi_ep_bind(s->ep, &s->av->fid, 0);
    if (!code) code = fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV);
    if (!code) code = fi_enable(s->ep);
    return code;
}

/* The socket is new: its buffer has room. */
static int send_name(fabric_stream *s)
{
    size_t bytes = TUTTI_FABRIC_NAME - 1;
    const int code = fi_getname(&s->ep->fid, s->own_name + 1, &bytes);
    if (code) return code;
    return send(s->control, s->own_name, TUTTI_FABRIC_NAME, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                   TUTTI_FABRIC_NAME
               ? 0
               : -FI_ENOTCONN;
}

static void set_ops(fabric_stream *s)
{
    for (int i = 0; i < RECEIVES + SENDS + WRITES; i++) {
        op *o = &s->op[i];
        o->what = i < RECEIVES           ? RECEIVES_PACKET
                  : i < RECEIVES + SENDS ? SENDS_PACKET
                                         : WRITES_DATA;
        o->packet = o->what == WRITES_DATA ? NULL : &s->packets[i];
        if (o->what == SENDS_PACKET) put_op(&s->free_sends, o);
        if (o->what == WRITES_DATA) put_op(&s->free_writes, o);
    }
}

tutti_status tutti_fabric_stream(tutti_fabric *f, int socket, tutti_stream **stream)
{
    fabric_stream *s = calloc(1, sizeof *s);
    tutti_fabric_packet *packets = s ? calloc(RECEIVES + SENDS, sizeof *packets) : NULL;
    if (!packets) {
        free(s);
        close(socket);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a connection");
    }
    s->base = (tutti_stream){.ops = &fabric_stream_ops, .socket = -1, .file = -1};
    s->fabric = f;
    s->control = socket;
    s->packets = packets;
    s->arrived_end = &s->arrived;
    s->opened_s = s->reported_s = tutti_clock_s();
    set_ops(s);
    int code = open_endpoint(s);
    for (int i = 0; i < RECEIVES && !code; i++) code = post_receive(s, &s->op[i]);
    if (!code) code = send_name(s);
    if (code) {
        free_stream(s);
        return tutti_fail(TUTTI_ERR_COMM, "no endpoint of %s: %s", f->info->fabric_attr->prov_name,
            f->library.strerror(code < 0 ? -code : code));
    }
    *stream = &s->base;
    return TUTTI_OK;
}
