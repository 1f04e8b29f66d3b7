#include "tests/device/fake_programs.h"

#include <pthread.h>
#include <string.h>

cudaStream_t a, b;
float *pinned, *back, *x, *y;

void begin(void)
{
    a = stream_new();
    b = stream_new();
    pinned = pinned_new(COUNT, 3);
    back = pinned_new(COUNT, 0);
    x = device_new(COUNT);
    y = device_new(COUNT);
}

cudaEvent_t event_new(void)
{
    cudaEvent_t event;
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

void order_by_event(cudaStream_t first, cudaStream_t then)
{
    const cudaEvent_t event = event_new();
    CUDA(cudaEventRecord(event, first));
    CUDA(cudaStreamWaitEvent(then, event, 0));
    CUDA(cudaEventDestroy(event));
}

void capture(cudaStream_t stream)
{
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

cudaGraphExec_t end_capture(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

void put_increase(cudaStream_t stream)
{
    CUDA(cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, stream));
    increase(stream, x, y, COUNT);
    CUDA(cudaMemcpyAsync(back, y, BYTES, cudaMemcpyDeviceToHost, stream));
}

cudaGraphExec_t capture_increase(void)
{
    capture(a);
    put_increase(a);
    return end_capture(a);
}

void check_increased(float first)
{
    for (int i = 0; i < COUNT; i++) REQUIRE(back[i] == first + (float)i + 1);
}

void launch_and_wait(cudaGraphExec_t exec, cudaStream_t stream)
{
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

void in_another_thread(void *(*body)(void *unused))
{
    pthread_t thread;
    REQUIRE(!pthread_create(&thread, NULL, body, NULL));
    pthread_join(thread, NULL);
}

typedef struct attempt {
    const fake_program *program;
    int wrong;
} attempt;

static void run_program(void *arg)
{
    const attempt *t = arg;
    begin();
    t->program->run(t->wrong);
}

void run_programs(const fake_program *programs, size_t count, int wrong)
{
    for (size_t p = 0; p < count; p++)
        for (int o = 0; o < ORDERS; o++) {
            child c = {.order = all_orders[o], .devices = 2};
            attempt t = {&programs[p], wrong};
            if (wrong && programs[p].only && strcmp(programs[p].only, c.order)) continue;
            child_run(&c, run_program, &t);
            if (wrong)
                child_check_fails(&c, programs[p].name, programs[p].sentence);
            else
                child_check_right(&c, programs[p].name);
        }
}
