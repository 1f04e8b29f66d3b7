/* Preloaded into a program: every fsync takes SLOW_DISK_S seconds longer. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int file)
{
    const char *text = getenv("SLOW_DISK_S");
    double seconds = text ? atof(text) : 0;
    struct timespec delay = {.tv_sec = (time_t)seconds};
    delay.tv_nsec = (long)(1e9 * (seconds - (double)delay.tv_sec));
    while (nanosleep(&delay, &delay)) continue;
    return (int)syscall(SYS_fsync, file);
}
