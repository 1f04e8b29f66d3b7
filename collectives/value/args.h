/* One collective as a value: the words that all of collectives/ shares. Below sched, transport and
 * buf. [P] */
#ifndef TUTTI_ARGS_H
#define TUTTI_ARGS_H

#include "collectives/value/op.h"
#include "dag/base/dtype.h"

#include <stddef.h>
#include <stdint.h>

typedef enum tutti_coll_kind {
    TUTTI_ALLREDUCE,
    TUTTI_BROADCAST,
    TUTTI_REDUCE,
    TUTTI_ALLGATHER,
    TUTTI_REDUCE_SCATTER,
    TUTTI_BARRIER,
    TUTTI_GATHER,
    TUTTI_SCATTER,
    TUTTI_ALLTOALL,
    TUTTI_SCAN,
    TUTTI_COLL_KINDS
} tutti_coll_kind;

/* A program's own operator; the same on every rank but for the pointers. */
typedef struct tutti_user_op {
    const char *name;
    tutti_op_function function;
    void *ctx;
    int commutes; /* 0: ranks are combined in their order */
} tutti_user_op;

/* Equal on all ranks but for the pointers (and the counts of an ALLTOALL).
 *
 *   ALLREDUCE       send (count) -> recv (count) on every rank
 *   BROADCAST       recv (count) of root -> recv (count) of every rank; send is ignored
 *   REDUCE          send (count) -> recv (count) of root; recv is scratch elsewhere, and is
 *                   given everywhere
 *   ALLGATHER       send (part r) of rank r -> part r of recv (all parts) of every rank
 *   REDUCE_SCATTER  send (count) -> recv (block r of the sum), blocks as tutti_coll_block says,
 *                   each at its own offset; recv has count elements, the others being scratch
 *   BARRIER         buffers, dtype, op and count are ignored
 *   GATHER          send (part r) of rank r -> part r of recv (all parts) of root; recv is ignored
 *                   elsewhere
 *   SCATTER         part r of send (all parts) of root -> recv (part r) of rank r; send is not read
 *                   elsewhere, but is not NULL either
 *   ALLTOALL        part q of send (all parts) of rank r -> part r of recv (all parts) of rank q
 *   SCAN            send (count) of ranks 0 to r -> recv (count) of rank r
 *
 * Parts lie one after the other in the order of ranks. All have `count` elements; or counts[r], and
 * count is their sum. The counts of an ALLTOALL are those of send, then those of recv, 2 P in all;
 * its count is 0.
 *
 * send NULL means in place: the input is in recv, which has all parts where there are any. ALLGATHER
 * and GATHER: it is part r; SCATTER: it is all parts of root, and rank r finds its own in part r. An
 * ALLTOALL with counts is never in place. send and recv do not overlap. */
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
    const tutti_user_op *user; /* a program's own operator, of which op is the number; else NULL */
    const int64_t *counts;     /* NULL: every part has count elements */
} tutti_coll_args;

/* What a kind of collective has beyond a name. */
typedef struct tutti_coll_trait {
    const char *name;
    int data, reduces, rooted;
    int parts; /* its buffers have a part for each rank */
    int sends; /* it may be out of place */
} tutti_coll_trait;

/* For a value that is not in the list: all 0, "unknown". */
const tutti_coll_trait *tutti_coll_trait_of(tutti_coll_kind kind);

/* Block r of `count` elements dealt to P ranks: contiguous, sizes differ by at most one, larger
 * ones first. */
void tutti_coll_block(int64_t count, int P, int r, int64_t *offset, int64_t *length);
/* The length of part r, and where it begins. */
int64_t tutti_coll_part(const int64_t *counts, int64_t count, int r, int64_t *offset);
/* Elements of this rank's send (0: not read, or in place) and recv (0: not touched). */
int64_t tutti_coll_send_count(const tutti_coll_args *args, int rank, int P);
int64_t tutti_coll_recv_count(const tutti_coll_args *args, int rank, int P);
/* Whether this rank has a recv, and a send of its own, however many elements. */
int tutti_coll_has_recv(const tutti_coll_args *args, int rank);
int tutti_coll_has_send(const tutti_coll_args *args, int rank);
/* How many counts there are: 0, P or 2 P. */
int tutti_coll_counts(const tutti_coll_args *args, int P);

/* "allreduce", "sum"; "unknown" for a value that is not in the list. */
const char *tutti_coll_kind_name(tutti_coll_kind kind);
const char *tutti_reduce_op_name(tutti_reduce_op op);
/* Whether an operator of the list goes with a type (the table in op.h); 0 for unknown values. */
int tutti_reduce_op_takes(tutti_reduce_op op, tutti_dtype dtype);
/* The operator's name, a program's own one or one of the list. */
const char *tutti_coll_op_name(const tutti_coll_args *args);
/* Whether ranks may be combined in any order; else in their own. */
int tutti_coll_commutes(const tutti_coll_args *args);

/* The send of a descriptor whose node is out of place: the address is all that counts. */
extern const char tutti_coll_apart;
/* A collective as a node's descriptor: the arguments come first, and their counts, where there are any,
 * last. The arguments of such a one, with counts pointing into it. */
tutti_coll_args tutti_coll_desc_args(const void *desc, size_t bytes, int P);
/* What ranks can compare of the counts: 0 without, 1 of an ALLTOALL, where every rank has its own. Below
 * 2^63. */
uint64_t tutti_coll_counts_hash(const tutti_coll_args *args, int P);

#endif
