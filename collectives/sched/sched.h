/* A schedule: what one rank does in one collective, as a value.
 *
 * A schedule is an array of steps in program order: send, recv, reduce, copy, on ranges (in
 * elements) of five spaces: IN (the caller's send buffer, read only), EXTRA (its extra vectors, one
 * after the other, read only), OUT (the caller's recv buffer), SCRATCH and WIDE. A range lies within one
 * extra vector. Dependencies follow from program order and ranges, as in a task graph: a step waits for
 * the end of every earlier step whose range overlaps its own, if one of the two writes. Steps that do
 * not wait for each other may run in any order, or concurrently.
 *
 * WIDE holds accumulators: scratch memory of a type that is wider than the elements
 * (tutti_coll_accumulator). A copy to it widens, a reduce into it does not round, and a copy from
 * it rounds. Every other reduce rounds. Messages are in the elements' type: none is sent from WIDE
 * or received there.
 *
 * Messages are matched by order alone: the k-th send of r to q matches the k-th recv of q from r in
 * program order. Therefore a send (recv) starts only after the previous one to (from) the same peer has
 * started.
 *
 * Builders (ring.h, doubling.h, tree.h, rsag.h, barrier.h, direct.h, scan.h, forest.h,
 * scatter_ring.h, hierarchical.h) turn a shape into a
 * schedule; price.h prices the schedules of all ranks, match.h proves them, tests/support/sched_print.h draws them;
 * collectives/engine.h runs one.
 *
 * Ownership: a schedule owns its arrays; const once finished, and then safe to read from any
 * thread. [P] */
#ifndef TUTTI_SCHED_H
#define TUTTI_SCHED_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

typedef enum tutti_space {
    TUTTI_SPACE_IN,
    TUTTI_SPACE_EXTRA,
    TUTTI_SPACE_OUT,
    TUTTI_SPACE_SCRATCH,
    TUTTI_SPACE_WIDE,
    TUTTI_SPACES
} tutti_space;

/* A place in a space, in elements. */
typedef struct tutti_spot {
    tutti_space space : 8;
    int64_t offset : 56;
} tutti_spot;

static inline tutti_spot tutti_in(int64_t offset)
{
    return (tutti_spot){TUTTI_SPACE_IN, offset};
}

/* Extra vector k begins at k * count. */
static inline tutti_spot tutti_extra(int64_t offset)
{
    return (tutti_spot){TUTTI_SPACE_EXTRA, offset};
}

static inline tutti_spot tutti_out(int64_t offset)
{
    return (tutti_spot){TUTTI_SPACE_OUT, offset};
}

static inline tutti_spot tutti_scratch(int64_t offset)
{
    return (tutti_spot){TUTTI_SPACE_SCRATCH, offset};
}

static inline tutti_spot tutti_wide(int64_t offset)
{
    return (tutti_spot){TUTTI_SPACE_WIDE, offset};
}

typedef enum tutti_step_kind {
    TUTTI_STEP_SEND, /* src -> peer */
    TUTTI_STEP_RECV, /* peer -> dst */
    /* dst = dst op src, or src op dst when src_first; in WIDE, dst = dst op src. src is not in
     * WIDE */
    TUTTI_STEP_REDUCE,
    TUTTI_STEP_COPY, /* dst = src */
} tutti_step_kind;

/* What the engine needs of a step is in one line of the cache: a rank of many has long schedules. */
typedef struct tutti_sched_step {
    tutti_step_kind kind : 8;
    unsigned src_first : 8; /* REDUCE */
    int peer;               /* SEND, RECV */
    int64_t count;          /* elements; > 0, or 0 for messages */
    tutti_spot src, dst;
    /* Of a schedule that has ended; drafts leave them 0. */
    int waits;   /* how many steps must have ended, or started, before this one starts */
    int next;    /* the send (recv) to the same peer that may start once this one has; or -1 */
    int channel; /* a send's or recv's, or -1 */
    int first;   /* after[first ... first of the next step) wait for the end of this one */
} tutti_sched_step;

/* The sends to a peer, or the recvs from it. */
typedef struct tutti_sched_channel {
    int first, length; /* the first one, and how many there are */
} tutti_sched_channel;

/* Spanning trees of all ranks (forest.h). */
typedef struct tutti_forest tutti_forest;

/* What a builder has to build. */
typedef struct tutti_sched_shape {
    tutti_coll_kind kind;
    int rank, P, root;
    int64_t count; /* as in tutti_coll_args */
    /* largest message in elements where the algorithm pipelines; 0: whole blocks */
    int64_t segment;
    int in_place; /* the input is in OUT */
    int extras;   /* vectors to combine with it; ranks may differ in it */
    int ordered;  /* ranks are combined in their order */
    /* more than 0: uses WIDE, with at most this many roundings between an input and a result, one for each level of a
     * hierarchy. With extra vectors, one more: the sum of a rank's own vectors */
    int wide;
    int radix; /* of trees: children of a rank, or ranks of a chain; 0: the least */
    const tutti_forest *forest; /* for tutti_sched_forest; outlives the schedule */
    const int *host; /* [P] a number that the ranks of one machine share; outlives the schedule. NULL: all are on one */
    const int64_t *counts; /* as in tutti_coll_args; a schedule keeps a copy */
} tutti_sched_shape;

typedef struct tutti_sched {
    tutti_sched_shape shape;
    /* elements of each space */
    int64_t in_count, extra_count, out_count, scratch_count, wide_count;
    int64_t *counts; /* the shape's, or NULL */
    int n, locals;   /* steps; those of them that are no messages */
    tutti_sched_step *step; /* [n+1]: the last has only `first` */
    int *after;
    int channels; /* pairs (peer, direction) */
    tutti_sched_channel *channel;
} tutti_sched;

typedef tutti_status (*tutti_sched_builder)(const tutti_sched_shape *shape, tutti_sched **sched);

void tutti_sched_free(tutti_sched *sched); /* accepts NULL */

/* ---- for builders ---- */

typedef struct tutti_sched_draft tutti_sched_draft;

/* Begins a draft. The shape's kind determines the sizes of IN and OUT. NOMEM. */
tutti_status tutti_sched_begin(const tutti_sched_shape *shape, tutti_sched_draft **draft);
/* Append a step, or nothing for a count of 0. tutti_sched_end returns failures. */
void tutti_sched_send(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count);
void tutti_sched_recv(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count);
void tutti_sched_reduce(
    tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count, int src_first);
void tutti_sched_copy(tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count);
/* As send and recv, but a count of 0 appends an empty message, whose length the other side checks. */
void tutti_sched_send_checked(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count);
void tutti_sched_recv_checked(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count);
/* Copies this rank's input, all of IN, to OUT at `offset`, in segments; nothing when in place. With
 * extra vectors, each segment is then combined with the same segment of each. */
void tutti_sched_take_input(tutti_sched_draft *draft, int64_t offset);
/* For a kind that reduces: the same for one segment, `count` elements from `at` on. A builder appends it
 * shortly before the elements are first used. Then a message waits only for the elements that it carries,
 * and the next segments are combined while it travels. */
void tutti_sched_take(tutti_sched_draft *draft, int64_t at, int64_t count);
/* The same in the accumulator `sum`, so that it is rounded once. */
void tutti_sched_take_wide(tutti_sched_draft *draft, tutti_spot sum, int64_t at, int64_t count);
/* Copy, send or receive `count` elements in segments. */
void tutti_sched_copy_segments(
    tutti_sched_draft *draft, tutti_spot dst, tutti_spot src, int64_t count);
void tutti_sched_send_segments(tutti_sched_draft *draft, int peer, tutti_spot src, int64_t count);
void tutti_sched_recv_segments(tutti_sched_draft *draft, int peer, tutti_spot dst, int64_t count);
/* Part r of the shape (of IN and OUT with all parts, except an alltoall's OUT). */
int64_t tutti_sched_part(const tutti_sched_shape *shape, int r, int64_t *offset);
/* Ends the draft (freed in any case): derives the dependencies and sizes the scratch space.
 * NOMEM. */
tutti_status tutti_sched_end(tutti_sched_draft *draft, tutti_sched **sched);

/* The number of segments of `length` elements, and the length and offset of segment g. `segment` 0: a single one. */
int64_t tutti_sched_segments(int64_t length, int64_t segment);
int64_t tutti_sched_segment(int64_t length, int64_t segment, int64_t g, int64_t *offset);

#endif
