/* CUDA graphs on the fake device: what a capture records runs at each launch and not before, in the order of streams.
 * dag/device's recordings, which are made of them. */
#include "dag/device/device.h"
#include "tests/device/fake_programs.h"

#include <stdlib.h>
#include <string.h>

/* Nothing runs at the capture; each launch reads what is in the host's memory then. */
static void launches(void *unused)
{
    (void)unused;
    begin();
    const cudaGraphExec_t exec = capture_increase();
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++) REQUIRE(back[i] == (float)i);
    for (int launch = 0; launch < 4; launch++) {
        for (int i = 0; i < COUNT; i++) pinned[i] = (float)(100 * launch + i);
        launch_and_wait(exec, launch % 2 ? a : b);
        check_increased((float)(100 * launch));
    }
    CUDA(cudaGraphExecDestroy(exec));
}

/* On one stream, and on two that an event orders: each launch comes behind the one before. */
static void launches_in_a_row(void *unused)
{
    (void)unused;
    begin();
    capture(a);
    increase(a, x, y, COUNT);
    CUDA(cudaMemcpyAsync(x, y, BYTES, cudaMemcpyDeviceToDevice, a));
    const cudaGraphExec_t exec = end_capture(a);
    CUDA(cudaMemsetAsync(x, 0, BYTES, a));
    for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, a));
    order_by_event(a, b);
    CUDA(cudaGraphUpload(exec, b));
    for (int i = 0; i < 3; i++) CUDA(cudaGraphLaunch(exec, b));
    CUDA(cudaMemcpyAsync(back, x, BYTES, cudaMemcpyDeviceToHost, b));
    CUDA(cudaStreamSynchronize(b));
    for (int i = 0; i < COUNT; i++) REQUIRE(back[i] == 6);
    CUDA(cudaGraphExecDestroy(exec));
}

/* Two that are made of one graph are launched on two streams at the same time. */
static void two_of_a_graph(void *unused)
{
    (void)unused;
    cudaGraph_t graph;
    cudaGraphExec_t exec[2];
    cudaGraphNode_t nodes[3] = {NULL};
    size_t count = 3;
    begin();
    capture(a);
    CUDA(cudaStreamEndCapture(a, &graph)); /* of nothing */
    CUDA(cudaGraphGetNodes(graph, nodes, &count));
    REQUIRE(!count && !nodes[0]);
    CUDA(cudaGraphInstantiate(&exec[0], graph, 0));
    CUDA(cudaGraphInstantiateWithFlags(&exec[1], graph, 0));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphLaunch(exec[0], a));
    CUDA(cudaGraphLaunch(exec[1], b));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaGraphExecDestroy(exec[1]));
    CUDA(cudaGraphExecDestroy(exec[0]));
}

static void *work_beside(void *unused)
{
    (void)unused;
    float *to = device_new(COUNT);
    const cudaStream_t stream = stream_new();
    const cudaEvent_t event = event_new();
    increase(stream, x, to, COUNT);
    CUDA(cudaEventRecord(event, stream));
    CUDA(cudaEventSynchronize(event));
    CUDA(cudaFree(to));
    return NULL;
}

/* A capture is its thread's: another one allocates, launches and waits meanwhile. So may that thread launch on a
 * stream that it does not capture. */
static void beside_a_capture(void *unused)
{
    (void)unused;
    enum cudaStreamCaptureStatus status;
    begin();
    capture(a);
    increase(a, x, y, COUNT);
    CUDA(cudaStreamIsCapturing(a, &status));
    REQUIRE(status == cudaStreamCaptureStatusActive);
    CUDA(cudaStreamIsCapturing(b, &status));
    REQUIRE(status == cudaStreamCaptureStatusNone);
    in_another_thread(work_beside);
    increase(b, x, y, COUNT);
    const cudaGraphExec_t exec = end_capture(a);
    CUDA(cudaStreamIsCapturing(a, &status));
    REQUIRE(status == cudaStreamCaptureStatusNone);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaGraphExecDestroy(exec));
}

static void counted(void *unused)
{
    (void)unused;
    static const struct {
        fake_count count;
        uint64_t times;
    } rows[] = {{FAKE_GRAPHS, 1}, {FAKE_CAPTURED, 4}, {FAKE_GRAPH_LAUNCHES, 2}, {FAKE_LAUNCHES, 0},
        {FAKE_TO_DEVICE, 2}, {FAKE_TO_DEVICE_BYTES, 2 * BYTES}, {FAKE_TO_HOST, 2},
        {FAKE_TO_HOST_BYTES, 2 * BYTES}, {FAKE_FILLS, 2}, {FAKE_PAGEABLE, 0}};
    uint64_t counts[FAKE_COUNTS];
    begin();
    capture(a);
    CUDA(cudaMemsetAsync(y, 0, BYTES, a));
    put_increase(a);
    const cudaGraphExec_t exec = end_capture(a);
    for (int i = 0; i < 2; i++) launch_and_wait(exec, a);
    fake_counts(counts);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (counts[rows[i].count] != rows[i].times)
            fake_fail("%s: %d, not %d", fake_count_name(rows[i].count), (int)counts[rows[i].count],
                (int)rows[i].times);
}

/* ---- dag/device's recordings ---- */

static const tutti_device_kind *const kind = &tutti_device_kind_built;

static void recordings(void *unused)
{
    (void)unused;
    void *recording;
    int operations = 0;
    const char *why = NULL;
    begin();
    REQUIRE(!kind->capture_begin(0, a));
    put_increase(a);
    REQUIRE(!kind->capture_end(0, a, &recording, &operations, &why) && operations == 3 && !why);
    for (int launch = 0; launch < 3; launch++) {
        for (int i = 0; i < COUNT; i++) pinned[i] = (float)(10 * launch + i);
        REQUIRE(!kind->replay(0, recording, b));
        CUDA(cudaStreamSynchronize(b));
        check_increased((float)(10 * launch));
    }
    kind->recording_close(0, recording);
    kind->recording_close(0, NULL);
}

/* A capture that fails leaves no error, and a queue that works. */
static void no_recording(void *unused)
{
    (void)unused;
    void *recording = NULL;
    int operations = -1;
    const char *why = NULL;
    setenv("TUTTI_FAKE_UNRECORDED", "increase", 1);
    begin();
    REQUIRE(!kind->capture_begin(0, a));
    CUDA(cudaMemcpyAsync(back, x, BYTES, cudaMemcpyDeviceToHost, a));
    increase(a, x, y, COUNT);
    REQUIRE(cudaMemsetAsync(x, 0, BYTES, a) == cudaErrorStreamCaptureInvalidated);
    REQUIRE(kind->capture_end(0, a, &recording, &operations, &why) == TUTTI_ERR_UNSUPPORTED);
    REQUIRE(why && strlen(why) > 20 && !recording && operations == -1);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++) REQUIRE(back[i] == (float)i);
    put_increase(a);
    CUDA(cudaStreamSynchronize(a));
    check_increased(3);
}

static const struct {
    const char *name;
    void (*body)(void *arg);
} bodies[] = {{"launches", launches}, {"launches in a row", launches_in_a_row},
    {"two of a graph", two_of_a_graph}, {"beside a capture", beside_a_capture},
    {"counted", counted}, {"recordings", recordings}, {"no recording", no_recording}};

START_TEST(graphs_in_every_order)
{
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (int o = 0; o < ORDERS; o++)
            for (unsigned seed = 1; seed <= (o == 2 ? 10 : 1); seed++) {
                child c = {.order = all_orders[o], .seed = seed, .devices = 2};
                child_run(&c, bodies[i].body, NULL);
                child_check_right(&c, bodies[i].name);
            }
}
END_TEST

void add_graph_tests(Suite *suite)
{
    TCase *tests = testing_case(suite, "graphs");
    tcase_add_test(tests, graphs_in_every_order);
    add_graph_misuse_tests(tests);
}
