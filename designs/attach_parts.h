/* The inside of a session: shared by attach.c (attaching, detaching) and attach_calls.c (its collectives). */
#ifndef TUTTI_ATTACH_PARTS_H
#define TUTTI_ATTACH_PARTS_H

#include "dag/run/insert.h"
#include "designs/attach.h"
#include "designs/exchange.h"
#include "designs/names.h"
#include "designs/operators.h"

struct tutti_session {
    tutti_exchange *exchange;
    tutti_insert *insert;
    tutti_names *names;
    tutti_operators operators;
    int rank, size;
};

/* What every call on a session begins with: INVAL (logged) where it is none, and inside tasks. */
tutti_status tutti_session_enter(const tutti_session *session, const char *function);

#endif
