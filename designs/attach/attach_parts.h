/* The inside of a session: shared by attach.c (attaching, detaching), attach_calls.c (its
 * collectives and messages), attach_group.c (its groups), buffers.c (its remote buffers) and
 * attach_trace.c (its trace), and with designs/kv. */
#ifndef TUTTI_ATTACH_PARTS_H
#define TUTTI_ATTACH_PARTS_H

#include "dag/run/insert.h"
#include "designs/attach/buffers.h"
#include "designs/attach/names.h"
#include "designs/attach/operators.h"
#include "designs/attach/priorities.h"
#include "designs/attach/recording.h"
#include "designs/exchange/exchange.h"

struct tutti_attach_options;

/* A group is a session, too: it shares all but its ranks with the one that it was made in. */
struct tutti_session {
    struct tutti_session *whole; /* the one from tutti_attach */
    struct tutti_session *next;  /* of its groups */
    int group;                   /* tutti_coll_args.group */
    tutti_exchange *exchange;    /* NULL until tutti_attach returns and after tutti_detach has */
    tutti_insert *insert;
    tutti_names *names;
    tutti_operators operators;
    tutti_priorities priorities;
    tutti_buffers buffers;
    int warned;                 /* that the design ignores priorities */
    tutti_recording *recording; /* NULL: it is not being traced */
    int rank, size;
    int may_abort;
    int detached; /* the program has called tutti_detach */
};

/* tutti_attach over the MPI_Comm at `comm`, once its options are read (refused: why they could not
 * be), with further settings that all ranks must share ("name=value\n..."), and a meter of what it
 * communicates (borrowed; NULL: none). */
tutti_status tutti_session_attach(const void *comm, tutti_status refused, const char *further,
    tutti_meter *meter, const struct tutti_attach_options *options, struct tutti_session **session);
/* The same over a transport that connect makes, with that number of lanes, in place of a communicator. Collective over
 * its ranks, whose options are not compared. epoch: in the name of a stall report, since the rank of a process changes.
 * Errors of connect, too. */
tutti_status tutti_session_attach_over(const struct tutti_attach_options *options, int64_t epoch,
    tutti_status (*connect)(void *ctx, int lanes, tutti_transport **transport), void *ctx,
    struct tutti_session **session);
/* Copies a struct of a program that was compiled with another size of it, at least `first`; given NULL: all is 0. USAGE
 * (logged). */
tutti_status tutti_session_read_sized(const char *function, const char *type, const void *given,
    size_t bytes, size_t first, void *to, size_t size);
/* The same of the options. */
tutti_status tutti_session_read_options(
    const char *function, const void *given, size_t bytes, struct tutti_attach_options *options);
/* Begins every call on a session: INVAL (logged) if the session is not open, or inside a task. */
tutti_status tutti_session_enter(const struct tutti_session *session, const char *function);
/* Ends a call that may have failed on another thread or rank: gives this thread a last error too.
 * `errors`: how many it had when the call began. Returns status. */
tutti_status tutti_session_leave(const char *function, unsigned errors, tutti_status status);
/* The same for calls that are about the whole session: INVAL for a group. */
tutti_status tutti_session_enter_whole(const struct tutti_session *session, const char *function);
/* INVAL (logged): this rank has no such edge to another. */
tutti_status tutti_session_check_edge(
    const struct tutti_session *session, const char *function, int peer, int edge);
/* Inserts a message: sends != 0 to the peer, else from it. */
tutti_status tutti_session_message(struct tutti_session *session, const char *function,
    tutti_insert_handle data, tutti_dtype dtype, int peer, int sends, int edge);
/* Waits for everything inserted so far: ranks can then meet. */
tutti_status tutti_session_finalize(struct tutti_session *session);
#endif
