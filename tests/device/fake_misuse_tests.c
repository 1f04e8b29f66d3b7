/* Programs that misuse a device. Most are wrong in every order, since the fake compares what is not ordered
 * with what it touches; a few show only where a device is late. */
#include "tests/device/fake_programs.h"

#include <stdlib.h>

static void upload(cudaStream_t stream)
{
    CUDA(cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, stream));
}

static void download(cudaStream_t stream)
{
    CUDA(cudaMemcpyAsync(back, y, BYTES, cudaMemcpyDeviceToHost, stream));
}

static void check(void)
{
    for (int i = 0; i < COUNT; i++) REQUIRE(back[i] == (float)(3 + i + 1));
}

/* ---- The programs ---- */

static void event_wait(int wrong)
{
    upload(a);
    if (!wrong) order_by_event(a, b);
    increase(b, x, y, COUNT);
    download(b);
    CUDA(cudaStreamSynchronize(b));
    check();
}

static void event_recorded_too_early(int wrong)
{
    upload(a);
    if (wrong) order_by_event(a, b);
    increase(a, x, y, COUNT);
    if (!wrong) order_by_event(a, b);
    download(b);
    CUDA(cudaStreamSynchronize(b));
    CUDA(cudaStreamSynchronize(a));
    check();
}

/* A result is fetched before the device is through with it. */
static void early_fetch(int wrong)
{
    upload(a);
    increase(a, x, y, COUNT);
    download(a);
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    check();
    CUDA(cudaStreamSynchronize(a));
}

/* A batch's memory gets the next batch. */
static void early_refill(int wrong)
{
    upload(a);
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    for (int i = 0; i < COUNT; i++) pinned[i] = -1;
    increase(a, x, y, COUNT);
    download(a);
    CUDA(cudaStreamSynchronize(a));
    check();
}

static void early_release(int wrong)
{
    upload(a);
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    CUDA(cudaFreeHost(pinned));
    CUDA(cudaStreamSynchronize(a));
}

static void early_unregister(int wrong)
{
    float *host = calloc(1, BYTES);
    CUDA(cudaHostRegister(host, BYTES, 0));
    CUDA(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, a));
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    CUDA(cudaHostUnregister(host));
    CUDA(cudaStreamSynchronize(a));
    free(host);
}

static void default_stream(int wrong)
{
    upload(a);
    increase(wrong ? NULL : a, x, y, COUNT);
    download(a);
    CUDA(cudaStreamSynchronize(a));
    check();
}

static int nothing(void *arg)
{
    (void)arg;
    return 1;
}

/* A kernel that uses memory between its launches. */
static void with_workspace(cudaStream_t stream, float *workspace)
{
    const fake_access access = {.address = workspace, .bytes = BYTES, .mode = FAKE_WRITE};
    const fake_work work = {
        .call = "with_workspace", .run = nothing, .access = &access, .accesses = 1};
    fake_enqueue(stream, &work);
}

static void shared_workspace(int wrong)
{
    with_workspace(a, x);
    with_workspace(b, wrong ? x : y);
    CUDA(cudaDeviceSynchronize());
}

/* As launch.cuh starts kernels: what they do with memory is not known, unless it is kept from launch to launch. */
static void with_parameters(cudaStream_t stream, const void *from, void *to)
{
    struct {
        int64_t count;
        const void *from;
        void *to;
    } parameters = {COUNT, from, to};
    fake_access access[sizeof parameters / sizeof(void *)];
    const int found = fake_inside_all("with_parameters", &parameters, sizeof parameters, access);
    REQUIRE(found == 2 && parameters.count == COUNT && parameters.from != from);
    const fake_work work = {
        .call = "with_parameters", .run = nothing, .access = access, .accesses = found};
    fake_enqueue(stream, &work);
}

static void shared_scratch(int wrong)
{
    fake_scratch(y);
    float *other = device_new(COUNT);
    with_parameters(a, x, y + 1);
    with_parameters(b, x, wrong ? y + 2 : other);
    CUDA(cudaDeviceSynchronize());
}

static void freed_parameter(int wrong)
{
    if (wrong) CUDA(cudaFree(y));
    with_parameters(a, x, y + 1);
    CUDA(cudaStreamSynchronize(a));
}

static void touch(void *memory)
{
    *(volatile float *)memory = 1;
}

static void host_function_with_device_memory(int wrong)
{
    CUDA(cudaLaunchHostFunc(a, touch, wrong ? x : pinned));
    CUDA(cudaStreamSynchronize(a));
}

static void touch_through(void *memory)
{
    touch(*(void **)memory);
}

static void host_function_that_finds_device_memory(int wrong)
{
    static float *found;
    found = wrong ? x : pinned;
    CUDA(cudaLaunchHostFunc(a, touch_through, &found));
    CUDA(cudaStreamSynchronize(a));
}

static void ask(void *stream)
{
    (void)cudaStreamQuery(stream);
}

static void host_function_that_calls_cuda(int wrong)
{
    if (wrong) CUDA(cudaLaunchHostFunc(a, ask, b));
    CUDA(cudaStreamSynchronize(a));
}

static void allocation_in_a_step(int wrong)
{
    fake_forbid(1u << FAKE_ALLOCATIONS | 1u << FAKE_TO_DEVICE);
    if (wrong) device_new(4);
    increase(a, x, y, COUNT);
    CUDA(cudaStreamSynchronize(a));
    fake_forbid(0);
    device_new(4);
}

static void transfer_in_a_step(int wrong)
{
    fake_forbid(1u << FAKE_ALLOCATIONS | 1u << FAKE_TO_DEVICE);
    if (wrong) upload(a);
    CUDA(cudaStreamSynchronize(a));
}

static void use_after_free(int wrong)
{
    if (wrong) CUDA(cudaFree(x));
    increase(a, x, y, COUNT);
    CUDA(cudaStreamSynchronize(a));
}

static void free_while_in_use(int wrong)
{
    increase(a, x, y, COUNT);
    if (!wrong) CUDA(cudaStreamSynchronize(a));
    CUDA(cudaFree(y));
    CUDA(cudaStreamSynchronize(a));
}

static void free_twice(int wrong)
{
    CUDA(cudaFree(y));
    if (wrong) CUDA(cudaFree(y));
}

static void host_uses_freed_pinned_memory(int wrong)
{
    if (wrong) CUDA(cudaFreeHost(back));
    back[3] = 1;
}

static void too_long(int wrong)
{
    CUDA(cudaMemcpyAsync(x, pinned, BYTES + (wrong ? 4 : 0), cudaMemcpyHostToDevice, a));
    CUDA(cudaStreamSynchronize(a));
}

static void wrong_way(int wrong)
{
    CUDA(cudaMemcpyAsync(
        x, pinned, BYTES, wrong ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice, a));
    CUDA(cudaStreamSynchronize(a));
}

static void unfinished(int wrong)
{
    upload(a);
    if (!wrong) CUDA(cudaStreamSynchronize(a));
}

/* Nobody has waited for the kernel, but for something on another stream that comes after it. */
static void waited_for_by_way_of_another(int wrong)
{
    increase(a, x, y, COUNT);
    if (!wrong) order_by_event(a, b);
    with_workspace(b, device_new(COUNT));
    CUDA(cudaStreamSynchronize(b));
}

static void destroyed_stream(int wrong)
{
    CUDA(cudaStreamDestroy(b));
    upload(wrong ? b : a);
    CUDA(cudaStreamSynchronize(a));
}

static void destroyed_event(int wrong)
{
    cudaEvent_t event, next;
    CUDA(cudaEventCreate(&event));
    CUDA(cudaEventDestroy(event));
    CUDA(cudaEventCreate(&next)); /* in its place */
    CUDA(cudaEventRecord(wrong ? event : next, a));
    CUDA(cudaStreamSynchronize(a));
}

static void launch_on_another_device(int wrong)
{
    CUDA(cudaSetDevice(1));
    float *far = device_new(COUNT);
    CUDA(cudaDeviceEnablePeerAccess(0, 0));
    if (!wrong) CUDA(cudaSetDevice(0));
    increase(a, wrong ? far : x, wrong ? far : y, COUNT);
    CUDA(cudaStreamSynchronize(a));
}

static const fake_program programs[] = {
    {"a missing event wait", event_wait, "increase on stream 2 of device 0 reads memory at 0x",
        NULL},
    {"an event recorded too early", event_recorded_too_early, "and nothing orders the two", NULL},
    {"an early fetch", early_fetch, "not so: back[i] == (float)(3 + i + 1)", "late"},
    {"an early refill", early_refill, "cudaMemcpyAsync: its source at 0x", "late"},
    {"an early release of pinned memory", early_release,
        "nobody has waited for cudaMemcpyAsync on stream 1 of device 0", NULL},
    {"an early release of registered memory", early_unregister, "cudaHostUnregister: 0x", NULL},
    {"a kernel on the default stream", default_stream,
        "increase on the default stream of device 0 reads", NULL},
    {"a workspace shared by two streams", shared_workspace,
        "with_workspace on stream 2 of device 0 writes", NULL},
    {"a kernel's memory shared by two streams", shared_scratch,
        "with_parameters on stream 2 of device 0 writes", NULL},
    {"freed memory in a kernel's parameters", freed_parameter, "with_parameters: 0x", NULL},
    {"a device's address for a host function", host_function_with_device_memory,
        "cudaLaunchHostFunc: 0x", NULL},
    {"a device's address in a host function", host_function_that_finds_device_memory,
        "reads or writes at 0x", NULL},
    {"CUDA in a host function", host_function_that_calls_cuda,
        "cudaStreamQuery is called by a host function", NULL},
    {"cudaMalloc in a step", allocation_in_a_step, "cudaMalloc, where allocations are forbidden",
        NULL},
    {"a transfer in a step", transfer_in_a_step, "cudaMemcpyAsync, where to_device are forbidden",
        NULL},
    {"use after free", use_after_free, "in 256 bytes of a device's memory that were freed", NULL},
    {"a free of what is in use", free_while_in_use,
        "nobody has waited for increase on stream 1 of device 0", NULL},
    {"a second free", free_twice, "was freed already", NULL},
    {"the host in freed pinned memory", host_uses_freed_pinned_memory,
        "pinned memory that was freed", NULL},
    {"a copy that is too long", too_long, "260 bytes at 0x", NULL},
    {"a copy the wrong way", wrong_way, "cudaMemcpyAsync, DeviceToHost: the target 0x", NULL},
    {"a copy unfinished at the end", unfinished,
        "the process ends, and nobody has waited for cudaMemcpyAsync on stream 1", NULL},
    {"a kernel nobody waits for", waited_for_by_way_of_another,
        "nobody has waited for increase on stream 1", NULL},
    {"a destroyed stream", destroyed_stream, "stream 2 of device 0 was destroyed", NULL},
    {"a destroyed event", destroyed_event, "is no event, or was destroyed", NULL},
    {"a launch on another device's stream", launch_on_another_device,
        "by a thread that has set device 1", NULL},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

START_TEST(programs_that_are_right)
{
    run_programs(programs, PROGRAMS, 0);
}
END_TEST

START_TEST(programs_that_are_wrong)
{
    run_programs(programs, PROGRAMS, 1);
}
END_TEST

void add_misuse_tests(Suite *suite)
{
    TCase *tests = testing_case(suite, "misuse");
    tcase_add_test(tests, programs_that_are_right);
    tcase_add_test(tests, programs_that_are_wrong);
}
