/* Which sessions of this process are open, so that a call on one that is not is an error instead of a
 * crash. A session that was closed keeps its address: a later one is never taken for it. [A] */
#ifndef TUTTI_SESSIONS_H
#define TUTTI_SESSIONS_H

#include "dag/base/status.h"

#include <stddef.h>

/* Room for a session of so many bytes, zeroed; open from here on. NULL: no memory. */
void *tutti_sessions_open(size_t bytes);
/* It is open no more; its room stays. */
void tutti_sessions_close(void *session);
/* INVAL (logged, `what` names the call) when this is no open session. */
tutti_status tutti_sessions_check(const void *session, const char *what);

#endif
