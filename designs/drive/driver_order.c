/* The driver's part in the order of a step's collectives: what it observes of a step, and the order that it
 * follows. */
#include "designs/drive/driver_parts.h"

void tutti_driver_observe(tutti_driver *driver, tutti_observed *observed)
{
    pthread_mutex_lock(driver->queue_lock);
    driver->observed = observed;
    pthread_mutex_unlock(driver->queue_lock);
}

double tutti_driver_observed(tutti_driver *driver, double ready_s[], int pieces)
{
    pthread_mutex_lock(driver->queue_lock);
    const tutti_observed *seen = driver->observed;
    double seconds_per_byte = seen && seen->steps ? seen->seconds_per_byte : 0;
    for (int i = 0; i < pieces && seen; i++) ready_s[i] = tutti_observed_ready_s(seen, i);
    pthread_mutex_unlock(driver->queue_lock);
    return seconds_per_byte;
}

void tutti_driver_await_order(tutti_driver *driver, int slots)
{
    pthread_mutex_lock(driver->queue_lock);
    driver->queue.ordering = 1;
    driver->queue.slots = slots;
    driver->queue.order = NULL;
    driver->observed = NULL;
    pthread_mutex_unlock(driver->queue_lock);
}

void tutti_driver_order(tutti_driver *driver, const int32_t order[], int64_t window)
{
    pthread_mutex_lock(driver->queue_lock);
    driver->queue.order = order;
    driver->queue.window = window / driver->queue.lines;
    pthread_mutex_unlock(driver->queue_lock);
}
