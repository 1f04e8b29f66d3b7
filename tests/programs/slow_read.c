/* Preloaded into a program: on rank SLOW_READ_RANK (in an elastic run, the rank with this number), the SLOW_READ_AT-th
 * positioned read of SLOW_READ_BYTES bytes takes SLOW_READ_S seconds longer; with SLOW_READ_FAILS it fails. */
#define _LARGEFILE64_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static atomic_int reads;

static const char *setting(const char *name)
{
    const char *text = getenv(name);
    return text ? text : "-1";
}

/* This process's rank, from the launcher's variables. */
static int rank_here(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    const char *elastic = getenv("TUTTI_ELASTIC");
    int number;
    if (elastic && sscanf(elastic, "%*s %*s %*s %d", &number) == 1) return number;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return atoi(getenv(names[i]));
    return 0;
}

/* Returns whether the read fails. */
static int delay(size_t bytes)
{
    if (rank_here() != atoi(setting("SLOW_READ_RANK"))) return 0;
    if (bytes != (size_t)atol(setting("SLOW_READ_BYTES"))) return 0;
    if (atomic_fetch_add(&reads, 1) + 1 != atoi(setting("SLOW_READ_AT"))) return 0;
    struct timespec left = {.tv_sec = atoi(setting("SLOW_READ_S"))};
    const int fails = getenv("SLOW_READ_FAILS") != NULL;
    while (!fails && nanosleep(&left, &left)) continue;
    errno = EIO;
    return fails;
}

ssize_t pread(int file, void *data, size_t bytes, off_t at)
{
    if (delay(bytes)) return -1;
    return syscall(SYS_pread64, file, data, bytes, at);
}

ssize_t pread64(int file, void *data, size_t bytes, off_t at)
{
    if (delay(bytes)) return -1;
    return syscall(SYS_pread64, file, data, bytes, at);
}
