#include "designs/driver.h"

#include "dag/base/log.h"
#include "designs/queue.h"

#include <pthread.h>
#include <stdlib.h>

struct tutti_driver {
    tutti_driver_options options;
    tutti_comm *comm;
    pthread_mutex_t comm_lock;  /* protects calls on comm; first of the two locks */
    pthread_mutex_t queue_lock; /* protects what follows */
    tutti_queue queue;
};

tutti_status tutti_driver_open(
    const tutti_driver_options *options, tutti_comm *comm, tutti_driver **driver)
{
    tutti_driver *d = calloc(1, sizeof *d);
    if (!d) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to drive collectives");
    d->options = *options;
    d->comm = comm;
    tutti_status status = tutti_queue_open(&d->queue, tutti_comm_lanes(comm));
    if (status) {
        free(d);
        return status;
    }
    pthread_mutex_init(&d->comm_lock, NULL);
    pthread_mutex_init(&d->queue_lock, NULL);
    *driver = d;
    return TUTTI_OK;
}

void tutti_driver_close(tutti_driver *driver)
{
    if (!driver) return;
    tutti_queue_close(&driver->queue);
    pthread_mutex_destroy(&driver->comm_lock);
    pthread_mutex_destroy(&driver->queue_lock);
    free(driver);
}

/* ---- starting and ending one collective (comm_lock held) ---- */

static void start_entry(tutti_driver *d, const tutti_entry *ready)
{
    tutti_coll_request *request = NULL;
    double mark = tutti_meter_enter(d->options.meter, TUTTI_METER_COMM);
    tutti_status status = tutti_coll_post(d->comm, ready->lane, &ready->args, &request);

    pthread_mutex_lock(&d->queue_lock);
    tutti_entry *entry = tutti_queue_get(&d->queue, ready->sequence);
    entry->request = request;
    entry->started = mark;
    tutti_queue_start(&d->queue, entry);
    tutti_token *token = entry->token;
    if (status) tutti_queue_forget(&d->queue, entry);
    pthread_mutex_unlock(&d->queue_lock);
    if (!status) return;
    tutti_meter_leave(d->options.meter, TUTTI_METER_COMM, mark);
    tutti_token_finish(token, status);
}

static void end_entry(tutti_driver *d, int64_t sequence, tutti_status status)
{
    pthread_mutex_lock(&d->queue_lock);
    tutti_entry done = *tutti_queue_get(&d->queue, sequence);
    tutti_queue_forget(&d->queue, tutti_queue_get(&d->queue, sequence));
    pthread_mutex_unlock(&d->queue_lock);
    tutti_coll_free(done.request);
    tutti_meter_leave(d->options.meter, TUTTI_METER_COMM, done.started);
    tutti_token_finish(done.token, status);
}

/* ORDER_QUEUE: the next number of every lane, as long as it is ready. Returns how many. */
static int start_in_sequence(tutti_driver *d)
{
    int started = 0;
    for (int lane = 0; lane < d->queue.lanes; lane++) {
        for (;;) {
            pthread_mutex_lock(&d->queue_lock);
            tutti_entry *entry = tutti_queue_startable(&d->queue, lane);
            tutti_entry copy = entry ? *entry : (tutti_entry){0};
            pthread_mutex_unlock(&d->queue_lock);
            if (!entry) break;
            start_entry(d, &copy);
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
    tutti_entry *entry = next_of_group(d);
    tutti_entry copy = entry ? *entry : (tutti_entry){0};
    pthread_mutex_unlock(&d->queue_lock);
    if (entry) start_entry(d, &copy);
    return entry != NULL;
}

/* ORDER_READY: ready has started it already. */
static int start_nothing(tutti_driver *d)
{
    (void)d;
    return 0;
}

/* Ends what is done (or everything, after a failure). */
static void end_done(tutti_driver *d, tutti_status failure)
{
    int64_t from = 0;
    for (;;) {
        pthread_mutex_lock(&d->queue_lock);
        tutti_entry *entry = tutti_queue_next_started(&d->queue, from);
        int64_t sequence = entry ? entry->sequence : -1;
        const tutti_coll_request *request = entry ? entry->request : NULL;
        pthread_mutex_unlock(&d->queue_lock);
        if (sequence < 0) return;
        if (failure || tutti_coll_done(request)) end_entry(d, sequence, failure);
        from = sequence + 1;
    }
}

/* ---- what others call ---- */

int tutti_driver_pass(tutti_driver *driver)
{
    static int (*const start[])(tutti_driver *) = {[TUTTI_ORDER_QUEUE] = start_in_sequence,
        [TUTTI_ORDER_READY] = start_nothing,
        [TUTTI_ORDER_MAIN] = start_one};
    pthread_mutex_lock(&driver->comm_lock);
    int started = start[driver->options.order](driver), moved = 0;
    tutti_status status = tutti_coll_progress(driver->comm, &moved);
    if (moved || started || status) end_done(driver, status);
    pthread_mutex_unlock(&driver->comm_lock);
    return moved || started;
}

int tutti_driver_busy(tutti_driver *driver)
{
    tutti_queue *queue = &driver->queue;
    tutti_order order = driver->options.order;
    pthread_mutex_lock(&driver->queue_lock);
    int busy = queue->started > 0;
    for (int lane = 0; lane < queue->lanes && order == TUTTI_ORDER_QUEUE; lane++)
        busy |= tutti_queue_startable(queue, lane) != NULL;
    if (order == TUTTI_ORDER_MAIN) busy |= next_of_group(driver) != NULL;
    pthread_mutex_unlock(&driver->queue_lock);
    return busy;
}

int64_t tutti_driver_reserve(tutti_driver *driver, int lane, int64_t index, const char *name)
{
    int64_t sequence;
    pthread_mutex_lock(&driver->queue_lock);
    tutti_status status = tutti_queue_reserve(&driver->queue, lane, index, name, &sequence);
    pthread_mutex_unlock(&driver->queue_lock);
    return status ? -1 : sequence;
}

void tutti_driver_ready(
    tutti_driver *driver, int64_t sequence, const tutti_coll_args *args, tutti_token *token)
{
    int at_once = driver->options.order == TUTTI_ORDER_READY;
    if (at_once) pthread_mutex_lock(&driver->comm_lock);
    pthread_mutex_lock(&driver->queue_lock);
    tutti_entry *entry = tutti_queue_get(&driver->queue, sequence);
    entry->args = *args;
    entry->token = token;
    entry->state = TUTTI_ENTRY_READY;
    tutti_entry copy = *entry;
    pthread_mutex_unlock(&driver->queue_lock);
    if (at_once) {
        start_entry(driver, &copy);
        end_done(driver, TUTTI_OK); /* a blocking algorithm has ended by now */
        pthread_mutex_unlock(&driver->comm_lock);
    }
    driver->options.wake(driver->options.ctx);
}
