/* Programs that misuse CUDA graphs: in a capture, at its beginning or end, and at launches. */
#include "tests/device/fake_programs.h"

#include <stdlib.h>
#include <string.h>

/* ---- In a capture ---- */

/* What CUDA lets no thread call that captures. It is right before the capture. */
static void call_in_a_capture(int wrong, void (*call)(void))
{
    if (!wrong) call();
    capture(a);
    if (wrong) call();
    launch_and_wait(end_capture(a), a);
    CUDA(cudaDeviceSynchronize());
}

#define CALL_IN_A_CAPTURE(name, call)                                                              \
    static void name(void)                                                                         \
    {                                                                                              \
        CUDA(call);                                                                                \
    }                                                                                              \
    static void name##_in_a_capture(int wrong)                                                     \
    {                                                                                              \
        call_in_a_capture(wrong, name);                                                            \
    }
static void *got;
CALL_IN_A_CAPTURE(allocate, cudaMalloc(&got, BYTES))
CALL_IN_A_CAPTURE(release, cudaFree(y))
CALL_IN_A_CAPTURE(pin, cudaMallocHost(&got, BYTES))
CALL_IN_A_CAPTURE(unpin, cudaFreeHost(pinned))
CALL_IN_A_CAPTURE(wait_for_stream, cudaStreamSynchronize(b))
CALL_IN_A_CAPTURE(ask_stream, cudaStreamQuery(b))
CALL_IN_A_CAPTURE(wait_for_device, cudaDeviceSynchronize())
CALL_IN_A_CAPTURE(wait_for_event, cudaEventSynchronize(event_new()))
CALL_IN_A_CAPTURE(ask_event, cudaEventQuery(event_new()))
CALL_IN_A_CAPTURE(copy_and_wait, cudaMemcpy(y, pinned, BYTES, cudaMemcpyHostToDevice))
CALL_IN_A_CAPTURE(fill_by_default, cudaMemset(y, 0, BYTES))

/* What a capture of ours has none of. */
static void event_in_a_capture(int wrong)
{
    const cudaEvent_t event = event_new();
    capture(a);
    put_increase(a);
    if (wrong) CUDA(cudaEventRecord(event, a));
    const cudaGraphExec_t exec = end_capture(a);
    CUDA(cudaEventRecord(event, a));
    launch_and_wait(exec, a);
}

static void wait_in_a_capture(int wrong)
{
    const cudaEvent_t event = event_new();
    CUDA(cudaEventRecord(event, b));
    capture(a);
    if (wrong) CUDA(cudaStreamWaitEvent(a, event, 0));
    put_increase(a);
    const cudaGraphExec_t exec = end_capture(a);
    CUDA(cudaStreamWaitEvent(a, event, 0));
    launch_and_wait(exec, a);
}

static void do_nothing(void *unused)
{
    (void)unused;
}

static void host_function_in_a_capture(int wrong)
{
    capture(a);
    if (wrong) CUDA(cudaLaunchHostFunc(a, do_nothing, NULL));
    const cudaGraphExec_t exec = end_capture(a);
    CUDA(cudaLaunchHostFunc(a, do_nothing, NULL));
    launch_and_wait(exec, a);
}

static void graph_in_a_capture(int wrong)
{
    const cudaGraphExec_t inner = capture_increase();
    capture(a);
    if (wrong) CUDA(cudaGraphLaunch(inner, a));
    launch_and_wait(end_capture(a), a);
    launch_and_wait(inner, a);
}

static int nothing(void *arg)
{
    free(arg);
    return 1;
}

static void unknown_parameters(int wrong)
{
    const fake_work work = {
        .call = "library", .run = nothing, .arg = malloc(8), .bytes = wrong ? 0 : 8};
    capture(a);
    fake_enqueue(a, &work);
    launch_and_wait(end_capture(a), a);
}

static void library_allocates_in_a_capture(int wrong)
{
    if (!wrong) fake_disown(fake_own(BYTES));
    capture(a);
    if (wrong) fake_disown(fake_own(BYTES));
    launch_and_wait(end_capture(a), a);
}

static void pageable_source(int wrong)
{
    float *host = malloc(BYTES);
    memcpy(host, pinned, BYTES);
    capture(a);
    CUDA(cudaMemcpyAsync(x, wrong ? host : pinned, BYTES, cudaMemcpyHostToDevice, a));
    launch_and_wait(end_capture(a), a);
    free(host);
}

static void pageable_target(int wrong)
{
    float *host = malloc(BYTES);
    capture(a);
    CUDA(cudaMemcpyAsync(wrong ? host : back, x, BYTES, cudaMemcpyDeviceToHost, a));
    launch_and_wait(end_capture(a), a);
    free(host);
}

/* ---- Beginning and ending ---- */

static void global_mode(int wrong)
{
    CUDA(cudaStreamBeginCapture(
        a, wrong ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal));
    end_capture(a);
}

static void default_stream_captured(int wrong)
{
    capture(wrong ? NULL : a);
    end_capture(a);
}

static void captured_twice(int wrong)
{
    capture(a);
    if (!wrong) end_capture(a);
    capture(a);
    end_capture(a);
}

static void two_captures(int wrong)
{
    capture(a);
    if (!wrong) end_capture(a);
    capture(b);
    end_capture(b);
}

static void *end_a(void *unused)
{
    (void)unused;
    end_capture(a);
    return NULL;
}

static void *capture_a(void *unused)
{
    (void)unused;
    capture(a);
    end_capture(a);
    return NULL;
}

static void ended_by_another_thread(int wrong)
{
    if (!wrong) in_another_thread(capture_a);
    capture(a);
    if (wrong) in_another_thread(end_a);
    end_capture(a);
}

static void *put_on_a(void *unused)
{
    (void)unused;
    increase(a, x, y, COUNT);
    return NULL;
}

static void put_by_another_thread(int wrong)
{
    capture(a);
    if (wrong) in_another_thread(put_on_a);
    const cudaGraphExec_t exec = end_capture(a);
    in_another_thread(put_on_a);
    launch_and_wait(exec, a);
}

static void *synchronize_a(void *unused)
{
    (void)unused;
    CUDA(cudaStreamSynchronize(a));
    return NULL;
}

static void *synchronize(void *unused)
{
    (void)unused;
    CUDA(cudaDeviceSynchronize());
    return NULL;
}

static void waited_for_by_another_thread(int wrong)
{
    capture(a);
    if (wrong) in_another_thread(synchronize_a);
    end_capture(a);
    in_another_thread(synchronize_a);
}

static void device_waited_for_by_another_thread(int wrong)
{
    capture(a);
    if (wrong) in_another_thread(synchronize);
    end_capture(a);
    in_another_thread(synchronize);
}

static void *use_default_stream(void *unused)
{
    (void)unused;
    CUDA(cudaMemset(y, 0, BYTES));
    return NULL;
}

/* A stream that waits for the default stream. */
static void default_stream_beside_a_capture(int wrong)
{
    cudaStream_t blocking;
    CUDA(cudaStreamCreate(&blocking));
    capture(blocking);
    if (wrong) in_another_thread(use_default_stream);
    end_capture(blocking);
    in_another_thread(use_default_stream);
    CUDA(cudaDeviceSynchronize());
}

static void ended_on_another_stream(int wrong)
{
    capture(a);
    end_capture(wrong ? b : a);
}

static void destroyed_in_a_capture(int wrong)
{
    capture(a);
    if (!wrong) end_capture(a);
    CUDA(cudaStreamDestroy(a));
}

static void never_ended(int wrong)
{
    capture(a);
    if (!wrong) end_capture(a);
}

/* ---- Launches ---- */

static void freed_memory(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    if (wrong) CUDA(cudaFree(y));
    launch_and_wait(exec, a);
}

static void freed_and_allocated(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    if (wrong) CUDA(cudaFree(y));
    device_new(COUNT);
    launch_and_wait(exec, a);
}

/* What kernels have in their parameters, of which only addresses are known. */
static void freed_parameter(int wrong)
{
    void **parameters = malloc(sizeof *parameters);
    *parameters = y + 1;
    fake_access access[2];
    capture(a);
    const int found = fake_inside_all("kernel", parameters, sizeof *parameters, access);
    const fake_work work = {.call = "kernel",
        .run = nothing,
        .arg = parameters,
        .bytes = sizeof *parameters,
        .access = access,
        .accesses = found};
    fake_enqueue(a, &work);
    const cudaGraphExec_t exec = end_capture(a);
    if (wrong) CUDA(cudaFree(y));
    launch_and_wait(exec, a);
}

static void freed_pinned(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    if (wrong) CUDA(cudaFreeHost(pinned));
    launch_and_wait(exec, a);
}

/* The same address, in another allocation. */
static void registered_again(int wrong)
{
    float *host = calloc(1, BYTES);
    CUDA(cudaHostRegister(host, BYTES, 0));
    capture(a);
    CUDA(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, a));
    const cudaGraphExec_t exec = end_capture(a);
    if (wrong) CUDA(cudaHostUnregister(host));
    if (wrong) CUDA(cudaHostRegister(host, BYTES, 0));
    launch_and_wait(exec, a);
    CUDA(cudaHostUnregister(host));
    free(host);
}

static void in_flight(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaGraphLaunch(exec, a));
    if (!wrong) order_by_event(a, b);
    launch_and_wait(exec, b);
    CUDA(cudaStreamSynchronize(a));
}

static void destroyed(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    if (wrong) CUDA(cudaGraphExecDestroy(exec));
    launch_and_wait(exec, a);
    CUDA(cudaGraphExecDestroy(exec));
}

static void destroyed_in_flight(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaGraphLaunch(exec, a));
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaStreamSynchronize(a));
}

static void graph_destroyed(int wrong)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    capture(a);
    CUDA(cudaStreamEndCapture(a, &graph));
    if (wrong) CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
}

static void on_another_device(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaSetDevice(1));
    const cudaStream_t far = stream_new();
    CUDA(cudaSetDevice(wrong));
    launch_and_wait(exec, wrong ? far : a);
}

/* What a graph writes is read on another stream. */
static void race_with_a_launch(int wrong)
{
    float *z = device_new(COUNT);
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaGraphLaunch(exec, a));
    if (!wrong) order_by_event(a, b);
    increase(b, y, z, COUNT);
    CUDA(cudaDeviceSynchronize());
}

static void launch_in_a_race(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    increase(b, x, y, COUNT);
    if (!wrong) order_by_event(b, a);
    CUDA(cudaGraphLaunch(exec, a));
    CUDA(cudaDeviceSynchronize());
}

static void early_refill(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaGraphLaunch(exec, a));
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    pinned[0] = -1;
    CUDA(cudaStreamSynchronize(a));
}

static void early_fetch(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaGraphLaunch(exec, a));
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    check_increased(3);
    CUDA(cudaStreamSynchronize(a));
}

static void freed_in_flight(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaGraphLaunch(exec, a));
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    CUDA(cudaFree(y));
    CUDA(cudaStreamSynchronize(a));
}

static void nobody_waits(int wrong)
{
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaGraphLaunch(exec, a));
    if (!wrong) CUDA(cudaStreamSynchronize(a));
}

#define FORBIDDEN " by a thread that captures stream 1 of device 0: CUDA forbids it"
static const fake_program programs[] = {
    {"cudaMalloc in a capture", allocate_in_a_capture, "cudaMalloc" FORBIDDEN, NULL},
    {"cudaFree in a capture", release_in_a_capture, "cudaFree" FORBIDDEN, NULL},
    {"cudaMallocHost in a capture", pin_in_a_capture, "cudaMallocHost" FORBIDDEN, NULL},
    {"cudaFreeHost in a capture", unpin_in_a_capture, "cudaFreeHost" FORBIDDEN, NULL},
    {"cudaStreamSynchronize in a capture", wait_for_stream_in_a_capture,
        "cudaStreamSynchronize" FORBIDDEN, NULL},
    {"cudaStreamQuery in a capture", ask_stream_in_a_capture, "cudaStreamQuery" FORBIDDEN, NULL},
    {"cudaDeviceSynchronize in a capture", wait_for_device_in_a_capture,
        "cudaDeviceSynchronize" FORBIDDEN, NULL},
    {"cudaEventSynchronize in a capture", wait_for_event_in_a_capture,
        "cudaEventSynchronize" FORBIDDEN, NULL},
    {"cudaEventQuery in a capture", ask_event_in_a_capture, "cudaEventQuery" FORBIDDEN, NULL},
    {"cudaMemcpy in a capture", copy_and_wait_in_a_capture, "cudaMemcpy" FORBIDDEN, NULL},
    {"cudaMemset in a capture", fill_by_default_in_a_capture, "cudaMemset" FORBIDDEN, NULL},
    {"a library that allocates in a capture", library_allocates_in_a_capture,
        "an allocation by a library" FORBIDDEN, NULL},
    {"an event in a capture", event_in_a_capture,
        "cudaEventRecord on stream 1 of device 0, which is captured", NULL},
    {"a wait in a capture", wait_in_a_capture,
        "cudaStreamWaitEvent on stream 1 of device 0, which is captured", NULL},
    {"a host function in a capture", host_function_in_a_capture,
        "cudaLaunchHostFunc on stream 1 of device 0, which is captured", NULL},
    {"a graph in a capture", graph_in_a_capture, "cudaGraphLaunch" FORBIDDEN, NULL},
    {"work whose parameters are not known", unknown_parameters,
        "library on stream 1 of device 0, which is captured: it cannot be recorded", NULL},
    {"a copy from pageable memory", pageable_source, "is pageable memory of the host", NULL},
    {"a copy to pageable memory", pageable_target, "is pageable memory of the host", NULL},
    {"a capture in global mode", global_mode, "cudaStreamBeginCapture in mode 0", NULL},
    {"a capture of the default stream", default_stream_captured,
        "a default stream cannot be captured", NULL},
    {"a capture in a capture", captured_twice,
        "cudaStreamBeginCapture on stream 1 of device 0, which is captured", NULL},
    {"two captures by a thread", two_captures, "this thread captures stream 1 of device 0 already",
        NULL},
    {"a capture that another thread ends", ended_by_another_thread,
        "cudaStreamEndCapture on stream 1 of device 0, which another thread captures", NULL},
    {"a launch on what another thread captures", put_by_another_thread,
        "increase on stream 1 of device 0, which another thread captures", NULL},
    {"a wait for what another thread captures", waited_for_by_another_thread,
        "cudaStreamSynchronize on stream 1 of device 0, which is captured", NULL},
    {"a wait for the device of a capture", device_waited_for_by_another_thread,
        "cudaDeviceSynchronize on stream 1 of device 0, which is captured", NULL},
    {"the default stream beside a capture", default_stream_beside_a_capture,
        "cudaMemset on the default stream, which waits for stream 3 of device 0", NULL},
    {"a capture that ends on another stream", ended_on_another_stream,
        "stream 2 of device 0 is not captured", NULL},
    {"a stream destroyed in a capture", destroyed_in_a_capture,
        "the capture of stream 1 of device 0 has not ended", NULL},
    {"a capture that never ends", never_ended,
        "the process ends, and the capture of stream 1 of device 0 has not", NULL},
    {"freed memory in a graph", freed_memory, "increase of the graph uses memory at 0x", NULL},
    {"freed memory, and new memory, in a graph", freed_and_allocated,
        "that was freed after the capture", NULL},
    {"freed memory in the parameters of a graph", freed_parameter,
        "kernel of the graph uses memory at 0x", NULL},
    {"freed pinned memory in a graph", freed_pinned,
        "cudaMemcpyAsync of the graph uses memory at 0x", NULL},
    {"memory registered again", registered_again, "that was freed after the capture", NULL},
    {"a graph that is in flight", in_flight, "its last launch, on stream 1 of device 0", NULL},
    {"a destroyed graph", destroyed, "cudaGraphLaunch: the instantiated graph", NULL},
    {"a graph destroyed in flight", destroyed_in_flight,
        "nobody has waited for the graph's launch on stream 1", NULL},
    {"a graph that was destroyed", graph_destroyed, "cudaGraphInstantiate: the graph 0x", NULL},
    {"a graph on another device", on_another_device, "the graph was captured on device 0", NULL},
    {"a race with a launch", race_with_a_launch,
        "increase on stream 2 of device 0 reads memory at 0x", NULL},
    {"a launch in a race", launch_in_a_race,
        "cudaMemcpyAsync on stream 1 of device 0 writes memory at 0x", NULL},
    {"an early refill", early_refill, "cudaMemcpyAsync: its source at 0x", "late"},
    {"an early fetch", early_fetch, "not so: back[i] == first", "late"},
    {"a free of what a launch uses", freed_in_flight,
        "nobody has waited for cudaMemcpyAsync on stream 1 of device 0", NULL},
    {"a launch nobody waits for", nobody_waits,
        "the process ends, and nobody has waited for cudaMemcpyAsync on stream 1", NULL},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

START_TEST(graphs_that_are_right)
{
    run_programs(programs, PROGRAMS, 0);
}
END_TEST

START_TEST(graphs_that_are_wrong)
{
    run_programs(programs, PROGRAMS, 1);
}
END_TEST

void add_graph_misuse_tests(TCase *tests)
{
    tcase_add_test(tests, graphs_that_are_right);
    tcase_add_test(tests, graphs_that_are_wrong);
}
