/* Announcing a collective to the judge, from what its caller passes. [A], a thread each */
#ifndef TUTTI_CHECK_COLLECTIVE_H
#define TUTTI_CHECK_COLLECTIVE_H

#include "apps/check/comms.h"
#include "apps/check/record.h"

#include <mpi.h>
#include <stdbool.h>

/* Data of one direction: `count` elements, or `counts` by peer; of `type`, or of `types` by peer. */
typedef struct tutti_side {
    const void *buffer;
    int count;
    const int *counts;
    MPI_Datatype type;
    const MPI_Datatype *types;
} tutti_side;

/* How a kind uses its sides. */
typedef enum tutti_shape {
    TUTTI_SHAPE_NONE,           /* no data that can be compared */
    TUTTI_SHAPE_BCAST,          /* `send` is the buffer of every rank */
    TUTTI_SHAPE_REDUCE,         /* `send` and recv.buffer, the result on the root */
    TUTTI_SHAPE_ALLREDUCE,      /* and on every rank; also of scans */
    TUTTI_SHAPE_REDUCE_SCATTER, /* counts in `send` as the program gives them */
    TUTTI_SHAPE_GATHER,
    TUTTI_SHAPE_SCATTER,
    TUTTI_SHAPE_ALLGATHER,
    TUTTI_SHAPE_ALLTOALL,
} tutti_shape;

typedef struct tutti_collective {
    const char *kind; /* Bcast; of its nonblocking form, too */
    tutti_shape shape;
    bool blocking;
    tutti_side send, recv;
    const MPI_Op *op; /* NULL: none */
    const int *root;  /* NULL: none */
    MPI_Comm comm;
    /* In: of what has no communicator's handle, such as a window. Out; NULL: not checked. */
    tutti_comm *on;
    uint64_t sequence; /* out: its number on the communicator */
} tutti_collective;

/* Before MPI is called: checks the arguments, announces the call and, if it is blocking, waits until all
 * members have announced it, too. What MPI will refuse by itself is left to it. */
void tutti_collective_begin(tutti_collective *call);
/* After MPI has made the request of a nonblocking one. */
void tutti_collective_made(const tutti_collective *call, MPI_Request request);

/* Ends the program when elements are to be read from or written to a null pointer. */
void tutti_check_buffer(const char *which, const void *buffer, int count, MPI_Datatype type);

#endif
