#include "designs/thread/pace.h"

#include "dag/base/clock.h"

#include <sched.h>

double tutti_pace_s(int idle_passes)
{
    enum { YIELDS = 20, LONGEST_US = 50 };
    int sleep_us = idle_passes - YIELDS;
    return sleep_us <= 0 ? 0 : 1e-6 * (sleep_us < LONGEST_US ? sleep_us : LONGEST_US);
}

void tutti_pace_wait(int idle_passes)
{
    double sleep_s = tutti_pace_s(idle_passes);
    if (sleep_s > 0)
        tutti_clock_sleep(sleep_s);
    else
        sched_yield();
}
