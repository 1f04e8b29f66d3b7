/* A training step as a value: tensors, and nodes that read and write them, in program order.
 *
 * Nothing here runs. A runner (dag/run/run.h) turns a section of the graph into tasks; edges
 * (dag/graph/edges.h) follow from program order and accesses by the rule StarPU applies. Nodes
 * refer to tensors, and callers to both, by small integers that stay valid for the graph's life.
 *
 *   net, step ---> graph ---> exchange (marks -> collective nodes) ---> design (places) ---> runner
 *
 * Ownership: the graph copies every name, descriptor and access it is given.
 * Threads: building is [M]; a finished graph may be read from any thread. */
#ifndef TUTTI_GRAPH_H
#define TUTTI_GRAPH_H

#include "dag/base/dtype.h"
#include "dag/base/status.h"
#include "dag/graph/shape.h"

#include <stdio.h>

typedef struct tutti_graph tutti_graph;
struct tutti_op; /* dag/kernels/kernel.h */

/* What a tensor is for. Parameters and state outlive a step; the rest is scratch within one. */
typedef enum tutti_role {
    /* written by the runner's feed before a section (images, labels, learning rate) */
    TUTTI_ROLE_INPUT,
    /* activations, gradients of activations, workspaces; copies of parameters */
    TUTTI_ROLE_SCRATCH,
    TUTTI_ROLE_GRADIENT,  /* gradient of a parameter */
    TUTTI_ROLE_PARAMETER, /* trained; hashed, saved and broadcast */
    TUTTI_ROLE_STATE,     /* kept and saved but not trained (momentum, running statistics) */
    TUTTI_ROLE_OUTPUT,    /* read by the runner's fetch after a section (loss) */
    TUTTI_ROLE_TOKEN,     /* carries order only; no elements */
} tutti_role;

typedef struct tutti_tensor {
    const char *name;
    tutti_role role;
    tutti_dtype dtype;
    tutti_shape shape;
    size_t bytes;
    /* Its place in memory: `offset` bytes into the block of tensor `block`, which has
     * `block_bytes`. A tensor that was not laid out with others is its own block. One that was joined to
     * others (tutti_graph_join) begins there in the first row; its rows are those of the block. */
    int block;
    size_t offset, block_bytes;
    /* Its elements that are this rank's own once a REDUCE_SCATTER has scattered them, `owns` from `first`
     * on, as the exchange says; of what is BROADCAST, all on the root and none elsewhere; those that are
     * left of it (tutti_graph_cut); else all. */
    int64_t first, owns;
    int urgent; /* what is fed is sent to another rank, which waits for it: before all other tasks */
} tutti_tensor;

/* CHAIN is for collective nodes and their tokens: links start one after the other, in program
 * order, and each passes the token on as soon as it has started. */
typedef enum tutti_mode {
    TUTTI_READ = 1,
    TUTTI_WRITE = 2,
    TUTTI_READWRITE = 3,
    TUTTI_CHAIN = 4
} tutti_mode;

typedef struct tutti_access {
    int tensor;
    tutti_mode mode;
} tutti_access;

/* What a mark asks for. The sums are in place, and so is every other result: ALLGATHER finds this
 * rank's block in its place in the tensor, and REDUCE_SCATTER leaves it there. Both number blocks as
 * tutti_coll_block does, the larger ones first, so that one after the other they are an ALLREDUCE.
 *
 *   ALLREDUCE       the tensor becomes the sum over the group
 *   REDUCE_SCATTER  this rank's block becomes the sum; the others are scratch afterwards. If an
 *                   ALLGATHER follows it, it may be scattered together with others, in one vector: which
 *                   elements are this rank's own is in the tensor once the exchange has been applied
 *   ALLGATHER       every block becomes that of the rank whose block it is
 *   REDUCE          on `root` the tensor becomes the sum; elsewhere it is scratch afterwards
 *   BROADCAST       the tensor becomes that of `root`
 *   SEND, RECV      a message to `peer`, and from `peer`, on the edge that bears this number */
typedef enum tutti_verb {
    TUTTI_MARK_ALLREDUCE,
    TUTTI_MARK_REDUCE_SCATTER,
    TUTTI_MARK_ALLGATHER,
    TUTTI_MARK_REDUCE,
    TUTTI_MARK_BROADCAST,
    TUTTI_MARK_SEND,
    TUTTI_MARK_RECV,
    TUTTI_MARK_VERBS
} tutti_verb;

/* The most vectors that a mark adds. */
enum { TUTTI_MARK_VECTORS = 16 };

/* An intent: what is to become of a tensor here, and among which ranks. The type on the wire is the
 * tensor's: to send another one, mark a tensor of that type that a kernel has written. Zeroes are
 * ALLREDUCE over all ranks. */
typedef struct tutti_mark {
    tutti_verb verb;
    int tensor;
    int group;    /* as the exchange numbers it; 0: all ranks. Not of SEND and RECV */
    int root;     /* of REDUCE and BROADCAST: a rank, as the group numbers it */
    int peer;     /* of SEND and RECV: the other rank, as all ranks are numbered */
    int edge;     /* of SEND and RECV: from 0; each is a lane of its own from one rank to another */
    int priority; /* of the collective's place */
    /* Of ALLGATHER: 1 + the number of a REDUCE_SCATTER mark before it in its section and group, of a
     * tensor with as many elements, whose blocks it has: what was computed of this rank's block of the
     * sum is gathered. 0: none */
    int follows;
    /* Of ALLGATHER: the tensor has a row for each rank of the group, which is its block, and may be joined
     * to others (tutti_graph_join). 0: no */
    int rows;
    /* Of ALLREDUCE and REDUCE_SCATTER: instead of its own elements, the tensor becomes the sum of these
     * tensors' over the group, ((vector[0] + vector[1]) + vector[2]) and so on on each rank, then over the
     * ranks: the bits of a kernel that adds them before the mark. They have its type and as many elements, and
     * stay as they are. Nothing is computed where no other rank is in the group: there such a mark is
     * INVAL. 0: none, and the sum is in place */
    int vectors;
    int vector[TUTTI_MARK_VECTORS];
} tutti_mark;

typedef enum tutti_node_kind {
    TUTTI_NODE_KERNEL, /* computes op; desc is its descriptor struct */
    /* "sum these tensors over all ranks here", or another intent. Accesses to one tensor, then to its vectors; or
     * to the tensors of a bucket, which lie in one block, each followed by its vectors, the n-th of which lie in
     * one block, too; desc is empty */
    TUTTI_NODE_MARK,
    /* what an exchange has made of a mark, or what a program has inserted; desc is its
     * tutti_coll_args without buffers (collectives/value/args.h) */
    TUTTI_NODE_COLLECTIVE,
    TUTTI_NODE_ABSORBED, /* a mark whose tensor a later mark has taken over; nothing to run */
} tutti_node_kind;

/* Where a design has put a collective node. lane -1: not placed. */
typedef struct tutti_place {
    int lane;      /* communicator */
    int64_t index; /* among its section's collectives of its group, from 0, in program order */
    int holds;     /* the starting worker waits for its end (designs/naive.c) */
    int chunks;    /* it is cut into this many collectives (designs/passes/chunk.h); 0: 1 */
    int lanes;     /* the chunks take this many lanes in turn, from `lane` on; 0: 1 */
    /* collectives of its section, chunks counted, where ranks may agree on another order
     * (designs/exchange/order.h); 0: they do not */
    int slots;
    /* Among the collectives that wait to start, larger goes first (designs/drive/driver_grant.c).
     * 0: program order. The same on every rank */
    int priority;
} tutti_place;

typedef struct tutti_node {
    const char *name;
    tutti_node_kind kind;
    const struct tutti_op *op; /* of a kernel; borrowed, and only its address matters here */
    const void *desc;
    size_t desc_bytes;
    int accesses;
    /* Kernels get their buffers in this order. Where an op has a fixed number of buffers, accesses
     * behind them only order the node. */
    const tutti_access *access;
    int section;
    int priority; /* larger first among ready nodes; 0 by default */
    tutti_mark
        mark; /* of a mark; in a bucket, of its last tensor, which has as many vectors as the others */
    /* Of a collective, whose descriptor names it too: whose ranks take part (0: all), and whether
     * that is an edge, which has one lane. */
    int group, edge;
    tutti_place place;
} tutti_node;

/* Whether a runner has to run it. [P] */
static inline int tutti_node_runs(const tutti_node *node)
{
    return node->kind == TUTTI_NODE_KERNEL || node->kind == TUTTI_NODE_COLLECTIVE;
}

tutti_status tutti_graph_new(tutti_graph **graph);
void tutti_graph_free(tutti_graph *graph);

/* Adds a tensor. Names are unique (INVAL otherwise). NOMEM, INVAL on a bad shape. */
tutti_status tutti_graph_tensor(tutti_graph *graph, const char *name, tutti_role role,
    tutti_dtype dtype, tutti_shape shape, int *tensor);

/* Begins a section ("train", "eval"): nodes added from here on belong to it. A runner submits one
 * section at a time. Section 0 begins implicitly when the first node is added without one. */
tutti_status tutti_graph_section(tutti_graph *graph, const char *name, int *section);

/* Appends a kernel node. desc (desc_bytes) is copied. Accesses name each tensor at most once. */
tutti_status tutti_graph_kernel(tutti_graph *graph, const char *name, const struct tutti_op *op,
    const void *desc, size_t desc_bytes, int accesses, const tutti_access access[], int *node);

/* Appends a mark (copied). INVAL: no such verb or tensor; a number below 0; vectors of another type or
 * size, or of a verb that adds none. */
tutti_status tutti_graph_mark(tutti_graph *graph, const tutti_mark *mark, int *node);

/* Fuses marks: the last mark in program order takes over the tensors of the others. The tensors are
 * laid out one after the other, in the order given, in one block of memory, each at a multiple of 64
 * bytes or, if that is less, of 16 elements, so that gaps in a type of half the size are half as long;
 * the gaps are zero and unused. Their vectors are laid out in the same way: the first of all in a block, the second in
 * another. INVAL: not different marks of one section; marks that are not all
 * ALLREDUCE, REDUCE_SCATTER, ALLGATHER, or REDUCE or BROADCAST with one root, of one group;
 * different element types, or numbers of vectors; a tensor or vector that is already laid out with
 * others; a node in between that uses one of them after its mark. */
tutti_status tutti_graph_fuse(tutti_graph *graph, int count, const int mark[]);

/* Joins marks of tensors that have a row for each rank (tutti_mark.rows): the first tensor gets the columns of
 * all, side by side in the order given, and nodes that name another one name it instead, so that each
 * rank's block is one piece. Who writes or reads some of the columns finds in the tensors where they are.
 * INVAL: as tutti_graph_fuse; marks without rows, or with other numbers of them; a node that names two of
 * the tensors. */
tutti_status tutti_graph_join(tutti_graph *graph, int count, const int mark[]);

/* Turns a mark into a collective node with this descriptor (copied). INVAL: the node is not a
 * mark. */
tutti_status tutti_graph_set_collective(
    tutti_graph *graph, int node, const void *desc, size_t desc_bytes);

/* Says which elements of a tensor are this rank's own. INVAL: no such tensor, or not among its
 * elements. */
tutti_status tutti_graph_set_own(tutti_graph *graph, int tensor, int64_t first, int64_t owns);
/* Makes the feeds of a tensor urgent. */
void tutti_graph_set_urgent(tutti_graph *graph, int tensor);
/* Another descriptor of the same size for a kernel node (copied). INVAL: not a kernel, another size. */
tutti_status tutti_graph_set_desc(
    tutti_graph *graph, int node, const void *desc, size_t desc_bytes);
/* Leaves of a tensor only these elements, which then lie at its beginning; where there are none, one
 * that nothing uses. INVAL: not among its elements; it is laid out with others, or a mark or collective
 * names it. */
tutti_status tutti_graph_cut(tutti_graph *graph, int tensor, int64_t first, int64_t owns);
/* Says whose ranks take part in a collective node. */
tutti_status tutti_graph_set_group(tutti_graph *graph, int node, int group, int edge);
/* The collective before this node in its section and group, or -1. [P] */
int tutti_graph_previous(const tutti_graph *graph, int node);

/* Sets a node's place; adds an access to a node (a chain's token). */
tutti_status tutti_graph_set_place(tutti_graph *graph, int node, tutti_place place);
tutti_status tutti_graph_add_access(tutti_graph *graph, int node, tutti_access access);
void tutti_graph_set_priority(tutti_graph *graph, int node, int priority);

int tutti_graph_tensors(const tutti_graph *graph);
int tutti_graph_nodes(const tutti_graph *graph);
int tutti_graph_sections(const tutti_graph *graph);
/* Borrowed until the next call that adds to the graph. The index must be in range. */
const tutti_tensor *tutti_graph_get_tensor(const tutti_graph *graph, int tensor);
const tutti_node *tutti_graph_get_node(const tutti_graph *graph, int node);
const char *tutti_graph_section_name(const tutti_graph *graph, int section);
/* The tensor of that name, or -1. */
int tutti_graph_find(const tutti_graph *graph, const char *name);

/* The bytes that a node moves if it reads each tensor that it reads once, and writes each that it
 * writes once. [P] */
int64_t tutti_graph_node_bytes(const tutti_graph *graph, int node);

/* "allreduce", "send"; "unknown" for another value. [P] */
const char *tutti_verb_name(tutti_verb verb);

#endif
