#include "dag/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int log_rank = -1;
static atomic_int log_level = TUTTI_LOG_INFO;

void tutti_log_set_rank(int rank)
{
    atomic_store(&log_rank, rank);
}

void tutti_log_set_level(tutti_log_level level)
{
    atomic_store(&log_level, (int)level);
}

static void write_line(tutti_log_level level, const char *format, va_list args)
{
    static const char *const words[] = {"error: ", "warning: ", "", "debug: "};
    char line[2048];
    int rank = atomic_load(&log_rank);
    int n = rank >= 0 ? snprintf(line, sizeof line, "tutti: rank %d: %s", rank, words[level])
                      : snprintf(line, sizeof line, "tutti: %s", words[level]);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    size_t length = (size_t)n + (size_t)(m < 0 ? 0 : m);
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    fflush(stdout);
    if (write(STDERR_FILENO, line, length) < 0) return; /* nowhere left to say so */
}

void tutti_log(tutti_log_level level, const char *format, ...)
{
    if ((int)level > atomic_load(&log_level)) return;
    va_list args;
    va_start(args, format);
    write_line(level, format, args);
    va_end(args);
}

void tutti_log_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(TUTTI_LOG_INFO, format, args); /* INFO has no word */
    va_end(args);
}

tutti_status tutti_fail(tutti_status status, const char *format, ...)
{
    if (TUTTI_LOG_ERROR > atomic_load(&log_level)) return status;
    va_list args;
    va_start(args, format);
    write_line(TUTTI_LOG_ERROR, format, args);
    va_end(args);
    return status;
}
