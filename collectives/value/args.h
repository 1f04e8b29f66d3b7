/* One collective as a value: the words that all of collectives/ shares. Below sched, transport and
 * buf. [P] */
#ifndef TUTTI_ARGS_H
#define TUTTI_ARGS_H

#include "collectives/value/op.h"
#include "dag/base/dtype.h"

#include <stdint.h>

typedef enum tutti_coll_kind {
    TUTTI_ALLREDUCE,
    TUTTI_BROADCAST,
    TUTTI_REDUCE,
    TUTTI_ALLGATHER,
    TUTTI_REDUCE_SCATTER,
    TUTTI_BARRIER,
    TUTTI_COLL_KINDS
} tutti_coll_kind;

/* Equal on all ranks but for the pointers.
 *
 *   ALLREDUCE       send (count) -> recv (count) on every rank
 *   BROADCAST       recv (count) of root -> recv (count) of every rank; send is ignored
 *   REDUCE          send (count) -> recv (count) of root; recv is scratch elsewhere, and is
 *                   given everywhere
 *   ALLGATHER       send (count) of rank r -> recv[r*count ...] of every rank; recv has P*count
 *                   elements
 *   REDUCE_SCATTER  send (count) -> recv (block r of the sum), blocks as tutti_coll_block says,
 *                   each at its own offset; recv has count elements, the others being scratch
 *   BARRIER         buffers, dtype, op and count are ignored
 *
 * send NULL means in place: the input is in recv (ALLGATHER: at recv[rank*count]). send and recv
 * do not overlap. */
typedef struct tutti_coll_args {
    tutti_coll_kind kind;
    tutti_dtype dtype;
    tutti_reduce_op op;
    int root;
    int64_t count;
    const void *send;
    void *recv;
    uint32_t
        identity; /* bits of what it is, for the tags of its messages: those of collectives that
                          differ here do not meet (as far as the transport has tags for it). 0: none */
} tutti_coll_args;

/* Block r of `count` elements dealt to P ranks: contiguous, sizes differ by at most one, larger
 * ones first. */
void tutti_coll_block(int64_t count, int P, int r, int64_t *offset, int64_t *length);

/* "allreduce", "sum"; "unknown" for a value that is none. */
const char *tutti_coll_kind_name(tutti_coll_kind kind);
const char *tutti_reduce_op_name(tutti_reduce_op op);

#endif
