/* Time as seconds in double precision on the monotonic clock, and sleeping. [A] */
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

#endif
