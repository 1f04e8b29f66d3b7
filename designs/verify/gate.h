/* Nothing starts before all ranks have come to the same collective: a dissemination barrier a
 * collective, which carries its hash. In round k rank r sends its hash to rank r + 2^k and compares
 * the one from rank r - 2^k; it goes to the next round only when they are equal. A rank that has
 * come through all ceil(log2 P) rounds knows that every rank is at this collective, and a rank
 * where another is at a different one stays.
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

/* Called once a lane, for the collective that another rank does not agree with. */
typedef void (*tutti_gate_differs)(void *ctx, int lane, int64_t number);

/* Handles TUTTI_CONTROL_GATE. NOMEM. */
tutti_status tutti_gate_open(
    tutti_control *control, int lanes, tutti_gate_differs differs, void *ctx, tutti_gate **gate);
void tutti_gate_close(tutti_gate *gate); /* accepts NULL */

/* This rank comes to the next collective of the lane; the one before it has gone through. */
tutti_status tutti_gate_come(tutti_gate *gate, int lane, int64_t number, uint64_t hash);
/* Goes through as many rounds as it may; whether that was all. */
tutti_status tutti_gate_through(tutti_gate *gate, int lane, int *through);

#endif
