/* Reports a study and a path: as text for people, as one JSON object for programs, or as a picture.
 * Threads: [M]. */
#ifndef TUTTI_TRACE_REPORT_H
#define TUTTI_TRACE_REPORT_H

#include "apps/trace/path.h"
#include "apps/trace/bubble.h"
#include "apps/trace/study.h"

#include <stdio.h>

/* path: of the step `typical`. */
void tutti_report_text(const tutti_study *study, const tutti_study_step *typical,
    const tutti_path *path, const tutti_bubble *bubble, FILE *out);
/* NOMEM, IO (logged). */
tutti_status tutti_report_json(const tutti_study *study, const tutti_study_step *typical,
    const tutti_path *path, const tutti_bubble *bubble, FILE *out);
/* The timeline of one step as SVG: a row for the main thread and each worker and lane of every
 * rank, the critical path outlined. */
void tutti_report_svg(
    const tutti_study *study, const tutti_study_step *step, const tutti_path *path, FILE *out);

#endif
