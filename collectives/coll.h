/* Nonblocking collectives on the lanes of a communicator.
 *
 * A comm is one rank's end of K lanes over a transport. Each lane is a communicator of its own: all ranks post the same
 * collectives in the same order on a lane (the caller's duty: see the ordering law in designs/design.h); lanes are
 * independent. Several collectives may be in flight on one lane.
 *
 *   post -> { progress }* until done -> free
 *
 * Threads: a comm is not locked: one thread at a time may call any of these on it. Nothing here blocks except
 * tutti_coll_wait, and the algorithm "mpi" (the MPI library's own blocking collective).
 * Buffers: the caller's; not touched by the caller between post and done. */
#ifndef TUTTI_COLL_H
#define TUTTI_COLL_H

#include "collectives/op.h"
#include "dag/base/dtype.h"
#include "dag/base/status.h"

#include <stdint.h>

typedef struct tutti_comm tutti_comm;
typedef struct tutti_transport tutti_transport; /* collectives/transport/transport.h */
typedef struct tutti_coll_request tutti_coll_request;

typedef enum tutti_coll_kind {
    TUTTI_ALLREDUCE,
    TUTTI_BROADCAST,
    TUTTI_REDUCE,
    TUTTI_ALLGATHER,
    TUTTI_REDUCE_SCATTER,
    TUTTI_BARRIER,
    TUTTI_COLL_KINDS
} tutti_coll_kind;

/* One collective as a value; equal on all ranks but for the pointers.
 *   ALLREDUCE       send (count) -> recv (count) on every rank
 *   BROADCAST       recv (count) of root -> recv (count) of every rank; send is ignored
 *   REDUCE          send (count) -> recv (count) of root; recv is scratch elsewhere and must be given everywhere
 *   ALLGATHER       send (count) of rank r -> recv[r*count ...] of every rank; recv has P*count elements
 *   REDUCE_SCATTER  send (count) -> recv (block r of the sum), blocks as tutti_coll_block says; recv must hold count
 *                   elements (the algorithms use it as scratch) and the block is at its own offset within recv
 *   BARRIER         buffers ignored
 * send NULL means in place: the input is in recv (ALLGATHER: at recv[rank*count]). */
typedef struct tutti_coll_args {
    tutti_coll_kind kind;
    tutti_dtype dtype;
    tutti_reduce_op op;
    int root;
    int64_t count;
    const void *send;
    void *recv;
} tutti_coll_args;

/* Block r of `count` elements dealt to P ranks: contiguous, sizes differ by at most one, larger ones first. [P] */
void tutti_coll_block(int64_t count, int P, int r, int64_t *offset, int64_t *length);

const char *tutti_coll_kind_name(tutti_coll_kind kind);     /* "allreduce" */
const char *tutti_reduce_op_name(tutti_reduce_op op);       /* "sum" */

typedef struct tutti_comm_options {
    const char *algorithm; /* "auto" (NULL), "ring", "recursive-doubling", "tree", "rsag", "mpi": see collectives/choose.h */
} tutti_comm_options;

/* Takes over the transport (closed with the comm, also on failure). USAGE lists the known algorithms for an unknown name. */
tutti_status tutti_comm_new(tutti_transport *transport, const tutti_comm_options *options, tutti_comm **comm);
void tutti_comm_free(tutti_comm *comm); /* accepts NULL; requests must have been freed */
int tutti_comm_rank(const tutti_comm *comm);
int tutti_comm_size(const tutti_comm *comm);
int tutti_comm_lanes(const tutti_comm *comm);

/* Starts a collective on a lane; its first messages are under way when this returns.
 * INVAL: bad lane, kind, count < 0, root; UNSUPPORTED: a size that the transport cannot carry (says which). */
tutti_status tutti_coll_post(tutti_comm *comm, int lane, const tutti_coll_args *args, tutti_coll_request **request);
/* Moves everything in flight on every lane as far as it goes now. *moved: whether anything advanced. */
tutti_status tutti_coll_progress(tutti_comm *comm, int *moved);
/* Whether it has ended on this rank (no progress is made here). */
int tutti_coll_done(const tutti_coll_request *request);
/* Progresses until the request is done, sleeping in growing steps; TIMEOUT (logged) after timeout_s. */
tutti_status tutti_coll_wait(tutti_comm *comm, tutti_coll_request *request, double timeout_s);
/* Frees a request that is done; or, after a failure, abandons one that is not. Accepts NULL. */
void tutti_coll_free(tutti_coll_request *request);

#endif
