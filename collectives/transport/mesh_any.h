/* Receives of a mesh from any rank. A lane and tag that has had one always has a receive from each other rank under
 * way, into memory of its own; what arrives there goes to the receives that wait, in the order in which they were
 * posted. Threads: those of the mesh. */
#ifndef TUTTI_MESH_ANY_H
#define TUTTI_MESH_ANY_H

#include "collectives/transport/connection.h"

typedef struct tutti_mesh_port tutti_mesh_port;

/* Of one mesh. */
typedef struct tutti_mesh_any {
    tutti_connection *const *peer; /* [size] the mesh's; NULL: none */
    int size;
    tutti_mesh_port *ports;
} tutti_mesh_any;

/* One receive, in memory of the caller. */
typedef struct tutti_mesh_receive {
    struct tutti_mesh_receive *next; /* of those that wait for the same lane and tag */
    tutti_mesh_port *port;
    void *data;
    int ended;
} tutti_mesh_receive;

/* INVAL: another size than that of earlier receives with this lane and tag; NOMEM. Both are logged. */
tutti_status tutti_mesh_any_post(
    tutti_mesh_any *any, int lane, int tag, void *data, size_t bytes, tutti_mesh_receive *receive);
/* Gives what has arrived to those that wait. A rank that is gone is no error; MISMATCH, INVAL, NOMEM. */
tutti_status tutti_mesh_any_test(const tutti_mesh_any *any, tutti_mesh_receive *receive, int *done);
/* It waits no more, and has ended. */
void tutti_mesh_any_leave(tutti_mesh_receive *receive);
/* While the connections are open. */
void tutti_mesh_any_close(tutti_mesh_any *any);

#endif
