/* A transport over a loop transport, through which an explorer of schedules observes and
 * manipulates the ranks' messages. All ends of a wire belong to one thread.
 *
 * The state of an end is a sum over its events: messages posted (with their contents) and messages
 * seen to end. Two schedules with the same events have the same state, whatever their order. */
#ifndef TUTTI_TEST_WIRE_H
#define TUTTI_TEST_WIRE_H

#include "tests/support/loop.h"

typedef struct wire {
    int broken;        /* every call fails: collectives in flight end with COMM */
    unsigned withhold; /* of 16 tests of a message, this many return "not yet", drawn from seed */
    uint64_t seed, draws; /* of withholding */
    int64_t withheld;     /* how often that happened */
} wire;

/* The end of `rank`. Borrows the wire and the world until it is closed. */
tutti_status wire_transport(
    wire *w, tutti_loop_world *world, int rank, int lanes, tutti_transport **transport);
/* The state of this end. */
uint64_t wire_state(const tutti_transport *transport);

/* A hash of a few words, for states that are sums. */
uint64_t wire_mix(uint64_t a, uint64_t b);

#endif
