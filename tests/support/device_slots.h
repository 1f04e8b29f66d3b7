/* Device slots: a model, for transports of tests, of a device that runs few collectives at a time. The
 * kernels of a GPU hold its processors while they wait for the other ranks.
 *
 *   rank 0   queue: a b c     S = 1: a has a slot on both ranks, so it completes; then b has the slot on
 *   rank 1   queue: a c b     rank 0, and c on rank 1: they wait for each other forever
 *
 * On each rank the first S of the queue have a slot. A collective completes, on all its ranks together,
 * when it has a slot on each of them. The n-th with a key (lane, tag, members) on one rank matches the
 * n-th on the others.
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

/* Appends a collective of these members (NULL: all ranks; copied) to its rank's queue. NOMEM. */
tutti_status tutti_device_slots_take(tutti_device_slots *all, int rank, int lane, int tag,
    const tutti_members *members, tutti_device_slot **device_slot);
/* Whether it has completed (on all its ranks). */
int tutti_device_slots_complete(tutti_device_slots *all, const tutti_device_slot *device_slot);
/* Frees it; if it has not completed, the next in the queue moves up. */
void tutti_device_slots_release(tutti_device_slots *all, tutti_device_slot *device_slot);

#endif
