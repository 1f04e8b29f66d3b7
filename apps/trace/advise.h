/* One line of advice on what a trace shows. */
#ifndef TUTTI_TRACE_ADVISE_H
#define TUTTI_TRACE_ADVISE_H

#include "apps/trace/bubble.h"
#include "apps/trace/study.h"

/* What bounds these steps, and what could help. [P] */
void tutti_trace_advise(
    const tutti_study *study, const tutti_bubble *bubble, char *text, size_t size);

#endif
