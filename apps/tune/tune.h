/* --design auto: times designs, buckets, chunks, lanes and priority on training steps, and opens
 * the exchange with the best configuration.
 *
 * It times steps of the same model, batch and workers on random images, with separate weights: the
 * run that follows is the same as with the chosen options given. All ranks try the same
 * configuration at the same time; a candidate's time is that of the slowest rank. Rank 0 decides
 * (apps/tune/search.h) and sends its choice to the others. All waits have the deadlines of the
 * exchange and the workload.
 *
 * The choice is remembered in a file (apps/tune/file.h), and the next run like this one times
 * nothing. A search that was cut short might end differently next time, and other buckets change
 * the last bits of sums, so a restart must not search again. Its choice is therefore remembered for
 * restarts of the same run, and a resumed run keeps its choice, whatever the file says.
 *
 * Threads: [M]. */
#ifndef TUTTI_TUNE_H
#define TUTTI_TUNE_H

#include "apps/tune/configuration.h"
#include "apps/tune/workload.h"

typedef struct tutti_tune_options {
    int design_free;         /* 0: the design is fixed */
    int priority_free;       /* 0: priority is fixed */
    tutti_workload workload; /* what to run */
    int64_t steps;           /* of the run that follows; 0: unknown */
    double most_s;           /* seconds that the search may take; 0: none */
    int time_auto;           /* 1: 5 s, or 2 % of the steps that follow, whichever is more */
    const tutti_configuration *known; /* rank 0: the choice of the resumed run, or NULL */
    /* Whether this rank was asked to end; called between blocks of steps. Then all ranks return
     * INTERRUPTED. NULL: never. */
    int (*interrupted)(void *ctx);
    void *ctx;
    const char *file; /* the tuning file; NULL: the user's default; "none": none */
} tutti_tune_options;

typedef struct tutti_tune_result {
    tutti_configuration configuration;
    int tried;                              /* blocks of steps that were timed */
    int remembered;                         /* it comes from the file */
    double seconds;                         /* of the whole search */
    double step_ms, default_ms, hidden_pct; /* of rank 0; 0: not timed */
} tutti_tune_result;

/* All ranks call it with an open, metered session whose exchange can be reopened and has nothing in
 * flight. The exchange's options are where the search begins; of these, lanes other than 0, and
 * buckets and chunks other than -1, are fixed. On success the session is open with
 * result->configuration, the same on all ranks; rank 0 has logged why. On failure it may be closed,
 * or hold what was tried last; *together: whether all ranks return this failure, so that they can
 * leave in order. */
tutti_status tutti_tune(const tutti_tune_options *options, tutti_training_session *session,
    tutti_tune_result *result, int *together);

#endif
