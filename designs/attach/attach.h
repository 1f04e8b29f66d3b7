/* Collectives as tasks of an existing StarPU program.   #include <tutti/starpu.h>, link with
 * -ltutti (pkg-config tutti).
 *
 * Attach once to the running StarPU and an MPI communicator; then each call inserts one collective
 * on StarPU data as a task: it starts when the tasks submitted before it on the same handles allow,
 * and tasks submitted after it wait for it, by StarPU's own data dependencies. No worker waits for
 * another rank. The design is chosen at run time.
 *
 *     tutti_session *tutti;
 *     tutti_attach(MPI_COMM_WORLD, NULL, &tutti);            after starpu_init and MPI_Init_thread
 *     ...submit tasks that write gradient_handle...
 *     tutti_allreduce(tutti, gradient_handle, TUTTI_F32, TUTTI_SUM);
 *     ...submit tasks that read gradient_handle...
 *     tutti_wait(tutti, 60);                                 everything inserted so far has ended
 *     if (tutti_detach(tutti)) ...                           before starpu_shutdown, MPI_Finalize
 *
 * THE RULE: every rank makes the same calls in the same order (Tutti then starts them in one order
 * everywhere).
 *
 * Threads: MPI must have been initialised with at least MPI_THREAD_SERIALIZED, and with
 * MPI_THREAD_MULTIPLE when the program itself calls MPI while a session is open. Every call is for the
 * program's main thread. Sessions: a program may have several at a time, one a communicator for example
 * (rows, columns and all ranks of a grid); one thread at a time is inside MPI for all of them. Every rank
 * attaches and detaches them in the same order. The algorithm "mpi", which blocks, allows only one.
 * Data: vectors, variables, and matrices and blocks without gaps (leading dimension equal to the row
 * length), not partitioned. The elements have the size of the given type, as they were registered; a
 * variable, and an element of more than 8 bytes (a complex number, a point), is one of the type or
 * several, and counts so; calls without an operator also move TUTTI_U8, bytes, of elements of any size.
 * Data without a value (registered with home node -1, and no task that writes them was submitted) can
 * only be received: by a broadcast (not at its root), and as recv beside another handle. A collective works
 * on the copy in main memory, wherever the data are registered, and holds it as starpu_data_acquire does
 * from its start to its end. The handles and their data must live until then. Errors: a status other than
 * TUTTI_OK, and one line on stderr, or in the program's own log (tutti_log_to), with the name of the
 * function that says what is wrong; tutti_last_error gives the same sentence as text (tutti/status.h).
 * Wrong arguments are INVAL, and nothing was inserted; so is a call on a session that is NULL, was never
 * attached or was detached, and one inside a task. The library never ends the process, whatever happens,
 * unless the program has asked for it (may_abort). */
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

/* What is 0 or NULL takes its default: begin with  tutti_attach_options options = {0};  A later
 * release may add fields at the end. */
typedef struct tutti_attach_options {
    const char *design; /* "funneled", "concurrent", "chained", "sequential"; NULL: environment
                           TUTTI_DESIGN, or funneled. With "sequential" collectives run inside
                           tutti_wait, so wait with it, not with StarPU alone. */
    int lanes;          /* concurrent: communicators, at most 1024; 0: TUTTI_LANES, or 4 */
    /* 0: Tutti never ends the process. 1: it calls MPI_Abort where the program may not be able to
     * end by itself: 2 s after stall_abort_s when it has not detached or ended, and when
     * MPI_Finalize closes a session in which something has failed. */
    int may_abort;
    const char
        *algorithm; /* "auto", "ring", "recursive-doubling", ...; NULL: TUTTI_ALGORITHM, or auto */
    const char *check; /* whether ranks compare their collectives: "off", "on" (while they run),
                          "full" (none starts before all ranks have come to it); NULL: TUTTI_CHECK,
                          or on */
    /* Seconds that a collective may stand still: until a warning, until every rank writes its last
     * collectives down, and until all ranks end with TIMEOUT (see tutti-starpu(3)). 0: the
     * environment's TUTTI_STALL_WARN, _DUMP and _ABORT, or 5, 10 and 60; below 0: never. At most 1e6. */
    double stall_warn_s, stall_dump_s, stall_abort_s;
} tutti_attach_options;

/* As tutti_attach below, which a program calls, with the size of its tutti_attach_options:
 * programs and libraries of different releases understand each other. USAGE, too, when the
 * options hold something that this library does not know yet. For bindings to other languages. */
TUTTI_API tutti_status tutti_attach_sized(MPI_Comm comm, const tutti_attach_options *options,
    size_t options_bytes, tutti_session **session);

/* Collective over comm, an intracommunicator. options may be NULL. USAGE, on all ranks when it is
 * so on one: unknown design, algorithm or check (the known ones are listed), another field out of
 * its range; INVAL: session is NULL, or comm MPI_COMM_NULL; UNSUPPORTED: MPI or StarPU is not
 * initialised, MPI was initialised with too low a thread level, or the algorithm "mpi" would
 * share MPI with another session; TIMEOUT: another rank has not come within stall_abort_s, at
 * most 60 s. */
static inline tutti_status tutti_attach(
    MPI_Comm comm, const tutti_attach_options *options, tutti_session **session)
{
    return tutti_attach_sized(comm, options, sizeof(tutti_attach_options), session);
}

/* Waits for everything (at most 60 s), then leaves. Collective. NULL is accepted. MPI_Finalize closes what
 * is still open, with an error line. The session is gone,
 * whatever is returned: the first failure of any collective as of tutti_wait, also one that only this
 * call finds (this rank has come to its end and another inserts more: MISMATCH); TIMEOUT when what is
 * in flight or another rank's end does not come. */
TUTTI_API tutti_status tutti_detach(tutti_session *session);

/* In comm, and its size. -1 (logged): this is no open session. */
TUTTI_API int tutti_rank(const tutti_session *session);
TUTTI_API int tutti_size(const tutti_session *session);

/* What the data of this handle are called in messages; where ranks are compared, the names must agree
 * too, so that a swap of two handles of the same size is found. The name is copied; NULL: none, as
 * before the first call. Call it again when the handle is registered anew. NOMEM. */
TUTTI_API tutti_status tutti_name(tutti_session *session, tutti_handle data, const char *name);

/* ---- collectives ----
 *
 * Those with one handle work in place. Those with send and recv leave send as it is and overwrite recv; the
 * same handle twice is in place. "A part" is what a rank has of data that are dealt to all: parts lie one after
 * the other in the order of ranks. They have one length, which is that of the handles, or, in the calls that
 * end in v, counts[r] elements for rank r: an array of `size` counts, 0 or more, the same on every rank (but
 * for alltoallv), copied. dtype goes with op as the table in tutti/op.h says. Operands are combined in an
 * order that is the same on every rank and in every run.
 *
 * Sizes are compared between the ranks as count, type, operator, root and counts are. Those of an alltoallv,
 * which no rank knows all of, are not: where a part is sent with another length than is awaited, the
 * collective fails. */

/* Every rank's data become the element-wise result over all ranks. */
TUTTI_API tutti_status tutti_allreduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op);
TUTTI_API tutti_status tutti_allreduce_to(tutti_session *session, tutti_handle send,
    tutti_handle recv, tutti_dtype dtype, tutti_reduce_op op);
/* Root's data become everyone's. The others' need no value before. */
TUTTI_API tutti_status tutti_broadcast(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, int root);
/* The result is root's; the others' data (recv) are scratch afterwards, and are given, too. */
TUTTI_API tutti_status tutti_reduce(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op, int root);
TUTTI_API tutti_status tutti_reduce_to(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op, int root);
/* Afterwards block r of the data (n/size elements, the first n%size blocks one more) is reduced on rank r;
 * the other blocks are scratch. recv has as many elements as send. */
TUTTI_API tutti_status tutti_reduce_scatter(
    tutti_session *session, tutti_handle data, tutti_dtype dtype, tutti_reduce_op op);
TUTTI_API tutti_status tutti_reduce_scatter_to(tutti_session *session, tutti_handle send,
    tutti_handle recv, tutti_dtype dtype, tutti_reduce_op op);
/* recv of rank r is the result over the ranks 0 to r (an inclusive prefix). */
TUTTI_API tutti_status tutti_scan(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, tutti_reduce_op op);
/* send of rank r becomes part r of recv on every rank. In place: it is there already. */
TUTTI_API tutti_status tutti_allgather(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype);
TUTTI_API tutti_status tutti_allgatherv(tutti_session *session, tutti_handle send,
    tutti_handle recv, tutti_dtype dtype, const int64_t counts[]);
/* send of rank r becomes part r of root's recv; that of the others is ignored, and may be NULL. In place, a
 * rank's input is its part of the data, which are as long everywhere; the others' stay as they are. */
TUTTI_API tutti_status tutti_gather(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype, int root);
TUTTI_API tutti_status tutti_gatherv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t counts[], int root);
/* Part r of root's send becomes recv of rank r; send of the others is ignored, and may be NULL. In place, the
 * data are as long everywhere, and part r of rank r is overwritten with root's. */
TUTTI_API tutti_status tutti_scatter(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype, int root);
TUTTI_API tutti_status tutti_scatterv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t counts[], int root);
/* Part q of rank r's send becomes part r of rank q's recv. send_counts[q] elements go to rank q, and
 * recv_counts[r] come from rank r; with counts it is never in place. */
TUTTI_API tutti_status tutti_alltoall(
    tutti_session *session, tutti_handle send, tutti_handle recv, tutti_dtype dtype);
TUTTI_API tutti_status tutti_alltoallv(tutti_session *session, tutti_handle send, tutti_handle recv,
    tutti_dtype dtype, const int64_t send_counts[], const int64_t recv_counts[]);
/* Ends when every rank has come to it: tasks on the data that are submitted behind it run after those on any
 * rank before it. NULL: it orders no tasks, and tutti_wait tells its end. */
TUTTI_API tutti_status tutti_barrier(tutti_session *session, tutti_handle data);

/* An operator of the program's own, for any dtype: *op is its number in this session, for the calls above.
 * Every rank makes the same ones in the same order; names are copied, and compared. commutes 0: ranks are
 * combined in their order, which takes more bytes (an allreduce log2 size times the data). The function is
 * called on any thread, and must stay until detach. Not with the algorithm "mpi" (UNSUPPORTED when it
 * starts). UNSUPPORTED: more than 1024. */
TUTTI_API tutti_status tutti_operator(tutti_session *session, const char *name,
    tutti_op_function function, void *ctx, int commutes, tutti_reduce_op *op);

/* Waits until every collective inserted so far has ended on this rank. TIMEOUT (logged, with their
 * names) after timeout_s. 0 does not wait, and logs nothing: it looks whether all have ended. INFINITY
 * waits without limit (a stall still ends it, see stall_abort_s). Below 0 and NaN are INVAL. MISMATCH when
 * the ranks' collectives differ (logged on every rank: which, and how; all of them end so, now and later);
 * otherwise the first failure of any of them.
 * THE DATA: with any status but TIMEOUT nothing is in flight any more on this rank, and the data of all
 * that was inserted are the program's again, to use, unregister and free. After a failure ranks need a
 * moment for that, which may be some seconds beyond timeout_s. With TIMEOUT the data of what has not
 * ended are in use: MPI may read and write them at any time. Wait again, or end the program without
 * freeing them. */
TUTTI_API tutti_status tutti_wait(tutti_session *session, double timeout_s);
/* The same for the collectives on the data of one handle, whatever else is in flight. Those of other handles
 * may go on after it; after a failure it waits for all, as tutti_wait does. Tasks of the program on the data
 * are StarPU's: starpu_data_acquire waits for both. */
TUTTI_API tutti_status tutti_wait_for(tutti_session *session, tutti_handle data, double timeout_s);

#ifdef __cplusplus
}
#endif
#endif
