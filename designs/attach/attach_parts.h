/* The inside of a session: shared by attach.c (attaching, detaching) and attach_calls.c (its collectives). */
#ifndef TUTTI_ATTACH_PARTS_H
#define TUTTI_ATTACH_PARTS_H

#include "dag/run/insert.h"
#include "designs/attach/names.h"
#include "designs/attach/operators.h"
#include "designs/exchange/exchange.h"

struct tutti_session {
    tutti_exchange
        *exchange; /* NULL before tutti_attach and after tutti_detach have come to their ends */
    tutti_insert *insert;
    tutti_names *names;
    tutti_operators operators;
    int rank, size;
    int may_abort;
    int detached; /* the program has called tutti_detach */
};

/* What every call on a session begins with: INVAL (logged) where it is none, and inside tasks. */
tutti_status tutti_session_enter(const struct tutti_session *session, const char *function);
/* What a call ends with that another thread, or another rank, may have made fail: then this thread, too, has a
 * last error. `errors`: how many it had when the call began. Returns status. */
tutti_status tutti_session_leave(const char *function, unsigned errors, tutti_status status);

#endif
