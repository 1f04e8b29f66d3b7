/* Priorities of an attached program's data, by address. [M]
 *
 * Constant time; nothing at all for a session that gives none. */
#ifndef TUTTI_PRIORITIES_H
#define TUTTI_PRIORITIES_H

#include "dag/base/status.h"

/* Zero-initialise. */
typedef struct tutti_priorities {
    struct tutti_priority_of *slot; /* [room] open addressing; a free one has no data */
    int room, used;                 /* room: a power of two, or 0 */
    int otherwise;                  /* of all other data */
} tutti_priorities;

/* Replaces an earlier priority. data NULL: of all data that have none of their own; data that are given the same have
 * none. NOMEM. */
tutti_status tutti_priorities_give(tutti_priorities *priorities, const void *data, int priority);
/* These data have none any more. */
void tutti_priorities_drop(tutti_priorities *priorities, const void *data);
int tutti_priorities_find(const tutti_priorities *priorities, const void *data);
void tutti_priorities_free(tutti_priorities *priorities);

#endif
