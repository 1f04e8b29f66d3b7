/* Preloaded into a program: every fsync takes SLOW_DISK_S seconds longer, or with SLOW_DISK_ONCE the first one. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int calls;

int fsync(int file)
{
    const int later = atomic_fetch_add(&calls, 1) > 0;
    const char *text = getenv("SLOW_DISK_S");
    double seconds = text ? atof(text) : 0;
    struct timespec delay = {.tv_sec = (time_t)seconds};
    delay.tv_nsec = (long)(1e9 * (seconds - (double)delay.tv_sec));
    while (!(later && getenv("SLOW_DISK_ONCE")) && nanosleep(&delay, &delay)) continue;
    return (int)syscall(SYS_fsync, file);
}
