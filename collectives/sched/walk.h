/* Walking through the schedules of all ranks together, in an order in which they could really run.
 *
 * A message passes when both its send and its recv have started (so nothing relies on buffering by
 * the transport), and then both end. The walk meets every step once, or finds who waits for whom.
 */
#ifndef TUTTI_SCHED_WALK_H
#define TUTTI_SCHED_WALK_H

#include "collectives/sched/sched.h"

/* A message, or a local step (peer -1). */
typedef struct tutti_sched_event {
    int rank, step;      /* the send, or the local step */
    int peer, peer_step; /* the recv */
} tutti_sched_event;

typedef void (*tutti_sched_visit)(void *ctx, const tutti_sched_event *event);

/* Visits every event of ranks[0 ... P). seed 0: first ready, first run; others draw a legal order.
 * MISMATCH (logged): a send without its recv or of another size, or a circle of waiting. NOMEM. */
tutti_status tutti_sched_walk(
    const tutti_sched *const ranks[], int P, uint64_t seed, tutti_sched_visit visit, void *ctx);

/* (*level)[r][i]: how many messages, one after the other, end with step i of rank r; local steps
 * have the level of what they wait for. Freed with free(*level). Errors as in tutti_sched_walk. */
tutti_status tutti_sched_levels(const tutti_sched *const ranks[], int P, int ***level);

#endif
