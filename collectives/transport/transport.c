#include "collectives/transport/transport.h"

#include "dag/base/log.h"

void tutti_transport_close(tutti_transport *transport)
{
    if (!transport) return;
    pthread_mutex_t *lock = transport->lock;
    if (lock) pthread_mutex_lock(lock);
    transport->ops->close(transport);
    if (lock) pthread_mutex_unlock(lock);
}

void tutti_transport_close_device(tutti_transport *transport)
{
    tutti_arithmetic *arithmetic = transport->arithmetic;
    tutti_device_collectives *collectives = transport->device_collectives;
    if (arithmetic) arithmetic->ops->close(arithmetic);
    if (collectives) collectives->ops->close(collectives);
}

int tutti_transport_takes_device(const tutti_transport *transport)
{
    return transport->arithmetic || transport->device_collectives;
}

void tutti_transport_select_device(tutti_transport *transport)
{
    tutti_arithmetic *arithmetic = transport->arithmetic;
    if (arithmetic) arithmetic->ops->select(arithmetic);
}

tutti_status tutti_transport_grow(
    tutti_transport *transport, int lanes, const tutti_members *members, int *done)
{
    tutti_transport *t = transport;
    tutti_device_collectives *there = t->device_collectives;
    if (!t->ops->grow)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "the transport '%s' has no groups", t->ops->name);
    tutti_status status = t->grown ? TUTTI_OK : t->ops->grow(t, lanes, members, &t->grown);
    *done = !status && t->grown;
    if (*done && there) status = there->ops->grow(there, t->lanes - lanes, lanes, members, done);
    if (*done || status) t->grown = 0;
    return status;
}
