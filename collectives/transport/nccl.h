/* A transport that has collectives in the memory of GPUs, through NCCL: nccl.c, or nccl_none.c in a
 * build without NCCL, which refuses. */
#ifndef TUTTI_NCCL_H
#define TUTTI_NCCL_H

#include "collectives/transport/transport.h"

typedef struct tutti_nccl_options {
    int device;       /* this rank's GPU */
    int lanes;        /* how many of the transport's first lanes take GPU memory, 1 to 16 */
    double timeout_s; /* for each wait for the other ranks while it opens */
} tutti_nccl_options;

/* All ranks call it. What is in main memory goes through `whole`, which is owned from here on, also on
 * failure. Buffers of GPU memory are this rank's GPU's, and ready when a collective is started. Of
 * these, allreduce, broadcast, reduce, allgather and reduce-scatter are known, of types and operators
 * that NCCL has (UNSUPPORTED otherwise). Lanes share seats.
 * On all ranks: USAGE if two ranks have the same GPU, TIMEOUT, COMM, NOMEM; UNSUPPORTED without
 * NCCL. */
tutti_status tutti_transport_nccl(
    tutti_transport *whole, const tutti_nccl_options *options, tutti_transport **transport);

#endif
