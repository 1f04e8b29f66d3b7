/* Which task blocks a collective, and what that task waits for in turn: derived from the ledger's
 * unfinished instances and the edges that follow from their accesses (dag/graph/edges.h).
 *
 *   fc.weight  <-  fc.backward_weights  <-  ...  <-  conv1.forward, running for 5.2 s
 *   target         blocks it                         root: waits for no unfinished task
 *
 * Of several predecessors, the one whose root has been running longest is followed. [A] */
#ifndef TUTTI_BLOCKER_H
#define TUTTI_BLOCKER_H

#include "dag/run/ledger.h"

typedef struct tutti_blocker {
    int found;          /* the target has been submitted and has not ended */
    int begun;          /* it has been handed to its design: no task blocks it */
    int64_t collective; /* the collective that is the root; -1: the root is not one */
    char text[200];     /* a phrase that names the blocking task; "" when nothing blocks it */
} tutti_blocker;

/* The target is the collective with this sequence number; -1: the last submitted instance that has
 * not ended. Ages are as of now_s (tutti_clock_s). NOMEM. */
tutti_status tutti_blocker_find(
    tutti_ledger *ledger, int64_t sequence, double now_s, tutti_blocker *blocker);

/* "conv1.forward (5.2 s), ...": the tasks that run now, without collectives; "" when there are
 * none. Returns text. */
char *tutti_blocker_running(tutti_ledger *ledger, double now_s, char *text, size_t size);

#endif
