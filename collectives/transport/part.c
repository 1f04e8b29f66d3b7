/* The transport of a group or edge: it maps the members' ranks, lanes and tags to those of another transport. */
#include "collectives/transport/transport.h"
#include "dag/base/log.h"

#include <stdlib.h>

typedef struct part {
    tutti_transport base;
    tutti_transport *whole;
    tutti_members members;
    int lane, shared; /* the first lane in `whole`; shared: all lanes use this one */
    int64_t tag;      /* on a shared lane: the first tag of lane 0 */
} part;

static int lane_of(const part *p, int lane)
{
    return p->shared ? p->lane : p->lane + lane;
}

static int tag_of(const part *p, int lane, int tag)
{
    return p->shared ? (int)(p->tag + lane * p->base.tags + tag) : tag;
}

static tutti_status part_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    const part *p = (const part *)t;
    return p->whole->ops->isend(p->whole, lane_of(p, lane), p->members.of[peer],
        tag_of(p, lane, tag), data, bytes, message);
}

static tutti_status part_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    const part *p = (const part *)t;
    return p->whole->ops->irecv(p->whole, lane_of(p, lane), p->members.of[peer],
        tag_of(p, lane, tag), data, bytes, message);
}

static tutti_status part_take_slot(
    tutti_transport *t, int lane, int tag, const tutti_members *members, tutti_message **message)
{
    const part *p = (const part *)t;
    (void)members; /* NULL: a part has no parts */
    *message = NULL;
    if (!p->whole->ops->take_slot || !t->shares_slots) return TUTTI_OK;
    return p->whole->ops->take_slot(
        p->whole, lane_of(p, lane), tag_of(p, lane, tag), &p->members, message);
}

static tutti_status part_test(tutti_transport *t, tutti_message *message, int *done)
{
    const part *p = (const part *)t;
    return p->whole->ops->test(p->whole, message, done);
}

static int part_watch(
    tutti_transport *t, tutti_message *message, int *news, const tutti_watcher *watcher)
{
    const part *p = (const part *)t;
    return p->whole->ops->watch && p->whole->ops->watch(p->whole, message, news, watcher);
}

static void part_cancel(tutti_transport *t, tutti_message *message)
{
    const part *p = (const part *)t;
    p->whole->ops->cancel(p->whole, message);
}

static void part_abandon(tutti_transport *t, tutti_message *message)
{
    const part *p = (const part *)t;
    p->whole->ops->abandon(p->whole, message);
}

static void part_sweep(tutti_transport *t, int first, int lanes)
{
    const part *p = (const part *)t;
    if (p->whole->ops->sweep)
        p->whole->ops->sweep(p->whole, lane_of(p, first), p->shared ? 1 : lanes);
}

/* Of a whole that has such memory. */
static tutti_status part_take_memory(tutti_transport *t, size_t bytes, void **memory)
{
    const part *p = (const part *)t;
    return p->whole->ops->take_memory(p->whole, bytes, memory);
}

static void part_give_memory(tutti_transport *t, void *memory)
{
    const part *p = (const part *)t;
    p->whole->ops->give_memory(p->whole, memory);
}

static void *part_claim(tutti_transport *t, int lane, int peer, int tag, size_t bytes)
{
    const part *p = (const part *)t;
    if (!p->whole->ops->claim) return NULL;
    return p->whole->ops->claim(
        p->whole, lane_of(p, lane), p->members.of[peer], tag_of(p, lane, tag), bytes);
}

static void part_wrote(tutti_transport *t, int lane, int peer, int tag)
{
    const part *p = (const part *)t;
    p->whole->ops->wrote(p->whole, lane_of(p, lane), p->members.of[peer], tag_of(p, lane, tag));
}

static void part_close(tutti_transport *t)
{
    part *p = (part *)t;
    if (t->abandoned) p->whole->abandoned = 1;
    tutti_members_free(&p->members);
    free(t->host);
    free(p);
}

/* clang-format off */
#define PART_OPS                                                                                   \
    .name = "part", .isend = part_isend, .irecv = part_irecv, .take_slot = part_take_slot,         \
    .test = part_test, .watch = part_watch, .cancel = part_cancel, .sweep = part_sweep,            \
    .abandon = part_abandon, .close = part_close
/* clang-format on */

static const tutti_transport_ops part_ops = {PART_OPS};
static const tutti_transport_ops part_ops_with_memory = {PART_OPS, .take_memory = part_take_memory,
    .give_memory = part_give_memory, .claim = part_claim, .wrote = part_wrote};

/* Enough tags for a lane's depth, 64, with the fewest bits of identity. */
enum { LEAST_TAGS = 512 };

int tutti_transport_channels(const tutti_transport *transport)
{
    int64_t most = transport->tags / LEAST_TAGS;
    return most < TUTTI_CHANNELS ? (int)most : TUTTI_CHANNELS;
}

tutti_status tutti_transport_part(
    tutti_transport *whole, const tutti_part *given, tutti_transport **transport)
{
    const tutti_members *m = given->members;
    int shared = given->channel >= 0, channels = tutti_transport_channels(whole);
    if (m->rank < 0 || given->lanes < 1 || given->lane < 0 ||
        given->lane + (shared ? 1 : given->lanes) > whole->lanes ||
        (shared && given->channel + given->lanes > channels))
        return tutti_fail(TUTTI_ERR_INVAL,
            "no group of %d ranks on %d lanes from lane %d, channel %d, of a transport with %d "
            "lanes and %d channels",
            m->size, given->lanes, given->lane, given->channel, whole->lanes, channels);
    part *p = calloc(1, sizeof *p);
    tutti_status status = p ? tutti_members_set(m->key, m->size, m->of, m->of[m->rank], &p->members)
                            : tutti_fail(TUTTI_ERR_NOMEM, "no memory for a group's transport");
    int *host = NULL;
    if (!status && whole->host) {
        host = malloc((size_t)m->size * sizeof *host);
        if (!host) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a group's transport");
    }
    if (status) {
        if (p) tutti_members_free(&p->members);
        free(p);
        return status;
    }
    for (int i = 0; host && i < m->size; i++) host[i] = whole->host[m->of[i]];
    p->base = (tutti_transport){.ops = whole->ops->take_memory ? &part_ops_with_memory : &part_ops,
        .rank = m->rank,
        .size = m->size,
        .lanes = given->lanes,
        .near = whole->near,
        .host = host,
        .far_memory = whole->far_memory,
        .shares_slots = whole->shares_slots && !(m->key < 0 && whole->edges_aside),
        .arithmetic = whole->arithmetic,
        .device_collectives = shared ? NULL : whole->device_collectives,
        .device_lane = given->lane,
        .tags = shared ? whole->tags / channels : whole->tags,
        .small_bytes = whole->small_bytes,
        .lock = whole->lock};
    p->whole = whole;
    p->lane = given->lane;
    p->shared = shared;
    p->tag = shared ? given->channel * p->base.tags : 0;
    *transport = &p->base;
    return TUTTI_OK;
}
