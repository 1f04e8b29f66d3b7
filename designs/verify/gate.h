/* No collective starts before all ranks have reached it: one dissemination barrier per collective,
 * which carries its hash. In round k rank r sends its hash to rank r + 2^k and compares it with the
 * one from rank r - 2^k; it enters the next round only if they are equal. A rank that has passed
 * all ceil(log2 P) rounds knows that every rank is at this collective; if any rank is at a
 * different one, no rank passes.
 *
 *          rank 0    rank 1    rank 2    rank 3
 *   k=0    -> 1      -> 2      -> 3      -> 0
 *   k=1    -> 2      -> 3      -> 0      -> 1
 *
 * Threads: the driver's comm_lock. */
#ifndef TUTTI_GATE_H
#define TUTTI_GATE_H

#include "collectives/control.h"

typedef struct tutti_gate tutti_gate;

/* Called once per lane, for the first collective on which another rank disagrees. */
typedef void (*tutti_gate_differs)(void *ctx, int lane, int64_t number);

/* Handles TUTTI_CONTROL_GATE. NOMEM. */
tutti_status tutti_gate_open(
    tutti_control *control, int lanes, tutti_gate_differs differs, void *ctx, tutti_gate **gate);
void tutti_gate_close(tutti_gate *gate); /* accepts NULL */

/* This rank reaches the next collective of the lane; the previous one has passed. */
tutti_status tutti_gate_come(tutti_gate *gate, int lane, int64_t number, uint64_t hash);
/* Goes through as many rounds as possible; *through: whether all are done. */
tutti_status tutti_gate_through(tutti_gate *gate, int lane, int *through);

#endif
