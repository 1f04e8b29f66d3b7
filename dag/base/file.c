#define _GNU_SOURCE /* asprintf, memrchr */
#include "dag/base/file.h"

#include "dag/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEX_DIGITS = 16, MOST_LINKS = 40 };
static const char part_end[] = ".part";

static tutti_status refuse(const tutti_file_options *o, const char *doing, int error)
{
    tutti_log(o->lenient ? TUTTI_LOG_WARN : TUTTI_LOG_ERROR, "%s %s: %s: %s", o->what, o->path,
        doing, strerror(error));
    return TUTTI_ERR_IO;
}

static tutti_status refuse_saving(const tutti_file_options *o, int error)
{
    tutti_log(o->lenient ? TUTTI_LOG_WARN : TUTTI_LOG_ERROR,
        "%s %s could not be saved: %s (an earlier file of this name is untouched)", o->what,
        o->path, strerror(error));
    return TUTTI_ERR_IO;
}

static tutti_status no_memory(const tutti_file_options *o)
{
    tutti_log(o->lenient ? TUTTI_LOG_WARN : TUTTI_LOG_ERROR, "%s %s: no memory", o->what, o->path);
    return TUTTI_ERR_NOMEM;
}

/* ---- names ---- */

/* The rule of fs.protected_symlinks, applied to links that are followed here. */
static int is_planted(const char *link)
{
    struct stat own, folder;
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", link);
    if (lstat(link, &own) || stat(dirname(copy), &folder)) return 0;
    return (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH) && own.st_uid != geteuid() &&
           own.st_uid != folder.st_uid;
}

/* Follows one link. Returns 0; EINVAL: `path` is not a link; or another errno value. */
static int follow(char path[PATH_MAX])
{
    char to[PATH_MAX], copy[PATH_MAX], next[PATH_MAX];
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n < 0) return errno == ENOENT ? EINVAL : errno;
    if (is_planted(path)) return EACCES;
    to[n] = '\0';
    snprintf(copy, sizeof copy, "%s", path);
    int used = to[0] == '/' ? snprintf(next, sizeof next, "%s", to)
                            : snprintf(next, sizeof next, "%s/%s", dirname(copy), to);
    if (used >= PATH_MAX) return ENAMETOOLONG;
    memcpy(path, next, (size_t)used + 1);
    return 0;
}

tutti_status tutti_file_target(const tutti_file_options *o, char **target)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", o->path) >= PATH_MAX)
        return refuse(o, "cannot be written", ENAMETOOLONG);
    int error = 0;
    for (int links = 0; !error; links++) error = links < MOST_LINKS ? follow(path) : ELOOP;
    if (error == EACCES)
        return refuse(o, "a link of another user in a folder that everybody may write to", error);
    if (error != EINVAL) return refuse(o, "cannot be written", error);
    *target = strdup(path);
    return *target ? TUTTI_OK : no_memory(o);
}

int tutti_file_same(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

char *tutti_file_earlier(const char *path, int n)
{
    char *name = NULL;
    return asprintf(&name, "%s.%d", path, n) < 0 ? NULL : name;
}

char *tutti_file_in_cache(const char *name)
{
    static const char *const folders[] = {"", "/tutti"};
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int given = cache && *cache == '/';
    char *path = NULL;
    if (!given && (!home || !*home)) return NULL;
    for (int i = 0; i < 2; i++) {
        free(path);
        if (asprintf(&path, "%s%s%s", given ? cache : home, given ? "" : "/.cache", folders[i]) < 0)
            return NULL;
        mkdir(path, 0700); /* errors show when the file is written */
    }
    char *file = NULL;
    if (asprintf(&file, "%s/%s", path, name) < 0) file = NULL;
    free(path);
    return file;
}

char *tutti_file_part(const char *target)
{
    uint64_t number;
    char *name = NULL;
    if (getrandom(&number, sizeof number, 0) != sizeof number) {
        struct timespec now; /* not random, but O_EXCL still makes sure that it is new */
        clock_gettime(CLOCK_MONOTONIC, &now);
        number = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32;
    }
    return asprintf(&name, "%s.%016" PRIx64 "%s", target, number, part_end) < 0 ? NULL : name;
}

/* Whether `name` is "BASE.<16 hex digits>.part". */
static int is_part(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || name[length] != '.') return 0;
    const char *digits = name + length + 1;
    return strspn(digits, "0123456789abcdef") == HEX_DIGITS &&
           strcmp(digits + HEX_DIGITS, part_end) == 0;
}

void tutti_file_each_part(
    const char *target, void (*see)(const void *ctx, const char *path), const void *ctx)
{
    char folder_of[PATH_MAX], base_of[PATH_MAX];
    snprintf(folder_of, sizeof folder_of, "%s", target);
    snprintf(base_of, sizeof base_of, "%s", target);
    const char *base = basename(base_of);
    const char *folder_name = dirname(folder_of);
    DIR *folder = opendir(folder_name);
    if (!folder) return;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char *path;
        if (!is_part(entry->d_name, base)) continue;
        if (asprintf(&path, "%s/%s", folder_name, entry->d_name) < 0) break;
        see(ctx, path);
        free(path);
    }
    closedir(folder);
}

static void remove_part(const void *ctx, const char *path)
{
    (void)ctx;
    unlink(path);
}

void tutti_file_sweep(const char *target)
{
    tutti_file_each_part(target, remove_part, NULL);
}

/* ---- beginning ---- */

/* Whether the existing file may be replaced; *mode: its permissions, for the new one. Returns 0 or
 * an errno value. */
static int look_at_earlier(const char *path, mode_t *mode)
{
    struct stat info;
    *mode = 0;
    if (lstat(path, &info)) return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (!S_ISREG(info.st_mode)) return EINVAL;
    if (access(path, W_OK)) return errno;
    *mode = info.st_mode & 0777;
    return 0;
}

static char *name_part(const char *path, int keeps)
{
    char *name = NULL;
    if (!keeps) return tutti_file_part(path);
    return asprintf(&name, "%s%s", path, part_end) < 0 ? NULL : name;
}

static int create_part(tutti_file *file, mode_t mode, int keeps)
{
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (keeps ? 0 : O_EXCL);
    file->fd = open(file->part, flags, file->options.secret ? 0600 : 0666);
    if (file->fd < 0) return errno;
    if (mode && !file->options.secret)
        fchmod(file->fd, mode); /* some file systems have no permissions */
    return 0;
}

/* keeps: the part has a name of its own, and may be there. */
static tutti_status begin(const tutti_file_options *options, int keeps, tutti_file *file)
{
    mode_t mode;
    *file = (tutti_file){.options = *options, .fd = -1};
    tutti_status status = tutti_file_target(options, &file->path);
    if (status) return status;
    int error = look_at_earlier(file->path, &mode);
    if (error == EINVAL)
        status = refuse(options, "cannot be replaced, because it is not a regular file", error);
    else if (error)
        status = refuse(options, "cannot be written", error);
    else if (!(file->part = name_part(file->path, keeps)))
        status = no_memory(options);
    else if ((error = create_part(file, mode, keeps)))
        status = refuse(options, "cannot create a file next to it", error);
    if (!status) return TUTTI_OK;
    free(file->path);
    free(file->part);
    return status;
}

tutti_status tutti_file_begin(const tutti_file_options *options, tutti_file *file)
{
    return begin(options, 0, file);
}

tutti_status tutti_file_begin_at(const tutti_file_options *options, int64_t n, tutti_file *file)
{
    tutti_status status = begin(options, 1, file);
    if (status) return status;
    struct stat info;
    int error = fstat(file->fd, &info) ? errno : 0;
    if (!error && info.st_size < n) {
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "%s %s: has %lld bytes, but %lld were written before: begin again in another folder",
            options->what, file->part, (long long)info.st_size, (long long)n);
        tutti_file_keep(file);
        return status;
    }
    if (!error && (ftruncate(file->fd, n) || lseek(file->fd, n, SEEK_SET) < 0)) error = errno;
    if (!error) return TUTTI_OK;
    tutti_file_keep(file);
    return refuse(options, "cannot be continued", error);
}

void tutti_file_keep(tutti_file *file)
{
    close(file->fd);
    free(file->path);
    free(file->part);
}

void tutti_file_drop(tutti_file *file)
{
    unlink(file->part);
    tutti_file_keep(file);
}

tutti_status tutti_file_sync(tutti_file *file)
{
    if (!file->error && fsync(file->fd)) file->error = errno;
    return file->error ? refuse_saving(&file->options, file->error) : TUTTI_OK;
}

void tutti_file_write(tutti_file *file, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes && !file->error) {
        ssize_t n = write(file->fd, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            file->error = errno;
            return;
        }
        at += n;
        bytes -= (size_t)n;
    }
}

/* ---- the earlier ones ---- */

/* Makes `earlier` a second name for PATH, in one step. */
static int link_over(const char *path, const char *earlier)
{
    char *spare = tutti_file_part(path);
    if (!spare) return ENOMEM;
    int error = link(path, spare) ? errno : 0;
    if (!error && rename(spare, earlier)) error = errno;
    if (error != ENOENT) unlink(spare); /* rename leaves it if both already are one file */
    free(spare);
    return error;
}

static int knows_no_links(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK ||
           error == ENOTSUP;
}

/* PATH.n becomes PATH.(n+1), from the last on; then PATH.1 becomes a second name for PATH. Returns
 * 0 or an errno value. */
static int keep_earlier(const char *path, int keep)
{
    int error = 0;
    if (keep < 1 || access(path, F_OK)) return 0;
    for (int n = keep; n >= 1 && !error; n--) {
        char *to = tutti_file_earlier(path, n);
        char *from = n > 1 ? tutti_file_earlier(path, n - 1) : NULL;
        if (!to || (n > 1 && !from))
            error = ENOMEM;
        else if (n > 1)
            error = rename(from, to) && errno != ENOENT ? errno : 0;
        else if (knows_no_links(error = link_over(path, to)))
            error = rename(path, to) ? errno : 0;
        free(from);
        free(to);
    }
    return error;
}

static tutti_status restore(const tutti_file_options *o, const char *path, int n)
{
    char *good = tutti_file_earlier(path, n), *damaged = NULL;
    if (!good || asprintf(&damaged, "%s.damaged", path) < 0) {
        free(good);
        return no_memory(o);
    }
    int error = rename(path, damaged) && errno != ENOENT ? errno : 0;
    if (!error && knows_no_links(error = link_over(good, path)))
        error = rename(good, path) ? errno : 0;
    free(good);
    free(damaged);
    return error ? refuse(o, "cannot be replaced by an earlier one", error) : TUTTI_OK;
}

tutti_status tutti_file_restore(const tutti_file_options *o, int n)
{
    char *path;
    tutti_status status = tutti_file_target(o, &path);
    if (status) return status;
    status = restore(o, path, n);
    free(path);
    return status;
}

static void forget_earlier(const char *path)
{
    for (int n = 1, more = 1; more; n++) {
        char *name = tutti_file_earlier(path, n);
        more = name && unlink(name) == 0;
        free(name);
    }
}

/* ---- the end ---- */

/* The rename is durable once the folder is. */
static int sync_folder(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno;
    /* EINVAL: a file system that cannot sync a folder */
    int error = fsync(folder) && errno != EINVAL ? errno : 0;
    close(folder);
    return error;
}

/* Flushes the file to disk and drops it from the cache, so that verify reads what was written. */
static int finalize(tutti_file *file)
{
    int error = file->error;
    if (!error && !file->options.unsynced && fsync(file->fd)) error = errno;
    if (!error && file->options.verify) posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    if (close(file->fd) && !error) error = errno;
    return error;
}

/* Puts the verified file in place. */
static int install(const tutti_file *file)
{
    if (file->options.anew) forget_earlier(file->path);
    int error = file->options.anew ? 0 : keep_earlier(file->path, file->options.keep);
    if (!error && rename(file->part, file->path)) error = errno;
    return error;
}

tutti_status tutti_file_end(tutti_file *file)
{
    const tutti_file_options *o = &file->options;
    tutti_status status = TUTTI_OK;
    int error = finalize(file);
    if (!error && o->verify) status = o->verify(file->part);
    if (!error && !status) error = install(file);
    if (error || status) unlink(file->part);
    if (error)
        status = refuse_saving(o, error);
    else if (!status && !o->unsynced && (error = sync_folder(file->path)))
        status = refuse(o, "its folder cannot be synced", error);
    free(file->path);
    free(file->part);
    return status;
}

tutti_status tutti_file_put(const tutti_file_options *options, const void *data, size_t bytes)
{
    tutti_file file;
    tutti_status status = tutti_file_begin(options, &file);
    if (status) return status;
    tutti_file_write(&file, data, bytes);
    return tutti_file_end(&file);
}

/* ---- files that grow ---- */

/* The end of the last whole line: after the last '\n'. -1, with errno set, on failure. */
static off_t find_last_end(int fd, off_t end)
{
    char block[4096];
    for (off_t at = end; at > 0;) {
        size_t bytes = at < (off_t)sizeof block ? (size_t)at : sizeof block;
        at -= (off_t)bytes;
        if (pread(fd, block, bytes, at) != (ssize_t)bytes) return -1;
        const char *last = memrchr(block, '\n', bytes);
        if (last) return at + (last + 1 - block);
    }
    return 0;
}

/* Removes an incomplete last line, which a killed writer has left. A line of JSON that lacks only
 * its end, as some editors leave it, gets one instead. Returns 0 or an errno value. */
static int mend_last_line(int fd)
{
    char last = '\n';
    off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0 || (end > 0 && pread(fd, &last, 1, end - 1) != 1)) return errno ? errno : EIO;
    if (last == '}') return write(fd, "\n", 1) == 1 ? 0 : errno;
    off_t at = last == '\n' ? end : find_last_end(fd, end);
    if (at < 0 || (at < end && ftruncate(fd, at))) return errno ? errno : EIO;
    return lseek(fd, 0, SEEK_END) < 0 ? errno : 0;
}

/* Moves the earlier file out of the way, as it is not continued. Returns 0 or an errno value. */
static int make_room(const char *path, int keep)
{
    struct stat info;
    if (keep < 1 || stat(path, &info) || info.st_size == 0) return 0;
    int error = keep_earlier(path, keep);
    return !error && unlink(path) && errno != ENOENT ? errno : error;
}

/* Opens the file in *fd. Returns 0 or an errno value. */
static int open_grown(const char *path, int append, int keep, int *fd)
{
    mode_t mode;
    int error = look_at_earlier(path, &mode);
    if (!error && !append) error = make_room(path, keep);
    if (error) return error;
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (append ? 0 : O_TRUNC);
    *fd = open(path, flags, 0666);
    if (*fd < 0) return errno;
    if (mode) fchmod(*fd, mode);
    return append ? mend_last_line(*fd) : 0;
}

int tutti_file_is_device(const char *path)
{
    static const char *const streams[] = {"/dev/std", "/dev/fd/", "/proc/"};
    struct stat info;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (strncmp(path, streams[i], strlen(streams[i])) == 0) return 1;
    return stat(path, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode));
}

tutti_status tutti_file_stream(const tutti_file_options *o, int append, FILE **stream)
{
    char *path = NULL;
    int fd = -1, error = 0;
    tutti_status status = TUTTI_OK;
    if (tutti_file_is_device(o->path)) {
        fd = open(o->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        error = fd < 0 ? errno : 0;
    } else if (!(status = tutti_file_target(o, &path))) {
        error = open_grown(path, append, o->keep, &fd);
    }
    FILE *opened = status || error ? NULL : fdopen(fd, "w");
    if (!status && !error && !opened) error = errno;
    if (error) status = refuse(o, "cannot be written", error);
    if (!opened && fd >= 0) close(fd);
    free(path);
    if (!status) *stream = opened;
    return status;
}
