/* Which collectives all ranks have ready, and which is granted next: the bookkeeping of one rank,
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
    int64_t lowest, end;   /* all below lowest are complete; none is reported from end on */
    tutti_candidate *heap; /* the next at [0] */
    int candidates, heap_room;
    int64_t window; /* bytes that may be granted and not ended */
    int most;       /* and how many collectives */
    int64_t bytes;  /* granted and not ended */
    int granted;    /* collectives granted and not ended */
} tutti_grants;

/* Numbers begin at `first`. parts at least 1; window 0: any number of bytes. NOMEM. */
tutti_status tutti_grants_open(
    tutti_grants *grants, int64_t first, int parts, int64_t window, int most);
void tutti_grants_close(tutti_grants *grants); /* accepts zeroed ones */

/* One more part reports this collective ready. *complete: it was the last part. INTERNAL: the collective was
 * complete before; NOMEM. */
tutti_status tutti_grants_report(tutti_grants *grants, int64_t sequence, int *complete);
/* NOMEM. */
tutti_status tutti_grants_add(tutti_grants *grants, const tutti_candidate *candidate);
/* Takes the candidate with the highest priority; among equal ones, the first in program order. Returns 0
 * if there is none, or if the window has no room for it. The window always has room for one. */
int tutti_grants_next(tutti_grants *grants, int64_t *sequence);
/* A granted collective has ended. */
void tutti_grants_end(tutti_grants *grants, int64_t bytes);

#endif
