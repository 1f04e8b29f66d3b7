#include "collectives/transport/transport.h"

void tutti_transport_close(tutti_transport *transport)
{
    if (!transport) return;
    pthread_mutex_t *lock = transport->lock;
    if (lock) pthread_mutex_lock(lock);
    transport->ops->close(transport);
    if (lock) pthread_mutex_unlock(lock);
}
