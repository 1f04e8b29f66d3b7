/* --design auto: tries designs, buckets, chunks, lanes and priority on training steps, and opens the exchange with
 * the best.
 *
 * What is tried are steps of the same model, batch and workers on random images, with weights of
 * their own: the run that follows is the one that it would have been with the chosen options given.
 * Every rank tries the same at the same time; a candidate's time is that of the slowest rank, rank 0
 * decides (apps/tune/search.h) and sends its choice to the others. All waits have the deadlines of the exchange
 * and the workload.
 *
 * What was found is remembered in a file (apps/tune/file.h), and the next run like it tries nothing.
 * A search that was cut short might end otherwise the next time, and other buckets give sums other
 * last bits: a restart must not try again. So its choice is remembered for restarts of the same run,
 * and a run that is resumed goes on with what it had chosen, whatever the file says.
 *
 * Threads: [M]. */
#ifndef TUTTI_TUNE_H
#define TUTTI_TUNE_H

#include "apps/tune/configuration.h"
#include "apps/tune/workload.h"

typedef struct tutti_tune_options {
    /* What the exchange was opened with. The design is where the search begins; lanes other than 0,
     * buckets and chunks other than -1, and an order that is off are fixed. */
    tutti_exchange_options exchange;
    int design_free;                 /* 0: only what else is not fixed is tried */
    int priority_free;               /* 0: it is as `exchange` says */
    tutti_workload_options workload; /* what to run; its exchange is not used */
    int64_t steps;                   /* that will follow; 0: not known */
    double most_s;                   /* seconds that trying may take; 0: none */
    int time_auto; /* 1: 5 s, or 2 % of the steps that follow, whichever is more */
    const tutti_configuration *known; /* rank 0: what the run that is resumed has chosen, or NULL */
    int (*interrupted)(void *ctx); /* whether this rank was asked to end, between blocks of steps:
                                      then all return INTERRUPTED, together. NULL: never */
    void *ctx;
    const char *file; /* the tuning file; NULL: the user's own; "none": none */
} tutti_tune_options;

typedef struct tutti_tune_result {
    tutti_configuration configuration;
    int tried;                              /* blocks of steps that were timed */
    int remembered;                         /* it comes from the file */
    double seconds;                         /* that all of it took */
    double step_ms, default_ms, hidden_pct; /* of rank 0; 0: not tried */
} tutti_tune_result;

/* All ranks call it with an exchange that can be reopened and has nothing in flight. On success it
 * is open with result->configuration, equal on all ranks; rank 0 has logged why. On failure it may be closed
 * (NULL); *together: whether all ranks return this failure, so that they can leave in order. */
tutti_status tutti_tune(const tutti_tune_options *options, tutti_exchange **exchange,
    tutti_tune_result *result, int *together);

#endif
