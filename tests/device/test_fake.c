/* The fake device by itself: its memory, its orders, its copies, and the misuses that it must see. Each test runs in
 * processes of its own. */
#include "tests/device/fake_tests.h"

#include <stdlib.h>

cudaStream_t stream_new(void)
{
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

float *device_new(int count)
{
    void *memory;
    CUDA(cudaMalloc(&memory, (size_t)count * sizeof(float)));
    return memory;
}

float *pinned_new(int count, float first)
{
    void *memory;
    CUDA(cudaMallocHost(&memory, (size_t)count * sizeof(float)));
    for (int i = 0; i < count; i++) ((float *)memory)[i] = first + (float)i;
    return memory;
}

typedef struct kernel {
    const float *from;
    float *to;
    int count;
} kernel;

static int run_increase(void *arg)
{
    const kernel *k = arg;
    for (int i = 0; i < k->count; i++) k->to[i] = k->from[i] + 1;
    free(arg);
    return 1;
}

void increase(cudaStream_t stream, const float *from, float *to, int count)
{
    const size_t bytes = (size_t)count * sizeof(float);
    const fake_access access[2] = {{.address = from, .bytes = bytes, .mode = FAKE_READ},
        {.address = to, .bytes = bytes, .mode = FAKE_WRITE}};
    kernel *k = malloc(sizeof *k);
    REQUIRE(k);
    *k = (kernel){fake_inside("increase", from, bytes), fake_inside("increase", to, bytes), count};
    const fake_work work = {.call = "increase",
        .run = run_increase,
        .arg = k,
        .bytes = sizeof *k,
        .access = access,
        .accesses = 2};
    fake_enqueue(stream, &work);
}

int main(void)
{
    Suite *suite = suite_create("fake");
    add_memory_tests(suite);
    add_order_tests(suite);
    add_copy_tests(suite);
    add_misuse_tests(suite);
    add_graph_tests(suite);
    return testing_run(suite);
}
