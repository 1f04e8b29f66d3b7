/* Nonblocking collectives on the lanes of a communicator.
 *
 * A comm is one rank's end of K lanes over a transport. Each lane is a separate communicator: all
 * ranks must post the same collectives in the same order on a lane (the ordering law in
 * designs/design.h); lanes are independent. The number of collectives in flight on one lane is bounded
 * by `depth`, counted from the oldest that has not ended.
 *
 *   post -> { progress }* until done -> free
 *
 * Threads: a comm is not locked: one thread at a time may call any of these on it. Nothing here
 * blocks except tutti_coll_wait. Buffers belong to the caller, which must not touch them between post
 * and done. */
#ifndef TUTTI_COLL_H
#define TUTTI_COLL_H

#include "collectives/value/args.h"
#include "dag/base/status.h"

#include <pthread.h>

typedef struct tutti_comm tutti_comm;
typedef struct tutti_rules tutti_rules;         /* collectives/rules.h */
typedef struct tutti_topology tutti_topology;   /* collectives/links/topology.h */
typedef struct tutti_transport tutti_transport; /* collectives/transport/transport.h */
typedef struct tutti_transport_counts tutti_transport_counts;
typedef struct tutti_coll_request tutti_coll_request;

typedef struct tutti_comm_options {
    /* "auto" (NULL), "ring", "recursive-doubling", "tree", "rsag", "direct", "forest:FILE", "mpi": see
     * collectives/choose.h */
    const char *algorithm;
    const tutti_rules *rules; /* of "rules:FILE" (collectives/rules.h); borrowed */
    const tutti_topology
        *topology; /* the links of the run, for "priced"; NULL: not known; borrowed */
    const int *of; /* [size] the topology's ranks; NULL: from 0 on; copied */
    /* the transport's first lanes, which the comm uses; 0: all. The others may be used on the same
     * thread */
    int lanes;
    /* a lane that edges and groups of two share, which may carry messages that no part here receives: a drain sweeps
     * it, too; 0: none */
    int aside;
    /* of a lane: the n-th collective may be posted once the (n - depth)-th and all before it have ended
     * on this rank; 0: TUTTI_COMM_DEPTH. Reduced where the transport has few tags */
    int depth;
    /* the limit of a collective's messages under way at once to one rank, and of those from one rank;
     * 0: TUTTI_COMM_CREDIT. It may differ between ranks */
    int credit;
} tutti_comm_options;

/* MPI cannot take an unlimited number of messages: Open MPI 5.0 stalls with 512 large ones between
 * ranks of a host that cannot read each other's memory. */
enum { TUTTI_COMM_DEPTH = 64, TUTTI_COMM_CREDIT = 32 };

/* Takes ownership of the transport, which is closed with the comm, and also on failure. USAGE,
 * listing the known algorithms, for an unknown name; what is wrong in the file of a forest. INVAL: "priced" without a
 * topology. */
tutti_status tutti_comm_new(
    tutti_transport *transport, const tutti_comm_options *options, tutti_comm **comm);
/* All requests must have been freed; the memory of messages that a drain could not end is not freed.
 * Accepts NULL. */
void tutti_comm_free(tutti_comm *comm);
/* After a failure, when messages may be under way that no rank will receive. Free must still be called;
 * it then releases less. */
void tutti_comm_abandon(tutti_comm *comm);
/* After a failure, called repeatedly on all ranks: nothing starts any more, unmatched messages are
 * cancelled, and messages that other ranks still send are received, so that they end. Returns whether
 * nothing of this rank is in flight any more: then no buffer is touched again. A collective of the
 * algorithm "mpi" cannot be cancelled: it ends once all ranks have started it. A rank must continue to
 * call this while other ranks need it for their messages to end. */
int tutti_comm_drain(tutti_comm *comm);
int tutti_comm_rank(const tutti_comm *comm);
int tutti_comm_size(const tutti_comm *comm);
int tutti_comm_lanes(const tutti_comm *comm);
/* The transport's lock (tutti_transport.lock), or NULL. */
pthread_mutex_t *tutti_comm_lock(const tutti_comm *comm);
/* Whether its lanes share device slots (collectives/transport/transport.h). */
int tutti_comm_shares_slots(const tutti_comm *comm);
/* Whether edges take no device slots, although lanes share them. */
int tutti_comm_edges_aside(const tutti_comm *comm);
/* Whether its transport has broken its connections (tutti_transport.severed). [A] */
int tutti_comm_is_severed(const tutti_comm *comm);
/* How many collectives have been posted on a lane: the number of the next one. */
int64_t tutti_comm_posted(const tutti_comm *comm, int lane);
/* Whether messages of this collective have tags, so that it cannot be mixed with one that differs on another rank.
 * [P] */
int tutti_comm_tags_messages(const tutti_comm *comm, const tutti_coll_args *args);
/* Whether the lane's depth allows another post now. Progress makes room. */
int tutti_comm_has_room(const tutti_comm *comm, int lane);

/* This rank's local work so far. */
typedef struct tutti_coll_work {
    int64_t copies, copied_bytes;      /* from one buffer to another */
    int64_t reductions, reduced_bytes; /* dst = dst op src; bytes of src */
    int64_t allocations;               /* of memory for received elements; it is used again */
} tutti_coll_work;
tutti_coll_work tutti_comm_work(const tutti_comm *comm);

/* Memory for the buffers of collectives that other ranks can write to, at a multiple of 64 bytes. Give it back before
 * the comm is freed. NULL: there is none, and other memory does as well. Any thread. */
void *tutti_comm_take_memory(tutti_comm *comm, size_t bytes);
void tutti_comm_give_memory(tutti_comm *comm, void *memory);
/* Where the other rank receives this message, which will be the number-th collective on its lane: it may be written
 * there until wrote, before it is posted (collectives/transport/transport.h). NULL: it is posted as others are. */
int tutti_comm_can_claim(
    const tutti_comm *comm, const tutti_coll_args *args); /* ever; any thread */
void *tutti_comm_claim(tutti_comm *comm, int lane, int64_t number, const tutti_coll_args *args);
void tutti_comm_wrote(tutti_comm *comm, int lane, int64_t number, const tutti_coll_args *args);
/* Sleeps until messages may move, or tutti_comm_wake is called, at most timeout_s. Returns 0 if it did not sleep,
 * because something may move, or its transport can only be tested again. lock: what protects the comm; it is taken to
 * look, and not held asleep. */
int tutti_comm_wait(tutti_comm *comm, pthread_mutex_t *lock, double timeout_s);
void tutti_comm_wake(tutti_comm *comm); /* any thread */
/* Its transport, to look at. */
const tutti_transport *tutti_comm_transport(const tutti_comm *comm);
/* What its transport has received so far, by all that use that. Zeroes: it does not count. */
void tutti_comm_count(tutti_comm *comm, tutti_transport_counts *counts);

/* Before the first step: allocates the device memory that a collective like this one needs, in addition to that of
 * earlier calls, with which it will be in flight. recv is ignored, and so is send except for whether it is NULL.
 * *bytes: how much was allocated; 0: none is needed, or the collective is the library's own. NOMEM (logged). */
tutti_status tutti_comm_prepare(tutti_comm *comm, const tutti_coll_args *args, size_t *bytes);
/* Starts a collective on a lane; its first messages are under way when this returns. INVAL: bad
 * lane, kind, count < 0, root; a lane that has no room. UNSUPPORTED: a size that the transport
 * cannot carry, or a type or operator that the algorithm "mpi" does not know (the log says
 * which). */
tutti_status tutti_coll_post(
    tutti_comm *comm, int lane, const tutti_coll_args *args, tutti_coll_request **request);
/* Advances everything in flight on every lane as far as possible now. *moved: whether anything
 * advanced. */
tutti_status tutti_coll_progress(tutti_comm *comm, int *moved);
/* Those that the last progress has advanced or ended, in its order, until the next one; NULL: no more. One that was
 * freed has no next. */
tutti_coll_request *tutti_coll_first_moved(const tutti_comm *comm);
tutti_coll_request *tutti_coll_next_moved(const tutti_coll_request *request);
/* The caller's number for it; 0 before. */
void tutti_coll_set_label(tutti_coll_request *request, int64_t label);
int64_t tutti_coll_label(const tutti_coll_request *request);
/* Whether it has ended on this rank (does not call progress). */
int tutti_coll_done(const tutti_coll_request *request);
/* How often progress has advanced it so far: while this stays the same, it is stalled. */
int64_t tutti_coll_moves(const tutti_coll_request *request);
/* Calls progress until the request is done, sleeping in growing steps; TIMEOUT (logged) after
 * timeout_s. */
tutti_status tutti_coll_wait(tutti_comm *comm, tutti_coll_request *request, double timeout_s);
/* Frees a request that is done, or abandons one that is not, after a failure. Accepts NULL. */
void tutti_coll_free(tutti_coll_request *request);

#endif
