/* Preloaded into a program: every fsync takes SLOW_DISK_S seconds longer, or with SLOW_DISK_ONCE the first one; with
 * SLOW_DISK_RANK only those of the rank with this number in an elastic run. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls;

static int is_slow_here(void)
{
    const char *elastic = getenv("TUTTI_ELASTIC"), *slow = getenv("SLOW_DISK_RANK");
    int number;
    if (!slow) return 1;
    return elastic && sscanf(elastic, "%*s %*s %*s %d", &number) == 1 && number == atoi(slow);
}

int fsync(int file)
{
    const int later = atomic_fetch_add(&calls, 1) > 0;
    const char *text = getenv("SLOW_DISK_S");
    double seconds = text ? atof(text) : 0;
    struct timespec delay = {.tv_sec = (time_t)seconds};
    delay.tv_nsec = (long)(1e9 * (seconds - (double)delay.tv_sec));
    const int slow = is_slow_here() && !(later && getenv("SLOW_DISK_ONCE"));
    while (slow && nanosleep(&delay, &delay)) continue;
    return (int)syscall(SYS_fsync, file);
}
