#include "designs/driver_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/slice.h"

#include <stdlib.h>

/* Hears what the others say: one rank a pass while something is in flight, else everyone. */
static tutti_status listen(tutti_driver *d, int *moved)
{
    const char *sentence = NULL;
    if (!d->options.control) return TUTTI_OK;
    pthread_mutex_lock(&d->queue_lock);
    int all = !d->queue.started || d->options.verify.mode == TUTTI_VERIFY_FULL;
    pthread_mutex_unlock(&d->queue_lock);
    tutti_status status = tutti_control_poll(d->options.control, all, moved);
    if (!status && d->verify) status = tutti_verify_pass(d->verify, &sentence);
    if (sentence) tutti_driver_abort(d, TUTTI_ERR_MISMATCH, sentence);
    pthread_mutex_lock(&d->queue_lock);
    d->curious = !status && !d->failure && d->verify && tutti_verify_curious(d->verify);
    pthread_mutex_unlock(&d->queue_lock);
    return status;
}

static tutti_status open_asking(tutti_driver *d)
{
    int lanes = d->queue.lanes;
    d->asking = malloc((size_t)lanes * sizeof *d->asking);
    if (!d->asking) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d lanes", lanes);
    for (int i = 0; i < lanes; i++) d->asking[i] = -1;
    if (!d->options.control) return TUTTI_OK;
    tutti_control_handle(d->options.control, TUTTI_CONTROL_ABORT, tutti_driver_hear_abort, d);
    if (d->options.verify.mode == TUTTI_VERIFY_OFF) return TUTTI_OK;
    return tutti_verify_open(&d->options.verify, d->options.control, lanes, &d->verify);
}

tutti_status tutti_driver_open(
    const tutti_driver_options *options, tutti_comm *comm, tutti_driver **driver)
{
    tutti_driver *d = calloc(1, sizeof *d);
    if (!d) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to drive collectives");
    d->options = *options;
    d->comm = comm;
    tutti_status status = tutti_queue_open(&d->queue, tutti_comm_lanes(comm));
    if (!status) status = tutti_record_open(&d->record);
    if (!status) status = tutti_fault_open(tutti_comm_rank(comm), tutti_comm_size(comm), &d->fault);
    if (!status) status = open_asking(d);
    if (status) {
        tutti_verify_close(d->verify);
        free(d->asking);
        tutti_fault_close(d->fault);
        tutti_record_close(&d->record);
        tutti_queue_close(&d->queue);
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
    tutti_record_close(&driver->record);
    tutti_fault_close(driver->fault);
    tutti_verify_close(driver->verify);
    free(driver->asking);
    pthread_mutex_destroy(&driver->comm_lock);
    pthread_mutex_destroy(&driver->queue_lock);
    free(driver);
}

/* ---- starting and ending one collective (comm_lock held) ---- */

/* comm_lock is the one writer's; times and name from the flight recorder. */
static void trace_end(tutti_driver *d, const tutti_entry *done, const tutti_record_entry *record)
{
    const tutti_span span = {.name = done->name,
        .kind = TUTTI_SPAN_COLLECTIVE,
        .step = done->step,
        .begin_s = record->started_s,
        .end_s = record->ended_s,
        .lane = done->lane,
        .what = tutti_coll_kind_name(done->args.kind),
        .sequence = done->sequence,
        .bytes = record->bytes,
        .reserved_s = done->reserved_s,
        .ready_s = record->posted_s};
    tutti_trace_add(d->options.trace, TUTTI_TRACK_COLLECTIVES, &span);
}

static void end_entry(tutti_driver *d, int64_t sequence, tutti_status status)
{
    pthread_mutex_lock(&d->queue_lock);
    tutti_entry done = *tutti_queue_get(&d->queue, sequence);
    int last = tutti_queue_is_last(&d->queue, &done);
    tutti_queue_forget(&d->queue, tutti_queue_get(&d->queue, sequence));
    tutti_record_end(&d->record, done.number, status);
    const tutti_record_entry *record = tutti_record_get(&d->record, done.number);
    if (record && tutti_trace_on(d->options.trace)) trace_end(d, &done, record);
    if (d->observed && done.slots && done.state == TUTTI_ENTRY_STARTED)
        tutti_observed_end(d->observed, done.base, tutti_entry_bytes(&done), tutti_clock_s());
    d->ended++;
    pthread_mutex_unlock(&d->queue_lock);
    tutti_coll_free(done.request);
    if (d->fault && !status) tutti_fault_end(d->fault, &done);
    if (done.state == TUTTI_ENTRY_STARTED)
        tutti_meter_leave(d->options.meter, TUTTI_METER_COMM, done.started);
    if (last) tutti_token_finish(done.token, status);
}

static void start_entry(tutti_driver *d, const tutti_entry *ready)
{
    tutti_coll_request *request = NULL;
    double mark = tutti_meter_enter(d->options.meter, TUTTI_METER_COMM);
    pthread_mutex_lock(&d->queue_lock);
    tutti_entry *entry = tutti_queue_get(&d->queue, ready->sequence);
    entry->started = mark;
    entry->moved_s = tutti_clock_s();
    tutti_queue_start(&d->queue, entry); /* before the post, which may block inside MPI */
    tutti_record_start(&d->record, entry->number);
    if (d->observed && entry->slots) tutti_observed_start(d->observed, entry->base, entry->moved_s);
    pthread_mutex_unlock(&d->queue_lock);

    tutti_status status = tutti_coll_post(d->comm, ready->lane, &ready->args, &request);
    if (status) {
        tutti_driver_share(d, status);
        end_entry(d, ready->sequence, status);
        return;
    }
    pthread_mutex_lock(&d->queue_lock);
    tutti_queue_get(&d->queue, ready->sequence)->request = request;
    pthread_mutex_unlock(&d->queue_lock);
}

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

/* Starts it, unless the other ranks have to come to it first or nothing starts any more. Returns
 * whether this was its turn. */
static int try_start(tutti_driver *d, tutti_entry *ready)
{
    if (tutti_driver_failure(d)) return 0;
    if (d->fault && d->asking[ready->lane] != ready->sequence &&
        !tutti_fault_start(d->fault, ready)) {
        end_entry(d, ready->sequence, TUTTI_OK);
        return 1;
    }
    d->asking[ready->lane] = ready->sequence;
    if (!is_let(d, ready)) return 0;
    d->asking[ready->lane] = -1;
    start_entry(d, ready);
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
    tutti_entry *entry = tutti_queue_next_posted(&d->queue, 0);
    while (entry && (entry->lane != lane || entry->state != TUTTI_ENTRY_READY))
        entry = tutti_queue_next_posted(&d->queue, entry->sequence + 1);
    return admit(d, entry);
}

/* ORDER_READY: ready has started it already, unless it had to wait. */
static int start_held(tutti_driver *d)
{
    int started = 0;
    for (int lane = 0; lane < d->queue.lanes; lane++) {
        pthread_mutex_lock(&d->queue_lock);
        tutti_entry *entry = d->held ? next_held(d, lane) : NULL;
        tutti_entry copy = entry ? *entry : (tutti_entry){0};
        pthread_mutex_unlock(&d->queue_lock);
        if (!entry || !try_start(d, &copy)) continue;
        pthread_mutex_lock(&d->queue_lock);
        d->held--;
        pthread_mutex_unlock(&d->queue_lock);
        started++;
    }
    return started;
}

/* Notes when an entry in flight last moved. Queue lock held. */
static void note_moves(tutti_entry *entry)
{
    int64_t moves = tutti_coll_moves(entry->request);
    if (moves == entry->moves) return;
    entry->moves = moves;
    entry->moved_s = tutti_clock_s();
}

static void end_done(tutti_driver *d)
{
    int64_t from = 0;
    for (;;) {
        pthread_mutex_lock(&d->queue_lock);
        tutti_entry *entry = tutti_queue_next_started(&d->queue, from);
        int64_t sequence = entry ? entry->sequence : -1;
        const tutti_coll_request *request = entry ? entry->request : NULL;
        if (entry) note_moves(entry);
        pthread_mutex_unlock(&d->queue_lock);
        if (sequence < 0) return;
        if (tutti_coll_done(request)) end_entry(d, sequence, TUTTI_OK);
        from = sequence + 1;
    }
}

/* After a failure: everything that was posted ends with it, and so will what is posted later. */
static void end_all(tutti_driver *d, tutti_status failure)
{
    tutti_comm_abandon(d->comm);
    for (;;) {
        pthread_mutex_lock(&d->queue_lock);
        tutti_entry *entry = tutti_queue_next_posted(&d->queue, 0);
        int64_t sequence = entry ? entry->sequence : -1;
        pthread_mutex_unlock(&d->queue_lock);
        if (sequence < 0) return;
        end_entry(d, sequence, failure);
    }
}

/* ---- what others call ---- */

int tutti_driver_pass(tutti_driver *driver)
{
    static int (*const start[])(tutti_driver *) = {[TUTTI_ORDER_QUEUE] = start_in_sequence,
        [TUTTI_ORDER_READY] = start_held,
        [TUTTI_ORDER_MAIN] = start_one};
    int started = 0, moved = 0;
    pthread_mutex_lock(&driver->comm_lock);
    tutti_status status = listen(driver, &moved);
    if (driver->options.tick) driver->options.tick(driver->options.ctx);
    if (!tutti_driver_failure(driver) && !status) {
        started = start[driver->options.order](driver);
        status = tutti_coll_progress(driver->comm, &moved);
    }
    if (status) tutti_driver_share(driver, status);
    status = tutti_driver_failure(driver);
    if (status)
        end_all(driver, status);
    else if (moved || started)
        end_done(driver);
    pthread_mutex_unlock(&driver->comm_lock);
    return moved || started;
}

/* Queue lock held. */
int tutti_driver_may_start(tutti_driver *d)
{
    int may = 0;
    for (int lane = 0; lane < d->queue.lanes && d->options.order == TUTTI_ORDER_QUEUE; lane++)
        may |= tutti_queue_startable(&d->queue, lane) != NULL;
    if (d->options.order == TUTTI_ORDER_MAIN) may |= next_of_group(d) != NULL;
    return may;
}

int tutti_driver_busy(tutti_driver *driver)
{
    tutti_queue *queue = &driver->queue;
    pthread_mutex_lock(&driver->queue_lock);
    int busy =
        queue->started > 0 || driver->held || driver->curious || tutti_driver_may_start(driver);
    if (driver->failure) busy = tutti_queue_next_posted(queue, 0) != NULL;
    pthread_mutex_unlock(&driver->queue_lock);
    return busy;
}

static int64_t reserve(tutti_driver *d, const tutti_place *place, const char *name)
{
    int64_t sequence;
    double now_s = tutti_clock_s();
    pthread_mutex_lock(&d->queue_lock);
    tutti_status status = tutti_queue_reserve(&d->queue, place, name, &sequence);
    for (int64_t s = sequence; !status && s < d->queue.next; s++) {
        tutti_entry *entry = tutti_queue_get(&d->queue, s);
        entry->reserved_s = now_s;
        entry->step = tutti_trace_step(d->options.trace);
    }
    pthread_mutex_unlock(&d->queue_lock);
    return status ? -1 : sequence;
}

/* A fault: a collective that the other ranks do not have. */
static void add_extra(tutti_driver *d, const tutti_place *before)
{
    tutti_coll_args args;
    tutti_token *token = tutti_fault_extra(&args);
    const tutti_place place = {.lane = before->lane, .index = before->index};
    int64_t sequence = token ? reserve(d, &place, "fault") : -1;
    if (sequence >= 0) tutti_driver_ready(d, sequence, &args, token);
}

/* Only the main thread reserves, so `next` is read without the lock. */
int64_t tutti_driver_reserve(tutti_driver *driver, const tutti_place *place, const char *name)
{
    if (driver->fault && tutti_fault_adds(driver->fault, driver->queue.next))
        add_extra(driver, place);
    return reserve(driver, place, name);
}

/* Queue lock held. */
static void enter_record(tutti_driver *d, tutti_entry *entry)
{
    const tutti_record_key key = {.sequence = entry->sequence,
        .index = entry->index,
        .lane = entry->lane,
        .slice = entry->slice,
        .slices = entry->slices,
        .name = entry->name,
        .reserved_s = entry->reserved_s};
    entry->number = tutti_record_post(&d->record, &key, &entry->args);
    entry->moved_s = tutti_record_get(&d->record, entry->number)->posted_s;
}

/* Queue lock held. */
static void make_ready(
    tutti_driver *d, tutti_entry *entry, const tutti_coll_args *args, tutti_token *token)
{
    entry->args = tutti_slice_args(args, entry->slices, entry->slice);
    entry->token = token;
    entry->state = TUTTI_ENTRY_READY;
    if (d->fault) tutti_fault_change(d->fault, entry);
    enter_record(d, entry);
    if (d->observed && entry->slots)
        tutti_observed_ready(d->observed, entry->base, entry->index, entry->moved_s);
}

/* ORDER_READY: an entry that cannot start at once is tried again in every pass; so are those behind
 * it. comm_lock held. */
static void start_at_once(tutti_driver *d, int64_t first, int slices)
{
    int goes = !d->verify || d->options.verify.mode != TUTTI_VERIFY_FULL;
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
    end_done(d); /* a blocking algorithm has ended by now */
}

void tutti_driver_ready(
    tutti_driver *driver, int64_t sequence, const tutti_coll_args *args, tutti_token *token)
{
    int at_once = driver->options.order == TUTTI_ORDER_READY;
    if (at_once) pthread_mutex_lock(&driver->comm_lock);
    pthread_mutex_lock(&driver->queue_lock);
    int slices = tutti_queue_get(&driver->queue, sequence)->slices;
    for (int i = 0; i < slices; i++)
        make_ready(driver, tutti_queue_get(&driver->queue, sequence + i), args, token);
    pthread_mutex_unlock(&driver->queue_lock);
    if (at_once) {
        start_at_once(driver, sequence, slices);
        pthread_mutex_unlock(&driver->comm_lock);
    }
    driver->options.wake(driver->options.ctx);
}
