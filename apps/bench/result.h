/* What a bench found: a table for people on stdout, and one JSON object a line for programs.
 * Threads: [M]. */
#ifndef TUTTI_BENCH_RESULT_H
#define TUTTI_BENCH_RESULT_H

#include "dag/base/status.h"

#include <jansson.h>

typedef struct tutti_result tutti_result;

/* json: a file, begun anew, or NULL. IO (logged). */
tutti_status tutti_result_open(const char *json, tutti_result **result);
/* Prints "name  median unit  (lowest .. highest)" and writes it with event "series". Sorts the
 * values. Returns the median. */
double tutti_result_series(
    tutti_result *result, const char *name, const char *unit, int count, double values[]);
/* Prints "name  value unit" and writes it with event "number". */
void tutti_result_number(tutti_result *result, const char *name, const char *unit, double value);
/* Writes an object for programs only; takes the reference over. */
void tutti_result_event(tutti_result *result, json_t *event);
/* IO (logged) when something could not be written. Accepts NULL. */
tutti_status tutti_result_close(tutti_result *result);

#endif
