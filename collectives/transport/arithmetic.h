/* What happens between the messages of a collective in the memory of a device: a vtable beside that
 * of the carrier of messages (transport.h). A transport that has one may be given messages of such
 * memory, and the engine combines there what they bring, by the schedules of main memory.
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
    int (*combines)(const tutti_arithmetic *a, tutti_dtype dtype, tutti_reduce_op op); /* [P] */
    /* Starts a step. Steps end in this order, wait for no other rank, and are not cancelled. */
    tutti_status (*start)(tutti_arithmetic *a, const tutti_local *local, tutti_local_step **step);
    /* Whether the step has ended, also by a failure; then it is freed. */
    tutti_status (*test)(tutti_arithmetic *a, tutti_local_step *step, int *done);
    /* Memory of the device for steps, kept for the next who takes some. give accepts NULL. prepare
     * adds some that take then finds: the device gives none while steps run. */
    tutti_status (*prepare)(tutti_arithmetic *a, size_t bytes);
    tutti_status (*take)(tutti_arithmetic *a, size_t bytes, void **memory);
    void (*give)(tutti_arithmetic *a, void *memory);
    /* What has been taken is left, since it may still be in use. */
    void (*close)(tutti_arithmetic *a);
} tutti_arithmetic_ops;

struct tutti_arithmetic {
    const tutti_arithmetic_ops *ops;
};

#endif
