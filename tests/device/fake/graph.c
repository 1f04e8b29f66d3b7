#include "tests/device/fake/graph.h"

#include "tests/device/fake/memory.h"

#include <stdlib.h>
#include <string.h>

/* Handles are no addresses: whoever uses one as such faults. */
#define GRAPH_HANDLE 0x47000000000000
#define EXEC_HANDLE 0x58000000000000
#define NODE_HANDLE 0x4e000000000000
enum { MOST_GRAPHS = 1 << 16 };

typedef struct recorded {
    fake_work work;  /* its argument and accesses are copied for each launch */
    uint64_t *block; /* of each access, the block's number when it was recorded; 0: none */
    graph_effect effect;
} recorded;

/* What a capture has recorded; its graph and what is made of that share it. */
typedef struct recording {
    int users, device, count, room;
    recorded *operation;
} recording;

struct capture {
    recording *recording;
    int thread, invalid;
};

typedef struct graph {
    recording *recording; /* NULL: destroyed */
} graph;

typedef struct exec {
    recording *recording; /* NULL: destroyed */
    point last;           /* the end of its last launch; number 0: none */
} exec;

static graph graphs[MOST_GRAPHS];
static exec execs[MOST_GRAPHS];
static int graph_count, exec_count, threads;
static _Thread_local int this_thread;        /* a number of its own; 0: none yet */
static _Thread_local fake_stream *capturing; /* the stream that this thread captures */

static void *get_memory(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes ? bytes : 1);
    if (!memory) fake_fail("no memory for a graph");
    return memory;
}

static void *copy_of(const void *memory, size_t bytes)
{
    void *copy = get_memory(NULL, bytes);
    if (bytes) memcpy(copy, memory, bytes);
    return copy;
}

/* ---- What is forbidden ---- */

void graph_forbid(const char *call)
{
    if (capturing)
        fake_fail("%s by a thread that captures %s: CUDA forbids it", call, queue_name(capturing));
}

void graph_forbid_stream(const char *call, const fake_stream *s)
{
    if (s->capture) fake_fail("%s on %s, which is captured", call, queue_name(s));
}

void graph_forbid_device(const char *call, int device)
{
    for (int i = 0; i < queue_count(); i++)
        if (queue_at(i)->device == device) graph_forbid_stream(call, queue_at(i));
}

const fake_stream *graph_unended(void)
{
    for (int i = 0; i < queue_count(); i++)
        if (queue_at(i)->capture) return queue_at(i);
    return NULL;
}

/* ---- Captures ---- */

static void release(recording *r)
{
    if (--r->users) return;
    for (int i = 0; i < r->count; i++) {
        free(r->operation[i].work.arg);
        free((void *)r->operation[i].work.access);
        free(r->operation[i].block);
    }
    free(r->operation);
    free(r);
}

static uint64_t block_of(const void *address)
{
    const block *b = memory_find(address);
    return b ? b->number : 0;
}

static void check_thread(const char *call, const fake_stream *s)
{
    if (s->capture->thread != this_thread)
        fake_fail("%s on %s, which another thread captures", call, queue_name(s));
}

/* As where a library does what no capture takes. */
static int is_refused(const char *call)
{
    const char *refused = fake_get_settings()->unrecorded;
    return refused && !strcmp(call, refused);
}

cudaError_t graph_record(fake_stream *s, const fake_work *work, const graph_effect *effect)
{
    static const graph_effect none = {.count = FAKE_COUNTS};
    check_thread(work->call, s);
    if (!work->bytes)
        fake_fail("%s on %s, which is captured: it cannot be recorded", work->call, queue_name(s));
    if (is_refused(work->call)) s->capture->invalid = 1;
    if (s->capture->invalid) {
        free(work->arg);
        return cudaErrorStreamCaptureInvalidated;
    }
    recording *r = s->capture->recording;
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->operation = get_memory(r->operation, (size_t)r->room * sizeof *r->operation);
    }
    const size_t accesses = (size_t)work->accesses;
    recorded *o = &r->operation[r->count++];
    *o = (recorded){.work = *work, .effect = effect ? *effect : none};
    o->work.access = copy_of(work->access, accesses * sizeof *work->access);
    o->block = get_memory(NULL, accesses * sizeof *o->block);
    for (size_t i = 0; i < accesses; i++) o->block[i] = block_of(work->access[i].address);
    count_add(FAKE_CAPTURED, work->call, 1);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    static const char call[] = "cudaStreamBeginCapture";
    fake_enter(call);
    fake_stream *s = queue_stream(call, handle);
    if (s->index < MOST_DEVICES) fake_fail("%s: a default stream cannot be captured", call);
    graph_forbid_stream(call, s);
    if (capturing) fake_fail("%s: this thread captures %s already", call, queue_name(capturing));
    if (mode != cudaStreamCaptureModeThreadLocal)
        fake_fail(
            "%s in mode %d: other threads could break it, or it would not see what breaks it; use "
            "cudaStreamCaptureModeThreadLocal",
            call, (int)mode);
    if (!this_thread) this_thread = ++threads;
    recording *r = calloc(1, sizeof *r);
    if (!r) fake_fail("no memory for a capture");
    *r = (recording){.users = 1, .device = s->device};
    s->capture = get_memory(NULL, sizeof *s->capture);
    *s->capture = (struct capture){.recording = r, .thread = this_thread};
    capturing = s;
    return fake_return(cudaSuccess);
}

static int new_handle(int *count)
{
    if (*count == MOST_GRAPHS) fake_fail("more than %d graphs were made", MOST_GRAPHS);
    return (*count)++;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *made)
{
    static const char call[] = "cudaStreamEndCapture";
    fake_enter(call);
    fake_stream *s = queue_stream(call, handle);
    if (!s->capture) fake_fail("%s: %s is not captured", call, queue_name(s));
    check_thread(call, s);
    recording *r = s->capture->recording;
    const int invalid = s->capture->invalid;
    free(s->capture);
    s->capture = NULL;
    capturing = NULL;
    *made = NULL;
    if (invalid) {
        release(r);
        return fake_return(cudaErrorStreamCaptureInvalidated);
    }
    const int index = new_handle(&graph_count);
    graphs[index].recording = r;
    *made = (cudaGraph_t)(GRAPH_HANDLE + (uintptr_t)index);
    return fake_return(cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status)
{
    fake_enter("cudaStreamIsCapturing");
    const fake_stream *s = queue_stream("cudaStreamIsCapturing", handle);
    *status = !s->capture           ? cudaStreamCaptureStatusNone
              : s->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
    return fake_return(cudaSuccess);
}

/* ---- Graphs ---- */

static graph *find_graph(const char *call, cudaGraph_t handle)
{
    const uintptr_t index = (uintptr_t)handle - GRAPH_HANDLE;
    if (index >= (uintptr_t)graph_count) fake_fail("%s: %p is no graph", call, (void *)handle);
    if (!graphs[index].recording) fake_fail("%s: the graph %p was destroyed", call, (void *)handle);
    return &graphs[index];
}

static exec *find_exec(const char *call, cudaGraphExec_t handle)
{
    const uintptr_t index = (uintptr_t)handle - EXEC_HANDLE;
    if (index >= (uintptr_t)exec_count)
        fake_fail("%s: %p is no graph that was instantiated", call, (void *)handle);
    if (!execs[index].recording)
        fake_fail("%s: the instantiated graph %p was destroyed", call, (void *)handle);
    return &execs[index];
}

/* The order of a capture is the nodes' order. Their handles only count. */
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, size_t *count)
{
    fake_enter("cudaGraphGetNodes");
    const graph *g = find_graph("cudaGraphGetNodes", handle);
    const size_t all = (size_t)g->recording->count;
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < all ? (cudaGraphNode_t)(NODE_HANDLE + i) : NULL;
    if (!nodes || *count > all) *count = all;
    return fake_return(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle)
{
    fake_enter("cudaGraphDestroy");
    graph *g = find_graph("cudaGraphDestroy", handle);
    release(g->recording);
    g->recording = NULL;
    return fake_return(cudaSuccess);
}

static cudaError_t instantiate(
    const char *call, cudaGraphExec_t *made, cudaGraph_t handle, unsigned long long flags)
{
    fake_enter(call);
    graph_forbid(call);
    if (flags) fake_fail("%s: the fake knows no flags: %llu", call, flags);
    recording *r = find_graph(call, handle)->recording;
    count_add(FAKE_GRAPHS, call, 1);
    const int index = new_handle(&exec_count);
    r->users++;
    execs[index].recording = r;
    *made = (cudaGraphExec_t)(EXEC_HANDLE + (uintptr_t)index);
    return fake_return(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t *made, cudaGraph_t handle, unsigned long long flags)
{
    return instantiate("cudaGraphInstantiate", made, handle, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(
    cudaGraphExec_t *made, cudaGraph_t handle, unsigned long long flags)
{
    return instantiate("cudaGraphInstantiateWithFlags", made, handle, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle)
{
    static const char call[] = "cudaGraphExecDestroy";
    fake_enter(call);
    exec *e = find_exec(call, handle);
    if (!queue_is_seen(e->last))
        fake_fail("%s: nobody has waited for the graph's launch on %s", call,
            queue_name(queue_at(e->last.stream)));
    release(e->recording);
    e->recording = NULL;
    return fake_return(cudaSuccess);
}

/* ---- Launches ---- */

/* The memory that was there when it was recorded is there still. */
static void check_memory(const char *call, const recorded *o)
{
    for (int i = 0; i < o->work.accesses; i++) {
        if (!o->block[i]) continue;
        const void *address = o->work.access[i].address;
        const block *b = memory_find(address);
        if (!b || !b->live || b->number != o->block[i])
            fake_fail("%s: %s of the graph uses memory at %p that was freed after the capture",
                call, o->work.call, address);
    }
}

static exec *check_launch(const char *call, cudaGraphExec_t handle, const fake_stream *s)
{
    exec *e = find_exec(call, handle);
    graph_forbid(call);
    graph_forbid_stream(call, s);
    if (s->device != e->recording->device)
        fake_fail("%s on %s: the graph was captured on device %d", call, queue_name(s),
            e->recording->device);
    if (s->device != fake_device)
        fake_fail("%s on %s by a thread that has set device %d", call, queue_name(s), fake_device);
    return e;
}

static void launch(const recorded *o, fake_stream *s, int more)
{
    fake_work work = o->work;
    work.arg = copy_of(o->work.arg, o->work.bytes);
    const graph_effect *effect = &o->effect;
    if (effect->count != FAKE_COUNTS) count_add(effect->count, work.call, 1);
    if (effect->bytes) count_add((fake_count)(effect->count + 1), work.call, effect->bytes);
    if (effect->before) effect->before(work.arg);
    const queue_extra extra = {.more = more};
    queue_put(s, &work, &extra);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream)
{
    static const char call[] = "cudaGraphLaunch";
    fake_enter(call);
    fake_stream *s = queue_stream(call, stream);
    exec *e = check_launch(call, handle, s);
    const recording *r = e->recording;
    if (!queue_is_before(e->last, s))
        fake_fail("%s on %s: its last launch, on %s, is in flight, and nothing orders the two",
            call, queue_name(s), queue_name(queue_at(e->last.stream)));
    for (int i = 0; i < r->count; i++) check_memory(call, &r->operation[i]);
    count_add(FAKE_GRAPH_LAUNCHES, call, 1);
    e->last = (point){s->index, s->put + (uint64_t)r->count};
    for (int i = 0; i < r->count; i++) launch(&r->operation[i], s, i + 1 < r->count);
    return fake_return(cudaSuccess);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream)
{
    static const char call[] = "cudaGraphUpload";
    fake_enter(call);
    check_launch(call, handle, queue_stream(call, stream));
    return fake_return(cudaSuccess);
}
