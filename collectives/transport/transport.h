/* A transport: the messages of one rank's collectives, as nonblocking send and recv on K lanes.
 *
 * Each lane is a separate message space. The k-th message sent on (lane, peer, tag) matches the
 * k-th recv on it; messages of different lanes, peers or tags may overtake each other. Sizes must agree
 * on both sides (MISMATCH otherwise, where it can be detected). Buffers are the caller's and must
 * stay untouched until test reports the message done.
 *
 * After a failure, a rank gets its buffers back when all its messages have ended: it cancels what can be cancelled,
 * tests the rest, and receives what others still send to it, so that their sends end, too:
 *
 *   { cancel }* -> { test, sweep }* until all are done
 *
 * Lanes may *share device slots*: a collective then occupies a slot of the device from its start on one rank until all
 * partners have started it, and there are few slots. So a collective of one lane can keep one of another lane from
 * starting, and all ranks must start the collectives of all lanes in one order (designs/design.h).
 *
 * Threads: a transport is not locked: one thread at a time may call any of these on it, and, if it
 * names a lock, only while holding that. Transports that share something name the same lock. */
#ifndef TUTTI_TRANSPORT_H
#define TUTTI_TRANSPORT_H

#include "collectives/transport/arithmetic.h"
#include "collectives/transport/device_collectives.h"
#include "collectives/value/args.h"
#include "collectives/value/members.h"
#include "dag/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct tutti_transport tutti_transport;
enum { TUTTI_ANY_RANK = -1 };
/* One send or recv under way; its layout is the transport's. */
typedef struct tutti_message tutti_message;

/* Whom a transport calls when a message ends, on the thread that uses it. */
typedef struct tutti_watcher {
    void (*raise)(void *ctx);
    void *ctx;
    void (*ahead)(void *ctx); /* raise comes soon: only fetches into the cache what it will need */
} tutti_watcher;

/* Messages received, and their bytes. */
typedef struct tutti_transport_counts {
    int64_t placed, placed_bytes; /* their sender has written them where they belong */
    int64_t copied, copied_bytes; /* they came through a buffer or a socket */
    int64_t small, small_bytes;   /* the same, of those that go before their receive is known */
    /* Of those sent: their producer wrote them where they are received; they were copied there */
    int64_t written, moved;
} tutti_transport_counts;

typedef struct tutti_transport_ops {
    const char *name;
    /* Start a message. *message NULL: it has already ended. */
    tutti_status (*isend)(tutti_transport *t, int lane, int peer, int tag, const void *data,
        size_t bytes, tutti_message **message);
    /* peer TUTTI_ANY_RANK: the oldest message from any rank, on a lane and tag that have only such receives. Not in a
     * part of a transport. */
    tutti_status (*irecv)(tutti_transport *t, int lane, int peer, int tag, void *data, size_t bytes,
        tutti_message **message);
    /* Whether the message has ended; then it is freed. A failure may be reported earlier (*done 0):
     * test again. */
    tutti_status (*test)(tutti_transport *t, tutti_message *message, int *done);
    /* Sets *news to 1 and calls the watcher when the message ends, which may be now; not any more once it was
     * abandoned. Until then a test would say that it has not ended. Returns 0 if it does not. NULL: the same. */
    int (*watch)(
        tutti_transport *t, tutti_message *message, int *news, const tutti_watcher *watcher);
    /* Ends the message without its partner, unless it is matched, or cannot be cancelled (a send over MPI). Test still
     * has to report its end. */
    void (*cancel)(tutti_transport *t, tutti_message *message);
    /* Receives unexpected messages on `lanes` lanes from `first` on. NULL: sends can be cancelled without a partner. */
    void (*sweep)(tutti_transport *t, int first, int lanes);
    /* Abandons a message that has no partner. A send's buffer may be read until close. */
    void (*abandon)(tutti_transport *t, tutti_message *message);
    /* Takes a device slot for a collective, before its messages, where lanes share device slots. The message ends when
     * all members have one, on the same lane and tag; then the collective's own messages may start. NULL: the transport
     * has no device slots. members NULL: all ranks. */
    tutti_status (*take_slot)(tutti_transport *t, int lane, int tag, const tutti_members *members,
        tutti_message **message);
    /* Memory that other ranks can write to: what a receive into it gets is copied once. What is not given back before
     * close stays mapped. NOMEM: use ordinary memory, which every call takes, too (logged, except for small sizes, and
     * where a smaller one was refused since memory was last given back). NULL: the transport has no such memory. Any
     * thread. */
    tutti_status (*take_memory)(tutti_transport *t, size_t bytes, void **memory);
    void (*give_memory)(tutti_transport *t, void *memory);
    /* The memory of the receive that the next send on (lane, peer, tag) meets, if that is posted, has this size,
     * and can be written to from here. The message may then be written there, by any thread, until wrote; only
     * then it is sent. Nothing moves for that send, and its data are not read. NULL: it is sent as others are.
     * Neither waits. wrote: nothing writes there any more. NULL: never. */
    void *(*claim)(tutti_transport *t, int lane, int peer, int tag, size_t bytes);
    void (*wrote)(tutti_transport *t, int lane, int peer, int tag);
    /* What has been received so far. NULL: not counted, or counted by the whole that this is a part of. */
    void (*count)(tutti_transport *t, tutti_transport_counts *counts);
    /* Sleeps until something may move or `wake` is called, which is for any thread; at most timeout_s. lock: the one
     * that its callers hold otherwise; it is taken to look, and not held asleep. Returns 0 if something may move, so
     * that it did not sleep. NULL: it can only be tested again. */
    int (*wait)(tutti_transport *t, pthread_mutex_t *lock, double timeout_s);
    void (*wake)(tutti_transport *t);
    /* Starts the communication library's own collective; may be NULL. It is tested, cancelled and
     * abandoned as messages are; cancelling one may end all that are under way, or none, as the library permits. On a
     * failure *message is what has begun, or NULL. */
    tutti_status (*collective)(
        tutti_transport *t, int lane, const tutti_coll_args *args, tutti_message **message);
    /* For tutti_transport_grow; NULL: the transport cannot. */
    tutti_status (*grow)(tutti_transport *t, int lanes, const tutti_members *members, int *done);
    void (*close)(tutti_transport *t);
} tutti_transport_ops;

struct tutti_transport {
    const tutti_transport_ops *ops;
    int rank, size, lanes;
    int near;         /* all ranks share one machine's memory; the same on every rank */
    /* [size] a number that the ranks of one machine share, and no others; the same on every rank; freed with the
     * transport. NULL: all ranks are on one */
    int *host;
    int far_memory;   /* ranks of other hosts, too, write to what take_memory gives */
    int shares_slots; /* its lanes do; the same on every rank */
    int edges_aside;  /* but edges do not: they use no device slots; the same on every rank */
    int64_t tags;     /* tags are 0 ... tags-1 */
    size_t
        small_bytes; /* messages up to this size go before their receive is known, and are copied; 0: none */
    /* Its operations in device memory; NULL: none. At most one of them, closed with the transport. Without them, all
     * buffers are main memory; with arithmetic, those of messages may be device memory. */
    tutti_arithmetic *arithmetic;
    tutti_device_collectives *device_collectives;
    int device_lane; /* which of their lanes is lane 0 here */
    int grown; /* tutti_transport_grow: the transport has the lanes, device_collectives has not yet */
    /* the caller holds it; NULL: nothing is shared with other transports */
    pthread_mutex_t *lock;
    /* some messages under way have no receiver: close keeps their lanes, so that they never match a later transport's
     * messages */
    int abandoned;
    /* it has broken its own connections: nothing comes from the other ranks any more: do not wait for them */
    atomic_int severed;
};

/* Closes it, with its lock. Accepts NULL. */
void tutti_transport_close(tutti_transport *transport);
/* For a transport's close: closes its operations in device memory. */
void tutti_transport_close_device(tutti_transport *transport);
/* Whether buffers may be device memory. [P] */
int tutti_transport_takes_device(const tutti_transport *transport);
/* Makes its arithmetic's device, if it has one, the calling thread's (tutti_arithmetic_ops.select). */
void tutti_transport_select_device(tutti_transport *transport);
/* Adds lanes after the last, for these members (kept until *done; rank -1: this rank is not among them). Every rank
 * calls it, in the same order, and again until *done; it never waits. No message of GPU memory is under way meanwhile.
 * UNSUPPORTED: the transport cannot; COMM, NOMEM. */
tutti_status tutti_transport_grow(
    tutti_transport *transport, int lanes, const tutti_members *members, int *done);

/* Options of a library that replaces MPI's messages for collectives. */
typedef struct tutti_transport_options {
    int device;       /* this rank's GPU */
    int lanes;        /* how many of the first lanes carry collectives */
    double timeout_s; /* for each wait for the other ranks while it opens, and closes */
} tutti_transport_options;

typedef struct tutti_transport_about {
    const char *name, *summary;
    /* Adds it to MPI's transport. All ranks call it. NULL: it is MPI's. */
    tutti_status (*give)(tutti_transport *mpi, const tutti_transport_options *options);
    /* Instead of give: replaces MPI's transport, which is closed on success. All ranks call it. */
    tutti_status (*replace)(tutti_transport **transport, const tutti_transport_options *options);
    /* Returns why this build or machine does not have it; NULL: it does. NULL instead of the function: programs cannot
     * choose it by name. */
    const char *(*lacks)(void);
    int on_one_host; /* all ranks have to be */
    int on_gpus;    /* collectives are in GPU memory: each rank needs its own GPU */
    int most_lanes; /* that carry them; 0: any number */
} tutti_transport_about;

/* The transports of this build, each a file. A row with a NULL name ends the table. [P] */

extern const tutti_transport_about tutti_transports[];
/* The row of this name, or NULL. [P] */
const tutti_transport_about *tutti_transport_find(const char *name);

/* Over a communicator: `comm` points to an MPI_Comm (tutti_boot.comm), collective over it.
 * Duplicates it once per lane, on the calling thread. MPI errors come back as COMM, with MPI's
 * sentence logged. INVAL: lanes < 1. The transport's lock is the process's lock for MPI
 * (mpi_lock.h), which opening takes itself. */
tutti_status tutti_transport_mpi(const void *comm, int lanes, tutti_transport **transport);
/* The same, with messages above `piece` bytes (1 ... INT_MAX) sent in several pieces;
 * tutti_transport_mpi uses 1 GiB. */
tutti_status tutti_transport_mpi_pieces(
    const void *comm, int lanes, size_t piece, tutti_transport **transport);

/* Gives a transport NCCL's collectives in the memory of GPUs (nccl*.c). Buffers of GPU memory are
 * this rank's GPU's, and ready when a collective is started. Supported are allreduce, broadcast,
 * reduce, allgather and reduce-scatter, of all ranks and of groups, with NCCL's types and operators (UNSUPPORTED
 * otherwise). Lanes share device slots; edges, whose messages are in main memory, do not. Closing waits, at most
 * timeout_s, until no other rank needs this one.
 * On all ranks: USAGE if two ranks have the same GPU, or there are more than TUTTI_NCCL_MOST_LANES
 * lanes; TIMEOUT, COMM, NOMEM; UNSUPPORTED without NCCL. */
enum { TUTTI_NCCL_MOST_LANES = 16 };
tutti_status tutti_transport_nccl(
    tutti_transport *transport, const tutti_transport_options *options);
/* Why this build does not have NCCL (nccl_none.c); NULL: it has. [P] */
const char *tutti_transport_nccl_lacks(void);

/* A mesh (mesh.h) in place of MPI's transport, with its ranks, lanes and hosts. All messages between ranks are then
 * the mesh's; MPI starts and ends the program. Every wait has the deadline of the options. Errors (logged): NOMEM,
 * COMM, TIMEOUT. */
tutti_status tutti_transport_mesh_over(
    tutti_transport **transport, const tutti_transport_options *options);

/* ---- groups ---- */

enum { TUTTI_CHANNELS = 4096 };

/* How many channels the tags of a lane make: at most TUTTI_CHANNELS, fewer with few tags. [P] */
int tutti_transport_channels(const tutti_transport *transport);

/* The lanes of a group's messages. */
typedef struct tutti_part {
    const tutti_members *members; /* this rank among them; copied */
    int lane, lanes;              /* the whole's first lane, and how many the part has */
    /* -1: the part alone uses the whole's lanes from `lane` on. Else its lanes share that one lane:
     * lane k has the tags of channel `channel` + k. Two parts of the same two ranks then need
     * different channels. */
    int channel;
} tutti_part;

/* A transport of these ranks, numbered from 0, over another one, which must outlive it. It cannot
 * grow. It has no collectives of a library, except those of device memory on lanes that the whole has made for these
 * members. INVAL, NOMEM. */
tutti_status tutti_transport_part(
    tutti_transport *whole, const tutti_part *part, tutti_transport **transport);

#endif
