/* When something happens on a rank, such as computing: disjoint intervals in order. Threads: [M]. */
#ifndef TUTTI_TRACE_BUSY_H
#define TUTTI_TRACE_BUSY_H

#include "apps/trace/read.h"

typedef struct tutti_busy {
    int64_t count;
    double *begin_ms, *end_ms, *before_ms; /* before: the length of all intervals before this one */
} tutti_busy;

/* The times in which a rank has some span of a kind that counts. NOMEM; the caller frees it all the
 * same. */
tutti_status tutti_busy_find(const tutti_timeline *timeline, int rank,
    int (*counts)(tutti_span_kind kind), tutti_busy *busy);
void tutti_busy_free(tutti_busy *busy);

/* How much of the time from begin_ms to end_ms is within the intervals. [P] */
double tutti_busy_within(const tutti_busy *busy, double begin_ms, double end_ms);

#endif
