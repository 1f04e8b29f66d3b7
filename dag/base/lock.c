#define _GNU_SOURCE /* asprintf */
#include "dag/base/lock.h"

#include "dag/base/clock.h"
#include "dag/base/file.h"
#include "dag/base/log.h"
#include "dag/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WORD = 256, TEXT = 2048 };
static const char *named_run; /* NULL: TUTTI_RUN */
static const double patience_s = 1, look_every_s = 0.02, settle_s = 0.1;

/* The writer of a file, as in FILE.lock: one line per field, "host n1". */
typedef struct writer {
    char host[WORD], machine[WORD], boot[WORD], run[WORD], since[WORD], process[WORD], began[WORD];
} writer;

static const struct {
    const char *name;
    size_t offset;
} fields[] = {{"host", offsetof(writer, host)}, {"process", offsetof(writer, process)},
    {"since", offsetof(writer, since)}, {"began", offsetof(writer, began)},
    {"boot", offsetof(writer, boot)}, {"machine", offsetof(writer, machine)},
    {"run", offsetof(writer, run)}};
enum { FIELDS = sizeof fields / sizeof *fields };

struct tutti_lock {
    const char *what, *path; /* borrowed; used only while taking */
    char *target, *name;     /* the file's path; the lock's */
    char *part;              /* the complete file that becomes the lock */
    int fd;                  /* of that file */
    int flocks;              /* this file system supports flock */
};

/* ---- who ---- */

void tutti_lock_name_run(const char *run)
{
    named_run = run;
}

static void read_line(const char *path, char word[WORD])
{
    FILE *file = fopen(path, "re");
    word[0] = '\0';
    if (!file) return;
    if (fgets(word, WORD, file)) word[strcspn(word, "\n")] = '\0';
    fclose(file);
}

/* When a process began; empty if there is no such process. */
static void find_began(const char *process, char word[WORD])
{
    int64_t began;
    word[0] = '\0';
    if (tutti_process_look(strtoll(process, NULL, 10), NULL, &began))
        snprintf(word, WORD, "%" PRId64, began);
}

static void find_self(writer *w)
{
    time_t now = time(NULL);
    struct tm utc;
    const char *run = named_run ? named_run : getenv("TUTTI_RUN");
    *w = (writer){0};
    gethostname(w->host, sizeof w->host - 1);
    read_line("/etc/machine-id", w->machine);
    tutti_process_boot(w->boot);
    snprintf(w->process, sizeof w->process, "%ld", (long)getpid());
    find_began(w->process, w->began);
    if (gmtime_r(&now, &utc)) strftime(w->since, sizeof w->since, "%Y-%m-%d %H:%M:%S UTC", &utc);
    snprintf(w->run, sizeof w->run, "%s", run ? run : "");
    for (char *c = w->run; *c; c++)
        if ((unsigned char)*c < ' ') *c = '_';
}

static int print_writer(const writer *w, char text[TEXT])
{
    int used = 0;
    for (int i = 0; i < FIELDS; i++)
        used += snprintf(text + used, (size_t)(TEXT - used), "%s %s\n", fields[i].name,
            (const char *)w + fields[i].offset);
    return used;
}

/* Fields that cannot be parsed stay empty. */
static void parse_writer(char *text, writer *w)
{
    *w = (writer){0};
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        for (int i = 0; i < FIELDS; i++) {
            size_t length = strlen(fields[i].name);
            if (strncmp(line, fields[i].name, length) == 0 && line[length] == ' ')
                snprintf((char *)w + fields[i].offset, WORD, "%s", line + length + 1);
        }
}

static int equal(const char *a, const char *b)
{
    return *a && strcmp(a, b) == 0;
}

/* ---- may it be taken over? ---- */

typedef enum verdict { FREE, HELD, FOREIGN, RETRY } verdict;

/* Without flock: whether the process that wrote the lock still exists. */
static int is_alive(const writer *w)
{
    char began[WORD];
    long process = strtol(w->process, NULL, 10);
    if (process <= 0 || (kill((pid_t)process, 0) && errno == ESRCH)) return 0;
    find_began(w->process, began);
    return !*w->began || !*began || strcmp(began, w->began) == 0;
}

/* `flocked`: this process now holds the lock's flock. */
static verdict judge_writer(const writer *self, const writer *w, int flocks, int flocked)
{
    if (!*w->host) return RETRY; /* still empty, which happens where there are no hard links */
    if (equal(self->boot, w->boot)) {
        if (flocks) return flocked ? FREE : HELD;
        return is_alive(w) ? HELD : FREE;
    }
    if (flocks && !flocked) return HELD;
    if (equal(self->run, w->run)) return FREE;
    return equal(self->host, w->host) && equal(self->machine, w->machine) ? FREE : FOREIGN;
}

/* 1: taken; 0: somebody else holds it; -1: no flock here. */
static int try_flock(int fd)
{
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno == EINTR) continue;
        return errno == EWOULDBLOCK ? 0 : -1;
    }
    return 1;
}

/* Opens a regular file; -1 with errno set on failure. */
static int open_lock(const char *name)
{
    struct stat info;
    int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, fd = open(name, O_RDWR | flags);
    if (fd < 0 && (errno == EACCES || errno == EROFS)) fd = open(name, O_RDONLY | flags);
    if (fd < 0 || (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

static int is_same_file(int fd, const char *name)
{
    struct stat open_one, named;
    return !fstat(fd, &open_one) && !lstat(name, &named) && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

/* ---- taking ---- */

static tutti_status refuse(const tutti_lock *l, int error)
{
    return tutti_fail(TUTTI_ERR_IO, "%s %s: cannot be locked with %s: %s", l->what, l->path,
        l->name, strerror(error));
}

static tutti_status refuse_held(
    const tutti_lock *l, const writer *self, const writer *w, verdict why)
{
    if (equal(self->boot, w->boot) && equal(self->process, w->process) &&
        equal(self->began, w->began))
        return tutti_fail(
            TUTTI_ERR_IO, "%s %s: two files of this run have the same name", l->what, l->path);
    if (!*w->host)
        return tutti_fail(TUTTI_ERR_IO,
            "%s %s: another run is writing it, or has left %s, which does not name its run: delete "
            "that file if no run writes here",
            l->what, l->path, l->name);
    if (why == HELD)
        return tutti_fail(TUTTI_ERR_IO,
            "%s %s: another run is writing it: process %s on host %s, since %s (%s)", l->what,
            l->path, w->process, w->host, w->since, l->name);
    return tutti_fail(TUTTI_ERR_IO,
        "%s %s: another run is writing it: process %s on host %s, since %s; when that process has "
        "ended, delete %s",
        l->what, l->path, w->process, w->host, w->since, l->name);
}

/* Creates the lock, complete and flocked, under a temporary name. */
static tutti_status prepare(tutti_lock *l, const writer *self)
{
    char text[TEXT];
    int bytes = print_writer(self, text), error = 0;
    l->part = tutti_file_part(l->name);
    if (!l->part) return tutti_fail(TUTTI_ERR_NOMEM, "%s %s: no memory", l->what, l->path);
    l->fd = open(l->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (l->fd < 0) return refuse(l, errno);
    l->flocks = try_flock(l->fd) >= 0;
    errno = 0;
    if (write(l->fd, text, (size_t)bytes) != bytes) error = errno ? errno : ENOSPC;
    return error ? refuse(l, error) : TUTTI_OK;
}

/* Gives the lock its name unless the name exists. Returns 0, EEXIST or another errno value. */
static int appear(tutti_lock *l)
{
    struct stat info;
    if (link(l->part, l->name) == 0) return 0;
    int error = errno;
    if (fstat(l->fd, &info) == 0 && info.st_nlink == 2) return 0; /* NFS: the answer was lost */
    if (error == EEXIST || error == ENOENT || error == EACCES || error == EROFS) return error;
    int fd = open(l->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) return errno;
    close(fd); /* the name is this process's, and the next line fills it */
    return rename(l->part, l->name) ? errno : 0;
}

/* Judges an existing lock. FREE: ours has replaced it. */
static verdict judge_existing(tutti_lock *l, const writer *self, writer *w, int *error)
{
    char text[TEXT + 1];
    *error = 0;
    int fd = open_lock(l->name);
    if (fd < 0) {
        *error = errno == ENOENT ? 0 : errno;
        return RETRY;
    }
    int had = try_flock(fd);
    ssize_t bytes = pread(fd, text, TEXT, 0);
    verdict found = RETRY;
    if (is_same_file(fd, l->name)) {
        text[bytes > 0 ? bytes : 0] = '\0';
        parse_writer(text, w);
        found = judge_writer(self, w, had >= 0 && l->flocks, had > 0);
        if (found == FREE && rename(l->part, l->name)) *error = errno;
    }
    close(fd);
    return *error ? RETRY : found;
}

/* Removes what an owner was killed over before it became its lock. One without text may be of a
 * living process that has no flock on it yet. */
static void sweep_part(const void *ctx, const char *path)
{
    const tutti_lock *l = ctx;
    char text[TEXT + 1];
    writer self, w;
    const int fd = open_lock(path);
    if (fd < 0) return;
    const ssize_t bytes = pread(fd, text, TEXT, 0);
    if (bytes > 0) {
        const int had = try_flock(fd);
        text[bytes] = '\0';
        parse_writer(text, &w);
        find_self(&self);
        if (equal(self.boot, w.boot) &&
            judge_writer(&self, &w, had >= 0 && l->flocks, had > 0) == FREE)
            unlink(path);
    }
    close(fd);
}

/* Without flock, two processes may have taken over a dead one's lock: the last of them holds it. */
static int is_still_ours(const tutti_lock *l)
{
    if (!l->flocks) tutti_clock_sleep(settle_s);
    return is_same_file(l->fd, l->name);
}

static tutti_status contend(tutti_lock *l, const writer *self)
{
    writer w = {0};
    double end = tutti_clock_s() + patience_s;
    for (;;) {
        int error = appear(l);
        if (!error) return TUTTI_OK;
        if (error != EEXIST) return refuse(l, error);
        verdict found = judge_existing(l, self, &w, &error);
        if (error) return refuse(l, error);
        if (found == FREE && is_still_ours(l)) return TUTTI_OK;
        int ends_soon =
            found == RETRY || (found == HELD && equal(self->boot, w.boot) && !is_alive(&w));
        if (!ends_soon || tutti_clock_s() > end) return refuse_held(l, self, &w, found);
        tutti_clock_sleep(look_every_s);
    }
}

static void discard(tutti_lock *l)
{
    if (l->part) unlink(l->part);
    if (l->fd >= 0) close(l->fd);
    free(l->part);
    free(l->name);
    free(l->target);
    free(l);
}

tutti_status tutti_lock_take(const char *what, const char *path, tutti_lock **lock)
{
    writer self;
    const tutti_file_options file = {.what = what, .path = path};
    tutti_lock *l = calloc(1, sizeof *l);
    if (!l) return tutti_fail(TUTTI_ERR_NOMEM, "%s %s: no memory", what, path);
    *l = (tutti_lock){.what = what, .path = path, .fd = -1};
    find_self(&self);
    tutti_status status = tutti_file_target(&file, &l->target);
    if (!status && asprintf(&l->name, "%s.lock", l->target) < 0) {
        l->name = NULL;
        status = tutti_fail(TUTTI_ERR_NOMEM, "%s %s: no memory", what, path);
    }
    if (!status) status = prepare(l, &self);
    if (!status) status = contend(l, &self);
    if (status) {
        discard(l);
        return status;
    }
    unlink(l->part); /* still there if the lock was made by a link */
    tutti_file_sweep(l->target);
    tutti_file_each_part(l->name, sweep_part, l);
    *lock = l;
    return TUTTI_OK;
}

void tutti_lock_release(tutti_lock *lock)
{
    if (!lock) return;
    if (is_same_file(lock->fd, lock->name)) unlink(lock->name);
    discard(lock);
}
