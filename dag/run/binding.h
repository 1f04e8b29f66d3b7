/* A graph bound to memory and kernels: what every runner needs before it can run a node. [M] */
#ifndef TUTTI_BINDING_H
#define TUTTI_BINDING_H

#include "dag/base/buffer.h"
#include "dag/graph/graph.h"
#include "dag/kernels/kernel.h"

/* Memory for the tensors that collectives receive into, which other ranks can write to. take NULL, or what it
 * returns: as for other tensors. */
typedef struct tutti_binding_memory {
    void *ctx;
    void *(*take)(void *ctx, size_t bytes); /* at a multiple of 64 bytes, with any content */
    void (*give)(void *ctx, void *memory);
} tutti_binding_memory;

/* Where a graph is computed. Zeroes: on the CPU. */
typedef struct tutti_binding_place {
    tutti_device device; /* whose kernels */
    int gpu;             /* of TUTTI_CUDA: which device */
    int tf32;            /* of TUTTI_CUDA: products of float32 may round their factors to TF32 */
    /* of TUTTI_CUDA: which engines of libraries compute; NULL: the first that these offer. The caller's */
    struct tutti_engines *engines;
    /* collectives find their data on the GPU, all but messages of edges; 0: in main memory */
    int collects_there;
    /* Of TUTTI_CPU: not NULL: nothing is computed, and each tensor is at this address, which is device memory to
     * collectives and which nothing reads (collectives/transport/virtual.h) */
    void *payload;
    tutti_binding_memory received; /* of TUTTI_CPU */
} tutti_binding_place;

/* Whether this collective does, there. [P] */
int tutti_binding_collects_there(const tutti_binding_place *place, const tutti_node *node);

typedef struct tutti_binding {
    const tutti_graph *graph; /* borrowed */
    tutti_binding_place place;
    int tensors, nodes;
    /* Where each tensor begins, initially zero, aligned to 64 bytes: in main memory, which with a GPU is
     * pinned, and on the GPU. NULL where it is not. On the CPU all are in main memory. With a GPU, all but
     * tokens are there, and in main memory what collectives use. The tensors of a block
     * are neighbours in both. */
    tutti_buffer *host, *gpu;
    unsigned char *
        placed; /* [tensors] of a block's tensor: it is in the place's memory for what is received */
    const tutti_kernel **kernel; /* one per node; NULL for marks and collectives */
    void **args;                 /* what the kernel's open returned */
    /* of the GPU's memory: what the tensors take, and what all kernels work in (kernels/workspace.h) */
    size_t tensor_bytes, kernel_bytes;
    int widest; /* most accesses of any node */
    /* What runs, in program order section by section: section s has running[first[s]] to running[first[s + 1] - 1]. */
    int sections, *first, *running;
} tutti_binding;

/* Opens every kernel and allocates every tensor. Logs how much of a GPU's memory all of it takes. Errors
 * name the tensor, the node and op, or the GPU: UNSUPPORTED, an op has no kernel there; NOMEM, with how much
 * is needed; INVAL. */
tutti_status tutti_binding_open(
    const tutti_graph *graph, const tutti_binding_place *place, tutti_binding *binding);
void tutti_binding_close(tutti_binding *binding);
/* Completes place->engines for this graph: opens every kernel, times what the table does not have, and closes all
 * again. It takes memory of the GPU only meanwhile. Errors as of open. */
tutti_status tutti_binding_choose_engines(
    const tutti_graph *graph, const tutti_binding_place *place);

/* The nodes of a section that run, in program order; *count: how many. [A] */
static inline const int *tutti_binding_section(
    const tutti_binding *binding, int section, int *count)
{
    const int known = section >= 0 && section < binding->sections;
    *count = known ? binding->first[section + 1] - binding->first[section] : 0;
    return known ? binding->running + binding->first[section] : NULL;
}

/* INVAL (logged; `what` is "feed" or "fetch") unless the tensor has this many bytes. */
tutti_status tutti_binding_check(
    const tutti_binding *binding, int tensor, size_t bytes, const char *what);

/* Runs a kernel node on the calling thread (with payload: does nothing), or leaves it on this queue of the GPU, the
 * same for all: they share what they work in. Failures are logged with the node's name. [A]; on a GPU, one thread at a
 * time. */
tutti_status tutti_binding_execute(
    const tutti_binding *binding, int node, void *const buf[], void *queue);
/* Runs `count` of them, with the same results. buf[i]: those of nodes[i]. None of them writes what another one reads
 * or writes. Kernels of one row are started together where the row can (kernel.h). */
tutti_status tutti_binding_execute_many(const tutti_binding *binding, int count, const int nodes[],
    void *const *const buf[], void *queue);

#endif
