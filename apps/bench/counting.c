#include "apps/bench/counting.h"

#include "dag/base/log.h"

#include <stdlib.h>

typedef struct counting {
    tutti_transport transport; /* first member: pointers to both convert */
    tutti_transport *inner;
    tutti_traffic *sent;
} counting;

static counting *of(tutti_transport *t)
{
    return (counting *)t;
}

static tutti_status count_isend(tutti_transport *t, int lane, int peer, int tag, const void *data,
    size_t bytes, tutti_message **message)
{
    counting *c = of(t);
    c->sent->messages++;
    c->sent->bytes += (int64_t)bytes;
    return c->inner->ops->isend(c->inner, lane, peer, tag, data, bytes, message);
}

static tutti_status count_irecv(tutti_transport *t, int lane, int peer, int tag, void *data,
    size_t bytes, tutti_message **message)
{
    tutti_transport *inner = of(t)->inner;
    return inner->ops->irecv(inner, lane, peer, tag, data, bytes, message);
}

static tutti_status count_test(tutti_transport *t, tutti_message *message, int *done)
{
    tutti_transport *inner = of(t)->inner;
    return inner->ops->test(inner, message, done);
}

static void count_cancel(tutti_transport *t, tutti_message *message)
{
    tutti_transport *inner = of(t)->inner;
    inner->ops->cancel(inner, message);
}

static void count_sweep(tutti_transport *t, int first, int lanes)
{
    tutti_transport *inner = of(t)->inner;
    if (inner->ops->sweep) inner->ops->sweep(inner, first, lanes);
}

static void count_abandon(tutti_transport *t, tutti_message *message)
{
    tutti_transport *inner = of(t)->inner;
    inner->ops->abandon(inner, message);
}

static tutti_status count_collective(
    tutti_transport *t, int lane, const tutti_coll_args *args, tutti_message **message)
{
    tutti_transport *inner = of(t)->inner;
    return inner->ops->collective(inner, lane, args, message);
}

static tutti_status count_take_memory(tutti_transport *t, size_t bytes, void **memory)
{
    tutti_transport *inner = of(t)->inner;
    return inner->ops->take_memory ? inner->ops->take_memory(inner, bytes, memory)
                                   : TUTTI_ERR_NOMEM;
}

static void count_received(tutti_transport *t, tutti_transport_counts *counts)
{
    tutti_transport *inner = of(t)->inner;
    *counts = (tutti_transport_counts){0};
    if (inner->ops->count) inner->ops->count(inner, counts);
}

static void count_give_memory(tutti_transport *t, void *memory)
{
    tutti_transport *inner = of(t)->inner;
    inner->ops->give_memory(inner, memory);
}

static void count_close(tutti_transport *t)
{
    tutti_transport *inner = of(t)->inner;
    inner->ops->close(inner);
    free(t);
}

static const tutti_transport_ops ops = {.name = "counting",
    .isend = count_isend,
    .irecv = count_irecv,
    .test = count_test,
    .cancel = count_cancel,
    .sweep = count_sweep,
    .abandon = count_abandon,
    .collective = count_collective,
    .take_memory = count_take_memory,
    .count = count_received,
    .give_memory = count_give_memory,
    .close = count_close};

tutti_status tutti_transport_counting(
    tutti_transport *inner, tutti_traffic *sent, tutti_transport **transport)
{
    counting *c = calloc(1, sizeof *c);
    if (!c) {
        inner->ops->close(inner);
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a transport that counts");
    }
    c->transport = *inner;
    c->transport.ops = &ops;
    c->inner = inner;
    c->sent = sent;
    *transport = &c->transport;
    return TUTTI_OK;
}
