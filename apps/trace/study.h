/* What a trace shows about its steps.
 *
 *   a step      from the end of the previous step (from its own first span, if the trace lacks that
 *               step) to the end of its last span on any rank
 *   in flight   time in which at least one of the step's collectives had started and not ended
 *   exposed     the part of that in which no kernel ran on the rank; collectives in flight at the
 *               same time share it equally
 *   moving      time in which at least one collective was in flight that all ranks had started
 *   hidden      the part of "in flight" that is not exposed
 *
 * Times are means over ranks unless stated otherwise. Threads: [M]. */
#ifndef TUTTI_TRACE_STUDY_H
#define TUTTI_TRACE_STUDY_H

#include "apps/trace/read.h"

typedef struct tutti_study_step {
    int64_t step;
    double begin_ms, end_ms;
    double compute_ms; /* at least one kernel ran */
    double flight_ms, exposed_ms, moving_ms;
    int64_t bytes; /* of a rank's collectives */
} tutti_study_step;

/* Collectives of one name: several if a large sum is cut into chunks. */
typedef struct tutti_study_bucket {
    const char *name;
    double count, bytes, exposed_ms; /* per step */
    /* Averages over single collectives. */
    double flight_ms;
    double queued_ms; /* ready, not started */
    double late_ms;   /* started here, but not on every rank */
    double linked_ms; /* part of queued_ms in which another collective of the rank was in flight */
    double left_ms;   /* computation left on its rank in its step when it became ready */
} tutti_study_bucket;

/* Shares of the time of all steps studied. */
typedef struct tutti_study_worker {
    int rank, worker;
    double busy[TUTTI_SPAN_KINDS], idle;
} tutti_study_worker;

typedef struct tutti_study_rank {
    double behind_ms; /* how much later than the other ranks' mean it starts a collective */
    double last;      /* share of the collectives that it was the last to start */
    int64_t met;      /* collectives of the steps that other ranks have, too */
    double compute_ms;
} tutti_study_rank;

typedef struct tutti_study {
    const tutti_timeline *timeline;
    int steps;
    tutti_study_step *step, mean; /* mean: begins at 0, ends at the mean length of a step */
    int buckets;
    tutti_study_bucket *bucket; /* most exposed first */
    int workers;
    tutti_study_worker *worker;
    tutti_study_rank *rank; /* [ranks] */
} tutti_study;

/* Studies one step, or all complete ones (0). INVAL (logged) if the trace lacks part of the step,
 * or has no complete step; NOMEM. Borrows the timeline. */
tutti_status tutti_study_open(const tutti_timeline *timeline, int64_t step, tutti_study *study);
void tutti_study_close(tutti_study *study);

/* 100 * hidden / in flight; 100 if nothing was in flight. [P] */
double tutti_study_hidden_pct(const tutti_study_step *step);
/* The step of median length. [P] */
const tutti_study_step *tutti_study_typical(const tutti_study *study);

#endif
