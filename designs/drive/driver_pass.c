#include "designs/drive/driver_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "designs/passes/chunk.h"

#include <stdlib.h>

/* Receives control messages: from one rank per pass while something is in flight, else from all. */
static tutti_status listen(tutti_driver *d, int *moved)
{
    const char *sentence = NULL;
    if (!d->options.control) return TUTTI_OK;
    pthread_mutex_lock(&d->queue_lock);
    int all = !d->queue.started || d->options.verify.mode == TUTTI_VERIFY_FULL;
    d->seen_prior_from = d->queue.prior_from;
    d->seen_next = d->queue.next;
    pthread_mutex_unlock(&d->queue_lock);
    tutti_status status = tutti_control_poll(d->options.control, all, moved);
    if (!status && !all) status = tutti_driver_grant_listen(d, moved);
    if (!status && d->verify) status = tutti_verify_pass(d->verify, &sentence);
    if (sentence) tutti_driver_abort(d, TUTTI_ERR_MISMATCH, sentence);
    if (!status && d->verify) tutti_driver_grant_expect(d);
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
    tutti_control_handle(d->options.control, TUTTI_CONTROL_DRAINED, tutti_driver_hear_drained, d);
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
    d->seen_prior_from = -1;
    tutti_status status = tutti_queue_open(&d->queue, tutti_comm_lanes(comm));
    if (!status) status = tutti_record_open(&d->record);
    if (!status) status = tutti_fault_open(tutti_comm_rank(comm), tutti_comm_size(comm), &d->fault);
    if (!status) status = open_asking(d);
    if (!status) status = tutti_driver_grant_open(d);
    if (status) {
        tutti_driver_grant_close(d);
        tutti_verify_close(d->verify);
        free(d->asking);
        tutti_fault_close(d->fault);
        tutti_record_close(&d->record);
        tutti_queue_close(&d->queue);
        free(d);
        return status;
    }
    pthread_mutex_init(&d->own_lock, NULL);
    d->comm_lock = tutti_comm_lock(comm) ? tutti_comm_lock(comm) : &d->own_lock;
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
    tutti_driver_grant_close(driver);
    free(driver->asking);
    pthread_mutex_destroy(&driver->own_lock);
    pthread_mutex_destroy(&driver->queue_lock);
    free(driver);
}

/* ---- calls from outside ---- */

int tutti_driver_pass(tutti_driver *driver)
{
    int started = 0, moved = 0;
    pthread_mutex_lock(driver->comm_lock);
    tutti_status status = listen(driver, &moved);
    if (driver->options.tick) driver->options.tick(driver->options.ctx);
    if (!tutti_driver_failure(driver) && !status) status = tutti_driver_grant_pass(driver, &moved);
    if (!tutti_driver_failure(driver) && !status) {
        started = tutti_driver_start_next(driver);
        status = tutti_coll_progress(driver->comm, &moved);
    }
    if (status) tutti_driver_share(driver, status);
    status = tutti_driver_failure(driver);
    if (status)
        tutti_driver_drain(driver, status);
    else if (moved || started)
        tutti_driver_end_done(driver);
    pthread_mutex_unlock(driver->comm_lock);
    return moved || started;
}

int tutti_driver_busy(tutti_driver *driver)
{
    tutti_queue *queue = &driver->queue;
    pthread_mutex_lock(&driver->queue_lock);
    int busy = queue->started > 0 || driver->held || driver->curious || queue->ungranted ||
               tutti_driver_may_start(driver);
    if (driver->failure) busy = tutti_driver_draining(driver);
    pthread_mutex_unlock(&driver->queue_lock);
    return busy;
}

static int64_t reserve(tutti_driver *d, const tutti_place *given, const char *name)
{
    int64_t sequence;
    double now_s = tutti_clock_s();
    tutti_place place = *given;
    if (!d->granting) place.priority = 0;
    pthread_mutex_lock(&d->queue_lock);
    tutti_status status = tutti_queue_reserve(&d->queue, &place, name, &sequence);
    for (int64_t s = sequence; !status && s < d->queue.next; s++) {
        tutti_entry *entry = tutti_queue_get(&d->queue, s);
        entry->reserved_s = now_s;
        entry->step = tutti_trace_step(d->options.trace);
    }
    pthread_mutex_unlock(&d->queue_lock);
    return status ? -1 : sequence;
}

/* Fault injection: adds a collective that the other ranks do not have. */
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
        .chunk = entry->chunk,
        .chunks = entry->chunks,
        .name = entry->name,
        .reserved_s = entry->reserved_s};
    entry->number = tutti_record_post(&d->record, &key, &entry->args);
    entry->moved_s = tutti_record_get(&d->record, entry->number)->posted_s;
}

/* Queue lock held. */
static void make_ready(
    tutti_driver *d, tutti_entry *entry, const tutti_coll_args *args, tutti_token *token)
{
    entry->args = tutti_chunk_args(args, entry->chunks, entry->chunk);
    entry->token = token;
    tutti_queue_ready(&d->queue, entry);
    if (d->fault) tutti_fault_change(d->fault, entry);
    enter_record(d, entry);
    if (d->observed && entry->slots)
        tutti_observed_ready(d->observed, entry->base, entry->index, entry->moved_s);
}

void tutti_driver_ready(
    tutti_driver *driver, int64_t sequence, const tutti_coll_args *args, tutti_token *token)
{
    int at_once = driver->options.start->at_once;
    if (at_once) pthread_mutex_lock(driver->comm_lock);
    pthread_mutex_lock(&driver->queue_lock);
    int chunks = tutti_queue_get(&driver->queue, sequence)->chunks;
    for (int i = 0; i < chunks; i++)
        make_ready(driver, tutti_queue_get(&driver->queue, sequence + i), args, token);
    pthread_mutex_unlock(&driver->queue_lock);
    if (at_once) {
        tutti_driver_start_at_once(driver, sequence, chunks);
        pthread_mutex_unlock(driver->comm_lock);
    }
    driver->options.wake(driver->options.ctx);
}
