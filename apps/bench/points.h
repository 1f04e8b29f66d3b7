/* Pictures of results that are lines of points: those of tutti-bench kv, allreduce, tune-collectives, channel,
 * strategies and svm-ranks, and of tutti-sim. Which events become which charts says a table. [M] */
#ifndef TUTTI_BENCH_POINTS_H
#define TUTTI_BENCH_POINTS_H

#include "dag/base/status.h"

#include <stdio.h>

typedef struct tutti_points tutti_points;

/* Reads the results of a run. *points is NULL where the file holds none of these. IO, FORMAT (logged: the
 * line), NOMEM. */
tutti_status tutti_points_read(const char *file, tutti_points **points);
/* Draws the charts, as a whole document. */
void tutti_points_draw(const tutti_points *points, FILE *out);
/* Accepts NULL. */
void tutti_points_free(tutti_points *points);

#endif
