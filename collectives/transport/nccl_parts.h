/* What the files of the transport nccl share.
 *
 *   nccl_open.c  the agreement of the ranks, the communicators, and their first collectives
 *   nccl_call.c  a collective in NCCL's terms
 *   nccl.c       what is under way */
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

typedef struct tutti_nccl {
    tutti_transport base;
    tutti_transport *whole;
    int device, lanes; /* how many have communicators */
    double timeout_s;
    int aborted;
    ncclComm_t comm[TUTTI_NCCL_MOST_LANES];
    cudaStream_t stream[TUTTI_NCCL_MOST_LANES];
    tutti_message *all, *unused; /* [lanes * TUTTI_NCCL_IN_FLIGHT] */
    float *first;                /* what the first collectives add */
} tutti_nccl;

/* ---- nccl_call.c: what is called may not be over when it returns (tutti_nccl_settle) ---- */

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

/* COMM (logged: the GPU, what was wanted, and CUDA's sentence) unless the call went well. */
tutti_status tutti_nccl_cuda(const tutti_nccl *n, const char *what, cudaError_t error);
/* Waits until what was called on a communicator that does not block has been done: for other ranks only
 * while it is made, and in its first collective. TIMEOUT, COMM. */
tutti_status tutti_nccl_settle(
    tutti_nccl *n, int lane, const char *what, ncclResult_t result, double limit_s);

#endif
