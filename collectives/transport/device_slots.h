/* What collectives occupy where the lanes of a rank share something that has room for few: the
 * kernels of a GPU hold its processors while they wait for the other ranks.
 *
 *   rank 0   line: a b c      S = 1: a sits on both ranks, so it leaves, and b sits on rank 0;
 *   rank 1   line: a c b      c on rank 1: they wait for each other for ever
 *
 * On each rank the first S of a line sit. A collective leaves, on all its ranks together, when it
 * sits on each of them. The n-th of a key (lane, tag, members) on one rank is the n-th of it on the
 * others. A model of such a device, for transports of tests.
 *
 * Threads: [A]. */
#ifndef TUTTI_DEVICE_SLOTS_H
#define TUTTI_DEVICE_SLOTS_H

#include "collectives/value/members.h"
#include "dag/base/status.h"

typedef struct tutti_device_slots tutti_device_slots; /* of all ranks */
typedef struct tutti_device_slot tutti_device_slot;   /* of one collective on one rank */

/* INVAL: ranks or device slots < 1. NOMEM. */
tutti_status tutti_device_slots_new(int ranks, int device_slots, tutti_device_slots **all);
void tutti_device_slots_free(tutti_device_slots *all); /* accepts NULL */

/* Puts a collective of these members (NULL: all ranks; copied) at the end of its rank's line.
 * NOMEM. */
tutti_status tutti_device_slots_take(tutti_device_slots *all, int rank, int lane, int tag,
    const tutti_members *members, tutti_device_slot **device_slot);
/* Whether it has left, as all its ranks' parts have. */
int tutti_device_slots_complete(tutti_device_slots *all, const tutti_device_slot *device_slot);
/* Frees it; if it has not left, the next of the line moves up. */
void tutti_device_slots_release(tutti_device_slots *all, tutti_device_slot *device_slot);

#endif
