/* A transport of any number of ranks that is made of connections, one to each other rank: in shared memory within a
 * host (shm.h), over TCP or a network (interconnect.h) between hosts. Lanes and tags are those of the connections. */
#ifndef TUTTI_MESH_H
#define TUTTI_MESH_H

#include "collectives/transport/connection.h"
#include "collectives/transport/interconnect.h"
#include "collectives/transport/shm.h"
#include "collectives/transport/transport.h"

#include <math.h>
#include <stdatomic.h>

enum { TUTTI_MESH_LANES = 1 << 20, TUTTI_MESH_EARLY_BYTES = 4096 };

/* Of every connection of a mesh. A rank may compute for long without a message: silence is no failure. */
static const tutti_connection_options tutti_mesh_connection = {.lanes = TUTTI_MESH_LANES,
    .tags = (int64_t)1 << 30,
    .silence_s = INFINITY,
    .early_bytes = TUTTI_MESH_EARLY_BYTES};

/* Takes over what it points to, also on failure; but not the arrays. */
typedef struct tutti_mesh_options {
    int rank, size, lanes;
    tutti_connection **peer; /* [size] peer[rank] NULL */
    tutti_shm *mine;         /* NULL: no rank is on this host */
    tutti_shm **theirs;      /* [size] NULL for ranks of other hosts; closed with the mesh */
    tutti_interconnect
        *network; /* of the connections to ranks of other hosts; NULL: they are sockets */
    const int *host;         /* [size] as in tutti_transport; copied; NULL: all are on one */
    int near;
    /* When it is not 0 any more, all connections break: what is under way ends with COMM. Any thread may set it; the
     * mesh notices at its next pass. NULL: never */
    const atomic_int *broken;
} tutti_mesh_options;

/* INVAL, NOMEM. */
tutti_status tutti_transport_mesh(const tutti_mesh_options *options, tutti_transport **transport);

/* A socket as a connection of a mesh, or, if network is not NULL, a connection over that (interconnect.h): the kernel
 * finds hosts that are gone; ranks themselves may be silent for long. Takes over the socket, also on failure. */
tutti_status tutti_mesh_connect_socket(
    tutti_interconnect *network, int socket, tutti_connection **connection);

/* tutti_transport_mesh_over (transport.h) with a network between hosts, which every rank opens. */
tutti_status tutti_transport_mesh_with(tutti_transport **transport,
    const tutti_transport_options *options,
    tutti_status (*open_network)(tutti_interconnect **network));

/* Memory of a rank: the ring that each other one of its host writes to, and the limit of what receives have there,
 * which is used as it is taken. */
enum { TUTTI_MESH_RING_BYTES = 1 << 18 };
static const size_t tutti_mesh_arena_bytes = (size_t)1 << 32;

/* A socket to each other rank, over which nothing has gone yet. Takes over the sockets, also on failure. */
typedef struct tutti_mesh_sockets {
    int rank, size, lanes;
    const int *socket;        /* [size] -1 for rank */
    double until_s;           /* the deadline, on the clock */
    const atomic_int *broken; /* as above; opening gives up, too */
} tutti_mesh_sockets;

/* Opens a mesh without MPI: all ranks call it. Where two are on one host, they share memory. COMM, TIMEOUT, NOMEM
 * (logged). */
tutti_status tutti_transport_mesh_sockets(
    const tutti_mesh_sockets *options, tutti_transport **transport);

#endif
