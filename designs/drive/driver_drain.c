/* Ends what is in flight after a failure. comm_lock is held everywhere, except as noted. */
#include "designs/drive/driver_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

/* A rank that has nothing in flight waits patience_s for the others to get there before it releases its data. During
 * the first haste_s of the drain it passes eagerly for them. */
static const double patience_s = 1, haste_s = 10;

/* Ends the first entry of a list until the list is empty. */
static void end_list(tutti_driver *d, tutti_status failure,
    tutti_entry *(*first)(tutti_queue *queue, int line), int line)
{
    for (;;) {
        pthread_mutex_lock(d->queue_lock);
        const tutti_entry *entry = first(&d->queue, line);
        int64_t sequence = entry ? entry->sequence : -1;
        pthread_mutex_unlock(d->queue_lock);
        if (sequence < 0) return;
        tutti_driver_end_entry(d, sequence, failure);
    }
}

static tutti_entry *first_started(tutti_queue *queue, int line)
{
    (void)line;
    return tutti_queue_first_started(queue);
}

static void send_drained(tutti_driver *d)
{
    const tutti_control_message message = {.kind = TUTTI_CONTROL_DRAINED};
    if (!d->options.control || d->options.verify.at_once) return;
    if (tutti_control_broadcast(d->options.control, &message))
        tutti_log(
            TUTTI_LOG_DEBUG, "some ranks could not be informed that nothing is in flight here");
}

void tutti_driver_on_drained(void *ctx, const tutti_control_message *message)
{
    tutti_driver *d = ctx;
    pthread_mutex_lock(d->queue_lock);
    d->clean[message->from] = 1;
    pthread_mutex_unlock(d->queue_lock);
}

/* Members that have left in order have nothing in flight. Both locks held. */
static void note_who_left(tutti_driver *d)
{
    for (int r = 0; d->shutdown && r < d->members.size; r++)
        d->clean[r] |= r != d->members.rank && tutti_shutdown_left_in_order(d->shutdown, r);
}

/* Whether all ranks are known to be clean, if any can still say so. queue_lock or comm_lock held. */
static int all_clean(const tutti_driver *d)
{
    const tutti_drain *drain = &d->drain;
    if (!(drain->clean_s > 0)) return 0;
    if (tutti_comm_is_severed(d->root->comm)) return 1;
    if (!d->options.control || d->options.verify.at_once) return 1;
    for (int r = 0; r < d->members.size; r++)
        if (r != d->members.rank && !d->clean[r]) return 0;
    return 1;
}

/* queue_lock or comm_lock held. */
static int may_release(const tutti_driver *d, double now_s)
{
    return d->drain.clean_s > 0 && (all_clean(d) || now_s - d->drain.clean_s > patience_s);
}

void tutti_driver_drain(tutti_driver *d, tutti_status failure)
{
    double now_s = tutti_clock_s();
    for (int line = 0; line < d->queue.lines; line++)
        end_list(d, failure, tutti_queue_first_ready, line); /* MPI has not seen them */
    int clean = tutti_comm_drain(d->comm), is_new;
    pthread_mutex_lock(d->queue_lock);
    if (!(d->drain.began_s > 0)) d->drain.began_s = now_s;
    is_new = clean && !(d->drain.clean_s > 0);
    if (is_new) d->drain.clean_s = now_s;
    note_who_left(d);
    pthread_mutex_unlock(d->queue_lock);
    if (is_new) send_drained(d);
    if (!may_release(d, now_s)) return;
    end_list(d, failure, first_started, 0);
}

int tutti_driver_draining(tutti_driver *d)
{
    for (int line = 0; line < d->queue.lines; line++)
        if (tutti_queue_first_ready(&d->queue, line)) return 1;
    return !all_clean(d) && !(d->drain.began_s > 0 && tutti_clock_s() - d->drain.began_s > haste_s);
}

static void check_clean(tutti_driver *d, void *ctx)
{
    int *all = ctx;
    *all = *all && all_clean(d);
}

int tutti_driver_drained(tutti_driver *driver)
{
    pthread_mutex_lock(driver->queue_lock);
    int all = 1;
    if (driver->failure) tutti_driver_each(driver, check_clean, &all);
    pthread_mutex_unlock(driver->queue_lock);
    return all;
}
