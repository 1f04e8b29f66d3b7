/* What the files of the transport nccl share.
 *
 *   nccl_open.c   the agreement of the ranks, and the lanes of all of them
 *   nccl_lane.c   how a lane is made: its communicator, and the first collective on it
 *   nccl_call.c   a collective in NCCL's terms
 *   nccl_close.c  how communicators end
 *   nccl_ask.c    what CUDA and NCCL answer, as a status
 *   nccl.c        what is under way */
#ifndef TUTTI_NCCL_PARTS_H
#define TUTTI_NCCL_PARTS_H

#include "collectives/transport/transport.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

enum { TUTTI_NCCL_IN_FLIGHT = 64 /* on a lane: TUTTI_COMM_DEPTH */ };

/* A collective that has been launched. */
struct tutti_message {
    tutti_message *next; /* of those that are free */
    cudaEvent_t event;   /* behind it on its stream */
    int lane;
};

/* A lane that has a communicator. */
typedef struct tutti_nccl_lane {
    ncclComm_t comm;
    cudaStream_t stream;
    int rank, size;              /* this rank's number in it, and how many there are */
    tutti_message *all, *unused; /* [TUTTI_NCCL_IN_FLIGHT] */
} tutti_nccl_lane;

/* A lane on its way. */
typedef struct tutti_nccl_making {
    int lane;
    const ncclUniqueId *id;       /* of a lane of all ranks; NULL: a part of the first lane's */
    const tutti_members *members; /* of such a part, which may be without this rank */
    int stage;                    /* of nccl_lane.c; 0: it has not begun */
} tutti_nccl_making;

typedef struct tutti_nccl {
    tutti_transport base;
    tutti_transport *whole;
    int device;
    double timeout_s;
    int aborted;
    double failed_s; /* when NCCL told of a failure first; 0: it has not */
    int lanes;              /* of lane[] */
    tutti_nccl_lane **lane; /* NULL: this rank has no communicator there */
    float *first;           /* what the first collective of a lane adds */
    ncclComm_t nobody;      /* the communicator of a group that this rank is not in: none */
    /* while lanes are added: how many are still to be made, whether `whole` has them, and the next */
    int missing, widened;
    tutti_nccl_making making;
} tutti_nccl;

/* ---- nccl_call.c: what is called may not be over when it returns (tutti_nccl_ask) ---- */

/* A collective of GPU memory in NCCL's terms. */
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

extern const tutti_transport_ops tutti_nccl_ops;

/* ---- nccl_ask.c ---- */

/* COMM (logged: the GPU, what was wanted, and CUDA's sentence) unless the call went well. */
tutti_status tutti_nccl_cuda(const tutti_nccl *n, const char *what, cudaError_t error);
/* COMM (logged, with NCCL's sentence) unless the call went well, or goes on. */
tutti_status tutti_nccl_called(ncclComm_t comm, int lane, const char *what, ncclResult_t result);
/* Whether what was called last on a communicator is over. COMM: it has failed. */
tutti_status tutti_nccl_ask(ncclComm_t comm, int lane, const char *what, int *over);

/* ---- nccl_lane.c ---- */

/* Room for so many lanes. NOMEM. */
tutti_status tutti_nccl_widen(tutti_nccl *n, int lanes);
/* Goes on with a lane until it would wait for another rank; called until *done. On a failure all
 * communicators are aborted. COMM, NOMEM. */
tutti_status tutti_nccl_make(tutti_nccl *n, tutti_nccl_making *making, int *done);
/* Of all lanes, once communicators have ended. */
void tutti_nccl_free_lanes(tutti_nccl *n);

/* ---- nccl_close.c ---- */

/* Ends all kernels that wait. Afterwards there are no communicators, and nothing touches a buffer. */
void tutti_nccl_abort(tutti_nccl *n);
/* As abort, in order: once nothing of this rank is needed by another one. Aborts, with a warning,
 * where that is not so within the transport's timeout. */
void tutti_nccl_end(tutti_nccl *n);

#endif
