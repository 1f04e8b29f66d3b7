/* The local steps of a collective in device memory: a vtable in addition to the transport's
 * (transport.h). A transport with an arithmetic accepts messages in device memory, and the engine
 * combines them on the device, with the same schedules as in main memory.
 *
 * Threads: as its transport's, under the same lock. */
#ifndef TUTTI_ARITHMETIC_H
#define TUTTI_ARITHMETIC_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

#include <stddef.h>

typedef struct tutti_arithmetic tutti_arithmetic;
/* One step under way; its layout is the arithmetic's. */
typedef struct tutti_local_step tutti_local_step;

typedef enum tutti_local_kind {
    TUTTI_LOCAL_COPY,       /* dst[i] = src[i] */
    TUTTI_LOCAL_REDUCE,     /* dst[i] = dst[i] op src[i] */
    TUTTI_LOCAL_WIDEN,      /* a copy of elements to accumulators (tutti_coll_accumulator) */
    TUTTI_LOCAL_ACCUMULATE, /* dst[i] = dst[i] op src[i], of accumulators and elements */
    TUTTI_LOCAL_NARROW,     /* a copy of accumulators to elements */
} tutti_local_kind;

typedef struct tutti_local {
    tutti_local_kind kind;
    tutti_dtype dtype; /* of the elements */
    tutti_reduce_op op;
    void *dst;
    const void *src;
    int64_t count;
} tutti_local;

typedef struct tutti_arithmetic_ops {
    /* Makes the device the calling thread's, before a transport is given memory of it, or looks at messages of such
     * memory: a library that moves it may ask which device that is. A device that is lost is no error here, but one of
     * the steps: messages of main memory, which tell the other ranks of it, still travel. */
    void (*select)(tutti_arithmetic *a);
    int (*combines)(const tutti_arithmetic *a, tutti_dtype dtype, tutti_reduce_op op); /* [P] */
    /* Starts a step. Steps end in the order in which they started, wait for no other rank, and are not
     * cancelled. */
    tutti_status (*start)(tutti_arithmetic *a, const tutti_local *local, tutti_local_step **step);
    /* Whether the step has ended, also with a failure; then it is freed. */
    tutti_status (*test)(tutti_arithmetic *a, tutti_local_step *step, int *done);
    /* A pool of device memory for steps. give returns memory to the pool, and accepts NULL. prepare
     * adds memory to the pool, because the device cannot allocate while steps run. */
    tutti_status (*prepare)(tutti_arithmetic *a, size_t bytes);
    tutti_status (*take)(tutti_arithmetic *a, size_t bytes, void **memory);
    void (*give)(tutti_arithmetic *a, void *memory);
    /* Does not free memory that is still taken: it may be in use. */
    void (*close)(tutti_arithmetic *a);
} tutti_arithmetic_ops;

struct tutti_arithmetic {
    const tutti_arithmetic_ops *ops;
};

#endif
