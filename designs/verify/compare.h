/* Neighbours compare what they start: every rank sends the hashes of the fingerprints of its
 * started collectives to its right neighbour, many per message, and compares those of its left
 * neighbour with its own. The ranks form a ring, so if all neighbours agree, all ranks agree.
 *
 *   rank 0 --hashes--> rank 1 --hashes--> rank 2 --hashes--> rank 0
 *
 * No collective waits for this. Threads: the driver's comm_lock. */
#ifndef TUTTI_COMPARE_H
#define TUTTI_COMPARE_H

#include "collectives/control.h"

typedef struct tutti_compare tutti_compare;

/* Called once per lane, for its first collective that differs. */
typedef void (*tutti_compare_differs)(void *ctx, int lane, int64_t number);

/* Handles TUTTI_CONTROL_PRINTS. A hash waits up to batch_s for others to share its message.
 * NOMEM. */
tutti_status tutti_compare_open(tutti_control *control, int lanes, double batch_s,
    tutti_compare_differs differs, void *ctx, tutti_compare **compare);
void tutti_compare_close(tutti_compare *compare); /* accepts NULL */

/* This rank starts the next collective of the lane. */
tutti_status tutti_compare_add(tutti_compare *compare, int lane, uint64_t hash);
/* Whether the left neighbour's number-th collective of the lane is known, and is this rank's. */
int tutti_compare_agrees(const tutti_compare *compare, int lane, int64_t number);
/* Sends what has waited long enough. NOMEM, COMM. */
tutti_status tutti_compare_pass(tutti_compare *compare);
/* Sends everything, for the last time. NOMEM, COMM. */
tutti_status tutti_compare_flush(tutti_compare *compare);

#endif
