/* Which collective may start now, by the driver's order. comm_lock is held in all of it but may_start. */
#include "designs/drive/driver_parts.h"

/* The entry to start now where the order allows this one: itself, but for a fault. Queue lock held.
 */
static tutti_entry *admit(tutti_driver *d, tutti_entry *entry)
{
    return entry && d->fault ? tutti_fault_admit(d->fault, &d->queue, entry) : entry;
}

/* Whether the other ranks let it start. */
static int is_let(tutti_driver *d, tutti_entry *ready)
{
    tutti_fingerprint print;
    int may_start = 1;
    if (!d->verify) return 1;
    tutti_fingerprint_make(ready, tutti_comm_posted(d->comm, ready->lane), &print);
    ready->args.identity = (uint32_t)print.hash;
    tutti_status status = tutti_verify_admit(d->verify, &print, &may_start);
    if (status) tutti_driver_share(d, status);
    return may_start && !status;
}

/* Starts it, unless its lane is full (what is in flight there is first on this lane on every rank, so that
 * it ends without this one), the other ranks have to come to it first, or nothing starts any more.
 * Returns whether this was its turn. */
static int try_start(tutti_driver *d, tutti_entry *ready)
{
    if (tutti_driver_failure(d) || !tutti_comm_has_room(d->comm, ready->lane)) return 0;
    if (d->fault && d->asking[ready->lane] != ready->sequence &&
        !tutti_fault_start(d->fault, ready)) {
        tutti_driver_end_entry(d, ready->sequence, TUTTI_OK);
        return 1;
    }
    d->asking[ready->lane] = ready->sequence;
    if (!is_let(d, ready)) return 0;
    d->asking[ready->lane] = -1;
    tutti_driver_start_entry(d, ready);
    return 1;
}

/* ORDER_QUEUE: the next number of every lane, as long as it is ready. Returns how many. */
static int start_in_sequence(tutti_driver *d)
{
    int started = 0;
    for (int lane = 0; lane < d->queue.lanes; lane++) {
        for (;;) {
            pthread_mutex_lock(&d->queue_lock);
            tutti_entry *entry = admit(d, tutti_queue_startable(&d->queue, lane));
            tutti_entry copy = entry ? *entry : (tutti_entry){0};
            pthread_mutex_unlock(&d->queue_lock);
            if (!entry || !try_start(d, &copy)) break;
            started++;
        }
    }
    return started;
}

/* ORDER_MAIN: one at a time, and only when all of the step's collectives are ready. Queue lock
 * held. */
static tutti_entry *next_of_group(tutti_driver *d)
{
    if (d->queue.started || !tutti_queue_ready_group(&d->queue)) return NULL;
    return tutti_queue_get(&d->queue, d->queue.lowest);
}

static int start_one(tutti_driver *d)
{
    pthread_mutex_lock(&d->queue_lock);
    tutti_entry *entry = admit(d, next_of_group(d));
    tutti_entry copy = entry ? *entry : (tutti_entry){0};
    pthread_mutex_unlock(&d->queue_lock);
    return entry && try_start(d, &copy);
}

/* The held entry of this lane that asks to start; once it has begun to ask, no other. Queue lock held.
 */
static tutti_entry *next_held(tutti_driver *d, int lane)
{
    if (d->asking[lane] >= 0) return tutti_queue_get(&d->queue, d->asking[lane]);
    return admit(d, tutti_queue_first_ready(&d->queue, lane));
}

/* ORDER_READY: ready has started it already, unless it had to wait. */
static int start_held(tutti_driver *d)
{
    int started = 0;
    for (int lane = 0; lane < d->queue.lanes; lane++) {
        for (;;) {
            pthread_mutex_lock(&d->queue_lock);
            tutti_entry *entry = d->held ? next_held(d, lane) : NULL;
            tutti_entry copy = entry ? *entry : (tutti_entry){0};
            pthread_mutex_unlock(&d->queue_lock);
            if (!entry || !try_start(d, &copy)) break;
            pthread_mutex_lock(&d->queue_lock);
            d->held--;
            pthread_mutex_unlock(&d->queue_lock);
            started++;
        }
    }
    return started;
}

int tutti_driver_start_next(tutti_driver *d)
{
    switch (d->options.order) {
    case TUTTI_ORDER_QUEUE:
        return start_in_sequence(d);
    case TUTTI_ORDER_READY:
        return start_held(d);
    case TUTTI_ORDER_MAIN:
        return start_one(d);
    }
    return 0;
}

void tutti_driver_start_at_once(tutti_driver *d, int64_t first, int slices)
{
    pthread_mutex_lock(&d->queue_lock);
    int goes = !d->held; /* none starts before one that came before it */
    pthread_mutex_unlock(&d->queue_lock);
    goes = goes && (!d->verify || d->options.verify.mode != TUTTI_VERIFY_FULL);
    for (int64_t s = first; s < first + slices; s++) {
        pthread_mutex_lock(&d->queue_lock);
        tutti_entry *entry = tutti_queue_get(&d->queue, s);
        tutti_entry copy = *entry;
        goes = goes && admit(d, entry) == entry;
        pthread_mutex_unlock(&d->queue_lock);
        goes = goes && try_start(d, &copy);
        if (goes) continue;
        pthread_mutex_lock(&d->queue_lock);
        d->held++;
        pthread_mutex_unlock(&d->queue_lock);
    }
    tutti_driver_end_done(d); /* a blocking algorithm has ended by now */
}

int tutti_driver_may_start(tutti_driver *d)
{
    int may = 0;
    for (int lane = 0; lane < d->queue.lanes && d->options.order == TUTTI_ORDER_QUEUE; lane++)
        may |= tutti_queue_startable(&d->queue, lane) != NULL;
    if (d->options.order == TUTTI_ORDER_MAIN) may |= next_of_group(d) != NULL;
    return may;
}
