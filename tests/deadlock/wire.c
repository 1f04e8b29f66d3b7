#include "tests/deadlock/wire.h"

#include "dag/base/log.h"

#include <stdlib.h>
#include <string.h>

typedef struct end {
    tutti_transport base;
    tutti_transport *inner;
    wire *wire;
    uint64_t state;
} end;

struct tutti_message {
    tutti_message *inner;
    uint64_t key;
};

uint64_t wire_mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a + 0x9e3779b97f4a7c15u) ^ (b * 0xbf58476d1ce4e5b9u);
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

static uint64_t add_word(uint64_t h, const char *data, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, data, bytes);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static uint64_t contents(const void *data, size_t bytes)
{
    enum { WORD = sizeof(uint64_t) };
    const char *next = data, *last = next + bytes;
    uint64_t h = bytes;
    for (; last - next >= WORD; next += WORD) h = add_word(h, next, WORD);
    return add_word(h, next, (size_t)(last - next));
}

static uint64_t key_of(int lane, int peer, int tag, size_t bytes, int is_send)
{
    uint64_t place = (uint64_t)lane << 40 | (uint64_t)peer << 34 | (uint64_t)is_send << 33;
    return wire_mix(place | (uint64_t)tag, bytes);
}

/* Wraps the message that the loop posted; one that has ended at once stays NULL. */
static tutti_status posted(end *e, uint64_t key, tutti_message *inner, tutti_message **message)
{
    e->state += key;
    *message = NULL;
    if (!inner) return TUTTI_OK;
    tutti_message *m = malloc(sizeof *m);
    if (!m) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a message");
    *m = (tutti_message){inner, key};
    *message = m;
    return TUTTI_OK;
}

static tutti_status wire_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    end *e = (end *)t;
    if (e->wire->broken) return TUTTI_ERR_COMM;
    tutti_message *inner;
    tutti_status status = e->inner->ops->isend(e->inner, lane, peer, tag, data, bytes, &inner);
    if (status) return status;
    uint64_t key = wire_mix(key_of(lane, peer, tag, bytes, 1), contents(data, bytes));
    return posted(e, key, inner, message);
}

static tutti_status wire_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    end *e = (end *)t;
    if (e->wire->broken) return TUTTI_ERR_COMM;
    tutti_message *inner;
    tutti_status status = e->inner->ops->irecv(e->inner, lane, peer, tag, data, bytes, &inner);
    if (status) return status;
    return posted(e, key_of(lane, peer, tag, bytes, 0), inner, message);
}

static tutti_status wire_take_slot(
    tutti_transport *t, int lane, int tag, const tutti_members *members, tutti_message **message)
{
    end *e = (end *)t;
    *message = NULL;
    if (e->wire->broken) return TUTTI_ERR_COMM;
    tutti_message *inner;
    tutti_status status = e->inner->ops->take_slot(e->inner, lane, tag, members, &inner);
    if (status || !inner) return status;
    return posted(e, wire_mix(key_of(lane, 0, tag, 0, 0), 2), inner, message);
}

static int withheld(wire *w)
{
    if (!w->withhold || (wire_mix(w->seed, w->draws++) & 15) >= w->withhold) return 0;
    w->withheld++;
    return 1;
}

static tutti_status wire_test(tutti_transport *t, tutti_message *message, int *done)
{
    end *e = (end *)t;
    tutti_status status = TUTTI_ERR_COMM;
    *done = 0;
    if (!e->wire->broken) {
        if (withheld(e->wire)) return TUTTI_OK;
        status = e->inner->ops->test(e->inner, message->inner, done);
        if (!status && !*done) return TUTTI_OK;
        e->state += wire_mix(message->key, 1);
    } else {
        e->inner->ops->abandon(e->inner, message->inner);
        *done = 1;
    }
    free(message);
    return status;
}

static void wire_abandon(tutti_transport *t, tutti_message *message)
{
    end *e = (end *)t;
    e->inner->ops->abandon(e->inner, message->inner);
    free(message);
}

static void wire_cancel(tutti_transport *t, tutti_message *message)
{
    end *e = (end *)t;
    e->inner->ops->cancel(e->inner, message->inner);
}

static tutti_status wire_grow(
    tutti_transport *t, int lanes, const tutti_members *members, int *done)
{
    end *e = (end *)t;
    tutti_status status = e->inner->ops->grow(e->inner, lanes, members, done);
    t->lanes = e->inner->lanes;
    return status;
}

static void wire_close(tutti_transport *t)
{
    end *e = (end *)t;
    e->inner->ops->close(e->inner);
    free(e);
}

static const tutti_transport_ops wire_ops = {
    .name = "wire",
    .isend = wire_isend,
    .irecv = wire_irecv,
    .take_slot = wire_take_slot,
    .test = wire_test,
    .cancel = wire_cancel,
    .abandon = wire_abandon,
    .grow = wire_grow,
    .close = wire_close,
};

tutti_status wire_transport(
    wire *w, tutti_loop_world *world, int rank, int lanes, tutti_transport **transport)
{
    tutti_transport *inner;
    tutti_status status = tutti_transport_loop(world, rank, lanes, &inner);
    if (status) return status;
    end *e = malloc(sizeof *e);
    if (!e) {
        inner->ops->close(inner);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a transport");
    }
    *e = (end){.base = *inner, .inner = inner, .wire = w};
    e->base.ops = &wire_ops;
    *transport = &e->base;
    return TUTTI_OK;
}

uint64_t wire_state(const tutti_transport *transport)
{
    return ((const end *)transport)->state;
}
