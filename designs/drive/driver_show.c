/* What a driver is doing, for reports. */
#include "designs/drive/driver_parts.h"

#include "dag/run/sequence.h"

#include <string.h>

static tutti_driver_entry copy_entry(const tutti_driver *d, const tutti_entry *entry)
{
    tutti_driver_entry shown = {.sequence = tutti_sequence_make(d->slot, entry->sequence),
        .index = entry->index,
        .count = entry->args.count,
        .lane = d->first_lane + entry->lane,
        .state = entry->state,
        .kind = entry->args.kind,
        .since_s = entry->state == TUTTI_ENTRY_RESERVED ? entry->reserved_s : entry->moved_s};
    strncpy(shown.name, entry->name ? entry->name : "", sizeof shown.name - 1);
    return shown;
}

/* Queue lock held. */
static int count_ready(tutti_queue *queue)
{
    int count = 0;
    for (int64_t s = queue->lowest; s < queue->next; s++)
        count += tutti_queue_get(queue, s)->state == TUTTI_ENTRY_READY;
    return count;
}

/* Adds one driver's state. `oldest` and `started` are those of the first driver that has any. Queue lock held. */
static void see_one(tutti_driver *d, void *ctx)
{
    tutti_driver_look *look = ctx;
    tutti_queue *queue = &d->queue;
    if (d->root == d) look->submitted = queue->next;
    look->all_submitted += queue->next;
    look->in_flight += queue->started;
    look->may_start = look->may_start || tutti_driver_may_start(d);
    const tutti_entry *oldest = tutti_queue_oldest(queue);
    if (oldest && look->oldest.sequence < 0) look->oldest = copy_entry(d, oldest);
    const tutti_entry *started = tutti_queue_first_started(queue);
    int gate = (d->verify && tutti_verify_gates(d->verify)) || (oldest && oldest->prior);
    if (look->started.sequence < 0 && started)
        look->started = copy_entry(d, started);
    else if (look->started.sequence < 0 && gate && oldest && oldest->state == TUTTI_ENTRY_READY)
        look->started = copy_entry(d, oldest);
    look->ready += look->main_drives ? count_ready(queue) : 0;
}

tutti_driver_look tutti_driver_see(tutti_driver *driver)
{
    tutti_driver_look look = {.oldest = {.sequence = -1}, .started = {.sequence = -1}};
    pthread_mutex_lock(driver->queue_lock);
    look.main_drives = driver->options.start->main_drives;
    look.ended = driver->ended;
    look.leaving = driver->leaving;
    look.failure = driver->failure;
    tutti_driver_each(driver, see_one, &look);
    pthread_mutex_unlock(driver->queue_lock);
    return look;
}

tutti_driver_entry tutti_driver_find(tutti_driver *root, int64_t given)
{
    tutti_driver *driver = tutti_driver_of(root, tutti_sequence_slot(given));
    int64_t sequence = tutti_sequence_number(given);
    tutti_driver_entry found = {.sequence = -1};
    if (!driver) return found;
    const tutti_queue *queue = &driver->queue;
    pthread_mutex_lock(driver->queue_lock);
    if (sequence >= queue->lowest && sequence < queue->next)
        found = copy_entry(driver, tutti_queue_get(&driver->queue, sequence));
    else if (sequence >= 0 && sequence < queue->lowest)
        found = (tutti_driver_entry){.sequence = given, .state = TUTTI_ENTRY_GONE};
    pthread_mutex_unlock(driver->queue_lock);
    return found;
}

int64_t tutti_driver_lowest(tutti_driver *root, int slot)
{
    tutti_driver *driver = tutti_driver_of(root, slot);
    if (!driver) return -1;
    pthread_mutex_lock(driver->queue_lock);
    const tutti_entry *oldest = tutti_queue_oldest(&driver->queue);
    int64_t lowest = oldest ? oldest->sequence : driver->queue.next;
    pthread_mutex_unlock(driver->queue_lock);
    return tutti_sequence_make(slot, lowest);
}

void tutti_driver_write(tutti_driver *driver, double now_s, FILE *out)
{
    pthread_mutex_lock(driver->queue_lock);
    tutti_record_write(&driver->root->record, now_s, out);
    pthread_mutex_unlock(driver->queue_lock);
}
