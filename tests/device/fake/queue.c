#include "tests/device/fake/queue.h"

#include "tests/device/fake/graph.h"
#include "tests/device/fake/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Handles are no addresses: whoever uses one as such faults. */
#define STREAM_HANDLE 0x57000000000000
#define EVENT_HANDLE 0x45000000000000
enum { MOST_STREAMS = 4096, INDEX_BITS = 24 };

static fake_stream *streams[MOST_STREAMS];
static int stream_count;
static fake_event **events;
static int event_count, event_room, *unused_event, unused_events;
static known host;        /* what the host has seen */
static operation *recent; /* those that touch something and that the host has not seen complete */
static uint64_t tickets;
static int host_functions;

static void *get_memory(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);
    if (!memory) fake_fail("no memory");
    return memory;
}

/* ---- What is known ---- */

static void know(known *k, int of, uint64_t number)
{
    if (of >= k->count) {
        k->number = get_memory(k->number, (size_t)(of + 1) * sizeof *k->number);
        memset(k->number + k->count, 0, (size_t)(of + 1 - k->count) * sizeof *k->number);
        k->count = of + 1;
    }
    if (number > k->number[of]) k->number[of] = number;
}

static int is_known(const known *k, point at)
{
    return at.stream < k->count ? k->number[at.stream] >= at.number : !at.number;
}

void queue_join(known *to, const known *from)
{
    for (int s = from->count - 1; s >= 0; s--)
        if (from->number[s]) know(to, s, from->number[s]);
}

void queue_forget(known *k)
{
    free(k->number);
    *k = (known){0};
}

static void release(operation *op)
{
    queue_forget(&op->known);
    free(op->wait);
    free(op->access);
    free(op);
}

void queue_see(const known *seen)
{
    queue_join(&host, seen);
    for (operation **at = &recent; *at;) {
        operation *op = *at;
        if (!is_known(&host, op->at)) {
            at = &op->next_recent;
            continue;
        }
        *at = op->next_recent;
        release(op);
    }
}

/* ---- Streams ---- */

static fake_stream *make_stream(int device, unsigned flags, int priority)
{
    if (stream_count == MOST_STREAMS) fake_fail("more than %d streams were created", MOST_STREAMS);
    fake_stream *s = calloc(1, sizeof *s);
    if (!s) fake_fail("no memory for a stream");
    *s = (fake_stream){
        .index = stream_count, .device = device, .live = 1, .flags = flags, .priority = priority};
    streams[stream_count++] = s;
    return s;
}

void queue_open(void)
{
    for (int d = 0; d < MOST_DEVICES; d++) make_stream(d, 0, 0);
    order_open();
}

fake_stream *queue_at(int index)
{
    return streams[index];
}

int queue_count(void)
{
    return stream_count;
}

static int is_default(const fake_stream *s)
{
    return s->index < MOST_DEVICES;
}

const char *queue_name(const fake_stream *s)
{
    static _Thread_local char names[4][64];
    static _Thread_local int turn;
    char *name = names[turn++ % 4];
    if (is_default(s))
        snprintf(name, sizeof names[0], "the default stream of device %d", s->device);
    else
        snprintf(name, sizeof names[0], "stream %d of device %d", s->index - MOST_DEVICES + 1,
            s->device);
    return name;
}

fake_stream *queue_stream(const char *call, cudaStream_t handle)
{
    if (!handle || handle == cudaStreamLegacy) {
        graph_forbid(call);
        return streams[fake_device];
    }
    if (handle == cudaStreamPerThread)
        fake_fail("%s: the fake has no default stream per thread", call);
    const uintptr_t index = (uintptr_t)handle - STREAM_HANDLE;
    if (index < MOST_DEVICES || index >= (uintptr_t)stream_count)
        fake_fail("%s: %p is no stream", call, (void *)handle);
    if (!streams[index]->live) fake_fail("%s: %s was destroyed", call, queue_name(streams[index]));
    return streams[index];
}

cudaStream_t queue_stream_new(int device, unsigned flags, int priority)
{
    return (cudaStream_t)(STREAM_HANDLE + (uintptr_t)make_stream(device, flags, priority)->index);
}

/* ---- Events ---- */

static cudaEvent_t handle_of(const fake_event *e, int index)
{
    return (
        cudaEvent_t)(EVENT_HANDLE + ((uintptr_t)e->generation << INDEX_BITS) + (uintptr_t)index);
}

/* NULL where there is no such event any more. */
static fake_event *find_event(cudaEvent_t handle)
{
    const uintptr_t value = (uintptr_t)handle - EVENT_HANDLE;
    const uintptr_t index = value & ((1u << INDEX_BITS) - 1);
    if (index >= (uintptr_t)event_count) return NULL;
    fake_event *e = events[index];
    return e->live && handle_of(e, (int)index) == handle ? e : NULL;
}

fake_event *queue_event(const char *call, cudaEvent_t handle)
{
    fake_event *e = find_event(handle);
    if (!e) fake_fail("%s: %p is no event, or was destroyed", call, (void *)handle);
    return e;
}

cudaEvent_t queue_event_new(int device, unsigned flags)
{
    if (!unused_events) {
        if (event_count == event_room) {
            event_room = event_room ? 2 * event_room : 64;
            events = get_memory(events, (size_t)event_room * sizeof(fake_event *));
            unused_event = get_memory(unused_event, (size_t)event_room * sizeof(int));
        }
        events[event_count] = calloc(1, sizeof(fake_event));
        if (!events[event_count]) fake_fail("no memory for an event");
        unused_event[unused_events++] = event_count++;
    }
    const int index = unused_event[--unused_events];
    fake_event *e = events[index];
    *e = (fake_event){.live = 1,
        .device = device,
        .flags = flags,
        .generation = e->generation + 1,
        .index = index};
    return handle_of(e, index);
}

void queue_event_release(fake_event *e)
{
    queue_forget(&e->known);
    e->live = 0;
    unused_event[unused_events++] = e->index;
}

/* ---- Operations ---- */

int queue_done(point at)
{
    return streams[at.stream]->done >= at.number;
}

int queue_is_seen(point at)
{
    return is_known(&host, at);
}

int queue_is_before(point at, const fake_stream *s)
{
    return is_known(&host, at) || is_known(&s->known, at);
}

static void wait_for(operation *op, point at, const known *when)
{
    queue_join(&op->known, when);
    if (!at.number || queue_done(at)) return;
    op->wait = get_memory(op->wait, (size_t)(op->waits + 1) * sizeof *op->wait);
    op->wait[op->waits++] = at;
}

static point end_of(const fake_stream *s)
{
    return (point){s->index, s->put};
}

/* The default stream waits for the others of its device, and they for it, unless they were created
 * without that. */
static void wait_by_default(operation *op, const fake_stream *s)
{
    if (s->flags & cudaStreamNonBlocking) return;
    const fake_stream *legacy = streams[s->device];
    if (s != legacy) {
        wait_for(op, end_of(legacy), &legacy->known);
        return;
    }
    for (int i = MOST_DEVICES; i < stream_count; i++) {
        const fake_stream *other = streams[i];
        if (other->device != s->device || other->flags & cudaStreamNonBlocking) continue;
        if (other->capture)
            fake_fail("%s on the default stream, which waits for %s, which is captured",
                op->work.call, queue_name(other));
        wait_for(op, end_of(other), &other->known);
    }
}

/* ---- Two operations that touch the same bytes ---- */

static int overlap(const fake_access *a, const fake_access *b)
{
    const size_t rows_a = a->rows ? a->rows : 1, rows_b = b->rows ? b->rows : 1;
    const char *at_a = a->address, *at_b = b->address;
    if (at_a >= at_b + (rows_b - 1) * b->pitch + b->bytes ||
        at_b >= at_a + (rows_a - 1) * a->pitch + a->bytes)
        return 0;
    for (size_t i = 0; i < rows_a; i++, at_a += a->pitch) {
        at_b = b->address;
        for (size_t k = 0; k < rows_b; k++, at_b += b->pitch)
            if (at_a < at_b + b->bytes && at_b < at_a + a->bytes) return 1;
    }
    return 0;
}

static const char *does(const fake_access *access)
{
    static const char *const words[] = {
        [FAKE_READ] = "reads", [FAKE_WRITE] = "writes", [FAKE_TOUCH] = "uses"};
    return words[access->mode];
}

static void compare(const operation *op, const operation *other)
{
    for (int i = 0; i < op->work.accesses; i++)
        for (int k = 0; k < other->work.accesses; k++) {
            const fake_access *a = &op->access[i], *b = &other->access[k];
            if ((a->mode != FAKE_WRITE && b->mode != FAKE_WRITE) || !overlap(a, b)) continue;
            const char *first = a->address, *second = b->address;
            fake_fail("%s on %s %s memory at %p that %s on %s %s, and nothing orders the two",
                op->work.call, queue_name(streams[op->at.stream]), does(a),
                (void *)(first > second ? first : second), other->work.call,
                queue_name(streams[other->at.stream]), does(b));
        }
}

static void find_races(const operation *op)
{
    for (const operation *other = recent; other; other = other->next_recent)
        if (!is_known(&op->known, other->at)) compare(op, other);
}

const operation *queue_user(const void *address, size_t bytes, int writes)
{
    const fake_access wanted = {.address = address, .bytes = bytes};
    for (const operation *op = recent; op; op = op->next_recent)
        for (int i = 0; i < op->work.accesses; i++) {
            if (writes && (op->access[i].mode == FAKE_READ || queue_done(op->at))) continue;
            if (overlap(&op->access[i], &wanted)) return op;
        }
    return NULL;
}

const operation *queue_unseen(void)
{
    for (const operation *op = recent; op; op = op->next_recent)
        if (!op->idle) return op;
    return NULL;
}

int queue_host_function(void)
{
    return host_functions > 0;
}

/* ---- Beginning and end ---- */

static void record(cudaEvent_t handle, operation *op)
{
    fake_event *e = queue_event(op->work.call, handle);
    e->recorded = 1;
    e->time = 0;
    e->at = op->at;
    queue_forget(&e->known);
    queue_join(&e->known, &op->known);
}

void queue_put(fake_stream *s, const fake_work *work, const queue_extra *extra)
{
    graph_forbid_stream(work->call, s);
    operation *op = calloc(1, sizeof *op);
    if (!op) fake_fail("no memory for an operation");
    op->work = *work;
    op->at = (point){s->index, s->put + 1};
    op->ticket = ++tickets;
    queue_join(&op->known, &host);
    queue_join(&op->known, &s->known);
    wait_by_default(op, s);
    if (extra && extra->wait) wait_for(op, extra->wait->at, &extra->wait->known);
    if (work->accesses) {
        op->access = get_memory(NULL, (size_t)work->accesses * sizeof *op->access);
        memcpy(op->access, work->access, (size_t)work->accesses * sizeof *op->access);
    }
    find_races(op);
    know(&op->known, s->index, op->at.number);
    op->host = extra && extra->host;
    op->idle = extra && extra->idle;
    op->event = extra ? extra->record : NULL;
    if (op->event) record(op->event, op);
    host_functions += op->host;
    s->put++;
    queue_join(&s->known, &op->known);
    if (s->last)
        s->last->next = op;
    else
        s->first = op;
    s->last = op;
    if (!op->idle) {
        op->next_recent = recent;
        recent = op;
    }
    order_put(op, extra && extra->more);
}

void queue_finish(operation *op)
{
    fake_stream *s = streams[op->at.stream];
    s->first = op->next;
    if (!s->first) s->last = NULL;
    s->done = op->at.number;
    s->spent += op->work.seconds;
    fake_event *e = op->event ? find_event(op->event) : NULL;
    if (e && e->at.stream == op->at.stream && e->at.number == op->at.number)
        e->time = fake_now() + s->spent;
    host_functions -= op->host;
    if (op->idle)
        release(op);
    else if (op->host)
        queue_see(&op->known); /* it ran on the host */
}
