#include "designs/drive/driver_parts.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/run/sequence.h"
#include "designs/passes/chunk.h"

#include <stdlib.h>

/* Advances the ranks' comparison of this driver. */
static tutti_status look_at_verify(tutti_driver *d)
{
    const char *sentence = NULL;
    if (!d->verify) return TUTTI_OK;
    tutti_status status = tutti_verify_pass(d->verify, &sentence);
    if (sentence) tutti_driver_abort(d, TUTTI_ERR_MISMATCH, sentence);
    if (!status) tutti_driver_grant_expect(d);
    return status;
}

static void set_curious(tutti_driver *d, tutti_status status)
{
    pthread_mutex_lock(d->queue_lock);
    d->curious = !status && !d->root->failure && d->verify && tutti_verify_curious(d->verify);
    pthread_mutex_unlock(d->queue_lock);
}

/* Receives control messages. */
static tutti_status receive_messages(tutti_driver *d, int *moved)
{
    if (!d->options.control) return TUTTI_OK;
    pthread_mutex_lock(d->queue_lock);
    d->seen_prior_from = d->queue.prior_from;
    d->seen_next = d->queue.next;
    pthread_mutex_unlock(d->queue_lock);
    tutti_status status = tutti_control_poll(d->options.control, moved);
    if (!status) status = look_at_verify(d);
    set_curious(d, status);
    return status;
}

static tutti_status open_asking(tutti_driver *d)
{
    int lanes = d->queue.lanes, lines = d->queue.lines, size = d->members.size;
    d->asking = malloc((size_t)lines * sizeof *d->asking);
    d->reached = malloc((size_t)lanes * sizeof *d->reached);
    d->clean = calloc((size_t)size, sizeof *d->clean);
    if (!d->asking || !d->reached || !d->clean)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d lanes of %d ranks", lanes, size);
    for (int i = 0; i < lines; i++) d->asking[i] = -1;
    if (!d->options.control) return TUTTI_OK;
    if (d->root == d) {
        tutti_control_handle(d->options.control, TUTTI_CONTROL_ABORT, tutti_driver_on_abort, d);
        tutti_control_unknown(d->options.control, tutti_driver_on_unknown, d);
    }
    tutti_control_handle(d->options.control, TUTTI_CONTROL_DRAINED, tutti_driver_on_drained, d);
    tutti_status status = tutti_shutdown_open(d->options.control, lanes, &d->shutdown);
    if (status || d->options.verify.mode == TUTTI_VERIFY_OFF) return status;
    return tutti_verify_open(
        &d->options.verify, d->options.control, lanes, d->shutdown, &d->verify);
}

static void set_root(tutti_driver *d, tutti_driver *root)
{
    d->root = root ? root : d;
    d->first_lane = d->root->next_lane;
    d->root->next_lane += d->queue.lanes;
    pthread_mutex_init(&d->own_lock, NULL);
    pthread_mutex_init(&d->own_queue_lock, NULL);
    d->comm_lock = root                       ? root->comm_lock
                   : tutti_comm_lock(d->comm) ? tutti_comm_lock(d->comm)
                                              : &d->own_lock;
    d->queue_lock = root ? root->queue_lock : &d->own_queue_lock;
}

/* Opens a driver with this root; NULL: a root. */
static tutti_status open_driver(tutti_driver *root, const tutti_driver_options *options,
    const tutti_members *members, int slot, tutti_comm *comm, tutti_driver **driver)
{
    tutti_driver *d = calloc(1, sizeof *d);
    if (!d) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to drive collectives");
    d->options = *options;
    d->comm = comm;
    d->seen_prior_from = -1;
    d->members = *members;
    d->slot = slot;
    d->open_part = open_driver;
    int lanes = tutti_comm_lanes(comm);
    tutti_status status = tutti_queue_open(&d->queue, lanes, options->one_order ? 1 : lanes);
    d->queue.singly = root && root->options.one_order;
    set_root(d, root);
    if (!status && !root) status = tutti_record_open(&d->record);
    if (!status && !root)
        status = tutti_fault_open(tutti_comm_rank(comm), tutti_comm_size(comm), &d->fault);
    if (root && members->key < 0) d->fault = root->fault;
    if (!status) status = open_asking(d);
    if (!status) status = tutti_driver_grant_open(d);
    if (status) {
        tutti_driver_close(d);
        return status;
    }
    *driver = d;
    return TUTTI_OK;
}

tutti_status tutti_driver_open(
    const tutti_driver_options *options, tutti_comm *comm, tutti_driver **driver)
{
    const tutti_members all = {.size = tutti_comm_size(comm), .rank = tutti_comm_rank(comm)};
    return open_driver(NULL, options, &all, 0, comm, driver);
}

void tutti_driver_close(tutti_driver *driver)
{
    if (!driver) return;
    tutti_driver_close_parts(driver, tutti_driver_close);
    tutti_queue_close(&driver->queue);
    tutti_record_close(&driver->record);
    if (driver->root == driver) tutti_fault_close(driver->fault);
    tutti_verify_close(driver->verify);
    tutti_shutdown_close(driver->shutdown);
    tutti_driver_grant_close(driver);
    free(driver->asking);
    free(driver->reached);
    free(driver->clean);
    pthread_mutex_destroy(&driver->own_lock);
    pthread_mutex_destroy(&driver->own_queue_lock);
    free(driver);
}

/* ---- calls from outside ---- */

/* What has moved in a pass. */
typedef struct motion {
    int flights; /* of collectives in flight */
    int others;  /* anything else */
} motion;

/* A pass over one driver, after messages have been received. */
static void pass_one(tutti_driver *d, void *ctx)
{
    motion *any = ctx;
    int started = 0, moved = 0, granted = 0;
    tutti_status status = TUTTI_OK;
    if (d->root != d) {
        tutti_driver_notice_absent(d);
        status = look_at_verify(d);
        set_curious(d, status);
    }
    if (!tutti_driver_failure(d) && !status) status = tutti_driver_grant_pass(d, &granted);
    if (!tutti_driver_failure(d) && !status) {
        started = tutti_driver_start_next(d);
        status = tutti_coll_progress(d->comm, &moved);
        any->flights |= moved;
    }
    moved |= granted;
    if (status) tutti_driver_share(d, status);
    if (!tutti_driver_failure(d)) tutti_driver_notice_deserted(d, moved || started);
    status = tutti_driver_failure(d);
    if (status)
        tutti_driver_drain(d, status);
    else if (started || d->unproven)
        tutti_driver_end_done(d);
    else if (moved)
        tutti_driver_end_moved(d);
    any->others |= granted || started;
}

int tutti_driver_pass(tutti_driver *driver)
{
    motion any = {0};
    pthread_mutex_lock(driver->comm_lock);
    const int64_t ended = driver->ended;
    tutti_status status = receive_messages(driver, &any.others);
    if (driver->options.tick) driver->options.tick(driver->options.ctx);
    if (status) tutti_driver_share(driver, status);
    tutti_driver_each(driver, pass_one, &any);
    any.others |= driver->ended != ended;
    pthread_mutex_unlock(driver->comm_lock);
    return any.others ? 2 : any.flights;
}

/* Whether only a whole pass finds what to do next in one driver, whatever its collectives do. */
static void needs_whole(tutti_driver *d, void *ctx)
{
    int *needs = ctx;
    *needs |= d->unproven || d->fault != NULL;
}

/* Whether the last progress has ended any. */
static int has_ended(const tutti_driver *d)
{
    const tutti_coll_request *r = tutti_coll_first_moved(d->comm);
    while (r && !tutti_coll_done(r)) r = tutti_coll_next_moved(r);
    return r != NULL;
}

/* What pass_one does of a driver when only messages of its collectives have ended since the last pass: these may end
 * it, and the time for comparing may have come. */
static void move_one(tutti_driver *d, void *ctx)
{
    motion *any = ctx;
    int moved = 0;
    tutti_status status = look_at_verify(d);
    if (!status) status = tutti_coll_progress(d->comm, &moved);
    if (!status && moved && has_ended(d)) tutti_driver_end_moved(d);
    any->flights |= moved;
    any->others |= status != TUTTI_OK;
}

int tutti_driver_move(tutti_driver *driver)
{
    motion any = {0};
    pthread_mutex_lock(driver->comm_lock);
    const int64_t ended = driver->ended;
    int whole = tutti_driver_failure(driver) != TUTTI_OK;
    tutti_driver_each(driver, needs_whole, &whole);
    if (!whole) tutti_driver_each(driver, move_one, &any);
    any.others |= driver->ended != ended;
    pthread_mutex_unlock(driver->comm_lock);
    return whole ? tutti_driver_pass(driver) : any.others ? 2 : any.flights;
}

/* Queue lock held. */
static void is_busy(tutti_driver *d, void *ctx)
{
    int *busy = ctx;
    const tutti_queue *queue = &d->queue;
    *busy = *busy || (d->root->failure ? tutti_driver_draining(d)
                                       : queue->started > 0 || d->held || d->curious ||
                                             queue->ungranted || tutti_driver_may_start(d));
}

int tutti_driver_wait(tutti_driver *driver, double timeout_s)
{
    return tutti_comm_wait(driver->comm, driver->comm_lock, timeout_s);
}

int tutti_driver_busy(tutti_driver *driver)
{
    int busy = 0;
    pthread_mutex_lock(driver->queue_lock);
    tutti_driver_each(driver, is_busy, &busy);
    pthread_mutex_unlock(driver->queue_lock);
    return busy;
}

static int64_t reserve_entry(tutti_driver *d, const tutti_place *given, const char *name)
{
    int64_t sequence;
    double now_s = tutti_clock_s();
    tutti_place place = *given;
    if (!d->granting) place.priority = 0;
    pthread_mutex_lock(d->queue_lock);
    tutti_status status = tutti_queue_reserve(&d->queue, &place, name, &sequence);
    for (int64_t s = sequence; !status && s < d->queue.next; s++) {
        tutti_entry *entry = tutti_queue_get(&d->queue, s);
        if (d->options.one_order) entry->turn = d->root->turns++;
        if (d->members.key < 0) entry->message = d->root->messages++;
        entry->reserved_s = now_s;
        entry->step = tutti_trace_step(d->root->options.trace);
    }
    pthread_mutex_unlock(d->queue_lock);
    return status ? -1 : sequence;
}

/* Fault injection: adds a collective that the other ranks do not have. */
static void add_extra(tutti_driver *d, const tutti_place *before)
{
    tutti_coll_args args;
    tutti_token *token = tutti_fault_extra(&args);
    const tutti_place place = {.lane = before->lane, .index = before->index};
    int64_t sequence = token ? reserve_entry(d, &place, "fault") : -1;
    if (sequence >= 0) tutti_driver_ready(d, sequence, &args, token);
}

/* Only the main thread reserves, so `next` is read without the lock. */
int64_t tutti_driver_reserve(tutti_driver *driver, const tutti_place *place, const char *name)
{
    if (driver->fault && driver->root == driver &&
        tutti_fault_adds(driver->fault, driver->queue.next))
        add_extra(driver, place);
    int64_t number = reserve_entry(driver, place, name);
    return number < 0 ? number : tutti_sequence_make(driver->slot, number);
}

tutti_status tutti_driver_prepare(
    tutti_driver *driver, const tutti_place *place, const tutti_coll_args *args, size_t *bytes)
{
    const int chunks = tutti_chunk_count(place);
    tutti_status status = TUTTI_OK;
    *bytes = 0;
    pthread_mutex_lock(driver->comm_lock);
    for (int i = 0; i < chunks && !status; i++) {
        const tutti_coll_args chunk = tutti_chunk_args(args, chunks, i);
        size_t needed;
        status = tutti_comm_prepare(driver->comm, &chunk, &needed);
        *bytes += needed;
    }
    pthread_mutex_unlock(driver->comm_lock);
    return status;
}

/* Queue lock held. */
static void enter_record(tutti_driver *d, tutti_entry *entry)
{
    char of[TUTTI_RECORD_NAME];
    const tutti_record_key key = {.sequence = entry->sequence,
        .index = entry->index,
        .members = tutti_members_name(&d->members, of, sizeof of),
        .lane = entry->lane,
        .chunk = entry->chunk,
        .chunks = entry->chunks,
        .name = entry->name,
        .reserved_s = entry->reserved_s};
    entry->number = tutti_record_post(&d->root->record, &key, &entry->args);
    entry->moved_s = tutti_record_get(&d->root->record, entry->number)->posted_s;
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

/* The arguments with which it will be posted: their identity is part of its tag. Collectives of an edge are posted in
 * the order of their numbers, so its number on the lane is its own. */
static tutti_coll_args foresee(tutti_driver *d, int64_t sequence, const tutti_coll_args *args)
{
    tutti_fingerprint print;
    tutti_coll_args a = *args;
    pthread_mutex_lock(d->queue_lock);
    tutti_entry entry = *tutti_queue_get(&d->queue, sequence);
    pthread_mutex_unlock(d->queue_lock);
    entry.args = a;
    if (!d->verify) return a;
    tutti_fingerprint_make(&entry, sequence, &d->members, &print);
    a.identity = (uint32_t)print.hash;
    return a;
}

void *tutti_driver_claim(tutti_driver *root, int64_t given, const tutti_coll_args *args)
{
    const int64_t sequence = tutti_sequence_number(given);
    tutti_driver *d = tutti_driver_of(root, tutti_sequence_slot(given));
    if (!tutti_comm_can_claim(d->comm, args) || tutti_driver_failure(d)) return NULL;
    pthread_mutex_lock(d->comm_lock);
    const tutti_coll_args a = foresee(d, sequence, args);
    void *memory = tutti_comm_claim(d->comm, 0, sequence, &a);
    pthread_mutex_unlock(d->comm_lock);
    return memory;
}

void tutti_driver_wrote(tutti_driver *root, int64_t given, const tutti_coll_args *args)
{
    const int64_t sequence = tutti_sequence_number(given);
    tutti_driver *d = tutti_driver_of(root, tutti_sequence_slot(given));
    pthread_mutex_lock(d->comm_lock);
    const tutti_coll_args a = foresee(d, sequence, args);
    tutti_comm_wrote(d->comm, 0, sequence, &a);
    pthread_mutex_unlock(d->comm_lock);
}

void tutti_driver_ready(
    tutti_driver *root, int64_t given, const tutti_coll_args *args, tutti_token *token)
{
    int slot = tutti_sequence_slot(given);
    int64_t sequence = tutti_sequence_number(given);
    tutti_driver *driver = root->slot == slot ? root : tutti_driver_of(root, slot);
    int at_once = driver->options.start->at_once;
    if (at_once) pthread_mutex_lock(driver->comm_lock);
    pthread_mutex_lock(driver->queue_lock);
    int chunks = tutti_queue_get(&driver->queue, sequence)->chunks;
    for (int i = 0; i < chunks; i++)
        make_ready(driver, tutti_queue_get(&driver->queue, sequence + i), args, token);
    pthread_mutex_unlock(driver->queue_lock);
    if (at_once) {
        tutti_driver_start_at_once(driver, sequence, chunks);
        pthread_mutex_unlock(driver->comm_lock);
    }
    driver->options.wake(driver->options.ctx);
}
