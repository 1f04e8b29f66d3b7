/* The cost of a collective, from its schedules alone: a message of n bytes takes alpha + beta n,
 * reducing n bytes takes gamma n. A rank sends one message, receives one and reduces one at a time,
 * all three concurrently; copies are free, except to and from WIDE: converting n bytes takes gamma
 * n, too. Steps run in the order in which they become ready.
 * Source of the model: Hockney, "The communication challenge for MPP", Parallel Computing 20(3),
 * 1994. */
#ifndef TUTTI_SCHED_PRICE_H
#define TUTTI_SCHED_PRICE_H

#include "collectives/sched/sched.h"

#include <stddef.h>

typedef struct tutti_sched_cost {
    double alpha_s, beta_s_per_byte, gamma_s_per_byte;
} tutti_sched_cost;

typedef struct tutti_sched_price {
    int steps;             /* messages on the longest chain of messages */
    int64_t sent_bytes;    /* by the rank that sends most */
    int64_t reduced_bytes; /* by the rank that reduces most */
    int64_t scratch_bytes; /* of the rank that needs most, with its accumulators */
    double time_s;
} tutti_sched_price;

/* The price of ranks[0 ... P) with elements of `element` bytes and accumulators of `wide` bytes.
 * Errors as in walk.h; INVAL: P < 1. [P] */
tutti_status tutti_sched_price_of(const tutti_sched *const ranks[], int P, size_t element,
    size_t wide, const tutti_sched_cost *cost, tutti_sched_price *price);

#endif
