/* The tuning file: what was chosen for which run, and the figures that said so. JSON:
 *
 *   {"choices": {"model=resnet20 ... ranks=4 ...": {"design": "concurrent", "lanes": 4,
 *     "bucket_bytes": -1, "chunk_bytes": -1, "priority": true, "step_ms": 41.2,
 *     "default_ms": 44.0, "hidden_pct": 93.5, "date": "2026-05-04"}}}
 *
 * A choice of a search that was cut short also has "run", the TUTTI_RUN that it counts for.
 *
 * It is a convenience: whatever is wrong with it is reported as a warning that names it, and the run goes
 * on without. A file that is no such JSON is kept under its name with ".damaged" when a new one is
 * written. Writing replaces the whole file at once, under a lock (FILE.lock), so that runs which end
 * together keep each other's choices.
 *
 * Threads: [A]. */
#ifndef TUTTI_TUNE_FILE_H
#define TUTTI_TUNE_FILE_H

#include "apps/tune/configuration.h"

#include <limits.h>

typedef struct tutti_tuning {
    tutti_configuration configuration;
    double step_ms, default_ms,
        hidden_pct; /* of the configuration; of what would have run without it */
    int cut;        /* time ran out: it counts for restarts of this very run only (TUTTI_RUN) */
    char date[16];  /* when it was tried; save sets it */
} tutti_tuning;

/* Where it is: `wanted`; or, when that is NULL, $XDG_CACHE_HOME/tutti/tuning.json, or
 * ~/.cache/tutti/tuning.json, whose folders are made. Returns path, or NULL: "none" was wanted, or
 * there is no such folder. */
const char *tutti_tuning_path(const char *wanted, char path[PATH_MAX]);
/* Returns whether it holds a choice for this key that can be understood, and that is of a search that
 * was completed, or of one that was cut short in an earlier attempt of this run. */
int tutti_tuning_find(const char *path, const char *key, tutti_tuning *tuning);
/* Adds or replaces one. Returns whether that was done: what is cut needs a TUTTI_RUN, which tutti-run
 * sets, and does not replace what is complete. */
int tutti_tuning_save(const char *path, const char *key, const tutti_tuning *tuning);

#endif
