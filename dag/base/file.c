#include "dag/base/file.h"

#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tutti_status tutti_file_begin(const char *what, const char *path, tutti_file *file)
{
    size_t room = strlen(path) + sizeof ".part";
    if (room > PATH_MAX) return tutti_fail(TUTTI_ERR_IO, "%s %s: the name is too long", what, path);
    char *part = malloc(room);
    if (!part) return tutti_fail(TUTTI_ERR_NOMEM, "%s %s: no memory", what, path);
    snprintf(part, room, "%s.part", path);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        tutti_fail(TUTTI_ERR_IO, "%s %s: cannot create %s: %s", what, path, part, strerror(errno));
        free(part);
        return TUTTI_ERR_IO;
    }
    *file = (tutti_file){.fd = fd, .what = what, .path = path, .part = part};
    return TUTTI_OK;
}

tutti_status tutti_file_probe(const char *what, const char *path)
{
    tutti_file file;
    tutti_status status = tutti_file_begin(what, path, &file);
    if (status) return status;
    close(file.fd);
    unlink(file.part);
    free(file.part);
    return TUTTI_OK;
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

/* The rename is durable once the folder is. */
static int sync_folder(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno;
    int error = fsync(folder) && errno != EINVAL
                    ? errno
                    : 0; /* EINVAL: a file system that has nothing to sync */
    close(folder);
    return error;
}

tutti_status tutti_file_end(tutti_file *file)
{
    int error = file->error;
    tutti_status status = TUTTI_OK;
    if (!error && fsync(file->fd)) error = errno;
    if (close(file->fd) && !error) error = errno;
    if (!error && rename(file->part, file->path)) error = errno;
    if (error) {
        unlink(file->part);
        status = tutti_fail(TUTTI_ERR_IO,
            "%s %s could not be saved: %s (an earlier file of this name is untouched)", file->what,
            file->path, strerror(error));
    } else if ((error = sync_folder(file->path))) {
        status = tutti_fail(TUTTI_ERR_IO, "%s %s: its folder cannot be synced: %s", file->what,
            file->path, strerror(error));
    }
    free(file->part);
    return status;
}
