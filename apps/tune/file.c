#include "apps/tune/file.h"

#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 16 << 20, NAME = PATH_MAX + 16 };
static const double longest_lock_s = 10, look_every_s = 0.02;

/* ---- where ---- */

const char *tutti_tuning_path(const char *wanted, char path[PATH_MAX])
{
    if (wanted && strcmp(wanted, "none") == 0) return NULL;
    char *usual = wanted ? NULL : tutti_file_in_cache("tuning.json");
    const char *chosen = wanted ? wanted : usual;
    int fits = chosen && snprintf(path, PATH_MAX, "%s", chosen) < PATH_MAX;
    free(usual);
    return fits ? path : NULL;
}

/* ---- reading ---- */

/* Opens a regular file of plausible size. -1, with errno. */
static int open_file(const char *path)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return -1;
    int error = fstat(file, &info)          ? errno
                : !S_ISREG(info.st_mode)    ? EINVAL
                : info.st_size > MOST_BYTES ? EFBIG
                                            : 0;
    if (!error) return file;
    close(file);
    errno = error;
    return -1;
}

typedef enum file_state { GOOD, ABSENT, UNREADABLE, DAMAGED } file_state;

/* Loads a good file: an object with an object "choices". Otherwise NULL, and logs why. */
static json_t *load(const char *path, file_state *state)
{
    json_error_t error;
    int file = open_file(path);
    *state = file >= 0 ? GOOD : errno == ENOENT ? ABSENT : UNREADABLE;
    if (*state == UNREADABLE)
        tutti_log(TUTTI_LOG_WARN, "tuning file %s: %s", path, strerror(errno));
    if (file < 0) return NULL;
    json_t *root = json_loadfd(file, JSON_REJECT_DUPLICATES, &error);
    close(file);
    if (json_is_object(json_object_get(root, "choices"))) return root;
    *state = DAMAGED;
    if (root)
        tutti_log(TUTTI_LOG_WARN, "tuning file %s is damaged: it has no \"choices\"", path);
    else
        tutti_log(
            TUTTI_LOG_WARN, "tuning file %s is damaged: line %d: %s", path, error.line, error.text);
    json_decref(root);
    return NULL;
}

/* The run of which this process is an attempt, or NULL. */
static const char *this_run(void)
{
    const char *run = getenv("TUTTI_RUN");
    return run && *run ? run : NULL;
}

/* Whether all fields are present and plausible. */
static int understand(json_t *choice, tutti_tuning *tuning)
{
    const char *design, *date;
    json_int_t lanes, bucket, chunk;
    int priority;
    tutti_tuning t = {.date = ""};
    if (json_unpack(choice, "{s:s, s:I, s:I, s:I, s:b, s:F, s:F, s:F, s:s}", "design", &design,
            "lanes", &lanes, "bucket_bytes", &bucket, "chunk_bytes", &chunk, "priority", &priority,
            "step_ms", &t.step_ms, "default_ms", &t.default_ms, "hidden_pct", &t.hidden_pct, "date",
            &date))
        return 0;
    t.configuration =
        (tutti_configuration){tutti_design_find(design), (int)lanes, bucket, chunk, priority};
    if (lanes != (int)lanes || !tutti_configuration_possible(&t.configuration)) return 0;
    t.cut = json_object_get(choice, "run") != NULL;
    if (snprintf(t.date, sizeof t.date, "%s", date) >= (int)sizeof t.date) return 0;
    *tuning = t;
    return 1;
}

int tutti_tuning_find(const char *path, const char *key, tutti_tuning *tuning)
{
    file_state state;
    json_t *root = load(path, &state);
    json_t *choice = json_object_get(json_object_get(root, "choices"), key);
    const char *of = json_string_value(json_object_get(choice, "run")), *run = this_run();
    int other = of && !(run && strcmp(run, of) == 0); /* a cut search of another run */
    int found = choice && !other && understand(choice, tuning);
    if (choice && !other && !found)
        tutti_log(TUTTI_LOG_WARN,
            "tuning file %s: its choice for this run is unreadable; Tutti chooses again", path);
    json_decref(root);
    return found;
}

/* ---- writing ---- */

/* Returns the lock, or -1 (logged). */
static int take_lock(const char *path)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s.lock", path);
    int file = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = file < 0 ? errno : 0;
    double end = tutti_clock_s() + longest_lock_s;
    while (!error && flock(file, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR) error = errno;
        if (tutti_clock_s() > end) error = ETIMEDOUT;
        tutti_clock_sleep(look_every_s);
    }
    if (!error) return file;
    tutti_log(TUTTI_LOG_WARN, "the choice is not remembered: %s: %s", name, strerror(error));
    if (file >= 0) close(file);
    return -1;
}

static json_t *as_json(const tutti_tuning *t)
{
    char date[16] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%d", &utc);
    json_t *choice = json_pack("{s:s, s:i, s:I, s:I, s:b, s:f, s:f, s:f, s:s}", "design",
        t->configuration.design->name, "lanes", t->configuration.lanes, "bucket_bytes",
        (json_int_t)t->configuration.bucket_bytes, "chunk_bytes",
        (json_int_t)t->configuration.chunk_bytes, "priority", t->configuration.priority, "step_ms",
        t->step_ms, "default_ms", t->default_ms, "hidden_pct",
        isfinite(t->hidden_pct) ? t->hidden_pct : 0.0, "date", date);
    if (t->cut) json_object_set_new(choice, "run", json_string(this_run()));
    return choice;
}

/* Returns whether it did; logs errors. */
static int replace(const char *path, const json_t *root)
{
    const tutti_file_options file = {.what = "the choice is not remembered: tuning file",
        .path = path,
        .unsynced = 1,
        .lenient = 1};
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    tutti_status status = text ? tutti_file_put(&file, text, strlen(text)) : TUTTI_ERR_NOMEM;
    free(text);
    return status == TUTTI_OK;
}

/* Lock held. */
static int add(const char *path, const char *key, const tutti_tuning *tuning)
{
    char kept[NAME];
    file_state state;
    json_t *root = load(path, &state);
    if (state == UNREADABLE) return 0;
    if (!root) root = json_pack("{s:{}}", "choices");
    snprintf(kept, sizeof kept, "%s.damaged", path);
    if (state == DAMAGED && rename(path, kept) == 0)
        tutti_log(TUTTI_LOG_WARN,
            "tuning file %s was damaged: a new one takes its place, and the damaged one is now %s",
            path, kept);
    json_t *choices = json_object_get(root, "choices"), *earlier = json_object_get(choices, key);
    int done = !(tuning->cut && earlier && !json_object_get(earlier, "run")) &&
               !json_object_set_new(choices, key, as_json(tuning)) && replace(path, root);
    json_decref(root);
    return done;
}

int tutti_tuning_save(const char *path, const char *key, const tutti_tuning *tuning)
{
    if (tuning->cut && !this_run()) return 0;
    int lock = take_lock(path);
    if (lock < 0) return 0;
    int done = add(path, key, tuning);
    close(lock);
    return done;
}
