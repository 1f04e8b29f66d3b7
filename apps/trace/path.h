/* The critical path of a step: from its last end backwards, to what finished last before each start.
 *
 * Before a task that is what ended last on its rank, whatever it was: the task that its worker was
 * busy with, or the one that made it ready. A collective moves from when the last rank has started
 * it, so the path goes on there, on that rank. What lies between an end and the start behind it is
 * nobody's: scheduling, submission, wake-ups.
 * Threads: [M]. */
#ifndef TUTTI_TRACE_PATH_H
#define TUTTI_TRACE_PATH_H

#include "apps/trace/study.h"

typedef struct tutti_path_part {
    const tutti_event *event;
    double from_ms, to_ms; /* what of the event is on the path */
} tutti_path_part;

typedef struct tutti_path {
    int64_t parts;
    tutti_path_part *part; /* in the order of time */
    double compute_ms, communicate_ms, copy_ms, nobody_ms;
} tutti_path;

/* NOMEM. */
tutti_status tutti_path_find(
    const tutti_timeline *timeline, const tutti_study_step *step, tutti_path *path);
void tutti_path_free(tutti_path *path);

#endif
