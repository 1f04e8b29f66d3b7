/* Messages for people, one line each on stderr ("tutti: rank 1: error: sentence") or to the program
 * (dag/base/sink.h). [A]
 *
 * The prefix's rank, the verbosity, where messages go, errors that are put off, and where settings came
 * from (dag/base/origin.h, by which errors and warnings are worded) are the process's only mutable
 * file-scope state (a process is one rank in every program). A line is written with one write(2), so
 * lines of several threads and ranks do not mix. */
#ifndef TUTTI_LOG_H
#define TUTTI_LOG_H

#include "dag/base/sink.h"
#include "dag/base/status.h"

/* Sets the rank in the prefix; -1 (the initial value) omits it. */
void tutti_log_set_rank(int rank);
/* Shows messages up to this level; INFO before the first call. NONE, which hides even errors, is
 * for tests that fail on purpose thousands of times. */
void tutti_log_set_level(tutti_log_level level);

void tutti_log(tutti_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A requested line: shown at every level, without a level word. */
void tutti_log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Logs an error and returns `status`, so that the function that decides can write: return
 * tutti_fail(...). The sentence becomes this thread's last error (tutti_last_error) at every
 * level. */
tutti_status tutti_fail(tutti_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- errors that are put off ---- */

/* From now on errors that tutti_log gets, and COMM and TIMEOUT of tutti_fail, are kept: for a program that may continue
 * after them. Those that have no room are shown at once. */
void tutti_log_put_off(void);
/* Shows what was kept, in its order, at this level, which may hide it; nothing is put off any more. By the thread that
 * puts off. */
void tutti_log_resolve(tutti_log_level level);

/* ---- the last error of a thread (tutti_last_error in dag/base/status.h) ---- */

enum { TUTTI_ERROR_TEXT = 1024 };

/* The number of errors on this thread so far: shows whether a call has logged one. */
unsigned tutti_error_count(void);
/* Makes another thread's error this thread's last error, too. */
void tutti_error_adopt(const char *sentence);

#endif
