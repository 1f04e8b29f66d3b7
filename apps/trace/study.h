/* What a trace says about its steps.
 *
 *   a step      from the end of the step before it (its own first span, where that is not in the
 *               trace) to the end of its last span on any rank
 *   in flight   time in which at least one of the step's collectives was started and had not ended
 *   exposed     of that, the time in which no kernel ran on the rank; where several collectives
 *               are in flight, each has an equal share
 *   moving      time in which at least one was in flight that all ranks had started
 *   hidden      the part of "in flight" that is not exposed
 *
 * Times are means over ranks unless they are said to be of one. Threads: [M]. */
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

/* Collectives of one name: several where a large sum is cut into chunks. */
typedef struct tutti_study_bucket {
    const char *name;
    double count, bytes, exposed_ms; /* in a step */
    /* Of one collective, on average. */
    double flight_ms;
    double queued_ms; /* ready and not started */
    double late_ms;   /* started and not yet on every rank */
    double linked_ms; /* of queued, while another collective of the rank was in flight */
    double left_ms;   /* of computing, on its rank in its step, when it was ready */
} tutti_study_bucket;

/* Shares of the time of all steps studied. */
typedef struct tutti_study_worker {
    int rank, worker;
    double busy[TUTTI_SPAN_KINDS], idle;
} tutti_study_worker;

typedef struct tutti_study_rank {
    double behind_ms; /* later than the other ranks' mean, at the start of a collective */
    double last;      /* share of the collectives that it started last of all */
    int64_t met;      /* collectives of the steps that other ranks have, too */
    double compute_ms;
} tutti_study_rank;

typedef struct tutti_study {
    const tutti_timeline *timeline;
    int steps;
    tutti_study_step *step, mean; /* mean: begin 0, end: how long a step takes */
    int buckets;
    tutti_study_bucket *bucket; /* most exposed first */
    int workers;
    tutti_study_worker *worker;
    tutti_study_rank *rank; /* [ranks] */
} tutti_study;

/* Studies one step, or all whole ones (0). INVAL (logged) when the trace does not have it as a whole,
 * or has none; NOMEM. Borrows the timeline. */
tutti_status tutti_study_open(const tutti_timeline *timeline, int64_t step, tutti_study *study);
void tutti_study_close(tutti_study *study);

/* 100 * hidden / in flight; 100 when nothing was. [P] */
double tutti_study_hidden_pct(const tutti_study_step *step);
/* The step whose length is the median. [P] */
const tutti_study_step *tutti_study_typical(const tutti_study *study);

/* One line: what bounds these steps, and what could help. */
void tutti_study_advise(const tutti_study *study, char *text, size_t size);

#endif
