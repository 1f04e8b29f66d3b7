/* The tuning file: which configuration was chosen for which run, and the measurements behind it.
 * JSON:
 *
 *   {"choices": {"model=resnet20 ... ranks=4 ...": {"design": "concurrent", "lanes": 4,
 *     "bucket_bytes": -1, "chunk_bytes": -1, "priority": true, "step_ms": 41.2,
 *     "default_ms": 44.0, "hidden_pct": 93.5, "date": "2026-05-04"}}}
 *
 * The choice of a search that was cut short also has "run", the TUTTI_RUN for which it is valid.
 *
 * The file is a convenience: any problem with it is a warning that names it, and the run continues
 * without it. A file that is not such JSON is kept as FILE.damaged when a new one is written.
 * Writing replaces the whole file atomically, under a lock (FILE.lock), so that runs that end
 * together keep each other's choices.
 *
 * Threads: [A]. */
#ifndef TUTTI_TUNE_FILE_H
#define TUTTI_TUNE_FILE_H

#include "apps/tune/configuration.h"

#include <limits.h>

typedef struct tutti_tuning {
    tutti_configuration configuration;
    double step_ms, default_ms, hidden_pct; /* default_ms: of the default configuration */
    int cut;       /* time ran out: valid only for restarts of this run (TUTTI_RUN) */
    char date[16]; /* when it was measured; save sets it */
} tutti_tuning;

/* The file's path: `wanted` or, if that is NULL, $XDG_CACHE_HOME/tutti/tuning.json or
 * ~/.cache/tutti/tuning.json, whose folders are created. Returns path, or NULL: "none" was wanted,
 * or there is no such folder. */
const char *tutti_tuning_path(const char *wanted, char path[PATH_MAX]);
/* Returns whether the file holds a valid choice for this key, from a completed search or from one
 * cut short in an earlier attempt of this run. */
int tutti_tuning_find(const char *path, const char *key, tutti_tuning *tuning);
/* Adds or replaces a choice. Returns whether it did: a choice that was cut short needs a TUTTI_RUN,
 * which tutti-run sets, and does not replace a complete one. */
int tutti_tuning_save(const char *path, const char *key, const tutti_tuning *tuning);

#endif
