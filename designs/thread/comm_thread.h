/* The thread that passes over a driver's collectives (designs/drive/driver.h): a dedicated one, or the
 * caller's.
 *
 * The thread opens the communicator (and, in programs, MPI), makes progress and finishes tokens.
 * When idle it passes every 50 ms, so that a rank always answers the others. Without a thread (if
 * main drives, or with threads = 0: explorers of schedules), all of that happens on the caller's
 * thread, in `pass`. */
#ifndef TUTTI_COMM_THREAD_H
#define TUTTI_COMM_THREAD_H

#include "designs/drive/driver.h"
#include "designs/watch/watch.h"

typedef struct tutti_comm_thread tutti_comm_thread;

typedef struct tutti_comm_thread_options {
    /* Its control, wake, tick and ctx are the thread's, and setup may change the rest; one_order counts where lanes
     * share device slots. What its part opens, teardown closes. */
    tutti_driver_options driver;
    int threads;      /* 1: a dedicated thread (never if main drives); 0: the caller passes */
    int setup_aside;  /* 1: without a dedicated thread, setup runs on one, to have its deadline */
    double timeout_s; /* of one call */
    double setup_timeout_s; /* of setup on the thread, and of leaving */
    tutti_watch_options watch;
    /* Called once, on the thread that uses the communicator, before and after everything else. driver: a copy of the
     * above, for what depends on the ranks. control stays NULL if ranks exchange no control messages. orderly: no rank
     * is missing. */
    tutti_status (*setup)(
        void *ctx, tutti_driver_options *driver, tutti_comm **comm, tutti_control **control);
    void (*teardown)(void *ctx, tutti_comm *comm, tutti_control *control, int orderly);
    /* What setup is at, of any thread; never NULL. */
    const char *(*setup_at)(void *ctx);
    /* In every pass, as the driver's tick; and whether passes are needed although the driver is idle. [A] */
    void (*tick)(void *ctx);
    int (*busy)(void *ctx);
    void *ctx;
} tutti_comm_thread_options;

/* Starts the thread (if any) and waits for setup, at most setup_timeout_s. After TIMEOUT, setup may
 * still run and use ctx; nothing runs after it. [M] */
tutti_status tutti_comm_thread_open(
    const tutti_comm_thread_options *options, tutti_comm_thread **thread);
/* Stops the thread when all other ranks close theirs, or after setup_timeout_s (logged; after a
 * failure 1 s, or 5 s while anything is in flight; at once with driver.verify.at_once). teardown has run
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
/* Of calls from here on, in place of options.timeout_s. INFINITY: a stall, or a rank that leaves, still ends
 * them. [M] */
void tutti_comm_thread_set_timeout(tutti_comm_thread *thread, double timeout_s);
/* Makes the communicating thread call chore(ctx, &done), with comm_lock held, in every pass until it
 * is done or fails. TIMEOUT after options.timeout_s; the driver's failure. *remains: it may still be called, so ctx has
 * to stay. [M] */
tutti_status tutti_comm_thread_do(tutti_comm_thread *thread,
    tutti_status (*chore)(void *ctx, int *done), void *ctx, int *remains);
/* Waits until ended(ctx, &status), which it calls again and again, returns 1; returns that status. Or the driver's
 * failure, or TIMEOUT after options.timeout_s, with *late 1 and nothing logged. [M] */
tutti_status tutti_comm_thread_await(
    tutti_comm_thread *thread, int (*ended)(void *ctx, tutti_status *status), void *ctx, int *late);
/* `busy` may have become true. [A] */
void tutti_comm_thread_wake(void *thread);

#endif
