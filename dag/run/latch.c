#include "dag/run/latch.h"

#include "dag/base/clock.h"

void tutti_latch_init(tutti_latch *latch)
{
    *latch = (tutti_latch){0};
    pthread_mutex_init(&latch->lock, NULL);
    tutti_clock_cond_init(&latch->opened);
}

void tutti_latch_destroy(tutti_latch *latch)
{
    pthread_mutex_destroy(&latch->lock);
    pthread_cond_destroy(&latch->opened);
}

void tutti_latch_open(tutti_latch *latch, tutti_status status)
{
    pthread_mutex_lock(&latch->lock);
    latch->is_open = 1;
    latch->status = status;
    pthread_cond_signal(&latch->opened);
    pthread_mutex_unlock(&latch->lock);
}

int tutti_latch_wait(tutti_latch *latch, double timeout_s)
{
    struct timespec until = tutti_clock_after(timeout_s);
    pthread_mutex_lock(&latch->lock);
    while (!latch->is_open && timeout_s > 0)
        if (pthread_cond_timedwait(&latch->opened, &latch->lock, &until)) break;
    int is_open = latch->is_open;
    pthread_mutex_unlock(&latch->lock);
    return is_open;
}
