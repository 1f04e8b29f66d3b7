#include "dag/base/log.h"

#include "dag/base/origin.h"
#include "dag/base/rank.h"
#include "dag/base/text.h"

#include <pthread.h>
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

int tutti_log_get_rank(void)
{
    return atomic_load(&log_rank);
}

void tutti_log_set_level(tutti_log_level level)
{
    atomic_store(&log_level, (int)level);
}

/* Protects the two below, and is held while the program's function runs. */
static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static tutti_log_function *sink;
static void *sink_ctx;

/* Protects the ones below. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
enum { KEPT = 16, SENTENCE = 2048 };
static int puts_off, kept;
static char kept_sentence[KEPT][SENTENCE];

static _Thread_local struct {
    unsigned count;
    char text[TUTTI_ERROR_TEXT];
} last_error;

void tutti_log_to(tutti_log_function *function, void *ctx)
{
    pthread_mutex_lock(&sink_lock);
    sink = function;
    sink_ctx = ctx;
    pthread_mutex_unlock(&sink_lock);
}

/* Returns whether the program's function took the message. */
static int hand_over(tutti_log_level level, const char *sentence)
{
    pthread_mutex_lock(&sink_lock);
    int taken = sink != NULL;
    if (taken) sink(sink_ctx, level, sentence);
    pthread_mutex_unlock(&sink_lock);
    return taken;
}

static void write_line(tutti_log_level level, const char *sentence)
{
    static const char *const words[] = {"error: ", "warning: ", "", "debug: "};
    char line[2048];
    int rank = atomic_load(&log_rank);
    int n = rank >= 0 ? snprintf(line, sizeof line - 1, "tutti: rank %d: %s%s", rank, words[level],
                            sentence)
                      : snprintf(line, sizeof line - 1, "tutti: %s%s", words[level], sentence);
    size_t length = n < 0 ? 0 : (size_t)n;
    if (length > sizeof line - 2) length = sizeof line - 2;
    line[length++] = '\n';
    fflush(stdout);
    if (write(STDERR_FILENO, line, length) < 0) return; /* nowhere left to report it */
}

static void show(tutti_log_level level, const char *sentence)
{
    if (!hand_over(level, sentence)) write_line(level, sentence);
}

/* Returns whether it was kept. */
static int keep_sentence(const char *sentence)
{
    pthread_mutex_lock(&kept_lock);
    const int keeps = puts_off && kept < KEPT;
    if (keeps) snprintf(kept_sentence[kept++], SENTENCE, "%s", sentence);
    pthread_mutex_unlock(&kept_lock);
    return keeps;
}

void tutti_log_put_off(void)
{
    pthread_mutex_lock(&kept_lock);
    puts_off = 1;
    pthread_mutex_unlock(&kept_lock);
}

void tutti_log_resolve(tutti_log_level level)
{
    pthread_mutex_lock(&kept_lock);
    const int sentences = kept;
    puts_off = kept = 0;
    pthread_mutex_unlock(&kept_lock);
    /* without the lock: a sink may log, too */
    for (int i = 0; i < sentences && (int)level <= atomic_load(&log_level); i++)
        show(level, kept_sentence[i]);
}

static void say(tutti_log_level level, const char *format, va_list args)
{
    char sentence[2048], shown[2048], worded[2048];
    if (vsnprintf(sentence, sizeof sentence, format, args) < 0) sentence[0] = '\0';
    tutti_text_show(sentence, shown, sizeof shown); /* names in it may come from files */
    const int refuses = level <= TUTTI_LOG_WARN;
    if (refuses) tutti_origin_word(shown, worded, sizeof worded);
    const char *said = refuses ? worded : shown;
    if (level != TUTTI_LOG_ERROR || !keep_sentence(said)) show(level, said);
}

void tutti_log(tutti_log_level level, const char *format, ...)
{
    if ((int)level > atomic_load(&log_level)) return;
    va_list args;
    va_start(args, format);
    say(level, format, args);
    va_end(args);
}

void tutti_log_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(TUTTI_LOG_INFO, format, args); /* INFO has no level word */
    va_end(args);
}

tutti_status tutti_fail(tutti_status status, const char *format, ...)
{
    /* the arguments may include what tutti_last_error returned */
    char sentence[2048], worded[2048];
    va_list args;
    va_start(args, format);
    if (vsnprintf(sentence, sizeof sentence, format, args) < 0) sentence[0] = '\0';
    va_end(args);
    tutti_origin_word(sentence, worded, sizeof worded);
    tutti_error_adopt(worded);
    if (TUTTI_LOG_ERROR > atomic_load(&log_level)) return status;
    tutti_text_show(worded, sentence, sizeof sentence);
    const int may_pass = status == TUTTI_ERR_COMM || status == TUTTI_ERR_TIMEOUT;
    if (!may_pass || !keep_sentence(sentence)) show(TUTTI_LOG_ERROR, sentence);
    return status;
}

/* ---- the last error of a thread ---- */

const char *tutti_last_error(void)
{
    return last_error.text;
}

unsigned tutti_error_count(void)
{
    return last_error.count;
}

void tutti_error_adopt(const char *sentence)
{
    last_error.count++;
    tutti_text_show(sentence, last_error.text, sizeof last_error.text);
}
