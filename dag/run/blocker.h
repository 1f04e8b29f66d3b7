/* Which task is in the way of a collective, and what it waits for in turn: from the ledger's
 * unfinished instances and the edges that follow from their accesses (dag/graph/edges.h).
 *
 *   fc.weight  <-  fc.backward_weights  <-  ...  <-  conv1.forward, running for 5.2 s
 *   target         in the way                        root: waits for no unfinished task
 *
 * Of several predecessors the one whose root has been running longest is followed. [A] */
#ifndef TUTTI_BLOCKER_H
#define TUTTI_BLOCKER_H

#include "dag/run/ledger.h"

typedef struct tutti_blocker {
    int found;          /* the target is submitted and has not ended */
    int begun;          /* it has been handed to its design: no task is in its way */
    int64_t collective; /* the root is this collective: -1 when it is none */
    char text[200];     /* a sentence without its end, for people; "" when nothing is in the way */
} tutti_blocker;

/* The target: the collective with this sequence number; -1: the last submitted instance of those
 * that wait for another. Times are before now_s (tutti_clock_s). NOMEM. */
tutti_status tutti_blocker_find(
    tutti_ledger *ledger, int64_t sequence, double now_s, tutti_blocker *blocker);

/* "conv1.forward (5.2 s), ..." of the tasks that run now, collectives left out; "" when none.
 * Returns text. */
char *tutti_blocker_running(tutti_ledger *ledger, double now_s, char *text, size_t size);

#endif
