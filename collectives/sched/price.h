/* The cost of a collective, from its schedules and a topology alone: the schedules run in time, without data.
 *
 * A message begins when its send and its recv have both started. It takes a moment of the sender's time, the
 * latency of its route, its bytes at the rate that the links give it (collectives/links/flows.h), and a moment of
 * the receiver's time. One that is longer than the sender's eager limit first asks the receiver, there and back. A
 * rank does one thing at a time of what takes its own time: these moments, reductions and copies, in the order in
 * which they become ready. To and from WIDE, a copy converts, and takes as long as a reduction.
 *
 * With one latency and one rate for all links this is LogGP with shared links: Alexandrov, Ionescu, Schauser,
 * Scheiman, "LogGP: incorporating long messages into the LogP model", SPAA 1995. */
#ifndef TUTTI_SCHED_PRICE_H
#define TUTTI_SCHED_PRICE_H

#include "collectives/links/topology.h"
#include "collectives/sched/sched.h"

#include <stddef.h>

typedef struct tutti_sched_price {
    int steps;             /* messages on the longest chain of messages */
    int64_t sent_bytes;    /* by the rank that sends most */
    int64_t reduced_bytes; /* by the rank that reduces most */
    int64_t scratch_bytes; /* of the rank that needs most, with its accumulators */
    double time_s;
    int busiest;  /* the capacity of the topology that is used most; -1: none is */
    double share; /* of time_s times its rate, in bytes */
} tutti_sched_price;

/* The price of ranks[0 ... P) with elements of `element` bytes and accumulators of `wide` bytes, on the first P
 * ranks of a topology. Errors as in walk.h; INVAL: P < 1, or more than there are. [P] */
tutti_status tutti_sched_price_of(const tutti_sched *const ranks[], int P, size_t element,
    size_t wide, const tutti_topology *topology, tutti_sched_price *price);

#endif
