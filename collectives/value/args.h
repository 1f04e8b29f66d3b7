/* One collective as a value: the types that all of collectives/ shares. Included by sched, transport and
 * buf. [P] */
#ifndef TUTTI_ARGS_H
#define TUTTI_ARGS_H

#include "collectives/value/op.h"
#include "dag/base/buffer.h"
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
    TUTTI_MESSAGE,
    TUTTI_COLL_KINDS
} tutti_coll_kind;

/* A program's own operator; equal on all ranks, except for the pointers. */
typedef struct tutti_user_op {
    const char *name;
    tutti_op_function function;
    void *ctx;
    int commutes; /* 0: ranks are combined in their order */
    int whole;    /* the function gets all elements of two operands at once, never a part of them */
} tutti_user_op;

/* The most extra vectors. */
enum { TUTTI_MOST_EXTRAS = 15 };

/* The arguments of a collective. Equal on all ranks, except for the pointers and the extra vectors
 * (and the counts of an ALLTOALL).
 *
 *   ALLREDUCE       send (count) -> recv (count) on every rank
 *   BROADCAST       recv (count) of root -> recv (count) of every rank; send is ignored
 *   REDUCE          send (count) -> recv (count) of root; elsewhere recv is scratch, but must
 *                   be given
 *   ALLGATHER       send (part r) of rank r -> part r of recv (all parts) of every rank
 *   REDUCE_SCATTER  send (count) -> recv (block r of the sum on rank r, see tutti_coll_block), at the
 *                   block's offset; recv has count elements, the others are scratch
 *   BARRIER         buffers, dtype, op and count are ignored
 *   GATHER          send (part r) of rank r -> part r of recv (all parts) of root; recv is ignored
 *                   elsewhere
 *   SCATTER         part r of send (all parts) of root -> recv (part r) of rank r; send is ignored
 *                   elsewhere
 *   ALLTOALL        part q of send (all parts) of rank r -> part r of recv (all parts) of rank q
 *   SCAN            send (count) of ranks 0 to r -> recv (count) of rank r
 *   MESSAGE         recv (count) of rank 0 -> recv (count) of rank 1, of two ranks (an edge,
 *                   members.h); send is ignored
 *
 * Parts lie one after the other in the order of ranks. Every part has `count` elements; or part r
 * has counts[r], and count is their sum. The counts of an ALLTOALL are those of send, then those of
 * recv, 2 P in all; its count is 0.
 *
 * Unless it is out_of_place, it works in place: send is NULL, and the input is in recv, which has
 * all parts if the kind has parts. ALLGATHER and GATHER: it is part r; SCATTER: it is all parts on
 * root, and rank r gets its own in part r. An ALLTOALL with counts is never in place. send and recv
 * do not overlap.
 *
 * A kind that reduces may take several vectors of a rank: extra vectors, of `count` elements each, which
 * are read only and overlap nothing. The rank's input is then ((input op extra[0]) op extra[1]), and so
 * on, in this order: the bits are those of combining the vectors first, unless operands are accumulated
 * (tutti_coll_accumulator). The number of extra vectors may differ between ranks; no other rank sees it.
 * Source: Mamidala, Kollias, Ward, Artico, "MXNET-MPI: Embedding MPI parallelism in Parameter Server
 * Task Model for scaling Deep Learning", arXiv:1801.03855 (tensor collectives). */
typedef struct tutti_coll_args {
    tutti_coll_kind kind;
    tutti_dtype dtype;
    tutti_reduce_op op;
    int root;
    int64_t count;
    int out_of_place; /* the input is in send */
    const void *send;
    void *recv;
    tutti_memory memory; /* of both buffers */
    int group; /* its ranks: a slot of the driver (designs/drive/driver.h); 0: all ranks */
    /* bits that identify it, for the tags of its messages: messages of collectives that differ here
     * do not match (if the transport has enough tags); 0: none */
    uint32_t identity;
    const tutti_user_op *user; /* a program's own operator, whose number is op; else NULL */
    const int64_t *counts;     /* NULL: every part has count elements */
    int extras;
    const void *extra[TUTTI_MOST_EXTRAS]; /* [extras], in the same memory */
} tutti_coll_args;

/* The properties of a kind of collective. */
typedef struct tutti_coll_trait {
    const char *name;
    int data, reduces, rooted;
    int parts; /* its buffers have a part for each rank */
    int sends; /* it may be out of place */
} tutti_coll_trait;

/* For a value that is not in the list: all 0 and "unknown". */
const tutti_coll_trait *tutti_coll_trait_of(tutti_coll_kind kind);

/* Block r of `count` elements divided among P ranks: contiguous, sizes differ by at most one,
 * larger ones first. */
void tutti_coll_block(int64_t count, int P, int r, int64_t *offset, int64_t *length);
/* The length of part r, and where it begins. */
int64_t tutti_coll_part(const int64_t *counts, int64_t count, int r, int64_t *offset);
/* Elements of this rank's send (0: not read, or in place) and recv (0: not touched). */
int64_t tutti_coll_send_count(const tutti_coll_args *args, int rank, int P);
int64_t tutti_coll_recv_count(const tutti_coll_args *args, int rank, int P);
/* Whether this rank has a recv, and a separate send, whatever their size. */
int tutti_coll_has_recv(const tutti_coll_args *args, int rank);
int tutti_coll_has_send(const tutti_coll_args *args, int rank);
/* Whether this rank's recv holds input. */
int tutti_coll_reads_recv(const tutti_coll_args *args, int rank);
/* How many counts there are: 0, P or 2 P. */
int tutti_coll_counts(const tutti_coll_args *args, int P);

/* "allreduce", "sum"; "unknown" for a value that is not in the list. */
const char *tutti_coll_kind_name(tutti_coll_kind kind);
const char *tutti_reduce_op_name(tutti_reduce_op op);
/* Whether an operator of the list takes a type (the table in op.h); 0 for unknown values. */
int tutti_reduce_op_takes(tutti_reduce_op op, tutti_dtype dtype);
/* The name of the operator, the program's own or one of the list. */
const char *tutti_coll_op_name(const tutti_coll_args *args);
/* Whether ranks may be combined in any order, not only in their own. */
int tutti_coll_commutes(const tutti_coll_args *args);
/* Whether its operands may not be cut into blocks, segments or chunks. */
int tutti_coll_is_whole(const tutti_coll_args *args);
/* The accumulator type: elements are combined in it before the result is rounded to their own type.
 * TUTTI_F32 for sums and products of TUTTI_BF16; else the elements' own type, because there is no wider
 * one, or because the operator is exact or the program's. */
tutti_dtype tutti_coll_accumulator(const tutti_coll_args *args);

/* Reads a node's descriptor: the arguments come first, without buffers, and their counts, if any, last. Returns the
 * arguments, with counts pointing into the descriptor. */
tutti_coll_args tutti_coll_desc_args(const void *desc, size_t bytes, int P);
/* Takes one more word into a hash that ranks compare. */
static inline uint64_t tutti_coll_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* A hash of the counts for ranks to compare: 0 without counts; 1 for an ALLTOALL, whose counts
 * differ between ranks. Below 2^63. */
uint64_t tutti_coll_counts_hash(const tutti_coll_args *args, int P);
/* A hash of the name and the properties of a program's own operator, for ranks to compare; 0 for built-in
 * operators and for kinds without one. Below 2^63. */
uint64_t tutti_coll_operator_hash(const tutti_coll_args *args);

#endif
