/* Time as seconds in double precision on the monotonic clock, and sleeping. [A]
 *
 * A thread that simulates a program has a clock of its own instead (tutti_clock_use); waits with a deadline
 * (tutti_clock_after) are for other threads, and keep the monotonic one. */
#ifndef TUTTI_CLOCK_H
#define TUTTI_CLOCK_H

#include <pthread.h>
#include <time.h>

/* Seconds since an arbitrary start; never goes back. */
double tutti_clock_s(void);

/* The absolute CLOCK_MONOTONIC time `delay_s` from now, for pthread_cond_timedwait on a condition
 * variable that tutti_clock_cond_init made. */
struct timespec tutti_clock_after(double delay_s);

/* Initialises a condition variable whose timed waits use the monotonic clock. Returns 0 or an errno
 * value. */
int tutti_clock_cond_init(pthread_cond_t *cond);

/* Sleeps about this long; at once for delay_s <= 0. */
void tutti_clock_sleep(double delay_s);

/* Another clock. sleep lets this much time pass. */
typedef struct tutti_clock_source {
    double (*now_s)(void *ctx);
    void (*sleep)(void *ctx, double delay_s);
    void *ctx;
} tutti_clock_source;

/* From now on tutti_clock_s and tutti_clock_sleep of the calling thread are this clock's; NULL: the monotonic one. The
 * source is borrowed. Returns what was used before. */
const tutti_clock_source *tutti_clock_use(const tutti_clock_source *source);

#endif
