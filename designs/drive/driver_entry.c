/* The start and the end of one collective. comm_lock is held everywhere. */
#include "designs/drive/driver_parts.h"

#include "dag/base/clock.h"
#include "dag/run/sequence.h"

/* comm_lock makes this the trace's only writer; times come from the flight recorder. */
static void trace_end(tutti_driver *d, const tutti_entry *done, const tutti_record_entry *record)
{
    const tutti_span span = {.name = done->name,
        .kind = TUTTI_SPAN_COLLECTIVE,
        .step = done->step,
        .begin_s = record->started_s,
        .end_s = record->ended_s,
        .lane = d->first_lane + done->lane,
        .what = tutti_coll_kind_name(done->args.kind),
        .sequence = tutti_sequence_shared(d->members.key, done->sequence),
        .bytes = record->bytes,
        .reserved_s = done->reserved_s,
        .ready_s = record->posted_s};
    tutti_trace_add(d->root->options.trace, TUTTI_TRACK_COLLECTIVES, &span);
}

void tutti_driver_trace(tutti_driver *driver, tutti_trace *trace)
{
    pthread_mutex_lock(driver->queue_lock);
    driver->options.trace = trace;
    pthread_mutex_unlock(driver->queue_lock);
}

void tutti_driver_end_entry(tutti_driver *d, int64_t sequence, tutti_status status)
{
    pthread_mutex_lock(d->queue_lock);
    tutti_entry done = *tutti_queue_get(&d->queue, sequence);
    int last = tutti_queue_is_last(&d->queue, &done);
    tutti_queue_forget(&d->queue, tutti_queue_get(&d->queue, sequence));
    tutti_record_end(&d->root->record, done.number, status);
    const tutti_record_entry *record = tutti_record_get(&d->root->record, done.number);
    if (record && tutti_trace_on(d->root->options.trace)) trace_end(d, &done, record);
    if (d->observed && done.slots && done.state == TUTTI_ENTRY_STARTED)
        tutti_observed_end(d->observed, done.base, tutti_entry_bytes(&done), tutti_clock_s());
    d->root->ended++;
    pthread_mutex_unlock(d->queue_lock);
    if (done.state == TUTTI_ENTRY_STARTED) tutti_driver_grant_end(d, &done);
    tutti_coll_free(done.request);
    if (d->fault && !status) tutti_fault_end(d->fault, &done);
    if (done.state == TUTTI_ENTRY_STARTED)
        tutti_meter_leave(d->options.meter, TUTTI_METER_COMM, done.started);
    if (last) tutti_token_finish(done.token, status);
}

void tutti_driver_start_entry(tutti_driver *d, const tutti_entry *ready)
{
    tutti_coll_request *request = NULL;
    double mark = tutti_meter_enter(d->options.meter, TUTTI_METER_COMM);
    pthread_mutex_lock(d->queue_lock);
    tutti_entry *entry = tutti_queue_get(&d->queue, ready->sequence);
    entry->started = mark;
    entry->moved_s = tutti_clock_s();
    entry->posted = tutti_comm_posted(d->comm, entry->lane);
    d->root->turn += d->options.one_order;
    tutti_queue_start(&d->queue, entry);
    tutti_record_start(&d->root->record, entry->number);
    if (d->observed && entry->slots) tutti_observed_start(d->observed, entry->base, entry->moved_s);
    pthread_mutex_unlock(d->queue_lock);

    tutti_status status = tutti_coll_post(d->comm, ready->lane, &ready->args, &request);
    if (status) {
        tutti_driver_share(d, status); /* it may have begun: the drain ends it */
        return;
    }
    pthread_mutex_lock(d->queue_lock);
    tutti_queue_get(&d->queue, ready->sequence)->request = request;
    tutti_coll_set_label(request, ready->sequence);
    pthread_mutex_unlock(d->queue_lock);
}

/* Records when an entry in flight last moved. Queue lock held. */
static void record_moves(tutti_entry *entry)
{
    int64_t moves = tutti_coll_moves(entry->request);
    if (moves == entry->moves) return;
    entry->moves = moves;
    entry->moved_s = tutti_clock_s();
}

/* A library's sums of GPU memory (NCCL) have no tags: until the ranks are known to have started the same one, the
 * result may mix different collectives. */
static int may_end(const tutti_driver *d, const tutti_entry *entry)
{
    return !d->verify || tutti_comm_tags_messages(d->comm, &entry->args) ||
           tutti_verify_agrees(d->verify, entry->lane, entry->posted);
}

/* Whether an entry in flight ends now. Queue lock held. */
static int looks_ended(tutti_driver *d, tutti_entry *entry)
{
    if (!entry->request) return 0;
    record_moves(entry);
    const int done = tutti_coll_done(entry->request), ends = done && may_end(d, entry);
    d->unproven += done && !ends;
    return ends;
}

void tutti_driver_end_done(tutti_driver *d)
{
    pthread_mutex_lock(d->queue_lock);
    tutti_entry *entry = tutti_queue_first_started(&d->queue);
    d->unproven = 0;
    while (entry) {
        const int64_t sequence = entry->sequence;
        tutti_entry *next = tutti_queue_after(&d->queue, entry);
        const int64_t after = next ? next->sequence : -1;
        if (looks_ended(d, entry)) {
            pthread_mutex_unlock(d->queue_lock);
            tutti_driver_end_entry(d, sequence, TUTTI_OK);
            pthread_mutex_lock(d->queue_lock);
            next = after < 0 ? NULL : tutti_queue_get(&d->queue, after);
        }
        entry = next;
    }
    pthread_mutex_unlock(d->queue_lock);
}

void tutti_driver_end_moved(tutti_driver *d)
{
    for (tutti_coll_request *r = tutti_coll_first_moved(d->comm), *next; r; r = next) {
        const int64_t sequence = tutti_coll_label(r);
        next = tutti_coll_next_moved(r);
        pthread_mutex_lock(d->queue_lock);
        const int ends = looks_ended(d, tutti_queue_get(&d->queue, sequence));
        pthread_mutex_unlock(d->queue_lock);
        if (ends) tutti_driver_end_entry(d, sequence, TUTTI_OK);
    }
}
