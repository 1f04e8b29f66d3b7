/* Seconds on the monotonic clock. [A] */
#ifndef TUTTI_MPICHECK_NOW_H
#define TUTTI_MPICHECK_NOW_H

#include <time.h>

static inline double mpicheck_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
