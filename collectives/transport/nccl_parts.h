/* What the files of NCCL's collectives share.
 *
 *   nccl_open.c   opening: the agreement of the ranks, and the first lanes
 *   nccl_lane.c   creating a lane: its communicator, and the first collective on it
 *   nccl_call.c   calling NCCL's collectives
 *   nccl_close.c  ending communicators
 *   nccl_ask.c    converting CUDA's and NCCL's results to statuses
 *   nccl.c        the functions of device_collectives.h */
#ifndef TUTTI_NCCL_PARTS_H
#define TUTTI_NCCL_PARTS_H

#include "collectives/transport/transport.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

enum { TUTTI_NCCL_IN_FLIGHT = 64 /* on a lane: TUTTI_COMM_DEPTH */ };

/* A collective that has been launched. */
struct tutti_device_call {
    tutti_device_call *next; /* in the list of unused ones */
    cudaEvent_t event;       /* recorded after it on its stream */
    int lane;
};

/* A lane that has a communicator. */
typedef struct tutti_nccl_lane {
    ncclComm_t comm;
    cudaStream_t stream;
    int rank, size;                  /* of the communicator */
    tutti_device_call *all, *unused; /* [TUTTI_NCCL_IN_FLIGHT] */
} tutti_nccl_lane;

/* A lane that is being created. */
typedef struct tutti_nccl_making {
    int lane;
    const ncclUniqueId *id;       /* for all ranks; NULL: split off the first lane's communicator */
    const tutti_members *members; /* of the split; this rank may not be among them */
    int stage;                    /* of nccl_lane.c; 0: not begun */
} tutti_nccl_making;

typedef struct tutti_nccl {
    tutti_device_collectives base;
    const tutti_transport *transport; /* to which it is given */
    int device;
    double timeout_s;
    int aborted;
    double failed_s;          /* when NCCL first reported a failure; 0: it has not */
    int lanes;                /* of lane[] */
    tutti_nccl_lane **lane;   /* NULL: this rank has no communicator there */
    float *first;             /* the buffer of a lane's first collective */
    ncclComm_t nobody;        /* what a split returns to ranks that are not members: NULL */
    tutti_nccl_making making; /* of the lanes that are being added; lane 0: none */
} tutti_nccl;

/* ---- nccl_call.c: calls are nonblocking; tutti_nccl_ask reports whether they are complete ---- */

/* The arguments of a NCCL call. */
typedef struct tutti_nccl_call {
    const tutti_coll_args *args;
    int rank, P;
    ncclComm_t comm;
    cudaStream_t stream;
    ncclDataType_t type;
    ncclRedOp_t op;
    size_t element;
} tutti_nccl_call;

/* Whether NCCL has such a collective; fills in type, op and element. [P] */
int tutti_nccl_call_describe(const tutti_coll_args *args, tutti_nccl_call *call);
ncclResult_t tutti_nccl_call_launch(const tutti_nccl_call *call);

/* ---- nccl.c ---- */

extern const tutti_device_collectives_ops tutti_nccl_ops;

/* ---- nccl_ask.c ---- */

/* COMM (logged: the GPU, what was called, and CUDA's sentence) unless the call succeeded. */
tutti_status tutti_nccl_cuda(const tutti_nccl *n, const char *what, cudaError_t error);
/* COMM (logged, with NCCL's sentence) unless the call succeeded or is in progress. */
tutti_status tutti_nccl_called(ncclComm_t comm, int lane, const char *what, ncclResult_t result);
/* Whether the last call on a communicator is complete. COMM: it has failed. */
tutti_status tutti_nccl_ask(ncclComm_t comm, int lane, const char *what, int *over);

/* ---- nccl_lane.c ---- */

/* Makes room for this many lanes. NOMEM. */
tutti_status tutti_nccl_widen(tutti_nccl *n, int lanes);
/* Advances the creation of a lane until it would wait for another rank; called until *done. On a failure all
 * communicators are aborted. COMM, NOMEM. */
tutti_status tutti_nccl_make(tutti_nccl *n, tutti_nccl_making *making, int *done);
/* Frees all lanes; their communicators must have ended. */
void tutti_nccl_free_lanes(tutti_nccl *n);

/* ---- nccl_close.c ---- */

/* Aborts all communicators: ends all kernels that wait. Afterwards nothing touches a buffer. */
void tutti_nccl_abort(tutti_nccl *n);
/* Finalizes and destroys all communicators, once no other rank needs anything of this one. Aborts, with a
 * warning, if that takes longer than the transport's timeout. */
void tutti_nccl_end(tutti_nccl *n);

#endif
