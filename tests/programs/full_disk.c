/* Preloaded into a program: a disk that is full only when a file is synced, as one with delayed allocation is.
 * fsync of a file whose name ends in FULL_DISK_NAME fails while it has more than FULL_DISK_BYTES bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_full(int file)
{
    char link[64], name[4096];
    struct stat info;
    const char *end = getenv("FULL_DISK_NAME"), *bytes = getenv("FULL_DISK_BYTES");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (!end || !bytes || length < (ssize_t)strlen(end) || fstat(file, &info)) return 0;
    name[length] = '\0';
    return !strcmp(name + length - strlen(end), end) && info.st_size > atol(bytes);
}

int fsync(int file)
{
    if (!is_full(file)) return (int)syscall(SYS_fsync, file);
    errno = ENOSPC;
    return -1;
}
