/* Decides which collective may start now: by the design's start rule, and by the rank's one order where lanes share
 * device slots. comm_lock is held everywhere, except in may_start. */
#include "designs/drive/driver_parts.h"

/* The entry, if everything that this rank starts before it has started, or if lanes share nothing; else NULL. Queue
 * lock held. */
static tutti_entry *check_turn(tutti_driver *d, tutti_entry *entry)
{
    if (!entry || !d->options.one_order) return entry;
    return tutti_queue_has_turn(&d->queue, entry, d->root->turn) ? entry : NULL;
}

/* The entry to start when its lane allows this one: itself, NULL if its turn has not come, or what an injected fault
 * chooses. Queue lock held. */
static tutti_entry *find_admitted(tutti_driver *d, tutti_entry *entry)
{
    entry = check_turn(d, entry);
    return entry && d->fault ? tutti_fault_admit(d->fault, &d->queue, entry) : entry;
}

/* Whether verification allows it to start. */
static int is_verified(tutti_driver *d, tutti_entry *ready)
{
    tutti_fingerprint print;
    int may_start = 1;
    if (!d->verify) return 1;
    tutti_fingerprint_make(ready, tutti_comm_posted(d->comm, ready->lane), &d->members, &print);
    ready->args.identity = (uint32_t)print.hash;
    tutti_status status = tutti_verify_admit(d->verify, &print, &may_start);
    if (status) tutti_driver_share(d, status);
    return may_start && !status;
}

/* Ends an entry that a fault has skipped. */
static void end_skipped(tutti_driver *d, const tutti_entry *ready)
{
    pthread_mutex_lock(d->queue_lock);
    d->root->turn += d->options.one_order;
    pthread_mutex_unlock(d->queue_lock);
    tutti_driver_end_entry(d, ready->sequence, TUTTI_OK);
}

/* Starts it, unless its lane is full (then the collectives in flight there precede it on every rank and end without
 * it), the other ranks have to reach it first, or the driver has failed. Returns whether its turn is over. */
static int try_start(tutti_driver *d, tutti_entry *ready)
{
    int64_t *asking = &d->asking[tutti_queue_line(&d->queue, ready)];
    if (tutti_driver_failure(d) || !tutti_comm_has_room(d->comm, ready->lane)) return 0;
    if (d->fault && *asking != ready->sequence && !tutti_fault_start(d->fault, ready)) {
        end_skipped(d, ready);
        return 1;
    }
    *asking = ready->sequence;
    if (!is_verified(d, ready)) return 0;
    *asking = -1;
    tutti_driver_start_entry(d, ready);
    return 1;
}

/* The entry that the rule allows to start next on this line. Among those that a worker could not start at once, the
 * one that already asks the other ranks comes first. Queue lock held. */
static tutti_entry *next_on(tutti_driver *d, int line)
{
    const tutti_start_rule *rule = d->options.start;
    if (rule->at_once && !d->held) return NULL;
    if (rule->at_once && d->asking[line] >= 0) return tutti_queue_get(&d->queue, d->asking[line]);
    return find_admitted(d, rule->next(&d->queue, line));
}

static void count_started(tutti_driver *d)
{
    pthread_mutex_lock(d->queue_lock);
    if (d->options.start->at_once) d->held--;
    pthread_mutex_unlock(d->queue_lock);
}

int tutti_driver_start_next(tutti_driver *d)
{
    int started = 0;
    for (int line = 0; line < d->queue.lines; line++) {
        for (;;) {
            pthread_mutex_lock(d->queue_lock);
            tutti_entry *entry = next_on(d, line);
            tutti_entry copy = entry ? *entry : (tutti_entry){0};
            pthread_mutex_unlock(d->queue_lock);
            if (!entry || !try_start(d, &copy)) break;
            count_started(d);
            started++;
        }
    }
    return started;
}

void tutti_driver_start_at_once(tutti_driver *d, int64_t first, int chunks)
{
    pthread_mutex_lock(d->queue_lock);
    int starts = !d->held; /* an entry never overtakes a held one */
    pthread_mutex_unlock(d->queue_lock);
    starts = starts && (!d->verify || !tutti_verify_gates(d->verify));
    for (int64_t s = first; s < first + chunks; s++) {
        pthread_mutex_lock(d->queue_lock);
        tutti_entry *entry = tutti_queue_get(&d->queue, s);
        tutti_entry copy = *entry;
        starts = starts && find_admitted(d, entry) == entry;
        pthread_mutex_unlock(d->queue_lock);
        starts = starts && try_start(d, &copy);
        if (starts) continue;
        pthread_mutex_lock(d->queue_lock);
        d->held++;
        pthread_mutex_unlock(d->queue_lock);
    }
    tutti_driver_end_done(d); /* a blocking algorithm has ended by now */
}

int tutti_driver_may_start(tutti_driver *d)
{
    const tutti_start_rule *rule = d->options.start;
    int may = 0;
    for (int line = 0; line < d->queue.lines && !rule->at_once; line++)
        may |= check_turn(d, rule->next(&d->queue, line)) != NULL;
    return may;
}
