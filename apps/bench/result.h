/* A bench's results: a table for people on stdout, and one JSON object per line for programs.
 * Threads: [M]. */
#ifndef TUTTI_BENCH_RESULT_H
#define TUTTI_BENCH_RESULT_H

#include "dag/base/status.h"

#include <jansson.h>

typedef struct tutti_result tutti_result;

/* json, csv: files to overwrite, or NULL. The first object, event "run", describes the run: see
 * tutti_result_run. The CSV file has one line per sample. IO (logged). */
tutti_status tutti_result_open(const char *json, const char *csv, tutti_result **result);
/* date (UTC), host, cpu, processors, load (the machine's one-minute average), versions (tutti,
 * starpu, mpi, kernels) and commit ("unknown" for a build outside of a git checkout). */
json_t *tutti_result_run(void);
/* The commit alone. [P] */
const char *tutti_result_commit(void);
/* The samples as an array, multiplied by `scale`; NULL without memory. */
json_t *tutti_result_samples(int64_t count, const double values[], double scale);
/* Prints "name  median unit  (lowest .. highest)" and writes it as event "series" with the samples
 * in the order in which they were taken. Sorts the values. Returns the median. */
double tutti_result_series(
    tutti_result *result, const char *name, const char *unit, int count, double values[]);
/* Prints "name  value unit" and writes it as event "number". */
void tutti_result_number(tutti_result *result, const char *name, const char *unit, double value);
/* Writes an object for programs only; takes over the reference. Its array "samples" (numbers in
 * "unit") is written to the CSV file, one per line. */
void tutti_result_event(tutti_result *result, json_t *event);
/* IO (logged) if anything could not be written. Accepts NULL. */
tutti_status tutti_result_close(tutti_result *result);

/* Calls `take` for each object of a file, until it does not return OK. IO; FORMAT (with the line): this is no JSON. */
tutti_status tutti_result_read(
    const char *file, tutti_status (*take)(void *ctx, const json_t *object), void *ctx);

#endif
