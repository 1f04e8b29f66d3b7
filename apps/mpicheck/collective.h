/* Announces a collective to the judge, as its arguments describe it. [A], per thread */
#ifndef TUTTI_MPICHECK_COLLECTIVE_H
#define TUTTI_MPICHECK_COLLECTIVE_H

#include "apps/mpicheck/comms.h"
#include "apps/mpicheck/record.h"
#include "apps/mpicheck/region.h"

#include <mpi.h>
#include <stdbool.h>

/* Data of one direction: `count` elements, or `counts` per peer; of `type`, or `types` per peer.
 * Where there are counts, the data of a peer begins so many elements (`places`) or bytes (`bytes`,
 * or `offsets`) into the buffer. */
typedef struct mpicheck_side {
    const void *buffer;
    int count;
    const int *counts;
    MPI_Datatype type;
    const MPI_Datatype *types;
    const int *places, *bytes;
    const MPI_Aint *offsets;
} mpicheck_side;

/* How a kind uses its sides. */
typedef enum mpicheck_shape {
    MPICHECK_SHAPE_NONE,           /* no data that can be compared */
    MPICHECK_SHAPE_BCAST,          /* `send` is the buffer of every rank */
    MPICHECK_SHAPE_REDUCE,         /* `send` and recv.buffer, the result on the root */
    MPICHECK_SHAPE_ALLREDUCE,      /* the same, the result on every rank; also for MPI_Scan */
    MPICHECK_SHAPE_EXSCAN,         /* the same, the result on every rank but 0 */
    MPICHECK_SHAPE_REDUCE_SCATTER, /* counts in `send`, as the program passes them */
    MPICHECK_SHAPE_GATHER,
    MPICHECK_SHAPE_SCATTER,
    MPICHECK_SHAPE_ALLGATHER,
    MPICHECK_SHAPE_ALLTOALL,
    MPICHECK_SHAPE_NEIGHBORS_GATHER, /* between neighbours: only the use of memory is checked */
    MPICHECK_SHAPE_NEIGHBORS,        /* the same, with data of its own for each */
} mpicheck_shape;

typedef struct mpicheck_collective {
    const char *kind; /* Bcast, also for the nonblocking form */
    mpicheck_shape shape;
    bool blocking;
    mpicheck_side send, recv;
    const MPI_Op *op; /* NULL: none */
    const int *root;  /* NULL: none */
    MPI_Comm comm;
    /* In: only for objects other than communicators, such as windows. Out: NULL if not checked. */
    mpicheck_comm *on;
    uint64_t sequence;  /* out: its number on the communicator */
    mpicheck_used used; /* out: the memory that it uses, if nonblocking */
} mpicheck_collective;

/* Before MPI is called: checks the arguments, announces the call and, if it is blocking, waits
 * until all members have announced it. Calls that MPI will refuse are left to MPI. */
void mpicheck_collective_begin(mpicheck_collective *call);
/* After MPI has made the request of a nonblocking collective (rc: or failed to). */
void mpicheck_collective_made(mpicheck_collective *call, int rc, const MPI_Request *request);

/* Ends the program if the call would read or write elements through a null pointer. */
void mpicheck_buffer(const char *which, const void *buffer, int count, MPI_Datatype type);
/* Ends the program if the memory of the call overlaps where it must not. `instead`: what serves to
 * send and receive in one buffer; "": nothing. */
void mpicheck_buffers(const mpicheck_used *used, const char *instead);

#endif
