/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives as tasks of an existing StarPU program. #include <tutti/starpu.h> and link with
 * -ltutti (pkg-config tutti).
 *
 * Attach once to the running StarPU and to an MPI communicator. Each call then inserts one
 * collective on StarPU data as a task. The task waits for the tasks submitted before it on the same
 * handles, and tasks submitted after it wait for it, by StarPU's own data dependencies. No worker
 * waits for another rank. The design is chosen at run time.
 *
 *     tutti_session *tutti;
 *     tutti_start_starpu(NULL);                              instead of starpu_init
 *     tutti_attach(MPI_COMM_WORLD, NULL, &tutti);            after MPI_Init_thread, too
 *     ...submit tasks that write gradient_handle...
 *     tutti_allreduce(tutti, gradient_handle, TUTTI_F32, TUTTI_SUM);
 *     ...submit tasks that read gradient_handle...
 *     tutti_wait(tutti, 60);                                 everything inserted so far has ended
 *     if (tutti_detach(tutti)) ...                           before starpu_shutdown, MPI_Finalize
 *
 * THE RULE: every rank must make the same calls in the same order. Tutti then starts the
 * collectives in one order on all ranks.
 *
 * Threads: initialise MPI with at least MPI_THREAD_SERIALIZED, and with MPI_THREAD_MULTIPLE if the
 * program itself calls MPI while a session is open. Make every call from the program's main thread.
 *
 * Sessions: a program may have several at a time, for example one per communicator (the rows, the
 * columns and all ranks of a grid). Only one thread at a time is inside MPI for all of them. Every
 * rank must attach and detach them in the same order.
 *
 * Data: vectors, variables, and contiguous matrices and blocks (leading dimension equal to the row
 * length), not partitioned. The elements must have been registered with the size of the given type;
 * a variable is one element. If an element holds several values (a point, an array), say so:
 * tutti_several(TUTTI_F64) in place of the type; the number of elements is then the number of values.
 * Calls without an operator also accept TUTTI_U8, to move the bytes of elements of any size. Data
 * without a value (registered with home node -1, and no task that writes them has been submitted)
 * can only be received: by a broadcast (not at its root), or as recv when send is another handle. A
 * collective works on the copy in main memory, wherever the data are registered, and holds it from
 * its start to its end, as starpu_data_acquire does. The handles and their data must live until then.
 *
 * Errors: a call that fails returns a status other than TUTTI_OK and logs one line, on stderr or in
 * the program's own log (tutti_log_to), that names the function and says what is wrong.
 * tutti_last_error returns the same sentence as text (tutti/status.h). A wrong argument is INVAL,
 * and nothing is inserted. So is a call inside a task, and a call on a session that is NULL, was
 * never attached or has been detached. The library never ends the process, whatever happens, unless
 * the program has asked for it (may_abort). */
#ifndef TUTTI_ATTACH_H
#define TUTTI_ATTACH_H

#include <mpi.h>
#include <starpu.h>

#include <tutti/dtype.h>
#include <tutti/log.h>
#include <tutti/op.h>
#include <tutti/status.h>
#include <tutti/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_session tutti_session;
typedef starpu_data_handle_t tutti_handle;

/* Fields that are 0 or NULL take their defaults: begin with  tutti_attach_options options = {0};
 * A field that is set hides its environment variable, even one with a bad value. A later release
 * may add fields at the end. */
typedef struct tutti_attach_options {
    /* "funneled", "concurrent", "chained", "sequential"; NULL: environment TUTTI_DESIGN, or
     * funneled. With "sequential", collectives run inside tutti_wait, so wait with it, not with
     * StarPU alone. */
    const char *design;
    /* Communicators of the concurrent design, at most 1024; 0: TUTTI_LANES, or 4. */
    int lanes;
    /* 0: Tutti never ends the process. 1: it calls MPI_Abort when the program may be unable to end
     * by itself: 2 s after stall_abort_s if the program has not ended, nor detached with nothing
     * left in flight, and when MPI_Finalize closes a session in which something has failed. */
    int may_abort;
    /* "auto", "ring", "recursive-doubling", ...; NULL: TUTTI_ALGORITHM, or auto. */
    const char *algorithm;
    /* Whether ranks compare their collectives: "off", "on" (while they run), "full" (a collective
     * starts only when all ranks have reached it); NULL: TUTTI_VERIFY, or on. */
    const char *verify;
    /* Seconds without progress of a collective until a warning, until every rank dumps its last
     * collectives, and until all ranks end with TIMEOUT (see tutti-starpu(3)). 0: the environment's
     * TUTTI_STALL_WARN, _DUMP and _ABORT, or 5, 10 and 60; below 0: never. At most 1e6. */
    double stall_warn_s, stall_dump_s, stall_abort_s;
    /* Seconds that tutti_attach waits for the other ranks to call it. 0: TUTTI_SETUP_TIMEOUT, or
     * 60. At most 1e6. */
    double setup_timeout_s;
    /* An allreduce of more than this many MB (10^6 bytes) is cut into chunks, between which others
     * may go, and which the concurrent design spreads over its lanes. 0: TUTTI_CHUNK_MB, or 1.05, or what
     * rules:FILE says; below 0: none is cut. */
    double chunk_mb;
} tutti_attach_options;

/* As tutti_attach below, with the size of the caller's tutti_attach_options, so that programs and
 * libraries of different releases work together. Programs call tutti_attach; this is for bindings
 * to other languages. Also USAGE if the options hold something that this library does not know
 * yet. */
TUTTI_API tutti_status tutti_attach_sized(MPI_Comm comm, const tutti_attach_options *options,
    size_t options_bytes, tutti_session **session);

/* As starpu_init, for programs of which several ranks share a machine. StarPU's first start on a machine measures it
 * and writes files; a process that starts meanwhile may read half a file, and is ended by StarPU (signal 6). So
 * the processes of a user wait for one that measures. If StarPU cannot write in its folder, which would end the
 * process, too, it gets another one, with a warning. conf may be NULL. Not collective; before or after MPI_Init.
 * TIMEOUT: other processes have been starting StarPU for five minutes. IO: StarPU can keep its measurements
 * nowhere. UNSUPPORTED: StarPU does not start. */
TUTTI_API tutti_status tutti_start_starpu(struct starpu_conf *conf);

/* Collective over comm, an intracommunicator. options may be NULL. USAGE, on all ranks if on one:
 * an unknown design, algorithm or verify (the message lists the known ones), or a field out of
 * range. INVAL: session is NULL, or comm is MPI_COMM_NULL. UNSUPPORTED: MPI or StarPU is not
 * initialised, or MPI was initialised with too low a thread level. TIMEOUT: another rank has not
 * arrived within setup_timeout_s. */
static inline tutti_status tutti_attach(
    MPI_Comm comm, const tutti_attach_options *options, tutti_session **session)
{
    return tutti_attach_sized(comm, options, sizeof(tutti_attach_options), session);
}

/* Waits for everything (at most 60 s), then leaves. Collective. NULL is accepted. MPI_Finalize
 * closes a session that is still open, with an error line. The session no longer exists after this
 * call, whatever it returns. Returns the first failure of any collective, as tutti_wait does,
 * including one that only this call finds (another rank inserts more collectives: MISMATCH);
 * TIMEOUT if what is in flight does not end, or another rank does not detach. */
TUTTI_API tutti_status tutti_detach(tutti_session *session);

/* This rank's number in comm, and the size of comm. -1 (logged) if the session is not open. */
TUTTI_API int tutti_rank(const tutti_session *session);
TUTTI_API int tutti_size(const tutti_session *session);

/* Sets the name by which messages refer to the data of this handle. If ranks compare their
 * collectives, the names must agree too, so that a swap of two handles of the same size is found.
 * The name is copied. NULL removes it: do that before the handle is unregistered, because a later one may have
 * its address, on this rank alone. NOMEM. */
TUTTI_API tutti_status tutti_name(tutti_session *session, tutti_handle data, const char *name);

/* Sets the priority of the collectives that are inserted on the data of this handle from here on
 * (recv, where a call has send and recv; send, where recv is NULL). data NULL: of all collectives
 * on data without a priority of their own. Larger goes first; the default is 0. Set it to that of NULL
 * (0 at first) before the handle is unregistered, as with a name: the data then have none of their own.
 * Every rank must give the same priorities (MISMATCH otherwise).
 *
 *     tutti_priority(tutti, first_layer_handle, 1);     the next iteration needs it first
 *
 * Priorities decide which of the collectives that are ready on all ranks starts next. A collective
 * that some rank does not have ready holds up none, whatever its priority: the link is never idle
 * while anything could be sent. A collective that has started is not interrupted; about four chunks
 * (chunk_mb) are under way at a time, so an urgent one waits for no more than those.
 *
 * From the first collective with a priority on, ranks agree on every start, which takes it the time
 * of a few small messages (two for each level of a binary tree of the ranks); many are agreed on
 * together. The order of the starts may change from run to run; the results do not. The designs
 * "chained" and "sequential" start collectives in program order and ignore priorities (rank 0 logs
 * it once). INVAL, NOMEM. */
TUTTI_API tutti_status tutti_priority(tutti_session *session, tutti_handle data, int priority);

/* ---- groups ---- */

/* Makes a group of n ranks of the session, which get the numbers 0 to n - 1 in it, in the order of
 * `ranks`. *group: a session of these ranks, for every call below; NULL on a rank that is not one
 * of them. There, root, peers and counts are those of the group, tutti_rank and tutti_size, too.
 *
 *     int row[] = {0, 3, 5};
 *     tutti_session *group;
 *     tutti_group(tutti, 3, row, &group);                    every rank of the session calls it
 *     if (group) tutti_allreduce(group, handle, TUTTI_F32, TUTTI_SUM);
 *
 * A group's collectives have lanes of their own: those of one group start in the order of its
 * calls, and wait for nothing of another group. So the ranks of a group must make the same calls on
 * it in the same order, but each rank may mix calls on several groups as it likes, as long as no
 * data make collectives wait for each other in a ring.
 *
 * Collective over the session: every rank calls it, with the same ranks, in the same order. It
 * waits as tutti_wait does, at most 60 s, for everything that this rank has inserted so far, and then,
 * without a limit (but a stall ends it), for the other ranks. The group lives until the
 * session is detached, which waits for its collectives, as tutti_wait does with either. Data names
 * and operators are those of the session; tutti_priority, tutti_operator, the trace and
 * tutti_detach take the session alone (INVAL for a group), and priorities mean nothing in a group.
 *
 * TIMEOUT, on this rank alone: what it has inserted has not ended. The others wait: call it again.
 * Otherwise the same status on all ranks: INVAL, a rank that does not exist, or one twice; MISMATCH, the ranks
 * name different groups (as when each makes only its own, as with MPI_Comm_split); UNSUPPORTED, too
 * many groups of two; also NOMEM, and tutti_wait's. */
TUTTI_API tutti_status tutti_group(
    tutti_session *session, int n, const int ranks[], tutti_session **group);

/* ---- messages ----
 *
 * Data go from one rank to another, as a task on the sender's handle, which reads it, and one on
 * the receiver's, which overwrites it. An edge is the messages from one rank to another that bear
 * one number: the n-th that is sent on it is the n-th that is received. Edges wait for nothing but
 * their own messages: not for each other, not for collectives, and no priority holds them back. A
 * sender may be far ahead; its data are in use until they have been received.
 *
 * Both ranks give the same type and number of elements. edge: from 0 to 2047 (fewer with an MPI
 * that has few tags). With a group, peers are ranks of the group, and the edge is that of the
 * session. INVAL: an edge or a peer out of range, or the rank itself. If one side never makes its
 * call, the stall report names the edge, both ranks, the number of the message and the call. */

TUTTI_API tutti_status tutti_send(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, int to, int edge);
TUTTI_API tutti_status tutti_recv(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, int from, int edge);
/* Both at once, for rings and halos; send and recv are two handles. */
TUTTI_API tutti_status tutti_sendrecv(tutti_session *session, tutti_handle send, int to,
    tutti_handle recv, int from, tutti_dtype dtype, int edge);

/* ---- remote buffers ----
 *
 * A buffer that two ranks share by copies: each registers its own, with the other as its peer, and
 * both with the same type, count and edge. What one puts, the other gets:
 *
 *     tutti_register(tutti, TUTTI_F32, n, 1, 0, &buffer);    rank 0: its peer is rank 1, on edge 0
 *     ...submit tasks that write the buffer...
 *     tutti_put(tutti, buffer);                              rank 1's buffer becomes this value
 *
 *     tutti_register(tutti, TUTTI_F32, n, 0, 0, &buffer);    rank 1
 *     tutti_get(tutti, buffer);                              tasks from here on see what was put
 *     ...submit tasks that read the buffer...
 *
 * Its memory is the session's. Over shared memory (TUTTI_TRANSPORT=shm, or mesh, on one host) the
 * peer writes to it: a put of more than 4 KiB is one copy, from buffer to buffer, where a message
 * into the program's own memory is two. Otherwise buffers are as fast as messages.
 *
 * A buffer is a StarPU vector like any other, for tasks and for every call of this header, but only
 * tutti_unregister ends it. The n-th put of one rank is the n-th get of the other. Puts and gets are
 * messages, on the edge of the buffer: do not use that edge for others. A put reads the buffer, and a
 * get overwrites it, after all that was submitted before on it: so nothing is written to a buffer that
 * tasks of its rank still read, and tasks after a get start when its put has arrived. */

/* Registers `count` elements, which are 0 at first. The peer is a rank of the session or group. Other
 * ranks do not take part; a peer with another type or count is found by the first put (MISMATCH, on
 * both). INVAL: as of tutti_send, or a count that StarPU's vectors cannot have; NOMEM. */
TUTTI_API tutti_status tutti_register(tutti_session *session, tutti_dtype dtype, int64_t count,
    int peer, int edge, tutti_handle *buffer);
/* Waits until puts, gets and tasks on the buffer have ended (at most 60 s for what Tutti has
 * inserted), then ends it, and its memory. TIMEOUT: it is still registered. After any other failure,
 * which is that of tutti_wait_for, it is not. tutti_detach ends what is left. */
TUTTI_API tutti_status tutti_unregister(tutti_session *session, tutti_handle buffer);
/* INVAL: tutti_register has not made this handle, with this session or group. */
TUTTI_API tutti_status tutti_put(tutti_session *session, tutti_handle buffer);
TUTTI_API tutti_status tutti_get(tutti_session *session, tutti_handle buffer);

/* ---- collectives ----
 *
 * Calls with one handle work in place. Calls with send and recv leave send unchanged and overwrite
 * recv; the same handle twice means in place. A "part" is one rank's share of data that are divided
 * among all ranks; parts lie one after the other, in the order of ranks. All have the same length,
 * which follows from the handles, except in the calls that end in v: there rank r's part has
 * counts[r] elements. counts is an array of `size` counts, 0 or more, the same on every rank
 * (except for alltoallv); it is copied. The table in tutti/op.h says which dtype goes with which
 * op. Operands are combined in an order that is the same on every rank and in every run.
 *
 * Ranks compare count, type, operator, root and counts. They do not compare the counts of an
 * alltoallv, because no rank knows all of them: if a part is sent with a length other than the
 * receiver expects, the collective fails. */

/* Every rank's data become the element-wise result over all ranks. */
TUTTI_API tutti_status tutti_allreduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op);
TUTTI_API tutti_status tutti_allreduce_to(tutti_session *session, tutti_handle send,
    tutti_handle recv, tutti_dtype dtype, tutti_reduce_op op);
/* The same of several vectors of each rank, as one object: recv becomes the result over all vectors
 * of all ranks. Each rank combines its vectors in their order, a segment at a time, while the
 * segments before it travel, instead of all of them before anything travels. `vectors`: 1 to 16;
 * ranks may have different numbers of them. send is copied; recv may be send[0] (in place) and no
 * other of them. */
TUTTI_API tutti_status tutti_allreduce_vectors(tutti_session *session, int vectors,
    const tutti_handle send[], tutti_handle recv, tutti_dtype dtype, tutti_reduce_op op);
/* Copies root's data to all ranks. The other ranks' data need no value before. */
TUTTI_API tutti_status tutti_broadcast(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, int root);
/* Root gets the result. The other ranks must pass their data (recv) too, which are scratch
 * afterwards. */
TUTTI_API tutti_status tutti_reduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op, int root);
TUTTI_API tutti_status tutti_reduce_to(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op, int root);
/* Afterwards block r of the data (n/size elements, one more in the first n%size blocks) is reduced
 * on rank r; the other blocks are scratch. recv has as many elements as send. */
TUTTI_API tutti_status tutti_reduce_scatter(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op);
TUTTI_API tutti_status tutti_reduce_scatter_to(tutti_session *session, tutti_handle send,
    tutti_handle recv, tutti_dtype dtype, tutti_reduce_op op);
/* recv of rank r is the result over the ranks 0 to r (an inclusive prefix). */
TUTTI_API tutti_status tutti_scan(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op);
/* send of rank r becomes part r of recv on every rank. In place, it is already there. */
TUTTI_API tutti_status tutti_allgather(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype);
TUTTI_API tutti_status tutti_allgatherv(tutti_session *session, tutti_handle send,
    tutti_handle recv, tutti_dtype dtype, const int64_t counts[]);
/* send of rank r becomes part r of root's recv. The other ranks' recv is ignored and may be NULL.
 * In place, a rank's input is its own part of the data, which have the same length everywhere; the
 * other ranks' data stay unchanged. */
TUTTI_API tutti_status tutti_gather(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype, int root);
TUTTI_API tutti_status tutti_gatherv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t counts[], int root);
/* Part r of root's send becomes recv of rank r. The other ranks' send is ignored and may be NULL.
 * In place, the data have the same length everywhere, and part r on rank r is overwritten with
 * root's part r. */
TUTTI_API tutti_status tutti_scatter(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype, int root);
TUTTI_API tutti_status tutti_scatterv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t counts[], int root);
/* Part q of rank r's send becomes part r of rank q's recv. With counts, send_counts[q] elements go
 * to rank q and recv_counts[r] come from rank r; that call is never in place. */
TUTTI_API tutti_status tutti_alltoall(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype);
TUTTI_API tutti_status tutti_alltoallv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t send_counts[], const int64_t recv_counts[]);
/* Ends when every rank has reached it. Tasks on the data that are submitted after it run after
 * those that any rank has submitted before it. With NULL it orders no tasks; tutti_wait shows when
 * it has ended. */
TUTTI_API tutti_status tutti_barrier(tutti_session *session, tutti_handle data);

/* Makes a user-defined operator, for any dtype. *op becomes its number in this session, for the
 * calls above. Every rank must make the same operators in the same order; names are copied and
 * compared. With commutes 0, operands are combined in rank order, which takes more messages (of a
 * long allreduce: 2 (size - 1) for each part of the data). The function may be called on any thread
 * and must stay valid until detach. The algorithm "mpi" does not take such operators (UNSUPPORTED
 * when the collective starts). UNSUPPORTED: more than 1024 operators. */
TUTTI_API tutti_status tutti_operator(tutti_session *session, const char *name,
    tutti_op_function function, void *ctx, int commutes, tutti_reduce_op *op);

/* As tutti_operator, but the function always gets all elements of two operands at once: `count` is that of
 * the collective. For operands that are one object, such as a record or a model. Such vectors are not cut
 * into blocks, segments or chunks, whatever the algorithm. Not for a reduce_scatter (INVAL when it starts). */
TUTTI_API tutti_status tutti_operator_whole(tutti_session *session, const char *name,
    tutti_op_function function, void *ctx, int commutes, tutti_reduce_op *op);

/* Waits until every collective inserted so far has ended on this rank. TIMEOUT (logged, with the
 * names of those in flight) after timeout_s. 0 does not wait and logs nothing: it only tests
 * whether all have ended. INFINITY waits without limit (a stall still ends the wait, see
 * stall_abort_s). A negative number and NaN are INVAL. MISMATCH if the ranks' collectives differ
 * (logged on every rank: which, and how; every collective fails with it, now and later); otherwise
 * the first failure of any of them.
 * THE DATA: with any status but TIMEOUT, nothing is in flight any more on this rank, and the data
 * of everything that was inserted are the program's again, to use, unregister and free. (StarPU may
 * count a collective among its tasks for a moment longer: tutti_detach, which comes before
 * starpu_shutdown, and starpu_task_wait_for_all wait for that.) After a
 * failure this may take some seconds beyond timeout_s. With TIMEOUT, the data of collectives that
 * have not ended are in use: MPI may read and write them at any time. Wait again, or end the
 * program without freeing them. After a stall this returns when they have ended, or after 1.5 s if a
 * rank is missing. */
TUTTI_API tutti_status tutti_wait(tutti_session *session, double timeout_s);
/* The same for the collectives on the data of one handle, whatever else is in flight. Collectives
 * on other handles may still run after it; after a failure it waits for all, as tutti_wait does. The
 * program's own tasks on the data belong to StarPU: starpu_data_acquire waits for both. */
TUTTI_API tutti_status tutti_wait_for(tutti_session *session, tutti_handle data, double timeout_s);

/* ---- ranks that come and go ----
 *
 * A program of your own whose ranks may die, and be replaced: without MPI, started by
 * tutti-run --elastic LEAST:MOST -n N PROGRAM. It hands its loop over to tutti_membership_run, as four
 * functions:
 *
 *     save, load    its data (what a checkpoint would hold), from its handles into memory, and back
 *     step          inserts one step's tasks and collectives, as always
 *     enter         the ranks have changed: how many there are, and which one this is
 *
 *     tutti_start_starpu(NULL); ...register data, with their first values...
 *     tutti_membership_program program = {.bytes = n, .save = save, .load = load, .step = step};
 *     status = tutti_membership_run(NULL, &program);
 *
 * Every `every` steps all ranks save, and the library keeps the newest two of these snapshots. When a
 * rank is lost, the others load the newest one that all have, and continue with its step. A new rank gets
 * it from another one. So the ranks have the same data at each step, as if they had been started with
 * that snapshot. Rank numbers change with each epoch; number is that of the rank for good.
 *
 * Data that ranks do not share do not survive one of them: save what all have, or what each can make
 * from its rank. See doc/elastic.md. */

typedef struct tutti_epoch {
    int64_t epoch; /* 1, 2, ... */
    int64_t step;  /* the first one of this epoch; the snapshot of it is loaded */
    int rank, size;
    int lost, joined; /* how many others, since the last epoch of this rank */
    int64_t number;   /* of this rank, in all epochs; no other rank ever has it */
} tutti_epoch;

/* All functions are called on the thread that calls tutti_membership_run, with ctx. Fields that are 0 or
 * NULL take their defaults. A later release may add fields at the end. */
typedef struct tutti_membership_program {
    void *ctx;
    /* Of a snapshot: the same on all ranks. */
    size_t bytes;
    /* Copies the data into the snapshot, or back. All collectives have ended; the program's own tasks
     * have if starpu_data_acquire says so. save is first called before the first epoch, for step 0. */
    void (*save)(void *ctx, void *snapshot);
    void (*load)(void *ctx, const void *snapshot);
    /* Step number `step`, from 0. *last: 1 if it is the last one, on all ranks. It need not wait. The
     * status of a Tutti call, so that the epoch ends after a failure, or one of its own, which ends the
     * run on this rank. */
    tutti_status (*step)(void *ctx, tutti_session *session, int64_t step, int *last);
    /* An epoch has begun, and the data are loaded. NULL: nothing is to be done. */
    tutti_status (*enter)(void *ctx, tutti_session *session, const tutti_epoch *epoch);
    /* The epoch ends: nothing of the session is in flight any more, and the session ends. why: OK, or the
     * failure of its collectives, after which data have no meaning until load. NULL: nothing. */
    void (*leave)(void *ctx, tutti_status why);
    /* Steps from one snapshot to the next; 0: 10. New ranks are taken in at snapshots alone. */
    int64_t every;
    /* Not NULL: when this is not 0 any more, the rank leaves at the next snapshot, so that nothing is
     * computed again, with INTERRUPTED. A handler of signals may set it. */
    const volatile int *leaving;
    /* What else ranks must share ("model=3 rate=0.1"): a rank with another text is refused. NULL: nothing. */
    const char *settings;
} tutti_membership_program;

/* As tutti_membership_run below, with the sizes of the caller's structs. */
TUTTI_API tutti_status tutti_membership_run_sized(const tutti_attach_options *options,
    size_t options_bytes, const tutti_membership_program *program, size_t program_bytes);

/* Runs the program to its last step; OK: all ranks that live have come to it. options are those of
 * tutti_attach, and may be NULL. Call it after starpu_init, and not inside MPI. USAGE: tutti-run --elastic
 * has not started this process, or options are wrong. INVAL: a function or the bytes are missing. COMM: this
 * rank has to stop, since the others continue without it, or too few are left. INTERRUPTED: it has left.
 * Otherwise the failure of step or enter. After COMM, as after any failure, what this process has inserted has
 * ended. */
static inline tutti_status tutti_membership_run(
    const tutti_attach_options *options, const tutti_membership_program *own_program)
{
    return tutti_membership_run_sized(
        options, sizeof(tutti_attach_options), own_program, sizeof(tutti_membership_program));
}

/* ---- traces ----
 *
 * A trace shows when each collective of a session was inserted, ready, started and ended on every
 * rank, in which lane and of how many bytes; when StarPU's workers ran the program's tasks; and
 * when the main thread was inside tutti_wait. All ranks' spans come into one file, on the clock of
 * rank 0, for tutti-trace(1), which tells how much of the communication was hidden, and for
 * ui.perfetto.dev.
 *
 * Not shown: tasks that occupy no worker, copies that StarPU makes, tasks that end later than their
 * function (starpu_task_end_dep_add), tasks that are under way when the trace begins or ends, and
 * tasks in scheduling contexts that were created since it began. To see tasks, Tutti puts its own
 * hooks before those of the scheduling policy (pre_exec_hook, post_exec_hook).
 *
 * Both calls are collective over the session. They wait as tutti_wait does, at most 60 s, for everything
 * that this rank has inserted so far, and then, without a limit (but a stall ends it), for the other
 * ranks. TIMEOUT, on this rank alone: what it has inserted has not ended. The others wait: call again.
 * Otherwise they return the same status on all ranks. */

/* Begins a trace. Rank 0 will write `file`; the other ranks' file is ignored. An earlier file is
 * kept as FILE.1. INVAL: the session is being traced already; rank 0's file is NULL, empty, or a
 * device. IO: the file cannot be created, or another program writes it. UNSUPPORTED: another
 * session of the process is being traced. USAGE: TUTTI_TRACE_SPANS. Also NOMEM, and tutti_wait's.
 * Nothing has begun if it fails. */
TUTTI_API tutti_status tutti_trace_begin(tutti_session *session, const char *file);
/* Ends the trace and writes it; so does tutti_detach. A worker keeps up to TUTTI_TRACE_SPANS spans;
 * later ones are dropped and counted in the file, with a warning on every rank. INVAL: no trace has
 * begun. IO: the file could not be written; an earlier one is as it was. After TIMEOUT the trace
 * continues. After any other status it has ended; if the session has failed, no file is written. */
TUTTI_API tutti_status tutti_trace_end(tutti_session *session);

#ifdef __cplusplus
}
#endif
#endif
