/* Announcing a collective to the judge, from what its caller passes. [A], a thread each */
#ifndef TUTTI_MPICHECK_COLLECTIVE_H
#define TUTTI_MPICHECK_COLLECTIVE_H

#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/record.h"

#include <mpi.h>
#include <stdbool.h>

/* Data of one direction: `count` elements, or `counts` by peer; of `type`, or of `types` by peer. */
typedef struct mpicheck_side {
    const void *buffer;
    int count;
    const int *counts;
    MPI_Datatype type;
    const MPI_Datatype *types;
} mpicheck_side;

/* How a kind uses its sides. */
typedef enum mpicheck_shape {
    MPICHECK_SHAPE_NONE,           /* no data that can be compared */
    MPICHECK_SHAPE_BCAST,          /* `send` is the buffer of every rank */
    MPICHECK_SHAPE_REDUCE,         /* `send` and recv.buffer, the result on the root */
    MPICHECK_SHAPE_ALLREDUCE,      /* and on every rank; also of scans */
    MPICHECK_SHAPE_REDUCE_SCATTER, /* counts in `send` as the program gives them */
    MPICHECK_SHAPE_GATHER,
    MPICHECK_SHAPE_SCATTER,
    MPICHECK_SHAPE_ALLGATHER,
    MPICHECK_SHAPE_ALLTOALL,
} mpicheck_shape;

typedef struct mpicheck_collective {
    const char *kind; /* Bcast; of its nonblocking form, too */
    mpicheck_shape shape;
    bool blocking;
    mpicheck_side send, recv;
    const MPI_Op *op; /* NULL: none */
    const int *root;  /* NULL: none */
    MPI_Comm comm;
    /* In: of what has no communicator's handle, such as a window. Out; NULL: not checked. */
    mpicheck_comm *on;
    uint64_t sequence; /* out: its number on the communicator */
} mpicheck_collective;

/* Before MPI is called: checks the arguments, announces the call and, if it is blocking, waits until all
 * members have announced it, too. What MPI will refuse by itself is left to it. */
void mpicheck_collective_begin(mpicheck_collective *call);
/* After MPI has made the request of a nonblocking one. */
void mpicheck_collective_made(const mpicheck_collective *call, MPI_Request request);

/* Ends the program when elements are to be read from or written to a null pointer. */
void mpicheck_buffer(const char *which, const void *buffer, int count, MPI_Datatype type);

#endif
