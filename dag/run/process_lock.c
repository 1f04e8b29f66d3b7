#include "dag/run/process_lock.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const double look_every_s = 0.02;

/* A file of this user in /tmp, which the ranks of one machine share; it is never removed. */
static int open_lock(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/tmp/tutti-%s-%lu.lock", name, (unsigned long)getuid());
    return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int tutti_process_lock_take(const char *name, double at_most_s)
{
    int file = open_lock(name), error = file < 0 ? errno : 0;
    double end = tutti_clock_s() + at_most_s;
    while (!error && flock(file, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR) error = errno;
        if (tutti_clock_s() > end) error = ETIMEDOUT;
        tutti_clock_sleep(look_every_s);
    }
    if (error)
        tutti_log(
            TUTTI_LOG_WARN, "no lock for \"%s\": %s; continuing without it", name, strerror(error));
    return file;
}

void tutti_process_lock_release(int lock)
{
    if (lock >= 0) close(lock); /* which unlocks */
}
