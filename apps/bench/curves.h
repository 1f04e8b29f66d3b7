/* Curves of trainings: loss and accuracy by epoch, from the files that --json writes. [M] */
#ifndef TUTTI_BENCH_CURVES_H
#define TUTTI_BENCH_CURVES_H

#include "dag/base/status.h"

#include <stdio.h>

enum { TUTTI_CURVES_RUNS = 6 };

typedef struct tutti_curves tutti_curves;

/* Whether a file is that of a training: it has an event "start" with steps per epoch. */
int tutti_curves_recognise(const char *file);

/* Reads `files` runs, which pictures call by their files' names. Where a run was resumed, what it has
 * done again counts once. IO, FORMAT (logged: the line; or nothing was trained), NOMEM. */
tutti_status tutti_curves_read(int files, const char *const file[], tutti_curves **curves);
/* Draws the charts, as a whole document. NOMEM (logged): it is not whole. */
tutti_status tutti_curves_draw(const tutti_curves *curves, FILE *out);
/* Accepts NULL. */
void tutti_curves_free(tutti_curves *curves);

#endif
