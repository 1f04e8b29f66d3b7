/* One rank's end of the exchange of gradients: boots MPI, turns a graph's marks into collective
 * nodes placed by a design, drives them, and runs collectives for the main thread in between.
 *
 *   open -> apply(graph) -> runner->open(hooks) -> { submit, wait, call, agree }* -> runner->close
 *        -> [reopen -> apply(another graph) ...] -> close
 *
 * Threads: every call is [M]; the hooks' start is [A]. Every wait has the deadline of the options.
 */
#ifndef TUTTI_EXCHANGE_H
#define TUTTI_EXCHANGE_H

#include "collectives/coll.h"
#include "dag/run/run.h"
#include "designs/check/check.h"
#include "designs/thread/clocks.h"
#include "designs/design.h"
#include "designs/exchange/order.h"
#include "designs/verify/verify.h"
#include "designs/watch/watch.h"

typedef struct tutti_exchange tutti_exchange;

typedef struct tutti_exchange_options {
    const tutti_design *design;
    int lanes;             /* 0: the design's default (4 for concurrent, else 1) */
    const char *algorithm; /* see tutti_comm_options; NULL: auto */
    int depth;             /* of a lane, as of tutti_comm_options; 0: its default */
    int64_t bucket_bytes;  /* gradients are summed in buckets of at most this much; 0: one by one;
                                 -1: see designs/passes/bucket.h */
    int64_t
        chunk_bytes; /* a larger sum is cut into chunks of at most this much (designs/passes/chunk.h); 0: none
                              is; -1: as tutti_chunk_default_bytes says */
    tutti_order_options order; /* the agreed order of a step's collectives; off: program order */
    const char *comm_core; /* where the comm thread runs, see designs/thread/comm_core.h; NULL: "none" */
    int workers;           /* a rank's, which comm_core "auto" leaves a core each; 0: 1 */
    int unsafe;            /* 1: a design that breaks the ordering law is accepted */
    tutti_verify_mode
        verify; /* whether ranks compare their collectives (designs/verify/verify.h) */
    tutti_watch_options watch; /* the stall inspector (designs/watch/watch.h); none with manual */
    int reopens;               /* 1: tutti_exchange_reopen follows: MPI starts and ends on a thread
                                  of its own, with SERIALIZED */
    int manual;                /* 1: no thread; the caller calls tutti_exchange_pass (explorers) */
    double timeout_s;          /* deadline of call and agree; 0: 60 */
    double setup_timeout_s;    /* deadline of what ranks do together to start and to end MPI; 0: 60 */
    tutti_meter *meter;        /* may be NULL; borrowed */
    tutti_trace *trace; /* may be NULL; borrowed: collectives are recorded, and clocks compared */
    /* Of an attached exchange: MPI_Finalize has been called before close, on this thread, and waits for on_end to
     * return, which should close or silence it. NULL: nothing happens. */
    void (*on_end)(void *ctx);
    void *on_end_ctx;
    const char *settings; /* more that all ranks must have in common, as tutti_conf_text writes it;
                              NULL: nothing */
} tutti_exchange_options;

/* Whether open would refuse them: USAGE, INVAL (logged). [P] */
tutti_status tutti_exchange_check_options(const tutti_exchange_options *options);

/* Initialises MPI on the thread that the design wants, compares what the ranks were started with,
 * and opens the lanes. All ranks call it. USAGE on all ranks when design, lanes, algorithm or
 * settings differ (logged: which, both values, ranks). */
tutti_status tutti_exchange_open(const tutti_exchange_options *options, tutti_exchange **exchange);
/* The same over an existing communicator (pointer to an MPI_Comm) of a program that initialised MPI
 * itself. */
tutti_status tutti_exchange_attach(
    const void *comm, const tutti_exchange_options *options, tutti_exchange **exchange);
/* The same over a transport of its own (ranks as threads), which has the design's lanes, and one
 * more when `verify` or `watch` is on. Takes the transport over, also on failure. */
tutti_status tutti_exchange_open_over(
    tutti_transport *transport, const tutti_exchange_options *options, tutti_exchange **exchange);
/* Closes an exchange, whose runners are closed, and opens it with other options over the same MPI: it
 * was attached, or its options said that it `reopens` (options->reopens does not count here). All
 * ranks call it. On failure *exchange is closed, and NULL. TIMEOUT also when a rank did not come to
 * the closing; INVAL over a transport of its own. */
tutti_status tutti_exchange_reopen(
    tutti_exchange **exchange, const tutti_exchange_options *options);
/* Stops the comm thread and finalises MPI where open initialised it. All ranks call it, nothing in
 * flight. NULL is fine. Returns the first failure of this rank's collectives, also one that shows only
 * while it leaves (another rank goes on); TIMEOUT: some rank did not come (both logged). */
tutti_status tutti_exchange_close(tutti_exchange *exchange);

/* Instead of close, where what is in flight does not end: from here on no thread of this exchange calls
 * MPI. Its memory stays, as others may still use it. */
void tutti_exchange_silence(tutti_exchange *exchange);
/* Where this status is the failure of the exchange's collectives, the sentence that was logged with it
 * becomes this thread's last error (tutti_last_error). */
void tutti_exchange_explain(tutti_exchange *exchange, tutti_status status);

int tutti_exchange_rank(const tutti_exchange *exchange);
int tutti_exchange_size(const tutti_exchange *exchange);
int tutti_exchange_lanes(const tutti_exchange *exchange);
const tutti_design *tutti_exchange_design(const tutti_exchange *exchange);
tutti_thread_level tutti_exchange_granted(
    const tutti_exchange *exchange); /* SINGLE over a loop transport */
/* The processor that the comm thread is bound to, or -1. */
int tutti_exchange_comm_core(const tutti_exchange *exchange);
/* Seconds of processor time that the comm thread has used so far; 0 where there is none. */
double tutti_exchange_comm_cpu_s(const tutti_exchange *exchange);

/* Fuses the marks of the graph into buckets, turns each into an allreduce (sum, in place) and has the
 * design place them; then, unless `verify` is off or the caller passes (`manual`), all ranks check
 * the graph. With one rank, marks stay marks, which cost nothing. All ranks call it. */
tutti_status tutti_exchange_apply(tutti_exchange *exchange, tutti_graph *graph);
/* The first half of apply: nothing is said between ranks. *checks: whether apply would have them check the graph. */
tutti_status tutti_exchange_place(tutti_exchange *exchange, tutti_graph *graph, int *checks);
/* Whether all ranks are going to run the same collectives: compares 8 bytes a rank; only where they
 * differ, everything, and then the ordering law is judged (designs/check/check.h). All ranks call it with
 * a placed graph. MISMATCH on all ranks, with the verdict logged. */
tutti_status tutti_exchange_check(tutti_exchange *exchange, const tutti_graph *graph);
/* Judges the ordering law for what all ranks are going to run with so many workers a rank (0: not
 * known, and not judged). The same verdict on all ranks, which call it together. */
tutti_status tutti_exchange_judge(
    tutti_exchange *exchange, const tutti_graph *graph, int workers, tutti_verdict *verdict);
/* What the order of the steps' collectives was made from, once rank 0 has. */
tutti_outlook tutti_exchange_outlook(const tutti_exchange *exchange);
/* For tutti_run_options.hooks; valid until close. */
tutti_run_hooks tutti_exchange_hooks(tutti_exchange *exchange);

/* What the main thread is doing when the other ranks may have to wait for it ("writes a checkpoint"): told
 * to them. NULL: nothing in particular. Borrowed until then. announced: they have to expect it, and warn later. */
void tutti_exchange_note(tutti_exchange *exchange, const char *doing, int announced);
/* For a main thread that waits for something else than collectives: every so often, so that the others
 * hear of this rank in every design. */
void tutti_exchange_attend(tutti_exchange *exchange);

/* With `manual`: starts what may start, moves what is in flight, ends what is done. Returns whether
 * anything moved. */
int tutti_exchange_pass(tutti_exchange *exchange);

/* Runs one collective now and waits for it. All ranks call it at the same point of the program.
 * `name` says in reports what is communicated ("the epoch's sums"); borrowed until close. The buffers are
 * the caller's again when this returns, also with TIMEOUT; args->recv has changed only with OK. */
tutti_status tutti_exchange_call(
    tutti_exchange *exchange, const char *name, const tutti_coll_args *args);
/* Whether step `step` may be submitted, on all ranks alike: not where some rank wishes to stop, and all
 * ranks have submitted the same steps when they get that answer. Called before each step, in order, when
 * step - ahead has ended on this rank (designs/thread/halt.h). TIMEOUT, COMM, UNSUPPORTED. */
tutti_status tutti_exchange_halt(
    tutti_exchange *exchange, int64_t step, int ahead, int wish, int *stop);
/* How far this rank's clock is from rank 0's; all ranks call it, with options.trace. */
tutti_status tutti_exchange_clock(tutti_exchange *exchange, tutti_clock_sample *sample);
/* Every rank's status; all ranks return the first failure in rank order (*rank, may be NULL, says
 * whose; -1 for none), so that all leave together. */
tutti_status tutti_exchange_agree(tutti_exchange *exchange, tutti_status mine, int *rank);

#endif
