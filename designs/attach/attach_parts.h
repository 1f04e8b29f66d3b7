/* The inside of a session: shared by attach.c (attaching, detaching), attach_calls.c (its
 * collectives) and attach_trace.c (its trace). */
#ifndef TUTTI_ATTACH_PARTS_H
#define TUTTI_ATTACH_PARTS_H

#include "dag/run/insert.h"
#include "designs/attach/names.h"
#include "designs/attach/operators.h"
#include "designs/attach/priorities.h"
#include "designs/attach/recording.h"
#include "designs/exchange/exchange.h"

struct tutti_session {
    tutti_exchange *exchange; /* NULL until tutti_attach returns and after tutti_detach has */
    tutti_insert *insert;
    tutti_names *names;
    tutti_operators operators;
    tutti_priorities priorities;
    int warned; /* that the design ignores priorities */
    tutti_recording *recording; /* NULL: it is not being traced */
    int rank, size;
    int may_abort;
    int detached; /* the program has called tutti_detach */
};

/* Begins every call on a session: INVAL (logged) if the session is not open, or inside a task. */
tutti_status tutti_session_enter(const struct tutti_session *session, const char *function);
/* Ends a call that may have failed on another thread or rank: gives this thread a last error too.
 * `errors`: how many it had when the call began. Returns status. */
tutti_status tutti_session_leave(const char *function, unsigned errors, tutti_status status);
#endif
