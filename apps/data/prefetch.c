#include "apps/data/prefetch.h"

#include "apps/data/decode.h"
#include "apps/data/sampler.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256, DEPTH_MAX = 1024 };

/* FREE -> FILLING (for a step, by threads that each take a row at a time) -> READY -> HELD (by the
 * caller) -> FREE */
typedef enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_HELD } slot_state;

/* A damaged image of a slot. */
typedef struct slot_fault {
    int64_t row, image;
    char *text;
} slot_fault;

typedef struct prefetch_slot {
    tutti_batch batch;
    uint8_t *images;
    int32_t *labels;
    slot_fault *faults;
    int fault_count;
    /* While it is FILLING: */
    int64_t next_row, rows_under_way;
    int64_t failed_row; /* the first row that failed; INT64_MAX: none */
    tutti_status failure;
    slot_state state;
} prefetch_slot;

/* A thread, and the images of one step that it has made without a pause, while somebody observes. */
typedef struct reader {
    pthread_t thread;
    tutti_prefetch *prefetch;
    int number;
    int64_t step;
    double begin_s, end_s; /* 0: nothing to report */
} reader;

struct tutti_prefetch {
    const tutti_dataset *dataset;
    tutti_sampler sampler;
    tutti_augment augment;
    tutti_rand_range rand_augment;
    tutti_jitter_range jitter;
    double erase;
    int64_t crop_epochs;
    int views;
    tutti_bad_images *bad; /* used by next */
    int64_t end;           /* first step that does not exist */
    size_t image_bytes;

    /* Protects everything below, except the rows of a FILLING slot: only the thread that has taken a row uses it. */
    pthread_mutex_t mutex;
    pthread_cond_t freed;     /* for threads: a slot is free, a step has failed, or stopping */
    pthread_cond_t delivered; /* for next: a slot is ready, or a step has failed */
    prefetch_slot *slots;
    int depth;
    int64_t next_fill;   /* the step that the next thread takes */
    int64_t next_step;   /* the step that next returns */
    double awaited_s;    /* when the caller began to wait for it; 0: it has not */
    int64_t failed_step; /* the first step that failed; INT64_MAX: none */
    tutti_status failure;
    atomic_int stopping; /* atomic: threads also check it between images */

    tutti_prefetch_observer observer;
    reader *readers;
    int reader_count;
};

int64_t tutti_prefetch_steps(
    const tutti_dataset *dataset, int train, int ranks, int64_t batch, int64_t multiple)
{
    tutti_sampler sampler = {.count = dataset->count,
        .batch = batch,
        .ranks = ranks,
        .train = train,
        .multiple = multiple};
    return tutti_sampler_steps(&sampler);
}

static tutti_status keep_fault(
    tutti_prefetch *p, prefetch_slot *slot, int64_t row, int64_t image, const char *text)
{
    char *copy = strdup(text);
    pthread_mutex_lock(&p->mutex);
    slot_fault *more =
        copy ? realloc(slot->faults, ((size_t)slot->fault_count + 1) * sizeof *more) : NULL;
    if (more) {
        slot->faults = more;
        slot->faults[slot->fault_count++] = (slot_fault){row, image, copy};
    }
    pthread_mutex_unlock(&p->mutex);
    if (more) return TUTTI_OK;
    free(copy);
    return tutti_fail(TUTTI_ERR_NOMEM, "%s; no memory to leave it out", text);
}

static void drop_faults(prefetch_slot *slot)
{
    while (slot->fault_count > 0) free(slot->faults[--slot->fault_count].text);
}

static tutti_status fill_row(
    tutti_prefetch *p, prefetch_slot *slot, int64_t row, tutti_decoder *decoder)
{
    uint8_t *out = slot->images + (size_t)row * p->image_bytes;
    int64_t epoch, image;
    image = tutti_sampler_image(&p->sampler, slot->batch.step / p->views, row, &epoch);
    slot->labels[row] = -1;
    if (image < 0) {
        memset(out, 0, p->image_bytes);
        return TUTTI_OK;
    }
    tutti_view_choice choice = {.augment = p->augment,
        .crop = epoch<p->crop_epochs, .flip = slot->batch.step % p->views> 0,
        .rand_augment = p->rand_augment,
        .jitter = p->jitter,
        .erase = p->erase,
        .seed = p->sampler.seed,
        .epoch = epoch};
    tutti_status status =
        tutti_decoder_make(decoder, p->dataset, &choice, image, out, &slot->labels[row]);
    const char *fault = tutti_decoder_fault(decoder);
    if (!status || !*fault) return status;
    if (!p->bad) return tutti_bad_images_refuse(fault);
    memset(out, 0, p->image_bytes);
    return keep_fault(p, slot, row, image, fault);
}

/* Begins to fill a free slot with the next step, if there is one. Mutex held. */
static prefetch_slot *begin_slot(tutti_prefetch *p)
{
    for (int s = 0; s < p->depth; s++) {
        prefetch_slot *slot = &p->slots[s];
        if (slot->state != SLOT_FREE) continue;
        drop_faults(slot);
        slot->state = SLOT_FILLING;
        slot->batch.step = p->next_fill++;
        slot->next_row = slot->rows_under_way = 0;
        slot->failed_row = INT64_MAX;
        slot->failure = TUTTI_OK;
        return slot;
    }
    return NULL;
}

/* The slot of the earliest step that has rows left. Mutex held. */
static prefetch_slot *find_filling(tutti_prefetch *p)
{
    prefetch_slot *first = NULL;
    for (int s = 0; s < p->depth; s++) {
        prefetch_slot *slot = &p->slots[s];
        if (slot->state != SLOT_FILLING || slot->next_row >= p->sampler.batch) continue;
        if (!first || slot->batch.step < first->batch.step) first = slot;
    }
    return first;
}

/* A slot with a row to fill, in the order of steps; NULL: nothing left to do. Mutex held. */
static prefetch_slot *take_row(tutti_prefetch *p, int64_t *row)
{
    while (!atomic_load(&p->stopping)) {
        int more = p->next_fill < p->end && p->next_fill <= p->failed_step;
        prefetch_slot *slot = find_filling(p);
        if (!slot && !more) return NULL;
        if (!slot) slot = begin_slot(p);
        if (slot) {
            *row = slot->next_row++;
            slot->rows_under_way++;
            return slot;
        }
        /* ends with release, a failure or close, which signal under the mutex */
        pthread_cond_wait(&p->freed, &p->mutex);
    }
    return NULL;
}

/* Mutex held. */
static void finalize_slot(tutti_prefetch *p, prefetch_slot *slot)
{
    slot->state = slot->failure ? SLOT_FREE : SLOT_READY;
    if (slot->failure && slot->batch.step < p->failed_step) {
        p->failed_step = slot->batch.step;
        p->failure = slot->failure;
    }
    pthread_cond_broadcast(&p->delivered);
    if (slot->failure) pthread_cond_broadcast(&p->freed);
}

/* A row is done; the last one ends its slot. Mutex held. */
static void finalize_row(tutti_prefetch *p, prefetch_slot *slot, int64_t row, tutti_status status)
{
    if (status && row < slot->failed_row) {
        slot->failed_row = row;
        slot->failure = status;
    }
    if (status) slot->next_row = p->sampler.batch; /* the others are of no use */
    slot->rows_under_way--;
    if (!slot->rows_under_way && slot->next_row >= p->sampler.batch) finalize_slot(p, slot);
}

static void call_observer(reader *r)
{
    const tutti_prefetch_observer *o = &r->prefetch->observer;
    if (r->begin_s > 0 && r->end_s > 0) o->made(o->ctx, r->number, r->step, r->begin_s, r->end_s);
    r->begin_s = r->end_s = 0;
}

/* Before a row. A step's rows follow each other: a thread waits only for another step. */
static void observe_begin(reader *r, int64_t step)
{
    const tutti_prefetch_observer *o = &r->prefetch->observer;
    if (!o->made) return;
    if (step != r->step) call_observer(r);
    r->step = step;
    if (!(r->begin_s > 0)) r->begin_s = o->now(o->ctx);
}

static void observe_end(reader *r)
{
    const tutti_prefetch_observer *o = &r->prefetch->observer;
    if (o->made && r->begin_s > 0) r->end_s = o->now(o->ctx);
}

static void *fill_batches(void *reader_)
{
    reader *me = reader_;
    tutti_prefetch *p = me->prefetch;
    tutti_decoder *decoder = NULL;
    tutti_status ready = tutti_decoder_new(&decoder);
    int64_t row = 0;
    pthread_mutex_lock(&p->mutex);
    for (prefetch_slot *slot; (slot = take_row(p, &row));) {
        pthread_mutex_unlock(&p->mutex);
        observe_begin(me, slot->batch.step);
        tutti_status status = ready ? ready : fill_row(p, slot, row, decoder);
        observe_end(me);
        pthread_mutex_lock(&p->mutex);
        finalize_row(p, slot, row, status);
    }
    pthread_mutex_unlock(&p->mutex);
    call_observer(me);
    tutti_decoder_free(decoder);
    return NULL;
}

static tutti_status check_options(const tutti_prefetch_options *o)
{
    const tutti_dataset *d = o->dataset;
    if (o->batch <= 0 || o->ranks <= 0 || o->rank < 0 || o->rank >= o->ranks || o->first_step < 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "a batch of %lld from step %lld on for rank %d of %d cannot be read",
            (long long)o->batch, (long long)o->first_step, o->rank, o->ranks);
    if (o->threads < 0 || o->threads > THREADS_MAX || o->depth < 0 || o->depth > DEPTH_MAX)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%d reading threads and %d batches: 0..%d and 0..%d are possible", o->threads, o->depth,
            THREADS_MAX, DEPTH_MAX);
    if (o->window < 0)
        return tutti_fail(
            TUTTI_ERR_INVAL, "images cannot be shuffled within runs of %lld", (long long)o->window);
    if (tutti_prefetch_steps(d, o->train, o->ranks, o->batch, o->multiple) == 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%lld images are too few for one step of %d ranks with %lld images each; choose a "
            "smaller batch",
            (long long)d->count, o->ranks, (long long)o->batch);
    return TUTTI_OK;
}

static const double megabyte = 1e6;

/* Those that a caller may hold, and one more. */
enum { LEAST_DEPTH = 3 };

static size_t image_size(const tutti_dataset *d)
{
    return (size_t)d->height * (size_t)d->width * (size_t)d->channels;
}

tutti_status tutti_prefetch_fits(const tutti_dataset *dataset, int64_t batch, int64_t memory_bytes)
{
    size_t bytes = tutti_mem_product((size_t)batch, image_size(dataset));
    if (!memory_bytes || bytes <= (size_t)memory_bytes / LEAST_DEPTH) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "%d batches of %.1f MB each do not fit into --data-memory %g; choose a smaller batch "
        "or more memory",
        LEAST_DEPTH, (double)bytes / megabyte, (double)memory_bytes / megabyte);
}

/* As many batches as fit into the memory that they may take. */
static tutti_status bound_depth(tutti_prefetch *p, int64_t most_bytes)
{
    size_t bytes = tutti_mem_product((size_t)p->sampler.batch, p->image_bytes);
    if (!most_bytes || bytes <= (size_t)most_bytes / (size_t)p->depth) return TUTTI_OK;
    tutti_status status = tutti_prefetch_fits(p->dataset, p->sampler.batch, most_bytes);
    if (!status) p->depth = (int)(most_bytes / (int64_t)bytes);
    return status;
}

static void report_memory(const tutti_prefetch *p, int threads)
{
    const double batch = (double)p->sampler.batch * (double)p->image_bytes / megabyte;
    tutti_log(TUTTI_LOG_INFO,
        "%d batches of %.1f MB (%.1f MB in all) are read ahead by %d thread%s per rank", p->depth,
        batch, p->depth * batch, threads, threads == 1 ? "" : "s");
}

static tutti_status make_slots(tutti_prefetch *p)
{
    size_t batch = (size_t)p->sampler.batch;
    size_t bytes = tutti_mem_product(batch, p->image_bytes);
    p->slots = calloc((size_t)p->depth, sizeof *p->slots);
    int complete = p->slots != NULL;
    for (int s = 0; complete && s < p->depth; s++) {
        prefetch_slot *slot = &p->slots[s];
        slot->images = tutti_mem_aligned(bytes);
        if (slot->images)
            slot->labels = tutti_mem_aligned(tutti_mem_product(batch, sizeof *slot->labels));
        slot->batch =
            (tutti_batch){.images = slot->images, .labels = slot->labels, .owner = p, .slot = s};
        complete = slot->images && slot->labels;
    }
    if (complete) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_NOMEM,
        "no memory for %d batches of %zu bytes each; choose a smaller batch", p->depth, bytes);
}

static void free_slots(tutti_prefetch *p)
{
    for (int s = 0; p->slots && s < p->depth; s++) {
        free(p->slots[s].images);
        free(p->slots[s].labels);
        drop_faults(&p->slots[s]);
        free(p->slots[s].faults);
    }
    free(p->slots);
}

/* These threads block all signals, which the program's own threads handle. */
static tutti_status start_threads(tutti_prefetch *p, int wanted)
{
    sigset_t all, before;
    p->readers = calloc((size_t)wanted, sizeof *p->readers);
    if (!p->readers) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for %d reading threads", wanted);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = 0;
    while (!rc && p->reader_count < wanted) {
        reader *r = &p->readers[p->reader_count];
        *r = (reader){.prefetch = p, .number = p->reader_count, .step = -1};
        rc = pthread_create(&r->thread, NULL, fill_batches, r);
        if (!rc) p->reader_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? tutti_fail(TUTTI_ERR_NOMEM, "cannot start a reading thread: %s", strerror(rc))
              : TUTTI_OK;
}

static tutti_status init_sync(tutti_prefetch *p)
{
    if (pthread_mutex_init(&p->mutex, NULL)) goto fail;
    if (tutti_clock_cond_init(&p->freed)) goto fail_freed;
    if (tutti_clock_cond_init(&p->delivered)) goto fail_delivered;
    return TUTTI_OK;
fail_delivered:
    pthread_cond_destroy(&p->freed);
fail_freed:
    pthread_mutex_destroy(&p->mutex);
fail:
    return tutti_fail(TUTTI_ERR_NOMEM, "cannot make a lock for the reading threads");
}

/* A window that holds few classes is no sample of the data set, and neither are its batches. */
static void warn_of_few_classes(const tutti_prefetch_options *o)
{
    const tutti_dataset *d = o->dataset;
    if (!o->train || !o->window || o->window >= d->count || !d->source->by_class) return;
    tutti_log(TUTTI_LOG_WARN,
        "--shuffle window:%lld: format %s has its images in the order of their classes, %.0f of "
        "each on average, so batches hold few of the %d classes; use --shuffle full, or shards "
        "of tutti-pack, which are shuffled",
        (long long)o->window, d->source->name, (double)d->count / d->classes, d->classes);
}

tutti_status tutti_prefetch_open(const tutti_prefetch_options *o, tutti_prefetch **prefetch)
{
    tutti_status status = check_options(o);
    if (status) return status;
    const tutti_dataset *d = o->dataset;
    int threads = o->threads ? o->threads : 1;
    tutti_prefetch *p = calloc(1, sizeof *p);
    if (!p) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to read ahead");
    p->dataset = d;
    p->sampler = (tutti_sampler){.count = d->count,
        .batch = o->batch,
        .rank = o->rank,
        .ranks = o->ranks,
        .train = o->train,
        .multiple = o->multiple,
        .most = o->most,
        .window = o->window,
        .seed = o->seed};
    p->augment = o->train ? o->augment : TUTTI_AUGMENT_NONE;
    if (o->train) p->rand_augment = o->rand_augment;
    if (o->train) p->jitter = o->jitter;
    if (o->train) p->erase = o->erase;
    p->crop_epochs = o->crop_epochs;
    p->observer = o->observer;
    p->bad = o->bad;
    p->views = !o->train && o->views > 1 ? o->views : 1;
    p->end = o->train ? INT64_MAX : p->views * tutti_sampler_steps(&p->sampler);
    p->image_bytes = image_size(d);
    p->depth = o->depth ? o->depth : threads + 3;
    p->next_fill = p->next_step = o->first_step;
    p->failed_step = INT64_MAX;
    status = init_sync(p);
    if (status) {
        free(p);
        return status;
    }
    status = bound_depth(p, o->memory_bytes);
    if (!status) status = make_slots(p);
    if (!status && o->tell) report_memory(p, threads);
    if (!status && o->tell) warn_of_few_classes(o);
    if (!status) status = start_threads(p, threads);
    if (status)
        tutti_prefetch_close(p);
    else
        *prefetch = p;
    return status;
}

static prefetch_slot *find_ready(tutti_prefetch *p)
{
    for (int s = 0; s < p->depth; s++)
        if (p->slots[s].state == SLOT_READY && p->slots[s].batch.step == p->next_step)
            return &p->slots[s];
    return NULL;
}

static int by_row(const void *a, const void *b)
{
    int64_t x = ((const slot_fault *)a)->row, y = ((const slot_fault *)b)->row;
    return (x > y) - (x < y);
}

/* Step by step and row by row, so that the number of threads makes no difference. Mutex held. */
static tutti_status report_faults(tutti_prefetch *p, prefetch_slot *slot)
{
    tutti_status status = TUTTI_OK;
    if (slot->fault_count)
        qsort(slot->faults, (size_t)slot->fault_count, sizeof *slot->faults, by_row);
    for (int f = 0; f < slot->fault_count && !status; f++)
        status = tutti_bad_images_add(p->bad, slot->faults[f].image, slot->faults[f].text);
    if (!status) return TUTTI_OK;
    slot->state = SLOT_FREE;
    p->failed_step = p->next_step;
    p->failure = status;
    pthread_cond_broadcast(&p->freed);
    return status;
}

static tutti_status fail_late(const tutti_prefetch *p, double timeout_s)
{
    int held = 0;
    for (int s = 0; s < p->depth; s++) held += p->slots[s].state == SLOT_HELD;
    return tutti_fail(TUTTI_ERR_TIMEOUT,
        "the batch of step %lld did not come within %g s; %d of %d batches are in use%s",
        (long long)p->next_step, timeout_s, held, p->depth,
        held == p->depth ? ": none was returned" : ", the data set is read too slowly");
}

tutti_status tutti_prefetch_next(tutti_prefetch *p, double timeout_s, const tutti_batch **batch)
{
    double now_s = tutti_clock_s(), waited_s = p->awaited_s > 0 ? now_s - p->awaited_s : 0;
    struct timespec deadline = tutti_clock_after(timeout_s - waited_s);
    tutti_status status = TUTTI_OK;
    prefetch_slot *slot = NULL;
    int late = 0;
    pthread_mutex_lock(&p->mutex);
    if (p->next_step >= p->end)
        status =
            tutti_fail(TUTTI_ERR_INVAL, "the evaluation has %lld steps; step %lld was asked for",
                (long long)p->end, (long long)p->next_step);
    while (!status && !(slot = find_ready(p))) {
        if (p->failed_step <= p->next_step)
            status = p->failure;
        else if (late)
            status = fail_late(p, timeout_s);
        else
            late = pthread_cond_timedwait(&p->delivered, &p->mutex, &deadline) != 0;
    }
    if (!status) status = report_faults(p, slot);
    if (!status) {
        slot->state = SLOT_HELD;
        p->next_step++;
        p->awaited_s = 0;
        *batch = &slot->batch;
    }
    pthread_mutex_unlock(&p->mutex);
    return status;
}

int tutti_prefetch_await(tutti_prefetch *p, double at_most_s)
{
    struct timespec deadline = tutti_clock_after(at_most_s);
    int decided = 0, late = 0;
    if (!(p->awaited_s > 0)) p->awaited_s = tutti_clock_s();
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        decided = p->next_step >= p->end || p->failed_step <= p->next_step || find_ready(p);
        if (decided || late) break;
        late = pthread_cond_timedwait(&p->delivered, &p->mutex, &deadline) != 0;
    }
    pthread_mutex_unlock(&p->mutex);
    return decided;
}

void tutti_prefetch_release(void *batch)
{
    const tutti_batch *b = batch;
    tutti_prefetch *p = b->owner;
    pthread_mutex_lock(&p->mutex);
    p->slots[b->slot].state = SLOT_FREE;
    pthread_cond_broadcast(&p->freed); /* they share the rows of a batch */
    pthread_mutex_unlock(&p->mutex);
}

void tutti_prefetch_close(tutti_prefetch *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->stopping, 1);
    pthread_cond_broadcast(&p->freed);
    pthread_mutex_unlock(&p->mutex);
    for (int t = 0; t < p->reader_count; t++) pthread_join(p->readers[t].thread, NULL);
    free(p->readers);
    free_slots(p);
    pthread_cond_destroy(&p->delivered);
    pthread_cond_destroy(&p->freed);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}
