/* The open sessions of this process, so that a call on a closed one is an error instead of a crash.
 * A closed session keeps its address, so no later session can be mistaken for it. [A] */
#ifndef TUTTI_SESSIONS_H
#define TUTTI_SESSIONS_H

#include "dag/base/status.h"

#include <stddef.h>

/* Zeroed memory for a session of `bytes` bytes, which is open from here on. NULL: no memory. */
void *tutti_sessions_open(size_t bytes);
/* Numbers a session that a program attaches, from 1: another number with each call. */
int tutti_sessions_number(void);
/* Marks the session closed; its memory stays. */
void tutti_sessions_close(void *session);
/* INVAL (logged, `what` names the call) if the session is not open. */
tutti_status tutti_sessions_check(const void *session, const char *what);

#endif
