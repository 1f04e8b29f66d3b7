/* SPDX-License-Identifier: BSD-3-Clause */
/* What every Tutti call that can fail returns.
 *
 * The function that decides which error it is logs one sentence that names the file, option, rank
 * or tensor; its callers only pass the status on. Outputs are set only on TUTTI_OK. [P]: pure, from
 * any thread. */
#ifndef TUTTI_STATUS_H
#define TUTTI_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TUTTI_API
#define TUTTI_API __attribute__((visibility("default")))
#endif

/* X(code, name, sentence) */
#define TUTTI_STATUS_LIST(X)                                                                       \
    X(TUTTI_OK, "ok", "no error")                                                                  \
    X(TUTTI_ERR_USAGE, "usage", "an option or argument is not what the program accepts")           \
    X(TUTTI_ERR_INVAL, "inval", "an argument is outside what the function accepts")                \
    X(TUTTI_ERR_NOMEM, "nomem", "memory ran out")                                                  \
    X(TUTTI_ERR_IO, "io", "a file or folder could not be read or written")                         \
    X(TUTTI_ERR_FORMAT, "format", "a file does not hold what its format promises")                 \
    X(TUTTI_ERR_UNSUPPORTED, "unsupported", "this build or machine cannot do what was asked")      \
    X(TUTTI_ERR_MISMATCH, "mismatch", "the ranks disagree")                                        \
    X(TUTTI_ERR_TIMEOUT, "timeout", "a deadline passed")                                           \
    X(TUTTI_ERR_COMM, "comm", "the communication layer reported a failure")                        \
    X(TUTTI_ERR_KERNEL, "kernel", "a compute kernel failed")                                       \
    X(TUTTI_ERR_INTERNAL, "internal", "Tutti broke one of its own rules")                          \
    X(TUTTI_ERR_INTERRUPTED, "interrupted", "a signal interrupted the run")

typedef enum tutti_status {
#define TUTTI_STATUS_ENUM(code, name, sentence) code,
    TUTTI_STATUS_LIST(TUTTI_STATUS_ENUM)
#undef TUTTI_STATUS_ENUM
        TUTTI_STATUS_COUNT
} tutti_status;

/* The short name ("timeout") and the sentence of a status; "unknown" for any other value. [P] */
TUTTI_API const char *tutti_status_name(tutti_status status);
TUTTI_API const char *tutti_status_text(tutti_status status);

/* The sentence of the last call that failed on this thread, as it was logged: what was wrong, with
 * names and numbers; "" if none has failed. Each thread has its own sentence, which lasts until
 * that thread's next failure. An error on one of Tutti's own threads becomes the last error of the
 * thread whose call returns its status. [A] */
TUTTI_API const char *tutti_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
