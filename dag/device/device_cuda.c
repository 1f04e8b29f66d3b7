/* NVIDIA's GPUs, through CUDA's run-time library. */
#include "dag/device/device.h"

#include "dag/base/log.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/* How many there are, or why that cannot be known; *count is set in both cases. */
static cudaError_t ask(int *count)
{
    *count = 0; /* which an error leaves as it is */
    const cudaError_t error = cudaGetDeviceCount(count);
    if (error) *count = 0;
    (void)cudaGetLastError(); /* it would be the next call's */
    return error;
}

/* Of the compute capability that kernels need, whose instructions for bf16 begin there. */
enum { LEAST_MAJOR = 8 };

/* How many of them come before the first that is too old: CUDA puts the fastest first. */
static int count_usable(int count)
{
    int usable = 0, major = 0;
    while (usable < count &&
           !cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, usable) &&
           major >= LEAST_MAJOR)
        usable++;
    (void)cudaGetLastError(); /* it would be the next call's */
    return usable;
}

static int cuda_count(void)
{
    int count;
    ask(&count);
    return count_usable(count);
}

static tutti_status cuda_info(int index, tutti_device_info *info)
{
    struct cudaDeviceProp properties;
    const int count = cuda_count();
    if (index < 0 || index >= count)
        return tutti_fail(TUTTI_ERR_INVAL, "GPU %d: there are %d, from 0", index, count);
    tutti_device_info found = {0};
    cudaError_t error = cudaGetDeviceProperties(&properties, index);
    if (!error) error = cudaDeviceGetPCIBusId(found.bus, sizeof found.bus, index);
    if (error) return tutti_fail(TUTTI_ERR_KERNEL, "GPU %d: %s", index, cudaGetErrorString(error));
    snprintf(found.name, sizeof found.name, "%s", properties.name);
    found.bytes = properties.totalGlobalMem;
    found.major = properties.major;
    found.minor = properties.minor;
    *info = found;
    return TUTTI_OK;
}

static int cuda_compiled(void)
{
    return CUDART_VERSION;
}

static int cuda_runtime(void)
{
    int version = 0;
    return cudaRuntimeGetVersion(&version) ? 0 : version;
}

static int cuda_driver(void)
{
    int version = 0;
    return cudaDriverGetVersion(&version) ? 0 : version;
}

static const char *cuda_lacks(void)
{
    int count;
    const cudaError_t error = ask(&count);
    if (!cuda_driver())
        return "there is no driver for NVIDIA's GPUs (libcuda.so.1): install it, or start the "
               "container with the GPUs (docker run --gpus all)";
    if (error == cudaErrorInsufficientDriver)
        return "the driver is older than CUDA: install a newer one, or build with an older CUDA";
    if (error == cudaErrorNoDevice || (!error && !count))
        return "there is a driver, but no GPU that this program may use: see nvidia-smi, and "
               "CUDA_VISIBLE_DEVICES";
    if (error) return cudaGetErrorString(error);
    if (!count_usable(count))
        return "the first GPU is older than compute capability 8.0, which kernels need: if there "
               "is a newer one, put it first in CUDA_VISIBLE_DEVICES";
    return NULL;
}

/* ---- memory, queues and events ---- */

static tutti_status check(int index, const char *what, cudaError_t error)
{
    if (!error) return TUTTI_OK;
    (void)cudaGetLastError(); /* it would be the next call's */
    return tutti_fail(TUTTI_ERR_KERNEL, "GPU %d: %s: %s", index, what, cudaGetErrorString(error));
}

static tutti_status cuda_select(int index)
{
    return check(index, "it cannot be used", cudaSetDevice(index));
}

static tutti_status cuda_room(int index, size_t *bytes)
{
    size_t all;
    tutti_status status = cuda_select(index);
    if (!status) status = check(index, "asking for free memory", cudaMemGetInfo(bytes, &all));
    return status;
}

static tutti_status refuse_memory(int index, size_t bytes, const char *of, cudaError_t error)
{
    (void)cudaGetLastError();
    return tutti_fail(TUTTI_ERR_NOMEM, "GPU %d: no %zu bytes of %s: %s", index, bytes, of,
        cudaGetErrorString(error));
}

static tutti_status cuda_alloc(int index, size_t bytes, void **memory)
{
    if (!bytes) bytes = 1;
    tutti_status status = cuda_select(index);
    if (status) return status;
    cudaError_t error = cudaMalloc(memory, bytes);
    if (error) return refuse_memory(index, bytes, "its memory", error);
    error = cudaMemset(*memory, 0, bytes);
    if (!error) error = cudaDeviceSynchronize();
    if (!error) return TUTTI_OK;
    cudaFree(*memory);
    return check(index, "clearing its memory", error);
}

static void cuda_release(int index, void *memory)
{
    if (memory && !cuda_select(index)) cudaFree(memory);
}

static tutti_status cuda_pin(int index, size_t bytes, void **memory)
{
    if (!bytes) bytes = 1;
    tutti_status status = cuda_select(index);
    if (status) return status;
    const cudaError_t error = cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
    if (error) return refuse_memory(index, bytes, "main memory for its copies", error);
    memset(*memory, 0, bytes);
    return TUTTI_OK;
}

static void cuda_unpin(int index, void *memory)
{
    if (memory && !cuda_select(index)) cudaFreeHost(memory);
}

static tutti_status cuda_queue_open(int index, void **queue)
{
    tutti_status status = cuda_select(index);
    if (status) return status;
    return check(index, "opening a stream",
        cudaStreamCreateWithFlags((cudaStream_t *)queue, cudaStreamNonBlocking));
}

static void cuda_queue_close(int index, void *queue)
{
    if (queue && !cuda_select(index)) cudaStreamDestroy(queue);
}

static tutti_status cuda_copy(int index, void *to, const void *from, size_t bytes, void *queue)
{
    tutti_status status = cuda_select(index);
    if (status) return status;
    return check(index, "a copy", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, queue));
}

static tutti_status cuda_event_open(int index, void **event)
{
    tutti_status status = cuda_select(index);
    if (status) return status;
    return check(index, "opening an event",
        cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming));
}

static tutti_status cuda_event_open_timed(int index, void **event)
{
    tutti_status status = cuda_select(index);
    if (status) return status;
    return check(index, "opening an event", cudaEventCreate((cudaEvent_t *)event));
}

static tutti_status cuda_event_elapsed(int index, void *from, void *to, double *seconds)
{
    float ms = 0;
    tutti_status status = cuda_select(index);
    if (!status)
        status = check(index, "the time between events", cudaEventElapsedTime(&ms, from, to));
    *seconds = 1e-3 * (double)ms;
    return status;
}

static tutti_status cuda_event_mark(int index, void *event, void *queue)
{
    tutti_status status = cuda_select(index);
    return status ? status : check(index, "marking an event", cudaEventRecord(event, queue));
}

static tutti_status cuda_event_passed(int index, void *event, int *passed)
{
    tutti_status status = cuda_select(index);
    if (status) return status;
    const cudaError_t error = cudaEventQuery(event);
    *passed = !error;
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return TUTTI_OK;
    }
    return check(index, "what was put on a stream has failed", error);
}

static void cuda_event_close(int index, void *event)
{
    if (event && !cuda_select(index)) cudaEventDestroy(event);
}

/* ---- recordings ---- */

static tutti_status cuda_capture_begin(int index, void *queue)
{
    tutti_status status = cuda_select(index);
    if (status) return status;
    return check(index, "recording a stream",
        cudaStreamBeginCapture(queue, cudaStreamCaptureModeThreadLocal));
}

/* The graph of the stream, in the form that can be launched. */
static cudaError_t end_capture(cudaStream_t stream, cudaGraphExec_t *recording, size_t *operations)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (!error) error = cudaGraphGetNodes(graph, NULL, operations);
    if (!error) error = cudaGraphInstantiateWithFlags(recording, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    return error;
}

static tutti_status cuda_capture_end(
    int index, void *queue, void **recording, int *operations, const char **why)
{
    cudaGraphExec_t made = NULL;
    size_t count = 0;
    tutti_status status = cuda_select(index);
    if (status) return status;
    const cudaError_t error = end_capture(queue, &made, &count);
    if (error) {
        (void)cudaGetLastError(); /* it would be the next call's */
        *why = cudaGetErrorString(error);
        return TUTTI_ERR_UNSUPPORTED;
    }
    *recording = made;
    *operations = (int)count;
    return TUTTI_OK;
}

static tutti_status cuda_replay(int index, void *recording, void *queue)
{
    tutti_status status = cuda_select(index);
    return status ? status : check(index, "replaying a stream", cudaGraphLaunch(recording, queue));
}

static void cuda_recording_close(int index, void *recording)
{
    if (recording && !cuda_select(index)) cudaGraphExecDestroy(recording);
}

const tutti_device_kind tutti_device_kind_built = {.name = "CUDA",
    .count = cuda_count,
    .info = cuda_info,
    .compiled = cuda_compiled,
    .runtime = cuda_runtime,
    .driver = cuda_driver,
    .lacks = cuda_lacks,
    .select = cuda_select,
    .room = cuda_room,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .queue_open = cuda_queue_open,
    .queue_close = cuda_queue_close,
    .copy = cuda_copy,
    .event_open = cuda_event_open,
    .event_open_timed = cuda_event_open_timed,
    .event_elapsed = cuda_event_elapsed,
    .event_mark = cuda_event_mark,
    .event_passed = cuda_event_passed,
    .event_close = cuda_event_close,
    .capture_begin = cuda_capture_begin,
    .capture_end = cuda_capture_end,
    .replay = cuda_replay,
    .recording_close = cuda_recording_close};
