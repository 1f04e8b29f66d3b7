/* How ranks part: each sends all others the number of collectives it has started on every lane,
 * and waits until it has theirs. Threads: the driver's comm_lock. */
#ifndef TUTTI_FAREWELL_H
#define TUTTI_FAREWELL_H

#include "collectives/control.h"

typedef struct tutti_farewell tutti_farewell;

/* Handles TUTTI_CONTROL_BYE. NOMEM. */
tutti_status tutti_farewell_open(tutti_control *control, int lanes, tutti_farewell **farewell);
void tutti_farewell_close(tutti_farewell *farewell); /* accepts NULL */

/* Says bye with `started` collectives a lane; NULL: after a failure, when counts mean nothing. */
tutti_status tutti_farewell_say(tutti_farewell *farewell, const int64_t started[]);
/* Whether every other rank has said bye, with as many as `started` or after a failure; NULL: with
 * any. */
int tutti_farewell_heard_all(const tutti_farewell *farewell, const int64_t started[]);
/* "1, 3": those that have not, into text; returns text. */
char *tutti_farewell_missing(const tutti_farewell *farewell, char *text, size_t size);

typedef struct tutti_farewell_gap {
    int rank, lane;
    int64_t theirs; /* collectives */
} tutti_farewell_gap;

/* Whether a rank has said bye with fewer on some lane than `started`. */
int tutti_farewell_finds_gap(
    const tutti_farewell *farewell, const int64_t started[], tutti_farewell_gap *gap);

#endif
