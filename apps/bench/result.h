/* What a bench found: a table for people on stdout, and one JSON object a line for programs.
 * Threads: [M]. */
#ifndef TUTTI_BENCH_RESULT_H
#define TUTTI_BENCH_RESULT_H

#include "dag/base/status.h"

#include <jansson.h>

typedef struct tutti_result tutti_result;

/* json, csv: files, begun anew, or NULL. The first object, event "run", says what ran where and when: see
 * tutti_result_run. The CSV file has a line for each sample. IO (logged). */
tutti_status tutti_result_open(const char *json, const char *csv, tutti_result **result);
/* date (UTC), host, cpu, processors, load (of the machine, a minute's mean), versions (tutti, starpu, mpi,
 * kernels) and commit ("unknown" where the build was not made in a git checkout). */
json_t *tutti_result_run(void);
/* So many samples as an array, times `scale`; NULL without memory. */
json_t *tutti_result_samples(int64_t count, const double values[], double scale);
/* Prints "name  median unit  (lowest .. highest)" and writes it with event "series" and the samples in the
 * order in which they were taken. Sorts the values. Returns the median. */
double tutti_result_series(
    tutti_result *result, const char *name, const char *unit, int count, double values[]);
/* Prints "name  value unit" and writes it with event "number". */
void tutti_result_number(tutti_result *result, const char *name, const char *unit, double value);
/* Writes an object for programs only; takes the reference over. Its array "samples" (numbers in "unit")
 * goes to the CSV file, a line each. */
void tutti_result_event(tutti_result *result, json_t *event);
/* IO (logged) when something could not be written. Accepts NULL. */
tutti_status tutti_result_close(tutti_result *result);

#endif
