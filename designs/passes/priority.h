/* Priority across steps: in which order the chunks of a step go onto the link, so that what the next
 * forward pass needs first comes first.
 *
 * The backward pass completes gradients from the last layer to the first, and the next forward pass
 * needs them from the first to the last. When the link is slower than the backward pass, chunks wait;
 * of those that are ready, the one that is needed first goes first, also past those of buckets that
 * were ready before. What is left to the end is needed last, too: little has to be computed behind it
 * until the link has something to do again.
 *
 *   ready         d4  d3  d2  d1
 *   first come    d4 d4 d4 d3 d3 d3 d2 d2 d2 d1 d1 d1 | forward 1, 2, 3, 4
 *   priority      d4 d3 d2 d1 d1 d1 | forward 1  d2 d2 | forward 2  d3 d3 | forward 3  d4 d4 | forward 4
 *
 * What comes out is a fixed order of all chunks of a step, made once and the same on every rank
 * (designs/exchange/order.h). It is found by playing the link. A chunk overtakes others only a quarter later than
 * its gradients are ready in most steps: the head of the order is waited for, and a backward pass that
 * is a little late must not stop the link.
 * Sources of the idea: Jayarajan et al. 2019, "Priority-based Parameter Propagation", MLSys; Peng et
 * al. 2019, "A Generic Communication Scheduler for Distributed DNN Training Acceleration", SOSP. */
#ifndef TUTTI_PRIORITY_H
#define TUTTI_PRIORITY_H

#include <stdint.h>

/* A collective node of the step. */
typedef struct tutti_piece {
    int node;       /* of the graph */
    int chunks;     /* of about equal size */
    int64_t bytes;  /* in all */
    double ready_s; /* when its buffers are ready, since the first of the step's are */
    int needed;     /* the node of the section that reads it first in the next step, directly or
                       through what is computed from it; INT_MAX: none does */
} tutti_piece;

/* order[slot]: which of the step's chunks, numbered piece by piece, goes there. [P] */
void tutti_priority_order(
    int pieces, const tutti_piece piece[], double seconds_per_byte, int32_t order[]);
/* order[slot] = slot. */
void tutti_priority_program_order(int slots, int32_t order[]);
int tutti_priority_is_program_order(int slots, const int32_t order[]);

/* When the piece that is needed first is done, since the first piece was ready, if the link is never
 * idle while something is ready and chunks go in this order. [P] */
double tutti_priority_urgent_s(
    int pieces, const tutti_piece piece[], double seconds_per_byte, const int32_t order[]);

#endif
