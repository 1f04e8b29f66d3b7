/* Messages for people, one line each on stderr: "tutti: rank 1: error: sentence". [A]
 *
 * The prefix's rank and the verbosity are the process's only mutable file-scope state (a process is
 * one rank in every program); a line is written with one write(2), so lines of several threads and
 * ranks do not mix. */
#ifndef TUTTI_LOG_H
#define TUTTI_LOG_H

#include "dag/base/status.h"

typedef enum tutti_log_level {
    TUTTI_LOG_NONE = -1, /* not even errors: for tests that fail on purpose, thousands of times */
    TUTTI_LOG_ERROR,
    TUTTI_LOG_WARN,
    TUTTI_LOG_INFO, /* the default shows up to here */
    TUTTI_LOG_DEBUG,
} tutti_log_level;

/* Sets the rank in the prefix; -1 (the start value) leaves it out. */
void tutti_log_set_rank(int rank);
/* Shows messages up to this level. */
void tutti_log_set_level(tutti_log_level level);

void tutti_log(tutti_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line that was asked for: shown at every level, without a word for its level. */
void tutti_log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Logs an error and returns `status`, so that the function which decides can say: return
 * tutti_fail(...). */
tutti_status tutti_fail(tutti_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
