/* A network that connections of a mesh use between hosts, in place of sockets. So libfabric (fabric.h) gets into a
 * mesh, whose library does not need it. */
#ifndef TUTTI_INTERCONNECT_H
#define TUTTI_INTERCONNECT_H

#include "collectives/transport/connection.h"
#include "collectives/transport/shm.h"
#include "dag/base/status.h"

#include <stddef.h>

typedef struct tutti_interconnect tutti_interconnect;

typedef struct tutti_interconnect_ops {
    /* A connection to the process at the other end of a socket over which nothing has gone yet, which makes the same
     * call. Never waits. Takes over the socket, also on failure. The network outlives the connection. COMM (logged),
     * NOMEM. */
    tutti_status (*connect)(tutti_interconnect *network, int socket,
        const tutti_connection_options *options, tutti_connection **connection);
    /* Memory that other ranks can write to: of the arena, if that is not NULL, so that those of this host can, too.
     * NOMEM (logged). While another may still write to it, it is not taken again, and stays registered. Any thread. */
    tutti_status (*take)(
        tutti_interconnect *network, tutti_shm *arena, size_t bytes, void **memory);
    void (*give)(tutti_interconnect *network, void *memory); /* accepts NULL */
    void (*close)(tutti_interconnect *network);              /* connections must have been closed */
} tutti_interconnect_ops;

struct tutti_interconnect {
    const tutti_interconnect_ops *ops;
};

#endif
