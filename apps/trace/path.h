/* The critical path of a step: from its last end backwards, to the event that ended last before
 * each start.
 *
 * Before a task, that is the event that ended last on its rank: the task that kept its worker busy,
 * or the one that made it ready. A collective moves once the last rank has started it, so the path
 * continues on that rank, at that start. The time between an end and the next start is nobody's:
 * scheduling, submission, wake-ups. Threads: [M]. */
#ifndef TUTTI_TRACE_PATH_H
#define TUTTI_TRACE_PATH_H

#include "apps/trace/study.h"

typedef struct tutti_path_part {
    const tutti_event *event;
    double from_ms, to_ms; /* the part of the event on the path */
} tutti_path_part;

typedef struct tutti_path {
    int64_t parts;
    tutti_path_part *part; /* by time */
    double compute_ms, communicate_ms, copy_ms, nobody_ms;
} tutti_path;

/* NOMEM. */
tutti_status tutti_path_find(
    const tutti_timeline *timeline, const tutti_study_step *step, tutti_path *path);
void tutti_path_free(tutti_path *path);

#endif
