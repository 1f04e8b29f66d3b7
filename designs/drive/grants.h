/* Which collectives all ranks have ready, and which of them goes next: the bookkeeping of one rank,
 * without its messages (driver_grant.c).
 *
 *   report (own, and from each child of the tree) -> complete
 *   on rank 0 only:  complete -> add -> next (while the window has room) -> end
 *
 * Memory is proportional to the numbers between the first that is not complete and the last that is
 * reported; report takes constant time, add and next the logarithm of how many wait.
 *
 * Not locked: the driver's comm_lock protects it. */
#ifndef TUTTI_GRANTS_H
#define TUTTI_GRANTS_H

#include "dag/base/status.h"

#include <stdint.h>

/* A collective that is ready on all ranks. */
typedef struct tutti_candidate {
    int64_t sequence, bytes;
    int priority;
} tutti_candidate;

typedef struct tutti_grants {
    int parts;    /* reports that make a number complete here */
    int *reports; /* ring of `room` (a power of two): how many so far */
    int64_t room;
    int64_t lowest, end;   /* all below lowest are complete, none from end on is reported */
    tutti_candidate *heap; /* the next at [0] */
    int candidates, heap_room;
    int64_t window; /* bytes that may be granted and not ended */
    int most;       /* and how many collectives */
    int64_t bytes;  /* granted and not ended */
    int granted;    /* likewise */
} tutti_grants;

/* Numbers begin at `first`. parts at least 1; window 0: any number of bytes. NOMEM. */
tutti_status tutti_grants_open(
    tutti_grants *grants, int64_t first, int parts, int64_t window, int most);
void tutti_grants_close(tutti_grants *grants); /* accepts zeroed ones */

/* One more part has this collective ready. *complete: it was the last. INTERNAL: it was complete
 * before; NOMEM. */
tutti_status tutti_grants_report(tutti_grants *grants, int64_t sequence, int *complete);
/* NOMEM. */
tutti_status tutti_grants_add(tutti_grants *grants, const tutti_candidate *candidate);
/* Takes the candidate with the highest priority; of equal ones, the first in the program. Returns 0
 * if there is none, or the window has no room for it: one may always be under way. */
int tutti_grants_next(tutti_grants *grants, int64_t *sequence);
/* A collective that was granted has ended. */
void tutti_grants_end(tutti_grants *grants, int64_t bytes);

#endif
