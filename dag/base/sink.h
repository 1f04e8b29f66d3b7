/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Tutti's messages go: to stderr, one line each ("tutti: rank 1: error: sentence"), or to a
 * function of the program. */
#ifndef TUTTI_SINK_H
#define TUTTI_SINK_H

#include <tutti/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tutti_log_level {
    /* Shows nothing: no message has this level. */
    TUTTI_LOG_NONE = -1,
    TUTTI_LOG_ERROR,
    TUTTI_LOG_WARN,
    TUTTI_LOG_INFO,
    /* Not shown by default. */
    TUTTI_LOG_DEBUG
} tutti_log_level;

/* Receives one message: a sentence without "tutti: ", rank, level and end of line. Control characters
 * in it, which names in files may hold, appear as \n, \x1b or \u202e. The sentence is valid only
 * until the function returns. Called on any thread of the process, but only one at a time, possibly
 * while Tutti holds its locks: the function must call neither Tutti nor MPI, and must not throw. */
typedef void tutti_log_function(void *ctx, tutti_log_level level, const char *sentence);

/* From now on every message of this process goes to this function, with ctx, and none to stderr.
 * NULL: to stderr, as before the first call. Once this returns, the previous function is no longer
 * called. May be called before tutti_attach. [A] */
TUTTI_API void tutti_log_to(tutti_log_function *function, void *ctx);

#ifdef __cplusplus
}
#endif
#endif
