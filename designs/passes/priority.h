/* Priority across steps: orders a step's chunks on the link so that the next forward pass gets first
 * what it needs first.
 *
 * The backward pass completes gradients from the last layer to the first, and the next forward pass
 * needs them from the first to the last. When the link is slower than the backward pass, chunks
 * wait; of the ready ones, the one needed first goes first, even past those of buckets that were
 * ready earlier. What is sent last is also needed last: little is left to compute after it before
 * the link has work again.
 *
 *   ready         d4  d3  d2  d1
 *   first come    d4 d4 d4 d3 d3 d3 d2 d2 d2 d1 d1 d1 | forward 1, 2, 3, 4
 *   priority      d4 d3 d2 d1 d1 d1 | forward 1  d2 d2 | forward 2  d3 d3 | forward 3  d4 d4 | ...
 *
 * The result is a fixed order of all chunks of a step, made once and the same on every rank
 * (designs/exchange/order.h). It is found by simulating the link. A chunk may overtake others only
 * 1 ms after 1.25 times the usual ready time of its gradients: the link waits for the head of the
 * order, and a slightly late backward pass must not stall it. Sources of the idea: Jayarajan et al.
 * 2019, "Priority-based Parameter Propagation", MLSys; Peng et al. 2019, "A Generic Communication
 * Scheduler for Distributed DNN Training Acceleration", SOSP. */
#ifndef TUTTI_PRIORITY_H
#define TUTTI_PRIORITY_H

#include <stdint.h>

/* A collective node of the step. */
typedef struct tutti_piece {
    int node;       /* of the graph */
    int chunks;     /* of about equal size */
    int64_t bytes;  /* in all */
    double ready_s; /* when its buffers are ready, after the first of the step's */
    /* The section's first node in the next step that reads it, or anything computed from it; INT_MAX:
     * none */
    int needed;
} tutti_piece;

/* order[slot]: the chunk of the step, numbered piece by piece, at this slot. [P] */
void tutti_priority_order(
    int pieces, const tutti_piece piece[], double seconds_per_byte, int32_t order[]);
/* order[slot] = slot. */
void tutti_priority_program_order(int slots, int32_t order[]);
int tutti_priority_is_program_order(int slots, const int32_t order[]);

/* When the piece needed first is done, after the first piece was ready, if chunks go in this order
 * and the link is never idle while one is ready. [P] */
double tutti_priority_urgent_s(
    int pieces, const tutti_piece piece[], double seconds_per_byte, const int32_t order[]);

#endif
