/* The order in which the collectives of a step start, agreed on once.
 *
 * At first it is program order. Meanwhile every rank looks on (designs/queue/observed.h), and where step
 * `at` is submitted, all ranks submit two collectives more before it: an allreduce, for the latest
 * time on any rank at which each gradient is ready, and a broadcast, by which rank 0 sends the order
 * that it has made of these (designs/passes/priority.h). Steps from there on follow that order; none of
 * their collectives starts before it has come.
 *
 *   program order                        agreed order
 *   step 0, 1 ... at - 1  [allreduce] [broadcast]  step at, at + 1 ...
 *
 * THE ORDERING LAW holds as before: both have a sequence number like any other collective, the same
 * on all ranks since they submit the same program, and the second waits for nothing but the first;
 * before them all ranks follow one order, behind them another, which every rank has from the same
 * message. An order in which a collective
 * stands before one that it depends on is not used, so that the head of the order does not wait for
 * what stands behind it.
 *
 * Used where a queue keeps the order of lanes (rules that `reorder`). A chain in the graph is program order,
 * and the oracle runs after the backward pass: nothing overtakes there.
 *
 * Threads: [M], but for what the driver calls. */
#ifndef TUTTI_ORDER_H
#define TUTTI_ORDER_H

#include "designs/drive/driver.h"
#include "designs/passes/priority.h"

typedef struct tutti_order_plan tutti_order_plan;

typedef struct tutti_order_options {
    int on;
    int at; /* the step that the order begins with; 0: 5 */
    /* Makes the order on rank 0 in place of what was observed (tests), on the thread that ends
     * collectives; NULL: nobody does. */
    void (*make)(void *ctx, int slots, int32_t order[]);
    void *ctx;
} tutti_order_options;

/* For the first section of the placed and cut graph that has collectives. *plan is NULL where there is
 * nothing to order. Writes the number of slots into its places. NOMEM. */
tutti_status tutti_order_open(const tutti_order_options *options, tutti_graph *graph, int rank,
    tutti_driver *driver, tutti_order_plan **plan);
/* Nobody passes over the driver any more. Accepts NULL. */
void tutti_order_close(tutti_order_plan *plan);

/* A collective node is about to be submitted: if it is the first of step `at`, all that agreeing takes
 * is submitted before it. NOMEM. */
tutti_status tutti_order_submit(tutti_order_plan *plan, const tutti_node *node);

/* What rank 0 made the order from, for reports. */
typedef struct tutti_outlook {
    int known;         /* 0: not rank 0, nothing seen, or not yet */
    int changes;       /* the order is not program order */
    double backward_s; /* from the first node that is ready to the last */
    double urgent_s;   /* from there to the end of the sum that is needed first, in program order */
    double seconds_per_byte; /* on the link */
} tutti_outlook;

/* A plan that is NULL knows nothing. [M] */
tutti_outlook tutti_order_outlook(const tutti_order_plan *plan);

#endif
