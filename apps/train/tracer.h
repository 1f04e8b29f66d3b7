/* --trace: which steps are recorded, and when the file is written.
 *
 *   step      ... first-1   first ... last   last+1   last+2   | last+3 ...
 *   recorded                [=============================]     written
 *
 * Two more steps than requested are recorded, so that the last one's communication appears beside
 * the steps that hide it. Then, or when the run ends, the tracer waits for everything in flight and
 * writes the file, once. A trace that cannot be written does not stop the training, but the run
 * fails at its end. Threads: [M]. */
#ifndef TUTTI_TRAIN_TRACER_H
#define TUTTI_TRAIN_TRACER_H

#include "apps/train/trainer.h"

typedef struct tutti_tracer {
    tutti_trainer *trainer;
    int64_t first, last; /* steps, from 1 */
    int64_t due;         /* written after this step; -1: nothing is left to write */
    tutti_clock_sample before;
    tutti_status status; /* of writing; the same on all ranks */
} tutti_tracer;

/* Determines the steps and the clock offsets. Does nothing without --trace, or if no step is left.
 * All ranks call it and return the same; USAGE (logged) if the run ends before --trace-first. */
tutti_status tutti_tracer_open(tutti_trainer *trainer, tutti_tracer *tracer);
/* The run ends after `done` steps: whether there is a trace to write, of fewer steps. */
int tutti_tracer_cut(tutti_tracer *tracer, int64_t done);
/* What is submitted from here on belongs to this step (from 1; 0: to none). */
void tutti_tracer_step(tutti_tracer *tracer, int64_t step);
/* All ranks, with nothing submitted, after step `due`. COMM, TIMEOUT: the ranks have lost each
 * other; other failures are kept in status. */
tutti_status tutti_tracer_write(tutti_tracer *tracer);

#endif
