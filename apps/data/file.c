#include "apps/data/file.h"

#include "dag/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK: opening a pipe without a writer returns at once; no effect on regular files. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK };

char *tutti_path_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *path = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!path) return NULL;
    va_start(args, format);
    vsnprintf(path, (size_t)length + 1, format, args);
    va_end(args);
    return path;
}

static const char *advice(int error)
{
    switch (error) {
    case ENOENT:
        return "; check the name, or download the data set again";
    case EACCES:
        return "; check its permissions (chmod) and those of the folders above";
    case EMFILE:
        return "; raise the limit of open files (ulimit -n)";
    default:
        return "";
    }
}

static tutti_status fail_errno(const char *what, const char *path)
{
    int error = errno;
    return tutti_fail(TUTTI_ERR_IO, "%s: %s: %s%s", path, what, strerror(error), advice(error));
}

tutti_status tutti_data_file_open(const char *path, tutti_data_file *file)
{
    int fd = open(path, OPEN_FLAGS);
    if (fd < 0) return fail_errno("cannot open", path);
    tutti_status status = TUTTI_OK;
    struct stat st;
    char *copy = NULL;
    if (fstat(fd, &st)) {
        status = fail_errno("cannot examine it", path);
    } else if (!S_ISREG(st.st_mode)) {
        status = tutti_fail(TUTTI_ERR_IO, "%s: is not a regular file", path);
    } else if (!(copy = strdup(path))) {
        status = tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open it", path);
    }
    if (status) {
        close(fd);
        return status;
    }
    *file = (tutti_data_file){.path = copy, .fd = fd, .bytes = (int64_t)st.st_size};
    return TUTTI_OK;
}

tutti_status tutti_data_file_read(
    const tutti_data_file *file, int64_t offset, void *to, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t n =
            pread(file->fd, (char *)to + done, bytes - done, (off_t)(offset + (int64_t)done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno("cannot read", file->path);
        if (n == 0)
            return tutti_fail(TUTTI_ERR_FORMAT,
                "%s: ends at byte %lld where bytes %lld to %lld were expected; download it again",
                file->path, (long long)offset + (long long)done, (long long)offset,
                (long long)offset + (long long)bytes - 1);
        done += (size_t)n;
    }
    return TUTTI_OK;
}

void tutti_data_file_scattered(const tutti_data_file *file)
{
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM); /* a hint: where it has no effect, reads are as right */
}

void tutti_data_file_close(tutti_data_file *file)
{
    if (!file->path) return;
    close(file->fd);
    free(file->path);
    *file = (tutti_data_file){0};
}

int64_t tutti_data_file_peek(const char *path, void *head, size_t bytes)
{
    struct stat st;
    memset(head, 0, bytes);
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return -1;
    int fd = open(path, OPEN_FLAGS);
    if (fd < 0) return 0;
    int64_t size = (int64_t)st.st_size;
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = read(fd, (char *)head + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) size = 0;
        if (n <= 0) break;
        done += (size_t)n;
    }
    close(fd);
    return size;
}

tutti_status tutti_folder_check(const char *path)
{
    struct stat st;
    if (stat(path, &st)) return fail_errno("cannot find the data folder", path);
    if (!S_ISDIR(st.st_mode))
        return tutti_fail(
            TUTTI_ERR_IO, "%s: is not a folder; give the folder that holds the data set", path);
    DIR *folder = opendir(path);
    if (!folder) return fail_errno("cannot list the data folder", path);
    int entries = 0;
    for (const struct dirent *e; (e = readdir(folder));)
        entries += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(folder);
    if (!entries)
        return tutti_fail(TUTTI_ERR_IO, "%s: the folder is empty; unpack a data set into it", path);
    return TUTTI_OK;
}
