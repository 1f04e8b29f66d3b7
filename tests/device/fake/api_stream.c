/* CUDA's calls about streams and events, and what is left on a stream. */
#include "tests/device/fake/graph.h"
#include "tests/device/fake/memory.h"
#include "tests/device/fake/order.h"

#include <stdlib.h>

static void put(fake_stream *s, const char *call, const queue_extra *extra)
{
    const fake_work nothing = {.call = call};
    queue_put(s, &nothing, extra);
}

static point end_of(const fake_stream *s)
{
    return (point){s->index, s->put};
}

/* ---- Streams ---- */

static cudaError_t stream_new(const char *call, cudaStream_t *handle, unsigned flags, int priority)
{
    fake_enter(call);
    if (fake_device >= fake_get_settings()->devices) return fake_return(cudaErrorNoDevice);
    count_add(FAKE_STREAMS, call, 1);
    *handle = queue_stream_new(fake_device, flags, priority);
    return fake_return(cudaSuccess);
}

cudaError_t cudaStreamCreate(cudaStream_t *handle)
{
    return stream_new("cudaStreamCreate", handle, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *handle, unsigned flags)
{
    return stream_new("cudaStreamCreateWithFlags", handle, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *handle, unsigned flags, int priority)
{
    return stream_new("cudaStreamCreateWithPriority", handle, flags, priority);
}

/* What is on it still runs. */
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    fake_enter("cudaStreamDestroy");
    fake_stream *s = queue_stream("cudaStreamDestroy", handle);
    if (s->index < MOST_DEVICES) fake_fail("cudaStreamDestroy: a default stream stays");
    if (s->capture) fake_fail("cudaStreamDestroy: the capture of %s has not ended", queue_name(s));
    s->live = 0;
    return fake_return(cudaSuccess);
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority)
{
    fake_enter("cudaStreamGetPriority");
    *priority = queue_stream("cudaStreamGetPriority", handle)->priority;
    return fake_return(cudaSuccess);
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *flags)
{
    fake_enter("cudaStreamGetFlags");
    *flags = queue_stream("cudaStreamGetFlags", handle)->flags;
    return fake_return(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    fake_enter("cudaStreamSynchronize");
    const fake_stream *s = queue_stream("cudaStreamSynchronize", handle);
    graph_forbid("cudaStreamSynchronize");
    graph_forbid_stream("cudaStreamSynchronize", s);
    count_add(FAKE_SYNCHRONISATIONS, "cudaStreamSynchronize", 1);
    order_wait(end_of(s), &s->known);
    return fake_return(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    fake_enter("cudaStreamQuery");
    const fake_stream *s = queue_stream("cudaStreamQuery", handle);
    graph_forbid("cudaStreamQuery");
    graph_forbid_stream("cudaStreamQuery", s);
    return fake_return(order_ask(end_of(s), &s->known) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags)
{
    (void)flags;
    fake_enter("cudaStreamWaitEvent");
    fake_stream *s = queue_stream("cudaStreamWaitEvent", handle);
    const queue_extra extra = {.wait = queue_event("cudaStreamWaitEvent", event_handle), .idle = 1};
    graph_forbid_stream("cudaStreamWaitEvent", s);
    if (extra.wait->recorded) put(s, "cudaStreamWaitEvent", &extra);
    return fake_return(cudaSuccess);
}

typedef struct host_call {
    cudaHostFn_t function;
    void *data;
} host_call;

static int call_host(void *arg)
{
    const host_call call = *(host_call *)arg;
    free(arg);
    call.function(call.data);
    return 1;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *data)
{
    static const char call[] = "cudaLaunchHostFunc";
    fake_enter(call);
    if (memory_is_device(data)) fake_fail("%s: %p is a device's address", call, data);
    host_call *arg = malloc(sizeof *arg);
    if (!arg) fake_fail("%s: no memory", call);
    *arg = (host_call){function, data};
    count_add(FAKE_HOST_FUNCTIONS, call, 1);
    const fake_work work = {.call = call, .run = call_host, .arg = arg};
    const queue_extra extra = {.host = 1};
    queue_put(queue_stream(call, handle), &work, &extra);
    return fake_return(cudaSuccess);
}

void fake_enqueue(cudaStream_t handle, const fake_work *work)
{
    fake_enter(work->call);
    fake_stream *s = queue_stream(work->call, handle);
    if (s->device != fake_device)
        fake_fail("%s is launched on %s by a thread that has set device %d", work->call,
            queue_name(s), fake_device);
    cudaError_t error = cudaSuccess;
    if (s->capture) {
        error = graph_record(s, work, NULL);
    } else {
        count_add(FAKE_LAUNCHES, work->call, 1);
        queue_put(s, work, NULL);
    }
    (void)fake_return(error);
}

/* ---- Events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *handle, unsigned flags)
{
    fake_enter("cudaEventCreateWithFlags");
    count_add(FAKE_EVENTS, "cudaEventCreateWithFlags", 1);
    *handle = queue_event_new(fake_device, flags);
    return fake_return(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *handle)
{
    return cudaEventCreateWithFlags(handle, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    fake_enter("cudaEventDestroy");
    queue_event_release(queue_event("cudaEventDestroy", handle));
    return fake_return(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle)
{
    fake_enter("cudaEventRecord");
    fake_stream *s = queue_stream("cudaEventRecord", stream_handle);
    const fake_event *e = queue_event("cudaEventRecord", handle);
    if (e->device != s->device)
        fake_fail("cudaEventRecord: an event of device %d on %s", e->device, queue_name(s));
    const queue_extra extra = {.record = handle, .idle = 1};
    put(s, "cudaEventRecord", &extra);
    return fake_return(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    fake_enter("cudaEventQuery");
    graph_forbid("cudaEventQuery");
    const fake_event *e = queue_event("cudaEventQuery", handle);
    if (!e->recorded || order_ask(e->at, &e->known)) return fake_return(cudaSuccess);
    return fake_return(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    fake_enter("cudaEventSynchronize");
    graph_forbid("cudaEventSynchronize");
    const fake_event *e = queue_event("cudaEventSynchronize", handle);
    count_add(FAKE_SYNCHRONISATIONS, "cudaEventSynchronize", 1);
    if (e->recorded) order_wait(e->at, &e->known);
    return fake_return(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    fake_enter("cudaEventElapsedTime");
    graph_forbid("cudaEventElapsedTime");
    const fake_event *a = queue_event("cudaEventElapsedTime", from);
    const fake_event *b = queue_event("cudaEventElapsedTime", to);
    if ((a->flags | b->flags) & cudaEventDisableTiming)
        fake_fail("cudaEventElapsedTime: an event was created without time");
    if (!a->recorded || !b->recorded)
        fake_fail("cudaEventElapsedTime: an event was never recorded");
    if (!(a->time > 0) || !(b->time > 0)) return fake_return(cudaErrorNotReady);
    *ms = (float)(1e3 * (b->time - a->time));
    return fake_return(cudaSuccess);
}
