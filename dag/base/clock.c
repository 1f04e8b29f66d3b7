#include "dag/base/clock.h"

#include <stddef.h>

static _Thread_local const tutti_clock_source *used;

const tutti_clock_source *tutti_clock_use(const tutti_clock_source *source)
{
    const tutti_clock_source *before = used;
    used = source;
    return before;
}

double tutti_clock_s(void)
{
    struct timespec t;
    if (used) return used->now_s(used->ctx);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct timespec from_seconds(double s)
{
    if (s < 0) s = 0;
    if (s > 1e9) s = 1e9;
    struct timespec t = {.tv_sec = (time_t)s};
    t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
    return t;
}

struct timespec tutti_clock_after(double delay_s)
{
    struct timespec now, d = from_seconds(delay_s);
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += d.tv_sec;
    now.tv_nsec += d.tv_nsec;
    if (now.tv_nsec >= 1000000000L) {
        now.tv_nsec -= 1000000000L;
        now.tv_sec++;
    }
    return now;
}

int tutti_clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    int rc = pthread_condattr_init(&attr);
    if (rc) return rc;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    rc = pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
    return rc;
}

void tutti_clock_sleep(double delay_s)
{
    if (delay_s <= 0) return;
    if (used) {
        used->sleep(used->ctx, delay_s);
        return;
    }
    struct timespec t = from_seconds(delay_s);
    nanosleep(&t, NULL);
}
