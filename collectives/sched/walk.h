/* Walks through the schedules of all ranks together, in an order in which they could really execute.
 *
 * A message passes when both its send and its recv have started (so nothing relies on buffering by
 * the transport), and then both end. The walk visits every step once, or reports a circular wait. */
#ifndef TUTTI_SCHED_WALK_H
#define TUTTI_SCHED_WALK_H

#include "collectives/sched/sched.h"

/* A message, or a local step (peer -1). */
typedef struct tutti_sched_event {
    int rank, step;      /* the send, or the local step */
    int peer, peer_step; /* the recv */
} tutti_sched_event;

typedef void (*tutti_sched_visit)(void *ctx, const tutti_sched_event *event);

/* Visits every event of ranks[0 ... P). seed 0: events run in the order in which they become ready;
 * other seeds draw a legal order. MISMATCH (logged): a send without its recv or of another size, or
 * a cycle of waits. NOMEM. */
tutti_status tutti_sched_walk(
    const tutti_sched *const ranks[], int P, uint64_t seed, tutti_sched_visit visit, void *ctx);

/* The same, step by step, for who decides when a step ends: an event that was taken ends by tutti_walk_end_step of
 * each of its steps, at once or after others have been taken. take returns 0 when nothing may happen before
 * another step ends. close: MISMATCH (logged) when steps are left. */
typedef struct tutti_walk tutti_walk;
tutti_status tutti_walk_open(const tutti_sched *const ranks[], int P, tutti_walk **walk);
int tutti_walk_take(tutti_walk *walk, uint64_t seed, tutti_sched_event *event);
void tutti_walk_end_step(tutti_walk *walk, int rank, int step);
tutti_status tutti_walk_close(tutti_walk *walk);

/* (*level)[r][i]: the length of the chain of messages that ends with step i of rank r; a local step
 * has the level of what it waits for. Freed with free(*level). Errors as in tutti_sched_walk. */
tutti_status tutti_sched_levels(const tutti_sched *const ranks[], int P, int ***level);

#endif
