/* Who passes over a driver's collectives (designs/drive/driver.h): a thread of its own, or the caller.
 *
 * With a thread, it opens the communicator (and, in programs, MPI), makes the progress and finishes
 * tokens; while it has nothing to do it passes every 50 ms, so that a rank always answers the
 * others. Without one (where main drives, and where threads = 0 asks for it: explorers of schedules), all
 * of that happens on the caller's thread, in `pass`. */
#ifndef TUTTI_COMM_THREAD_H
#define TUTTI_COMM_THREAD_H

#include "designs/thread/clocks.h"
#include "designs/drive/driver.h"
#include "designs/thread/halt.h"
#include "designs/watch/watch.h"

typedef struct tutti_comm_thread tutti_comm_thread;

typedef struct tutti_comm_thread_options {
    const tutti_start_rule *start;
    int threads;      /* 1: a thread of its own (never where main drives); 0: the caller passes */
    int setup_aside;  /* 1: without a thread of its own, setup gets one, to have its deadline */
    double timeout_s; /* of one call */
    double setup_timeout_s; /* of setup on the thread, and of leaving */
    tutti_watch_options watch;
    tutti_meter *meter;          /* may be NULL */
    tutti_trace *trace;          /* may be NULL */
    tutti_verify_options verify; /* used where setup opens a control */
    /* Called once, on the thread that will use the communicator, before and after everything else.
     * control stays NULL where ranks do not talk about their collectives. orderly: no rank is
     * missing. */
    tutti_status (*setup)(void *ctx, tutti_comm **comm, tutti_control **control);
    void (*teardown)(void *ctx, tutti_comm *comm, tutti_control *control, int orderly);
    void *ctx;
} tutti_comm_thread_options;

/* Starts the thread (if any) and waits for setup, at most setup_timeout_s: TIMEOUT, and then setup may go
 * on, and ctx be in use by it; nothing follows it. [M] */
tutti_status tutti_comm_thread_open(
    const tutti_comm_thread_options *options, tutti_comm_thread **thread);
/* Stops it when all other ranks close theirs, or after timeout_s (logged; 1 s after a failure, and
 * at once where the caller passes); teardown has run when this returns, the first failure of this rank's
 * collectives until then. [M] Accepts NULL. */
tutti_status tutti_comm_thread_close(tutti_comm_thread *thread);
/* Instead of close: the thread ends without teardown, and the inspector's, too; the caller does not pass any
 * more, so that nobody calls MPI. Everything else stays as it is. [M] */
void tutti_comm_thread_silence(tutti_comm_thread *thread);
tutti_comm *tutti_comm_thread_comm(
    tutti_comm_thread *thread); /* for its size, rank and lanes only */
tutti_driver *tutti_comm_thread_driver(tutti_comm_thread *thread); /* to reserve and make ready */
tutti_watch *tutti_comm_thread_watch(tutti_comm_thread *thread);   /* NULL: there is none */

/* Seconds of processor time that the thread has used; 0 without one. [A] */
double tutti_comm_thread_cpu_s(const tutti_comm_thread *thread);

/* One collective on lane 0, to its end. [M], nothing else in flight. The buffers of args are the
 * caller's again when this returns, whatever it returns: what outlives the wait works on copies
 * (designs/thread/rendezvous.h). `name` is borrowed until close. */
tutti_status tutti_comm_thread_call(
    tutti_comm_thread *thread, const char *name, const tutti_coll_args *args);
/* How far this rank's clock is from rank 0's (designs/thread/clocks.h). All ranks call it; rank 0, which only
 * answers, is back at once, and must go on to wait for the others. UNSUPPORTED (logged) where ranks
 * do not talk. [M] */
tutti_status tutti_comm_thread_clock(tutti_comm_thread *thread, tutti_clock_sample *sample);
/* Whether step `step` may be submitted, on all ranks alike (designs/thread/halt.h); *stop 1: no. Where a rank
 * is alone it stops when it wishes. UNSUPPORTED (logged) where ranks do not talk; TIMEOUT, COMM. [M] */
tutti_status tutti_comm_thread_halt(
    tutti_comm_thread *thread, int64_t step, int ahead, int wish, int *stop);
/* Without a thread: one pass. Returns whether anything moved. [M] */
int tutti_comm_thread_pass(tutti_comm_thread *thread);

#endif
