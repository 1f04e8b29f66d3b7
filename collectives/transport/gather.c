#include "collectives/transport/gather.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <string.h>

typedef struct gathering {
    tutti_transport *transport;
    double timeout_s, until_s;
} gathering;

static void lock_transport(const gathering *g)
{
    if (g->transport->lock) pthread_mutex_lock(g->transport->lock);
}

static void unlock_transport(const gathering *g)
{
    if (g->transport->lock) pthread_mutex_unlock(g->transport->lock);
}

/* Waits for a message; after the deadline it is abandoned. */
static tutti_status await_message(const gathering *g, tutti_message *message)
{
    static const double poll_s = 50e-6;
    tutti_transport *t = g->transport;
    int done = !message;
    while (!done) {
        lock_transport(g);
        tutti_status status = t->ops->test(t, message, &done);
        if (!status && !done && tutti_clock_s() > g->until_s) {
            t->ops->abandon(t, message);
            t->abandoned = 1;
            status = tutti_fail(TUTTI_ERR_TIMEOUT,
                "the other ranks have not taken part in opening the transport within %g s",
                g->timeout_s);
        }
        unlock_transport(g);
        if (status) return status;
        if (!done) tutti_clock_sleep(poll_s);
    }
    return TUTTI_OK;
}

/* Sends `out` to the peer, or receives `in` from it where `out` is NULL. */
static tutti_status transfer_message(
    const gathering *g, int peer, const void *out, void *in, size_t bytes)
{
    tutti_transport *t = g->transport;
    tutti_message *message = NULL;
    lock_transport(g);
    tutti_status status = out ? t->ops->isend(t, 0, peer, 0, out, bytes, &message)
                              : t->ops->irecv(t, 0, peer, 0, in, bytes, &message);
    unlock_transport(g);
    return status ? status : await_message(g, message);
}

tutti_status tutti_transport_gather(
    tutti_transport *transport, const void *mine, size_t bytes, void *all, double timeout_s)
{
    const gathering g = {transport, timeout_s, tutti_clock_s() + timeout_s};
    const int rank = transport->rank, size = transport->size;
    const size_t everything = (size_t)size * bytes;
    char *row = all;
    tutti_status status = TUTTI_OK;
    if (rank) {
        status = transfer_message(&g, 0, mine, NULL, bytes);
        return status ? status : transfer_message(&g, 0, NULL, all, everything);
    }
    memmove(row, mine, bytes);
    for (int r = 1; r < size && !status; r++)
        status = transfer_message(&g, r, NULL, row + (size_t)r * bytes, bytes);
    for (int r = 1; r < size && !status; r++)
        status = transfer_message(&g, r, all, NULL, everything);
    return status;
}
