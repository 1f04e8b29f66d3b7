/* A transport over a loop transport, through which an explorer of schedules sees and bends what the
 * ranks say to each other. All ends of a wire belong to one thread.
 *
 * The state of an end is a sum over what has happened on it: messages posted (with their contents)
 * and messages seen to end. Two schedules in which the same has happened have the same state,
 * whatever the order. */
#ifndef TUTTI_TEST_WIRE_H
#define TUTTI_TEST_WIRE_H

#include "collectives/transport/transport.h"

typedef struct wire {
    int broken;           /* every call fails: collectives in flight end, with COMM */
    unsigned withhold;    /* so many of 16 looks at a message say "not yet", drawn from seed */
    uint64_t seed, draws; /* of withholding */
    int64_t withheld;     /* how often that happened */
} wire;

/* Rank `rank`'s end. The wire and the world are borrowed until it is closed. */
tutti_status wire_transport(
    wire *w, tutti_loop_world *world, int rank, int lanes, tutti_transport **transport);
/* What has happened on this end so far. */
uint64_t wire_state(const tutti_transport *transport);

/* A hash of a few words, for states that are sums. */
uint64_t wire_mix(uint64_t a, uint64_t b);

#endif
