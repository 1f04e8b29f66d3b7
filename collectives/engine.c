#include "collectives/engine.h"

#include "dag/base/clock.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes: about what reductions process while a fast link carries a few messages. */
enum { SOME_WORK = 256 << 10, MOST_RUNNING = 256 /* local steps of a device at once */ };

/* Messages that may start, in the order in which they became ready. Each has the next one in `waits`. */
typedef struct queue {
    int first, last; /* -1: none */
} queue;

/* Local steps that may run: a heap by program order. Builders put first what messages wait for. */
typedef struct heap {
    int *step, n;
} heap;

/* A step that has been started and is not known to have ended. */
typedef struct started {
    union {
        tutti_message *message;
        tutti_local_step *local;
    };
    int step;
} started;

/* Those of a channel or of a device, which end in their order: a ring. */
typedef struct ring {
    int first, n, room;
    int at; /* of its places in flight.place */
} ring;

typedef struct channel {
    ring under_way;
    int held; /* the message that waits for one of these to end; -1: none */
    int news; /* a message has ended (tutti_transport_ops.watch) */
} channel;

struct tutti_flight {
    tutti_flight_plan plan;
    const tutti_sched *sched;
    char *space[TUTTI_SPACES];
    size_t element, wide; /* bytes of an element, and of an accumulator */
    int left;             /* steps that have not ended */
    tutti_status status;
    int draining;
    int blind; /* some message is not watched: all are tested */
    queue messages;
    heap local;
    ring running;     /* local steps that a device has not ended */
    started *place;   /* of all rings */
    channel *channel; /* [channels] */
    int *waits;       /* [n] counts down from that of the schedule's step */
};

static int is_on_device(const tutti_flight_plan *plan)
{
    return plan->args->memory == TUTTI_MEMORY_DEVICE;
}

static void *address_of(const tutti_flight *f, tutti_spot spot)
{
    if (spot.space == TUTTI_SPACE_EXTRA) {
        int64_t count = f->sched->shape.count;
        return (char *)f->plan.args->extra[spot.offset / count] +
               (size_t)(spot.offset % count) * f->element;
    }
    size_t each = spot.space == TUTTI_SPACE_WIDE ? f->wide : f->element;
    return f->space[spot.space] + (size_t)spot.offset * each;
}

static int is_message(const tutti_sched_step *step)
{
    return step->kind == TUTTI_STEP_SEND || step->kind == TUTTI_STEP_RECV;
}

static started *oldest_of(const tutti_flight *f, const ring *r)
{
    return &f->place[r->at + r->first];
}

static void ring_push(const tutti_flight *f, ring *r, started what)
{
    const int place = r->first + r->n++;
    f->place[r->at + (place < r->room ? place : place - r->room)] = what;
}

static started ring_pop(const tutti_flight *f, ring *r)
{
    const started oldest = *oldest_of(f, r);
    r->first = r->first + 1 < r->room ? r->first + 1 : 0;
    r->n--;
    return oldest;
}

static void queue_push(tutti_flight *f, int i)
{
    queue *q = &f->messages;
    f->waits[i] = -1;
    if (q->last >= 0)
        f->waits[q->last] = i;
    else
        q->first = i;
    q->last = i;
}

static int queue_pop(tutti_flight *f)
{
    queue *q = &f->messages;
    const int i = q->first;
    q->first = f->waits[i];
    if (q->first < 0) q->last = -1;
    f->waits[i] = 0;
    return i;
}

static void heap_push(heap *h, int step)
{
    int i = h->n++;
    for (; i && h->step[(i - 1) / 2] > step; i = (i - 1) / 2) h->step[i] = h->step[(i - 1) / 2];
    h->step[i] = step;
}

static int heap_pop(heap *h)
{
    int first = h->step[0], last = h->step[--h->n], i = 0;
    for (int child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && h->step[child + 1] < h->step[child]) child++;
        if (h->step[child] >= last) break;
        h->step[i] = h->step[child];
    }
    h->step[i] = last;
    return first;
}

static void release_one(tutti_flight *f, int i)
{
    if (--f->waits[i]) return;
    if (is_message(&f->sched->step[i]))
        queue_push(f, i);
    else
        heap_push(&f->local, i);
}

/* Counts a started message. The next one of its channel may start now or, at the credit limit, when
 * another has ended. */
static void count_started(tutti_flight *f, int i, tutti_message *message)
{
    const tutti_sched_step *step = &f->sched->step[i];
    channel *c = &f->channel[step->channel];
    if (message) ring_push(f, &c->under_way, (started){.message = message, .step = i});
    if (c->under_way.n >= f->plan.credit)
        c->held = step->next;
    else if (step->next >= 0)
        release_one(f, step->next);
}

static void count_ended(tutti_flight *f, channel *c)
{
    int held = c->held;
    c->held = -1;
    if (held >= 0) release_one(f, held);
}

static void end_step(tutti_flight *f, int i)
{
    const tutti_sched *s = f->sched;
    f->left--;
    for (int k = s->step[i].first; k < s->step[i + 1].first; k++) release_one(f, s->after[k]);
}

static tutti_status start_message(tutti_flight *f, int i)
{
    const tutti_sched_step *step = &f->sched->step[i];
    tutti_transport *t = f->plan.transport;
    size_t bytes = (size_t)step->count * f->element;
    tutti_message *message = NULL;
    tutti_status status = step->kind == TUTTI_STEP_SEND
                              ? t->ops->isend(t, f->plan.lane, step->peer, f->plan.tag,
                                    address_of(f, step->src), bytes, &message)
                              : t->ops->irecv(t, f->plan.lane, step->peer, f->plan.tag,
                                    address_of(f, step->dst), bytes, &message);
    if (status) return status;
    count_started(f, i, message);
    if (!message)
        end_step(f, i);
    else if (!t->ops->watch ||
             !t->ops->watch(t, message, &f->channel[step->channel].news, f->plan.watcher))
        f->blind = 1;
    return TUTTI_OK;
}

static void reduce_step(
    const tutti_flight *f, const tutti_sched_step *step, void *dst, const void *src)
{
    const tutti_coll_args *p = f->plan.args;
    if (step->dst.space == TUTTI_SPACE_WIDE)
        tutti_buf_accumulate(p->dtype, p->op, dst, src, step->count);
    else if (p->user)
        tutti_buf_reduce_user(p->user, p->dtype, dst, src, step->count, step->src_first);
    else
        tutti_buf_reduce(p->dtype, p->op, dst, src, step->count, step->src_first);
}

static void copy_step(
    const tutti_flight *f, const tutti_sched_step *step, void *dst, const void *src)
{
    int from_wide = step->src.space == TUTTI_SPACE_WIDE,
        to_wide = step->dst.space == TUTTI_SPACE_WIDE;
    if (to_wide && !from_wide)
        tutti_buf_widen(f->plan.args->dtype, dst, src, step->count);
    else if (from_wide && !to_wide)
        tutti_buf_narrow(f->plan.args->dtype, dst, src, step->count);
    else
        tutti_buf_copy(dst, src, (size_t)step->count * (to_wide ? f->wide : f->element));
}

/* Whether a step combines an extra vector with these elements. */
static int adds_to(const tutti_sched_step *step, const tutti_sched_step *first)
{
    return step->kind == TUTTI_STEP_REDUCE && !step->src_first &&
           step->src.space == TUTTI_SPACE_EXTRA && step->dst.space == first->dst.space &&
           step->dst.offset == first->dst.offset && step->count == first->count;
}

/* How many steps from i on combine this rank's vectors, each waiting for nothing but the one before it: they may run
 * in one pass. 1: step i alone. */
static int row_of(const tutti_flight *f, int i)
{
    const tutti_sched_step *step = &f->sched->step[i];
    const int copies = step->kind == TUTTI_STEP_COPY && step->src.space == TUTTI_SPACE_IN;
    int n = 1;
    if (step->dst.space == TUTTI_SPACE_WIDE || !(copies || adds_to(step, step))) return 1;
    while (i + n < f->sched->n && f->waits[i + n] == 1 && adds_to(&step[n], step)) n++;
    return n;
}

/* Runs a row of several steps. */
static void combine_row(const tutti_flight *f, const tutti_sched_step step[], int n)
{
    const void *src[2 + TUTTI_MOST_EXTRAS];
    void *dst = address_of(f, step->dst);
    int vectors = 0;
    if (step->kind == TUTTI_STEP_REDUCE) src[vectors++] = dst;
    for (int k = 0; k < n; k++) src[vectors++] = address_of(f, step[k].src);
    tutti_buf_combine(
        f->plan.args->user, f->plan.args->dtype, f->plan.args->op, dst, src, vectors, step->count);
}

static void count_work(tutti_coll_work *work, const tutti_sched_step *step, size_t bytes)
{
    if (step->kind == TUTTI_STEP_REDUCE) {
        work->reductions++;
        work->reduced_bytes += (int64_t)bytes;
    } else {
        work->copies++;
        work->copied_bytes += (int64_t)bytes;
    }
}

/* Returns the bytes that it has read. */
static size_t run_local(tutti_flight *f, int i)
{
    const tutti_sched_step *step = &f->sched->step[i];
    const int n = row_of(f, i);
    const size_t bytes = (size_t)step->count * f->element;
    if (n > 1)
        combine_row(f, step, n);
    else if (step->kind == TUTTI_STEP_REDUCE)
        reduce_step(f, step, address_of(f, step->dst), address_of(f, step->src));
    else
        copy_step(f, step, address_of(f, step->dst), address_of(f, step->src));
    for (int k = 0; k < n; k++) {
        count_work(f->plan.work, &step[k], bytes);
        if (k + 1 < n) f->waits[i + k + 1]++; /* so that it does not run again */
        end_step(f, i + k);
    }
    return (size_t)n * bytes;
}

static tutti_local_kind kind_of(const tutti_sched_step *step)
{
    const int from_wide = step->src.space == TUTTI_SPACE_WIDE,
              to_wide = step->dst.space == TUTTI_SPACE_WIDE;
    if (step->kind == TUTTI_STEP_REDUCE)
        return to_wide ? TUTTI_LOCAL_ACCUMULATE : TUTTI_LOCAL_REDUCE;
    return to_wide == from_wide ? TUTTI_LOCAL_COPY
           : to_wide            ? TUTTI_LOCAL_WIDEN
                                : TUTTI_LOCAL_NARROW;
}

static tutti_status start_on_device(tutti_flight *f, int i)
{
    const tutti_sched_step *step = &f->sched->step[i];
    tutti_arithmetic *a = f->plan.transport->arithmetic;
    const tutti_local local = {.kind = kind_of(step),
        .dtype = f->plan.args->dtype,
        .op = f->plan.args->op,
        .dst = address_of(f, step->dst),
        .src = address_of(f, step->src),
        .count = step->count};
    started one = {.step = i};
    tutti_status status = a->ops->start(a, &local, &one.local);
    if (status) return status;
    count_work(f->plan.work, step, (size_t)step->count * f->element);
    ring_push(f, &f->running, one);
    return TUTTI_OK;
}

/* Ends the local steps whose events have passed. */
static tutti_status test_device(tutti_flight *f, int *moved)
{
    tutti_arithmetic *a = f->plan.transport->arithmetic;
    while (f->running.n) {
        int done = 0;
        f->status = a->ops->test(a, oldest_of(f, &f->running)->local, &done);
        if (!done) return f->status;
        const int i = ring_pop(f, &f->running).step;
        if (f->status) return f->status;
        end_step(f, i);
        *moved = 1;
    }
    return TUTTI_OK;
}

/* Whether a local step may run. */
static int has_local(const tutti_flight *f)
{
    return f->local.n && (!is_on_device(&f->plan) || f->running.n < f->running.room);
}

/* Starts what is ready, messages first, so that they travel while reductions run. If messages may arrive,
 * it leaves further local steps to the next pass after some work. */
static tutti_status start_ready(tutti_flight *f)
{
    const size_t some = f->sched->channels ? SOME_WORK : SIZE_MAX;
    for (size_t done = 0;;) {
        if (f->messages.first >= 0) {
            f->status = start_message(f, queue_pop(f));
            if (f->status) return f->status;
        } else if (has_local(f) && is_on_device(&f->plan)) {
            f->status = start_on_device(f, heap_pop(&f->local));
            if (f->status) return f->status;
        } else if (has_local(f) && done < some) {
            done += run_local(f, heap_pop(&f->local));
        } else {
            return TUTTI_OK;
        }
    }
}

/* Processes the messages of one channel that have ended, oldest first. */
static tutti_status test_channel(tutti_flight *f, channel *c, int *moved)
{
    tutti_transport *t = f->plan.transport;
    while (c->under_way.n) {
        int done = 0;
        f->status = t->ops->test(t, oldest_of(f, &c->under_way)->message, &done);
        if (!done) return f->status;
        const int i = ring_pop(f, &c->under_way).step;
        if (f->status) return f->status; /* the message is gone */
        count_ended(f, c);
        end_step(f, i);
        *moved = 1;
    }
    return TUTTI_OK;
}

tutti_status tutti_flight_progress(tutti_flight *f, int *moved)
{
    int advanced = 0;
    if (!f->status && !test_device(f, &advanced) && advanced) (void)start_ready(f);
    for (int c = 0; !f->status && c < f->sched->channels; c++) {
        int seen = 0;
        if (!f->blind && !f->channel[c].news) continue;
        f->channel[c].news = 0;
        if (test_channel(f, &f->channel[c], &seen)) break;
        if (seen && start_ready(f)) break;
        advanced |= seen;
    }
    if (!f->status && has_local(f)) {
        advanced = 1;
        f->status = start_ready(f);
    }
    if (advanced) *moved = 1;
    return f->status;
}

int tutti_flight_is_quiet(const tutti_flight *f)
{
    return !f->blind && !f->status && !f->running.n && !f->local.n;
}

/* Takes out of a ring what has ended; a further failure no longer matters. Returns how many are left. */
static int drain_ring(tutti_flight *f, ring *r)
{
    tutti_transport *t = f->plan.transport;
    const int travels = r != &f->running;
    for (int n = r->n; n; n--) {
        const started one = ring_pop(f, r);
        int done = 0;
        if (!f->draining && travels) t->ops->cancel(t, one.message);
        (void)(travels ? t->ops->test(t, one.message, &done)
                       : t->arithmetic->ops->test(t->arithmetic, one.local, &done));
        if (!done) ring_push(f, r, one);
    }
    return r->n;
}

int tutti_flight_drain(tutti_flight *f)
{
    int left = 0;
    for (int c = 0; c < f->sched->channels; c++) left += drain_ring(f, &f->channel[c].under_way);
    left += drain_ring(f, &f->running);
    f->draining = 1;
    return left;
}

int tutti_flight_done(const tutti_flight *f)
{
    return !f->left;
}

/* Memory for steps, where the buffers are; the pool is for those in main memory. */
static tutti_status take_memory(
    const tutti_flight_plan *plan, tutti_pool *pool, size_t bytes, void **memory)
{
    tutti_arithmetic *a = plan->transport->arithmetic;
    if (is_on_device(plan)) return a->ops->take(a, bytes, memory);
    const int64_t made = tutti_pool_made(pool);
    tutti_status status = tutti_pool_take(pool, bytes, memory);
    plan->work->allocations += tutti_pool_made(pool) - made;
    return status;
}

static void give_memory(const tutti_flight_plan *plan, tutti_pool *pool, void *memory)
{
    tutti_arithmetic *a = plan->transport->arithmetic;
    if (is_on_device(plan))
        a->ops->give(a, memory);
    else
        tutti_pool_give(pool, memory);
}

/* The memory that the steps of a flight need: received elements, and accumulators. */
typedef struct room {
    size_t scratch, wide;
} room;

static room room_of(const tutti_flight_plan *plan)
{
    const tutti_sched *s = plan->sched;
    return (room){.scratch = (size_t)s->scratch_count * tutti_dtype_bytes(plan->args->dtype),
        .wide = (size_t)s->wide_count * tutti_dtype_bytes(tutti_coll_accumulator(plan->args))};
}

tutti_status tutti_flight_prepare(const tutti_flight_plan *plan, size_t *bytes)
{
    tutti_arithmetic *a = plan->transport->arithmetic;
    const room r = room_of(plan);
    tutti_status status = TUTTI_OK;
    *bytes = 0;
    if (!is_on_device(plan)) return TUTTI_OK;
    if (r.scratch) status = a->ops->prepare(a, r.scratch);
    if (!status && r.wide) status = a->ops->prepare(a, r.wide);
    *bytes = r.scratch + r.wide;
    return status;
}

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* A ring with room for these; *places: how many places rings have so far. */
static ring make_ring(int size, int *places)
{
    const ring r = {.room = size, .at = *places};
    *places += size;
    return r;
}

/* How many places all rings have. */
static int count_places(const tutti_flight_plan *plan)
{
    const tutti_sched *s = plan->sched;
    int places = is_on_device(plan) ? least_of(s->locals, MOST_RUNNING) : 0;
    for (int c = 0; c < s->channels; c++) places += least_of(s->channel[c].length, plan->credit);
    return places;
}

static void make_rings(tutti_flight *f)
{
    const tutti_sched *s = f->sched;
    int places = 0;
    if (is_on_device(&f->plan)) f->running = make_ring(least_of(s->locals, MOST_RUNNING), &places);
    for (int c = 0; c < s->channels; c++)
        f->channel[c] = (channel){.held = -1,
            .under_way = make_ring(least_of(s->channel[c].length, f->plan.credit), &places)};
}

/* One block for the flight and its arrays: those of pointers first, so that each is aligned. */
static tutti_status allocate_flight(const tutti_flight_plan *plan, tutti_flight **flight)
{
    const tutti_sched *s = plan->sched;
    const size_t n = (size_t)s->n, places = (size_t)count_places(plan);
    tutti_flight *f;
    void *block, *scratch = NULL, *wide = NULL;
    tutti_status status = tutti_pool_take(plan->pool,
        sizeof *f + places * sizeof *f->place + (size_t)s->channels * sizeof *f->channel +
            (n + (size_t)s->locals) * sizeof(int),
        &block);
    if (status) return status;
    const room r = room_of(plan);
    if (r.scratch) status = take_memory(plan, plan->received, r.scratch, &scratch);
    if (!status && r.wide) status = take_memory(plan, plan->pool, r.wide, &wide);
    if (status) {
        give_memory(plan, plan->received, scratch);
        tutti_pool_give(plan->pool, block);
        return status;
    }
    f = block;
    *f = (tutti_flight){.plan = *plan,
        .sched = s,
        .element = tutti_dtype_bytes(plan->args->dtype),
        .wide = tutti_dtype_bytes(tutti_coll_accumulator(plan->args)),
        .left = s->n,
        .messages = {-1, -1}};
    f->space[TUTTI_SPACE_IN] = (char *)plan->args->send;
    f->space[TUTTI_SPACE_OUT] = plan->args->recv;
    f->space[TUTTI_SPACE_SCRATCH] = scratch;
    f->space[TUTTI_SPACE_WIDE] = wide;
    f->place = (started *)(f + 1);
    f->channel = (channel *)(f->place + places);
    f->waits = (int *)(f->channel + s->channels);
    f->local.step = f->waits + n;
    make_rings(f);
    *flight = f;
    return TUTTI_OK;
}

tutti_status tutti_flight_start(const tutti_flight_plan *plan, tutti_flight **flight)
{
    const tutti_sched *s = plan->sched;
    tutti_flight *f;
    tutti_status status = allocate_flight(plan, &f);
    if (status) return status;
    /* One more, which is released below: then steps that wait for nothing become ready. */
    for (int i = 0; i < s->n; i++) f->waits[i] = s->step[i].waits + 1;
    for (int i = 0; i < s->n; i++) release_one(f, i);
    *flight = f;
    return start_ready(f);
}

char *tutti_flight_waits_for(const tutti_flight *f, char *text, size_t size)
{
    size_t used = 0;
    if (size) text[0] = '\0';
    for (int c = 0; c < f->sched->channels && used < size; c++) {
        const ring *r = &f->channel[c].under_way;
        if (!r->n) continue;
        const tutti_sched_step *step = &f->sched->step[oldest_of(f, r)->step];
        used += (size_t)snprintf(text + used, size - used, "%srank %d (%s)", used ? ", " : "",
            step->peer, step->kind == TUTTI_STEP_SEND ? "sending" : "receiving");
    }
    return text;
}

/* A device's step ends by itself, without other ranks. 0: it has not ended for so long that the device must be
 * broken, and may use its memory forever. */
static int await_step(const tutti_flight *f, tutti_local_step *step)
{
    static const double patience_s = 10;
    const double until_s = tutti_clock_s() + patience_s;
    tutti_arithmetic *a = f->plan.transport->arithmetic;
    int done = 0;
    while (!done && tutti_clock_s() < until_s) (void)a->ops->test(a, step, &done);
    return done;
}

void tutti_flight_free(tutti_flight *f)
{
    if (!f) return;
    tutti_transport *t = f->plan.transport;
    int unused = 1, abandoned = 0;
    for (int c = 0; c < f->sched->channels; c++)
        for (ring *r = &f->channel[c].under_way; r->n; abandoned = 1)
            t->ops->abandon(t, ring_pop(f, r).message);
    while (f->running.n && unused) unused = await_step(f, ring_pop(f, &f->running).local);
    if (unused) give_memory(&f->plan, f->plan.pool, f->space[TUTTI_SPACE_WIDE]);
    /* another rank may still write to memory that was lent for an abandoned receive */
    if (unused && !(abandoned && f->plan.received != f->plan.pool))
        give_memory(&f->plan, f->plan.received, f->space[TUTTI_SPACE_SCRATCH]);
    tutti_pool_give(f->plan.pool, f);
}
