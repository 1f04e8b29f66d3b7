/* One rank's end of the gradient exchange: starts MPI, lowers a graph's marks to collective nodes placed
 * by a design, drives them, and runs collectives for the main thread in between.
 *
 *   open -> apply(graph) -> runner->open(hooks) -> { submit, wait, call, agree }* -> runner->close
 *        -> [reopen -> apply(another graph) ...] -> close
 *
 * Threads: every call is [M]; the hooks' start is [A]. Every wait ends at the deadline of the
 * options. */
#ifndef TUTTI_EXCHANGE_H
#define TUTTI_EXCHANGE_H

#include "collectives/coll.h"
#include "collectives/links/topology.h"
#include "collectives/transport/transport.h"
#include "collectives/value/members.h"
#include "dag/run/run.h"
#include "designs/check/check.h"
#include "designs/thread/clocks.h"
#include "designs/thread/active_messages.h"
#include "designs/design.h"
#include "designs/exchange/order.h"
#include "designs/passes/remote_buffer.h"
#include "designs/verify/verify.h"
#include "designs/watch/watch.h"

typedef struct tutti_exchange tutti_exchange;

typedef struct tutti_exchange_options {
    const tutti_design *design;
    int lanes;             /* 0: the design's default (4 for concurrent, else 1) */
    const char *algorithm; /* see tutti_comm_options; NULL: auto */
    /* The links of the run (collectives/links/run.h), which the exchange opens when it knows the ranks; NULL and 0:
     * not known */
    const char *topology;
    double link_mbit;
    int depth;             /* of each lane, as in tutti_comm_options; 0: its default */
    /* Gradients are summed in buckets of at most this size. 0: one by one; -1: see
     * designs/passes/bucket.h. */
    int64_t bucket_bytes;
    /* A larger sum is cut into chunks of at most this size (designs/passes/chunk.h). 0: no chunks;
     * -1: tutti_chunk_default_bytes. */
    int64_t chunk_bytes;
    tutti_order_options order; /* the agreed order of a step's collectives; off: program order */
    /* Priorities of places, for what is not in a graph; window 0: four chunks. Not with `order`.
     * Ignored where the start rule does not reorder, and where lanes share device slots. */
    tutti_priority_options priorities;
    const char *comm_core; /* of the comm thread, designs/thread/comm_core.h; NULL: "none" */
    int workers;           /* per rank; comm_core "auto" leaves each a core; 0: 1 */
    int unsafe;            /* 1: a design that breaks the ordering law is accepted */
    /* Whether ranks compare their collectives (designs/verify/verify.h). */
    tutti_verify_mode verify;
    tutti_watch_options watch; /* the stall inspector (designs/watch/watch.h); unused with manual */
    /* 1: tutti_exchange_reopen follows; MPI starts and ends on a dedicated thread, with
     * SERIALIZED. */
    int reopens;
    /* 1: lanes share device slots (designs/design.h), also where the transport does not say so */
    int shares_slots;
    int edges_aside;  /* 1: edges do not share them, also where the transport does not say so */
    int messages;     /* 1: there is a lane for edges, and for groups (tutti_exchange_group) */
    int manual;       /* 1: no thread; the caller calls tutti_exchange_pass (explorers) */
    double timeout_s; /* deadline of call and agree (see tutti_exchange_set_timeout); 0: 60 */
    double setup_timeout_s; /* deadline for starting and ending MPI with the other ranks; 0: 60 */
    tutti_meter *meter;     /* may be NULL; borrowed */
    tutti_trace *trace;     /* may be NULL; borrowed: records collectives; clocks are compared */
    /* For an attached exchange: called on the thread that calls MPI_Finalize before close. It
     * should close or silence the exchange; MPI_Finalize waits for it. NULL: nothing happens. */
    void (*on_end)(void *ctx);
    void *on_end_ctx;
    /* Further settings that all ranks must share, as tutti_conf_text writes them; NULL: none. */
    const char *settings;
    /* Chooses what carries messages and collectives: gives it to MPI's transport, or replaces that
     * (tutti_transport_about).
     * Called when the exchange opens or reopens, on the thread that communicates, with the deadline of a wait for the
     * other ranks; it may be called after open has returned TIMEOUT, so ctx must stay valid then. NULL: nothing. */
    tutti_status (*choose_transport)(
        void *ctx, tutti_transport **transport, int lanes, double timeout_s);
    void *choose_ctx;
} tutti_exchange_options;

/* The error that open would return for these options: USAGE, INVAL (logged). [P] */
tutti_status tutti_exchange_check_options(const tutti_exchange_options *options);

/* Initialises MPI on the thread that the design requires, compares the ranks' options, and opens
 * the lanes. All ranks call it. USAGE on all ranks if their settings differ, such as design, lanes,
 * algorithm or topology (logged: which, both values, ranks), or if the topology has other ranks or a mistake. */
tutti_status tutti_exchange_open(const tutti_exchange_options *options, tutti_exchange **exchange);
/* The same over an existing communicator (pointer to an MPI_Comm) of a program that initialised MPI
 * itself. */
tutti_status tutti_exchange_attach(
    const void *comm, const tutti_exchange_options *options, tutti_exchange **exchange);
/* The same over a given transport (ranks as threads, or of an elastic run), which has the design's lanes, one more if
 * `verify`, `watch`, `priorities` or `trace` is on, and one more for `messages`. Takes ownership of
 * the transport, also on failure. The ranks' options are not compared. */
tutti_status tutti_exchange_open_over(
    tutti_transport *transport, const tutti_exchange_options *options, tutti_exchange **exchange);
/* A number of lanes that is enough for it. [P] */
int tutti_exchange_transport_lanes(const tutti_exchange_options *options);
/* Closes an exchange whose runners are closed and opens it with other options over the same MPI. It
 * was attached, or opened with `reopens` (options->reopens is ignored here). All ranks call it. On
 * failure *exchange is closed, and NULL. TIMEOUT also if a rank does not close; INVAL over a given
 * transport. */
tutti_status tutti_exchange_reopen(
    tutti_exchange **exchange, const tutti_exchange_options *options);
/* Stops the comm thread and finalises MPI if open initialised it. All ranks call it, with nothing
 * in flight. Accepts NULL. Returns the first failure of this rank's collectives, including one
 * found only while closing (another rank starts more collectives); TIMEOUT: some rank did not close
 * (both logged). */
tutti_status tutti_exchange_close(tutti_exchange *exchange);

/* Instead of close, if what is in flight does not end: from here on no thread of this exchange
 * calls MPI. Its memory stays, because others may still use it. */
void tutti_exchange_silence(tutti_exchange *exchange);
/* If this status is the failure of the exchange's collectives, its logged sentence becomes this
 * thread's last error (tutti_last_error). */
void tutti_exchange_explain(tutti_exchange *exchange, tutti_status status);

int tutti_exchange_rank(const tutti_exchange *exchange);
int tutti_exchange_size(const tutti_exchange *exchange);
int tutti_exchange_lanes(const tutti_exchange *exchange);
/* Whether lanes share device slots: then priorities are ignored (tutti_exchange_options.priorities). */
int tutti_exchange_shares_slots(const tutti_exchange *exchange);
const char *tutti_exchange_algorithm(const tutti_exchange *exchange); /* "auto", "ring", ... */
/* A hash of what decides beside an algorithm's name: of a file of rules, or of the topology for prices; 0: nothing. */
uint64_t tutti_exchange_chosen_by(const tutti_exchange *exchange);
/* The links of the run, valid until close; NULL: not known. */
const tutti_topology *tutti_exchange_topology(const tutti_exchange *exchange);
const tutti_design *tutti_exchange_design(const tutti_exchange *exchange);
/* The thread level that MPI granted; SINGLE over a loop transport. */
tutti_thread_level tutti_exchange_granted(const tutti_exchange *exchange);
/* The processor that the comm thread is bound to, or -1. */
int tutti_exchange_comm_core(const tutti_exchange *exchange);
/* What this rank has received, and its local work, in all its collectives so far. */
typedef struct tutti_exchange_counts {
    tutti_transport_counts received; /* zeroes: not counted */
    tutti_coll_work work;
} tutti_exchange_counts;
/* Waits for the thread that communicates. TIMEOUT, or the failure of a collective. [M] */
tutti_status tutti_exchange_count(tutti_exchange *exchange, tutti_exchange_counts *counts);
/* CPU seconds that the comm thread has used so far; 0 without one. */
double tutti_exchange_comm_cpu_s(const tutti_exchange *exchange);

/* ---- groups and edges: the ranks of a collective (tutti_coll_args.group) ----
 *
 * A group is a list of ranks, which numbers them from 0. An edge is the sequence of messages from one
 * rank to another with one edge number; its rank 0 is the sender, its rank 1 the receiver. Each group
 * and edge has its own lanes, so nothing of one waits for another. */

/* Makes a group of n ranks. All ranks call it, including those outside the group, in the same order,
 * with the same ranks, and with nothing in flight; with `manual` it does not wait for them. *group: its
 * number, from 1, the same on all ranks. On all ranks: INVAL if a rank passes an empty list, a rank
 * twice, or an invalid rank; MISMATCH if the ranks' groups differ; UNSUPPORTED without `messages` (all
 * logged). The algorithms "mpi" and "forest:FILE" have collectives of all ranks only: groups and edges
 * use "auto". */
tutti_status tutti_exchange_group(tutti_exchange *exchange, int n, const int ranks[], int *group);
/* The group number, on this rank, of an edge from one rank to another; this rank must be one of the two. INVAL unless
 * `edge` is from 0 to tutti_exchange_edges - 1 and the ranks differ; UNSUPPORTED. */
tutti_status tutti_exchange_edge(tutti_exchange *exchange, int from, int to, int edge, int *group);
int tutti_exchange_edges(const tutti_exchange *exchange);
/* The members of a group: valid until close. 0: all ranks. */
const tutti_members *tutti_exchange_members(const tutti_exchange *exchange, int group);

/* Lowers the marks of the graph to collectives (designs/exchange/marks.h), fuses sums into buckets, and
 * lets the design place each group's collectives. Then, unless `verify` is off or the caller passes
 * (`manual`), all ranks check the graph. With one rank, marks are left as they are and cost nothing.
 * All ranks call it; an error on one rank, such as a group that it is not in, fails on all ranks that
 * check. INVAL, MISMATCH; UNSUPPORTED: an agreed order together with groups. */
tutti_status tutti_exchange_apply(tutti_exchange *exchange, tutti_graph *graph);
/* Whether all ranks are about to run the same collectives. Compares 8 bytes per rank; only if these
 * differ, ranks exchange everything and check the ordering law (designs/check/check.h). All ranks
 * call it with a placed graph. MISMATCH on all ranks, with the verdict logged. */
tutti_status tutti_exchange_check(tutti_exchange *exchange, const tutti_graph *graph);
/* Checks the ordering law for what all ranks are about to run, with `workers` workers per rank (0:
 * unknown, and that clause is not checked). All ranks call it and get the same verdict. */
tutti_status tutti_exchange_check_graph(
    tutti_exchange *exchange, const tutti_graph *graph, int workers, tutti_verdict *verdict);
/* The data from which rank 0 made the order of the steps' collectives, once it has. */
tutti_outlook tutti_exchange_outlook(const tutti_exchange *exchange);
/* Where the collectives of a placed graph receive, and why that is copied, if it is
 * (designs/passes/remote_buffer.h): what fits into the memory that the transport has. on_gpu: tensors are on a GPU, and
 * collectives in main memory. The caller frees *found. NOMEM, INTERNAL. */
tutti_status tutti_exchange_remote_buffers(tutti_exchange *exchange, const tutti_graph *graph,
    int on_gpu, int *count, tutti_remote_buffer **found);
/* For tutti_run_options.hooks; valid until close. */
tutti_run_hooks tutti_exchange_hooks(tutti_exchange *exchange);
/* The same for dag/run/insert.h, whose collectives are not in a graph: their chunks and lanes
 * follow from the order in which they are inserted. */
tutti_run_hooks tutti_exchange_insert_hooks(tutti_exchange *exchange);

/* Sets what the main thread is doing, for reports on other ranks that wait for it ("writes a checkpoint"). NULL:
 * nothing in particular. Borrowed until the next call. announced: the others expect it, and warn later. */
void tutti_exchange_set_activity(tutti_exchange *exchange, const char *doing, int announced);
/* To be called regularly by a main thread that waits for anything but collectives: in every design, the
 * other ranks then receive this rank's messages. */
void tutti_exchange_attend(tutti_exchange *exchange);

/* With `manual`: starts what may start, moves what is in flight, ends what is done. Returns as tutti_driver_pass
 * (designs/drive/driver.h): 0 if nothing moved. */
int tutti_exchange_pass(tutti_exchange *exchange);
/* The same if only messages of collectives have ended since: tutti_driver_move. */
int tutti_exchange_move(tutti_exchange *exchange);

/* Runs one collective now and waits for it. All ranks call it at the same point of the program.
 * `name` is what reports call it ("the epoch's sums"); borrowed until close. The buffers belong to
 * the caller again when this returns, even with TIMEOUT; args->recv has changed only with OK. */
tutti_status tutti_exchange_call(
    tutti_exchange *exchange, const char *name, const tutti_coll_args *args);
/* Runs a broadcast of `count` elements from `root`, as call does. */
tutti_status tutti_exchange_broadcast(tutti_exchange *exchange, const char *name, tutti_dtype dtype,
    int root, int64_t count, void *data);
/* Whether step `step` may be submitted; *stop is 1 once some rank wishes to stop, and then all
 * ranks have submitted the same steps. Call it before each step, in order, when step - ahead has
 * ended on this rank (designs/thread/halt.h). TIMEOUT, COMM, UNSUPPORTED. */
tutti_status tutti_exchange_halt(
    tutti_exchange *exchange, int64_t step, int ahead, int wish, int *stop);
/* Offset of this rank's clock from rank 0's. All ranks call it. UNSUPPORTED (logged) if the ranks
 * exchange no control messages: options.trace is NULL, and verify and watch are off. */
tutti_status tutti_exchange_clock(tutti_exchange *exchange, tutti_clock_sample *sample);
/* Sends an active message to a rank, and listens to those of others, on the thread that drives collectives
 * (designs/thread/active_messages.h). UNSUPPORTED (logged) if the ranks exchange no control messages; COMM,
 * NOMEM. */
tutti_status tutti_exchange_write(tutti_exchange *exchange, const tutti_active_message *message);
tutti_status tutti_exchange_listen(
    tutti_exchange *exchange, tutti_active_message_handler *on_message, void *ctx);
/* Whether another rank has closed its exchange: a rank that listens has received all its active messages. [A] */
int tutti_exchange_has_left(const tutti_exchange *exchange, int rank);
/* Instead of options.trace: records collectives that end from here on into this trace (borrowed);
 * NULL: into none. The previous trace is not touched any more. */
void tutti_exchange_trace(tutti_exchange *exchange, tutti_trace *trace);
/* The deadline of call and agree from here on, in place of options.timeout_s. INFINITY: they wait for a rank that is
 * late, with which one that gave up would be out of step; a stall, or a rank that leaves, still ends them. */
void tutti_exchange_set_timeout(tutti_exchange *exchange, double timeout_s);
/* Exchanges every rank's status; all ranks return the first failure in rank order, so that all
 * leave together. *rank (may be NULL): the rank that failed, or -1. */
tutti_status tutti_exchange_agree(tutti_exchange *exchange, tutti_status mine, int *rank);
/* This rank cannot continue, and the others do not know: ends all collectives here and there with this status and
 * sentence (logged), unless they have failed already. Where ranks exchange no control messages, those of this rank
 * alone. Returns whether they had not. */
int tutti_exchange_abort(tutti_exchange *exchange, tutti_status status, const char *sentence);

#endif
