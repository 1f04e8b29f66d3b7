/* How far a run is, as the page of --report says at its top. Threads: [M]. */
#ifndef TUTTI_TRAIN_PROGRESS_H
#define TUTTI_TRAIN_PROGRESS_H

#include "apps/train/events.h"

#include <stdio.h>

typedef enum tutti_progress_state {
    TUTTI_PROGRESS_RUNNING,
    TUTTI_PROGRESS_ENDED,
    TUTTI_PROGRESS_INTERRUPTED,
    TUTTI_PROGRESS_FAILED
} tutti_progress_state;

/* Zeroed: a run that begins. */
typedef struct tutti_progress {
    tutti_progress_state state;
    int64_t epoch, epochs, step, steps;
    double left_s;   /* the remaining time; not finite: not known */
    char signal[16]; /* that interrupted it */
    char *command;   /* that continues it then; NULL: nothing is saved */
} tutti_progress;

void tutti_progress_on_step(tutti_progress *progress, const tutti_report_step *step, double left_s);
void tutti_progress_on_interrupt(
    tutti_progress *progress, const char *signal, int64_t step, const char *command);
/* As HTML. every_s: how often a page of a running one is written. */
void tutti_progress_put(FILE *out, const tutti_progress *progress, int every_s);
void tutti_progress_free(tutti_progress *progress);

#endif
