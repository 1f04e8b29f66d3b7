/* Where a graph's collectives receive, and how often that is copied: known before the first step, because a graph has
 * all that RPC does not know, the memory of each tensor and what comes before what.
 *
 * A tensor that collectives write to has one address for the whole run, and other ranks may write to it while its
 * collective runs: whatever else uses it comes before or after that, also of other steps, because StarPU's rule orders
 * all that name one tensor. What is left to show is that nothing else names its memory by another tensor.
 * Source: Xue, Miao, Chen, Wu, Zhang, Zhou, "Fast Distributed Deep Learning over RDMA", EuroSys'19, arXiv:1805.08430,
 * whose analyser looks at the graph, and traces addresses in the first step. [P] */
#ifndef TUTTI_REMOTE_BUFFER_H
#define TUTTI_REMOTE_BUFFER_H

#include "collectives/value/members.h"
#include "dag/graph/graph.h"

enum { TUTTI_REMOTE_WHY = 160 };

/* The tensors of a collective node. The type has no name for what is received at an address that is not known before:
 * no graph has that. */
typedef struct tutti_remote_buffer {
    int node, tensor;           /* its first */
    int tensors;                /* of a bucket, more than one */
    size_t bytes;               /* with the gaps between them */
    int sends;                  /* it only sends */
    int small;                  /* it goes through a buffer, before its receive is known */
    char why[TUTTI_REMOTE_WHY]; /* of what it receives: why it is copied once more; "": it is not */
    /* Of what it only sends: the kernel that writes the tensor first, how many kernels then change it in place, and how
     * many others read it. -1: it is fed, or written in another section */
    int origin, in_place, readers;
    /* of what it only sends: these kernels write where it is received, if it is posted when they start
     * (dag/graph/sent.h) */
    int direct;
} tutti_remote_buffer;

typedef struct tutti_remote_options {
    int rank;           /* this one */
    int on_gpu;         /* tensors are in a GPU's memory, and collectives in main memory */
    size_t small_bytes; /* messages up to this size are small */
    const char *transport;
    /* Whether this rank of all can write to tensors here. */
    int (*reaches)(void *ctx, int rank);
    const tutti_members *(*members)(void *ctx, int group);
    void *ctx;
} tutti_remote_options;

/* All collective nodes of a placed graph, in program order; the caller frees *found. NOMEM; INTERNAL (logged): a tensor
 * shares memory with another one that its collective does not name. */
tutti_status tutti_remote_buffers_find(const tutti_graph *graph,
    const tutti_remote_options *options, int *count, tutti_remote_buffer **found);

#endif
