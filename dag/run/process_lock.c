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

tutti_status tutti_process_lock_take(
    const char *name, const char *what, int shared, double at_most_s, int *lock)
{
    int file = open_lock(name), error = file < 0 ? errno : 0;
    const double end = tutti_clock_s() + at_most_s;
    *lock = -1;
    while (!error && flock(file, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR) error = errno;
        if (!error && tutti_clock_s() > end) {
            close(file);
            return tutti_fail(TUTTI_ERR_TIMEOUT,
                "%s: other processes of this user have been at it for %g s; end one that stands "
                "still (fuser /tmp/tutti-%s-%lu.lock names them)",
                what, at_most_s, name, (unsigned long)getuid());
        }
        if (!error) tutti_clock_sleep(look_every_s);
    }
    if (!error) {
        *lock = file;
        return TUTTI_OK;
    }
    if (file >= 0) close(file);
    tutti_log(TUTTI_LOG_WARN, "%s: no lock: %s; continuing without it", what, strerror(error));
    return TUTTI_OK;
}

void tutti_process_lock_release(int lock)
{
    if (lock >= 0) close(lock); /* which unlocks */
}
