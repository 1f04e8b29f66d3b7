#include "dag/run/home.h"

#include "dag/base/log.h"
#include "dag/base/process.h"
#include "dag/base/rank.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* StarPU cuts longer paths. */
enum { LONGEST = 200, REASON = 64 };

static const char *const variables[] = {"XDG_CACHE_HOME", "STARPU_HOME", "HOME"};
enum { XDG, STARPU, HOME, VARIABLES };
static const char models[] = "STARPU_PERF_MODEL_DIR"; /* the place itself, not its home */

/* Makes the folder and those above it. */
static int make_folders(const char *path)
{
    char part[PATH_MAX];
    struct stat found;
    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (stat(part, &found) == 0) {
            if (!S_ISDIR(found.st_mode)) return ENOTDIR;
        } else if (mkdir(part, 0700) && errno != EEXIST) {
            return errno;
        }
    }
    return 0;
}

/* Whether a file of this folder can grow. */
static int try_file(const char *folder)
{
    static const char zeros[1 << 12];
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tutti.XXXXXX", folder);
    int file = mkstemp(path), error = file < 0 ? errno : 0;
    if (error) return error;
    const ssize_t n = write(file, zeros, sizeof zeros);
    if (n < 0) error = errno;
    if (!error && n < (ssize_t)sizeof zeros) error = ENOSPC;
    if (close(file) && !error) error = errno;
    unlink(path);
    return error;
}

/* Makes what StarPU looks for in its folder, and tries to write there. Returns 1, or 0 and why not. */
static int try_models(const char *folder, char why[REASON])
{
    static const char *const inside[] = {"bus", "codelets"};
    char path[PATH_MAX];
    int error = 0;
    if (strlen(folder) > LONGEST) {
        snprintf(why, REASON, "longer than %d characters", LONGEST);
        return 0;
    }
    for (int i = 0; i < 2 && !error; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, inside[i]);
        error = make_folders(path);
        if (!error) error = try_file(path);
    }
    snprintf(why, REASON, "%s", strerror(error));
    return !error;
}

/* The same for its home. */
static int try_home(const char *home, char why[REASON])
{
    char folder[PATH_MAX];
    if (!*home) {
        snprintf(why, REASON, "empty");
        return 0;
    }
    snprintf(folder, sizeof folder, "%s/.starpu/sampling", home);
    return try_models(folder, why);
}

/* A folder that belongs to this user alone; later runs use it again. */
static int make_private(const char *parent, char home[PATH_MAX], char why[REASON])
{
    struct stat found;
    snprintf(home, PATH_MAX, "%s/tutti-starpu-%lu", parent, (unsigned long)geteuid());
    if (mkdir(home, 0700) && errno != EEXIST) {
        snprintf(why, REASON, "%s", strerror(errno));
        return 0;
    }
    if (lstat(home, &found) || !S_ISDIR(found.st_mode) || found.st_uid != geteuid() ||
        found.st_mode & 077) {
        snprintf(why, REASON, "tutti-starpu-%lu there is not this user's alone",
            (unsigned long)geteuid());
        return 0;
    }
    return try_home(home, why);
}

/* From now on, here and in what this process starts. */
static void use(const char *home, int given_models)
{
    setenv("STARPU_HOME", home, 1);
    if (getenv("XDG_CACHE_HOME"))
        setenv("XDG_CACHE_HOME", home, 1); /* some releases look there first */
    if (given_models) unsetenv(models);
}

static tutti_status mend(const char *bad, const char *value, const char *reason)
{
    const char *tmp = getenv("TMPDIR");
    const char *parent = tmp && *tmp ? tmp : "/tmp";
    char home[PATH_MAX], why[REASON];
    int found = 0;
    for (int v = 0; v < VARIABLES && !found; v++) {
        const char *other = getenv(variables[v]);
        found = other && try_home(other, why);
        if (found) snprintf(home, sizeof home, "%s", other);
    }
    if (!found && !make_private(parent, home, why))
        return tutti_fail(TUTTI_ERR_IO,
            "StarPU cannot keep its measurements: not in %s%s%s (%s), and not in %s (%s): set "
            "STARPU_HOME to a "
            "folder that this user can write",
            bad, *value ? " " : "", value, reason, parent, why);
    use(home, getenv(models) != NULL);
    if (tutti_log_get_rank() <= 0)
        tutti_log(TUTTI_LOG_WARN,
            "StarPU cannot keep its measurements in %s%s%s (%s): they go to %s; to choose a "
            "folder, set STARPU_HOME",
            bad, *value ? " " : "", value, reason, home);
    return TUTTI_OK;
}

tutti_status tutti_run_home_prepare(void)
{
    char why[REASON];
    const char *given = getenv(models);
    const int named = getenv("XDG_CACHE_HOME") || getenv("STARPU_HOME");
    if (given && !(*given && try_models(given, why)))
        return mend(models, given, *given ? why : "empty");
    for (int v = 0; v < VARIABLES; v++) {
        const char *home = getenv(variables[v]);
        if (v == HOME && named) break;
        if (v == HOME && !home) return mend("HOME", "", "not set");
        if (home && !try_home(home, why)) return mend(variables[v], home, why);
    }
    return TUTTI_OK;
}

/* The file of this host that names the boot since which StarPU has measured it. */
static FILE *open_mark(const char *models_folder, const char *mode)
{
    char path[PATH_MAX], host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/bus/%s.tutti", models_folder, host);
    return fopen(path, mode);
}

static int has_mark(const char *models_folder)
{
    char boot[TUTTI_PROCESS_BOOT], found[TUTTI_PROCESS_BOOT] = "";
    FILE *file = open_mark(models_folder, "r");
    if (!file) return 0;
    tutti_process_boot(boot);
    const size_t bytes = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    return bytes > 0 && !strcmp(found, boot);
}

static int make_mark(const char *models_folder)
{
    char boot[TUTTI_PROCESS_BOOT];
    FILE *file = open_mark(models_folder, "w");
    if (!file) return 0;
    tutti_process_boot(boot);
    fputs(boot, file);
    return !fclose(file);
}

/* Whether `look` is true of each folder that StarPU may use. */
static int is_true_of_all(int (*look)(const char *models_folder))
{
    char folder[PATH_MAX];
    const int named = getenv("XDG_CACHE_HOME") || getenv("STARPU_HOME");
    if (getenv(models)) return look(getenv(models));
    for (int v = 0; v < VARIABLES; v++) {
        const char *home = getenv(variables[v]);
        if (!home || (v == HOME && named)) continue;
        snprintf(folder, sizeof folder, "%s/.starpu/sampling", home);
        if (!look(folder)) return 0;
    }
    return 1;
}

int tutti_run_home_number(void)
{
    enum { NUMBERS = 16, FACTOR = 31 };
    const char *given = getenv(models), *home = NULL;
    char folder[PATH_MAX];
    struct stat found;
    for (int v = 0; v < VARIABLES && !home; v++) home = getenv(variables[v]);
    if (given)
        snprintf(folder, sizeof folder, "%s", given);
    else
        snprintf(folder, sizeof folder, "%s/.starpu/sampling", home ? home : "");
    if (stat(folder, &found)) return 0;
    return (int)((found.st_dev * FACTOR + found.st_ino) % NUMBERS); /* it may have several names */
}

int tutti_run_home_is_measured(void)
{
    return is_true_of_all(has_mark);
}

void tutti_run_home_set_measured(void)
{
    is_true_of_all(make_mark);
}
