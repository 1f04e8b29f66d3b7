/* The order in which the collectives of a step start, agreed on once.
 *
 * At first it is program order. Meanwhile every rank observes its steps (designs/queue/observed.h).
 * Before step `at`, all ranks submit two more collectives: an allreduce of the times at which each
 * gradient is ready (the latest of any rank), and a broadcast of the order that rank 0 makes from these
 * times (designs/passes/priority.h). Later steps follow that order; their collectives start only once
 * the order has arrived.
 *
 *   program order                        agreed order
 *   step 0, 1 ... at - 1  [allreduce] [broadcast]  step at, at + 1 ...
 *
 * THE ORDERING LAW holds as before. Both collectives have a sequence number like any other, the
 * same on all ranks since they submit the same program, and the second waits only for the first.
 * Before them all ranks follow one order, after them another, which all have received in the same
 * message. An order in which a collective precedes one that it depends on is rejected: the head of the
 * order never waits for a later entry.
 *
 * Used where a queue keeps the order of lanes (rules with `reorders`). A chain in the graph means
 * program order, and the oracle runs after the backward pass: nothing overtakes there.
 *
 * Threads: [M], except for what the driver calls. */
#ifndef TUTTI_ORDER_H
#define TUTTI_ORDER_H

#include "designs/drive/driver.h"
#include "designs/passes/priority.h"

typedef struct tutti_order_plan tutti_order_plan;

typedef struct tutti_order_options {
    int on;
    int at; /* the first step in that order; 0: 5 */
    /* Makes the order on rank 0 instead of deriving it from observations (tests), on the thread
     * that ends collectives. May be NULL. */
    void (*make)(void *ctx, int slots, int32_t order[]);
    void *ctx;
} tutti_order_options;

/* For the first section with collectives of the placed and cut graph. *plan is NULL if there is
 * nothing to order. Writes the number of slots into the section's places. NOMEM; UNSUPPORTED
 * (logged) if the graph has groups or messages: rank 0 does not see all of them. */
tutti_status tutti_order_open(const tutti_order_options *options, tutti_graph *graph, int rank,
    int ranks, tutti_driver *driver, tutti_order_plan **plan);
/* Checks a graph that is applied after the ordered one: UNSUPPORTED (logged) if it has groups or messages, because
 * its collectives would share the driver with an order that does not include them. [P] */
tutti_status tutti_order_admit(const tutti_graph *graph);
/* After the last pass over the driver. Accepts NULL. */
void tutti_order_close(tutti_order_plan *plan);

/* Call before each collective node is submitted: before the first of step `at`, submits the two
 * collectives of the agreement. NOMEM. */
tutti_status tutti_order_submit(tutti_order_plan *plan, const tutti_node *node);

/* The data from which rank 0 made the order, for reports. */
typedef struct tutti_outlook {
    int known;               /* 0: not rank 0, or nothing observed yet */
    int changes;             /* the order is not program order */
    double backward_s;       /* from the first node that is ready to the last */
    double urgent_s;         /* from there until the first needed sum ends, in program order */
    double seconds_per_byte; /* on the link */
} tutti_outlook;

/* Accepts NULL: not known. [M] */
tutti_outlook tutti_order_outlook(const tutti_order_plan *plan);

#endif
