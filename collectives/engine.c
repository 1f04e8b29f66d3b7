#include "collectives/engine.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes: about what reductions process while a fast link carries a few messages. */
enum { SOME_WORK = 256 << 10 };

/* Messages that may start, in the order in which they became ready; each enters once. */
typedef struct queue {
    int *step, head, tail;
} queue;

/* Local steps that may run: a heap by program order. Builders put first what messages wait for. */
typedef struct heap {
    int *step, n;
} heap;

/* What has been started: a message, or a local step of a device. */
typedef union handle {
    tutti_message *message;
    tutti_local_step *step;
} handle;

/* A step of the schedule. */
typedef struct step_state {
    handle started;
    int waits; /* counts down from sched->waits */
    enum { WAITING, STARTED, ENDED } state;
} step_state;

struct tutti_flight {
    tutti_flight_plan plan;
    const tutti_sched *sched;
    char *space[TUTTI_SPACES];
    size_t element, wide; /* bytes of an element, and of an accumulator */
    int left;             /* steps that have not ended */
    tutti_status status;
    int draining;
    step_state *step;     /* [n] */
    int *oldest;          /* [channels] the first message not known to have ended; -1: none */
    int *under_way;       /* [channels] messages started and not known to have ended */
    int *held;            /* [channels] the message that waits for one of these to end; -1: none */
    int *news;            /* [channels] a message has ended (tutti_transport_ops.watch) */
    int blind;            /* some message is not watched: all are tested */
    queue messages;
    heap local;
    queue running; /* local steps that a device has not ended, in their order */
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
    if (--f->step[i].waits) return;
    if (is_message(&f->sched->step[i]))
        f->messages.step[f->messages.tail++] = i;
    else
        heap_push(&f->local, i);
}

/* Counts a started message. The next one of its channel may start now or, at the credit limit, when
 * another has ended. */
static void count_started(tutti_flight *f, int i)
{
    int c = f->sched->of[i], next = f->sched->next[i];
    if (++f->under_way[c] >= f->plan.credit)
        f->held[c] = next;
    else if (next >= 0)
        release_one(f, next);
}

static void count_ended(tutti_flight *f, int c)
{
    int held = f->held[c];
    f->under_way[c]--;
    f->held[c] = -1;
    if (held >= 0) release_one(f, held);
}

static void end_step(tutti_flight *f, int i)
{
    const tutti_sched *s = f->sched;
    if (is_message(&s->step[i])) count_ended(f, s->of[i]);
    f->step[i].state = ENDED;
    f->left--;
    for (int k = s->first[i]; k < s->first[i + 1]; k++) release_one(f, s->after[k]);
}

static tutti_status start_message(tutti_flight *f, int i)
{
    const tutti_sched_step *step = &f->sched->step[i];
    tutti_transport *t = f->plan.transport;
    size_t bytes = (size_t)step->count * f->element;
    tutti_status status = step->kind == TUTTI_STEP_SEND
                              ? t->ops->isend(t, f->plan.lane, step->peer, f->plan.tag,
                                    address_of(f, step->src), bytes, &f->step[i].started.message)
                              : t->ops->irecv(t, f->plan.lane, step->peer, f->plan.tag,
                                    address_of(f, step->dst), bytes, &f->step[i].started.message);
    if (status) return status;
    f->step[i].state = STARTED;
    count_started(f, i);
    if (!f->step[i].started.message)
        end_step(f, i);
    else if (!t->ops->watch || !t->ops->watch(t, f->step[i].started.message,
                                   &f->news[f->sched->of[i]], f->plan.watcher))
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
    while (i + n < f->sched->n && f->step[i + n].waits == 1 && adds_to(&step[n], step)) n++;
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
        if (k + 1 < n) f->step[i + k + 1].waits++; /* so that it does not run again */
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
    tutti_status status = a->ops->start(a, &local, &f->step[i].started.step);
    if (status) return status;
    count_work(f->plan.work, step, (size_t)step->count * f->element);
    f->step[i].state = STARTED;
    f->running.step[f->running.tail++] = i;
    return TUTTI_OK;
}

/* Ends the local steps whose events have passed. */
static tutti_status test_device(tutti_flight *f, int *moved)
{
    tutti_arithmetic *a = f->plan.transport->arithmetic;
    while (f->running.head < f->running.tail) {
        int i = f->running.step[f->running.head], done = 0;
        f->status = a->ops->test(a, f->step[i].started.step, &done);
        if (f->status && done) f->step[i].state = ENDED;
        if (f->status || !done) return f->status;
        f->running.head++;
        end_step(f, i);
        *moved = 1;
    }
    return TUTTI_OK;
}

/* Starts what is ready, messages first, so that they travel while reductions run. If messages may arrive,
 * it leaves further local steps to the next pass after some work. */
static tutti_status start_ready(tutti_flight *f)
{
    const size_t some = f->sched->channels ? SOME_WORK : SIZE_MAX;
    for (size_t done = 0;;) {
        if (f->messages.head < f->messages.tail) {
            f->status = start_message(f, f->messages.step[f->messages.head++]);
            if (f->status) return f->status;
        } else if (f->local.n && is_on_device(&f->plan)) {
            f->status = start_on_device(f, heap_pop(&f->local));
            if (f->status) return f->status;
        } else if (f->local.n && done < some) {
            done += run_local(f, heap_pop(&f->local));
        } else {
            return TUTTI_OK;
        }
    }
}

/* Processes the messages of one channel that have ended, oldest first. */
static tutti_status test_channel(tutti_flight *f, int channel, int *moved)
{
    tutti_transport *t = f->plan.transport;
    for (int i; (i = f->oldest[channel]) >= 0 && f->step[i].state != WAITING;) {
        if (f->step[i].state == STARTED) {
            int done = 0;
            f->status = t->ops->test(t, f->step[i].started.message, &done);
            if (f->status && done) f->step[i].state = ENDED; /* the message is gone */
            if (f->status || !done) return f->status;
            end_step(f, i);
            *moved = 1;
        }
        f->oldest[channel] = f->sched->next[i];
    }
    return TUTTI_OK;
}

tutti_status tutti_flight_progress(tutti_flight *f, int *moved)
{
    int advanced = 0;
    if (!f->status && !test_device(f, &advanced) && advanced) (void)start_ready(f);
    for (int c = 0; !f->status && c < f->sched->channels; c++) {
        int seen = 0;
        if (!f->blind && !f->news[c]) continue;
        f->news[c] = 0;
        if (test_channel(f, c, &seen)) break;
        if (seen && start_ready(f)) break;
        advanced |= seen;
    }
    if (!f->status && f->local.n) {
        advanced = 1;
        f->status = start_ready(f);
    }
    if (advanced) *moved = 1;
    return f->status;
}

int tutti_flight_is_quiet(const tutti_flight *f)
{
    return !f->blind && !f->status && f->running.head == f->running.tail && !f->local.n;
}

int tutti_flight_drain(tutti_flight *f)
{
    tutti_transport *t = f->plan.transport;
    int left = 0;
    for (int i = 0; i < f->sched->n && f->left; i++) {
        int done = 0, travels = is_message(&f->sched->step[i]);
        if (f->step[i].state != STARTED) continue;
        if (!f->draining && travels) t->ops->cancel(t, f->step[i].started.message);
        /* a further failure no longer matters */
        (void)(travels ? t->ops->test(t, f->step[i].started.message, &done)
                       : t->arithmetic->ops->test(t->arithmetic, f->step[i].started.step, &done));
        if (done)
            f->step[i].state = ENDED;
        else
            left++;
    }
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

/* One block for the flight and its arrays: pointers first, so that each is aligned. */
static tutti_status allocate_flight(const tutti_flight_plan *plan, tutti_flight **flight)
{
    const tutti_sched *s = plan->sched;
    size_t n = (size_t)s->n, channels = (size_t)s->channels;
    tutti_flight *f;
    void *block, *scratch = NULL, *wide = NULL;
    tutti_status status = tutti_pool_take(plan->pool,
        sizeof *f + n * (sizeof *f->step + 3 * sizeof(int)) + 4 * channels * sizeof(int), &block);
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
        .left = s->n};
    f->space[TUTTI_SPACE_IN] = (char *)plan->args->send;
    f->space[TUTTI_SPACE_OUT] = plan->args->recv;
    f->space[TUTTI_SPACE_SCRATCH] = scratch;
    f->space[TUTTI_SPACE_WIDE] = wide;
    f->step = (step_state *)(f + 1);
    f->messages.step = (int *)(f->step + n);
    f->local.step = f->messages.step + n;
    f->running.step = f->local.step + n;
    f->oldest = f->running.step + n;
    f->under_way = f->oldest + channels;
    f->held = f->under_way + channels;
    f->news = f->held + channels;
    *flight = f;
    return TUTTI_OK;
}

tutti_status tutti_flight_start(const tutti_flight_plan *plan, tutti_flight **flight)
{
    const tutti_sched *s = plan->sched;
    tutti_flight *f;
    tutti_status status = allocate_flight(plan, &f);
    if (status) return status;
    memcpy(f->oldest, s->channel, (size_t)s->channels * sizeof *f->oldest);
    for (int c = 0; c < s->channels; c++) {
        f->under_way[c] = 0;
        f->held[c] = -1;
        f->news[c] = 0;
    }
    /* One more, which is released below: then steps that wait for nothing become ready. */
    for (int i = 0; i < s->n; i++) f->step[i] = (step_state){.waits = s->waits[i] + 1};
    for (int i = 0; i < s->n; i++) release_one(f, i);
    *flight = f;
    return start_ready(f);
}

char *tutti_flight_waits_for(const tutti_flight *f, char *text, size_t size)
{
    size_t used = 0;
    if (size) text[0] = '\0';
    for (int c = 0; c < f->sched->channels && used < size; c++) {
        int i = f->oldest[c];
        if (i < 0 || f->step[i].state != STARTED) continue;
        const tutti_sched_step *step = &f->sched->step[i];
        used += (size_t)snprintf(text + used, size - used, "%srank %d (%s)", used ? ", " : "",
            step->peer, step->kind == TUTTI_STEP_SEND ? "sending" : "receiving");
    }
    return text;
}

/* A device's step ends by itself, without other ranks. 0: it has not ended for so long that the device must be
 * broken, and may use its memory forever. */
static int await_step(const tutti_flight *f, int i)
{
    static const double patience_s = 10;
    const double until_s = tutti_clock_s() + patience_s;
    tutti_arithmetic *a = f->plan.transport->arithmetic;
    int done = 0;
    while (!done && tutti_clock_s() < until_s)
        (void)a->ops->test(a, f->step[i].started.step, &done);
    return done;
}

void tutti_flight_free(tutti_flight *f)
{
    if (!f) return;
    tutti_transport *t = f->plan.transport;
    int unused = 1, abandoned = 0;
    for (int i = 0; i < f->sched->n && f->left; i++)
        if (f->step[i].state == STARTED && is_message(&f->sched->step[i])) {
            t->ops->abandon(t, f->step[i].started.message);
            abandoned = 1;
        } else if (f->step[i].state == STARTED && unused)
            unused = await_step(f, i);
    if (unused) give_memory(&f->plan, f->plan.pool, f->space[TUTTI_SPACE_WIDE]);
    /* another rank may still write to memory that was lent for an abandoned receive */
    if (unused && !(abandoned && f->plan.received != f->plan.pool))
        give_memory(&f->plan, f->plan.received, f->space[TUTTI_SPACE_SCRATCH]);
    tutti_pool_give(f->plan.pool, f);
}
