/* Neighbours compare what they start: every rank sends the fingerprints' hashes of what it has
 * started to its right neighbour, many in one message, and compares what its left neighbour sends
 * with its own. Equality of neighbours is equality of all, as the ranks stand in a ring.
 *
 *   rank 0 --hashes--> rank 1 --hashes--> rank 2 --hashes--> rank 0
 *
 * Nothing waits for it. Threads: the driver's comm_lock. */
#ifndef TUTTI_COMPARE_H
#define TUTTI_COMPARE_H

#include "collectives/control.h"

typedef struct tutti_compare tutti_compare;

/* Called once a lane, for the first collective of it that differs. */
typedef void (*tutti_compare_differs)(void *ctx, int lane, int64_t number);

/* Handles TUTTI_CONTROL_PRINTS. Hashes wait up to batch_s for others to travel with. NOMEM. */
tutti_status tutti_compare_open(tutti_control *control, int lanes, double batch_s,
    tutti_compare_differs differs, void *ctx, tutti_compare **compare);
void tutti_compare_close(tutti_compare *compare); /* accepts NULL */

/* This rank starts the next collective of the lane. */
tutti_status tutti_compare_add(tutti_compare *compare, int lane, uint64_t hash);
/* Sends what has waited long enough. NOMEM, COMM. */
tutti_status tutti_compare_pass(tutti_compare *compare);
/* Sends all: the last that is sent. NOMEM, COMM. */
tutti_status tutti_compare_flush(tutti_compare *compare);

#endif
