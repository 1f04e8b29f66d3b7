/* The thread that passes over a driver's collectives (designs/drive/driver.h): a dedicated one, or the
 * caller's.
 *
 * The thread opens the communicator (and, in programs, MPI), makes progress and finishes tokens.
 * When idle it passes every 50 ms, so that a rank always answers the others. Without a thread (if
 * main drives, or with threads = 0: explorers of schedules), all of that happens on the caller's
 * thread, in `pass`. */
#ifndef TUTTI_COMM_THREAD_H
#define TUTTI_COMM_THREAD_H

#include "designs/thread/clocks.h"
#include "designs/drive/driver.h"
#include "designs/thread/halt.h"
#include "designs/thread/active_messages.h"
#include "designs/watch/watch.h"

typedef struct tutti_comm_thread tutti_comm_thread;

typedef struct tutti_comm_thread_options {
    const tutti_start_rule *start;
    int one_order;    /* 1: where lanes share device slots, this rank starts all in one order */
    int threads;      /* 1: a dedicated thread (never if main drives); 0: the caller passes */
    int setup_aside;  /* 1: without a dedicated thread, setup runs on one, to have its deadline */
    double timeout_s; /* of one call */
    double setup_timeout_s; /* of setup on the thread, and of leaving */
    tutti_watch_options watch;
    tutti_meter *meter;                /* may be NULL */
    tutti_trace *trace;                /* may be NULL */
    tutti_verify_options verify;       /* used if setup opens a control */
    tutti_priority_options priorities; /* used if setup opens a control */
    /* Called once, on the thread that uses the communicator, before and after everything else.
     * control stays NULL if ranks exchange no control messages. orderly: no rank is missing. */
    tutti_status (*setup)(void *ctx, tutti_comm **comm, tutti_control **control);
    void (*teardown)(void *ctx, tutti_comm *comm, tutti_control *control, int orderly);
    /* As in tutti_driver_options; what it opens, teardown closes. */
    tutti_status (*part)(
        void *ctx, const tutti_members *members, tutti_comm **comm, tutti_control **control);
    void *ctx;
} tutti_comm_thread_options;

/* Starts the thread (if any) and waits for setup, at most setup_timeout_s. After TIMEOUT, setup may
 * still run and use ctx; nothing runs after it. [M] */
tutti_status tutti_comm_thread_open(
    const tutti_comm_thread_options *options, tutti_comm_thread **thread);
/* Stops the thread when all other ranks close theirs, or after setup_timeout_s (logged; after a
 * failure 1 s, or 5 s while anything is in flight; at once with verify.at_once). teardown has run
 * when this returns. Returns the first failure of this rank's collectives. [M] Accepts NULL. */
tutti_status tutti_comm_thread_close(tutti_comm_thread *thread);
/* Instead of close: the thread and the inspector's thread end without teardown, and the caller must
 * not pass any more, so that no thread calls MPI. Everything else stays as it is. [M] */
void tutti_comm_thread_silence(tutti_comm_thread *thread);
/* The communicator, for its size, rank and lanes only. */
tutti_comm *tutti_comm_thread_comm(tutti_comm_thread *thread);
tutti_driver *tutti_comm_thread_driver(tutti_comm_thread *thread); /* to reserve and make ready */
tutti_watch *tutti_comm_thread_watch(tutti_comm_thread *thread);   /* NULL: none */

/* CPU seconds that the thread has used; 0 without one. [A] */
double tutti_comm_thread_cpu_s(const tutti_comm_thread *thread);

/* Runs one collective on lane 0 to its end. [M], nothing else in flight. The buffers of args belong
 * to the caller again when this returns, with any status: a collective that outlives the wait
 * works on copies (designs/thread/rendezvous.h). `name` is borrowed until close. */
tutti_status tutti_comm_thread_call(
    tutti_comm_thread *thread, const char *name, const tutti_coll_args *args);
/* Makes the communicating thread call chore(ctx, &done), with comm_lock held, in every pass until it
 * is done or fails. TIMEOUT after options.timeout_s: it may still be called then. [M] */
tutti_status tutti_comm_thread_do(
    tutti_comm_thread *thread, tutti_status (*chore)(void *ctx, int *done), void *ctx);
/* The offset of this rank's clock from rank 0's (designs/thread/clocks.h). All ranks call it; rank
 * 0, which only answers, returns at once and must then wait for the others. UNSUPPORTED (logged)
 * without control. [M] */
tutti_status tutti_comm_thread_clock(tutti_comm_thread *thread, tutti_clock_sample *sample);
/* Whether step `step` may be submitted, the same on all ranks (designs/thread/halt.h); *stop 1: no.
 * A single rank stops when it wishes. UNSUPPORTED (logged) without control; TIMEOUT, COMM. [M] */
tutti_status tutti_comm_thread_halt(
    tutti_comm_thread *thread, int64_t step, int ahead, int wish, int *stop);
/* Sends an active message to a rank, and listens to those of others (designs/thread/active_messages.h).
 * UNSUPPORTED (logged) without control. [M] */
tutti_status tutti_comm_thread_write(
    tutti_comm_thread *thread, const tutti_active_message *message);
tutti_status tutti_comm_thread_listen(
    tutti_comm_thread *thread, tutti_active_message_handler *on_message, void *ctx);
/* Whether another rank has closed its end: all its active messages have been delivered. [A] */
int tutti_comm_thread_has_left(const tutti_comm_thread *thread, int rank);
/* Without a thread: one pass. Returns whether anything moved. [M] */
int tutti_comm_thread_pass(tutti_comm_thread *thread);

#endif
