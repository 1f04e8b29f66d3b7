/* A graph bound to memory and kernels: what every runner needs before it can run a node. [M] */
#ifndef TUTTI_BINDING_H
#define TUTTI_BINDING_H

#include "dag/graph/graph.h"
#include "dag/kernels/kernel.h"
#include "dag/run/meter.h"

typedef struct tutti_binding {
    const tutti_graph *graph; /* borrowed */
    int tensors, nodes;
    void **memory;               /* where each tensor begins, aligned to 64 bytes; initially zero */
    const tutti_kernel **kernel; /* one per node; NULL for marks and collectives */
    void **args;                 /* what the kernel's open returned */
    int widest;                  /* most accesses of any node */
} tutti_binding;

/* Allocates every tensor and opens every kernel. Errors name the tensor or node. */
tutti_status tutti_binding_open(const tutti_graph *graph, tutti_binding *binding);
void tutti_binding_close(tutti_binding *binding);

/* INVAL (logged; `what` is "feed" or "fetch") unless the tensor has this many bytes. */
tutti_status tutti_binding_check(
    const tutti_binding *binding, int tensor, size_t bytes, const char *what);

/* Runs a kernel node on the calling thread; failures are logged with the node's name. [A] */
tutti_status tutti_binding_execute(
    const tutti_binding *binding, int node, void *const buf[], tutti_meter *meter);

#endif
