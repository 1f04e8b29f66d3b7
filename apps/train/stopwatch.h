/* Measures how long steps take and how much of their communication is hidden.
 *
 *   open -> { start -> step* -> lap }* -> median, sums -> close
 *
 * Time between a lap and the next start (an evaluation) does not count, nor do the first few steps
 * of a longer run, in which caches and connections warm up. Threads: [M]. */
#ifndef TUTTI_TRAIN_STOPWATCH_H
#define TUTTI_TRAIN_STOPWATCH_H

#include "dag/run/meter.h"

#include <stdint.h>

typedef struct tutti_stopwatch {
    tutti_meter *meter; /* the session's */
    int64_t warm;       /* steps still to be ignored */
    double total_s;     /* of all steps, including ignored ones */
    double begun_s, last_s;
    tutti_meter_reading begun;
    int64_t steps;
    double seconds, compute_s, comm_s, hidden_s; /* of `steps` steps */
    double *step_s;
    int64_t room;
} tutti_stopwatch;

/* steps: the number of steps to come. NOMEM. */
tutti_status tutti_stopwatch_open(tutti_meter *meter, int64_t steps, tutti_stopwatch *watch);
void tutti_stopwatch_start(tutti_stopwatch *watch);
/* A step has ended; returns its seconds. */
double tutti_stopwatch_step(tutti_stopwatch *watch);
/* Brings the sums up to date. */
void tutti_stopwatch_lap(tutti_stopwatch *watch);
double tutti_stopwatch_median_s(const tutti_stopwatch *watch); /* sorts; only after the last step */
/* 100 * hidden / communicated, 0 without communication. As of the last lap. */
double tutti_stopwatch_hidden_pct(const tutti_stopwatch *watch);
void tutti_stopwatch_close(tutti_stopwatch *watch);

#endif
