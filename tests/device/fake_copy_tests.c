/* The fake's copies: what each moves, and what the host may expect of each when the call returns. */
#include "tests/device/fake_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 257 };
#define BYTES (COUNT * sizeof(float))

/* Pageable memory is read before the call returns, and written before it returns. */
static void pageable(void *unused)
{
    (void)unused;
    float host[COUNT], back[COUNT];
    float *device = device_new(COUNT);
    const cudaStream_t s = stream_new();
    for (int i = 0; i < COUNT; i++) host[i] = (float)i;
    CUDA(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, s));
    memset(host, 0, sizeof host);
    CUDA(cudaMemcpyAsync(back, device, BYTES, cudaMemcpyDeviceToHost, s));
    for (int i = 0; i < COUNT; i++) REQUIRE(back[i] == (float)i);
}

/* Pinned memory is not: late, nothing has happened when the call returns. */
static void pinned(void *late)
{
    float *from = pinned_new(COUNT, 1), *to = pinned_new(COUNT, 2), *device = device_new(COUNT);
    const cudaStream_t s = stream_new();
    int as_late = !*(int *)late;
    for (int tries = 0; tries < 20; tries++) {
        CUDA(cudaMemcpyAsync(device, from, BYTES, cudaMemcpyHostToDevice, s));
        CUDA(cudaMemcpyAsync(to, device, BYTES, cudaMemcpyDeviceToHost, s));
        as_late |= to[0] != to[0];
        CUDA(cudaStreamSynchronize(s));
        REQUIRE(!memcmp(from, to, BYTES));
    }
    REQUIRE(as_late);
}

/* The calls that block, on the default stream. */
static void blocking(void *unused)
{
    (void)unused;
    float host[COUNT], *from = pinned_new(COUNT, 5), *a = device_new(COUNT), *b = device_new(COUNT);
    CUDA(cudaMemcpy(a, from, BYTES, cudaMemcpyHostToDevice));
    from[0] = -1; /* it was read */
    CUDA(cudaMemcpy(b, a, BYTES, cudaMemcpyDeviceToDevice));
    CUDA(cudaMemset(a, 0, BYTES));
    CUDA(cudaMemcpy(from, b, BYTES, cudaMemcpyDefault));
    for (int i = 0; i < COUNT; i++) REQUIRE(from[i] == (float)(5 + i));
    CUDA(cudaMemcpy(host, from, BYTES, cudaMemcpyHostToHost));
    CUDA(cudaMemcpy(host, a, 8, cudaMemcpyDeviceToHost));
    REQUIRE(!host[0] && !host[1] && host[2] == 7);
}

/* A copy of a rectangle, of a box, and from one device to another. */
static void shapes(void *unused)
{
    (void)unused;
    enum { ROWS = 5, WIDTH = 3, FROM = 7, TO = 4 };
    float *from = pinned_new(ROWS * FROM, 0), *to = pinned_new(ROWS * TO, -1000);
    float *device = device_new(ROWS * FROM), *other;
    const cudaStream_t s = stream_new();
    CUDA(cudaSetDevice(1));
    other = device_new(ROWS * FROM);
    CUDA(cudaSetDevice(0));
    CUDA(cudaMemcpy2DAsync(
        device, FROM * 4, from, FROM * 4, WIDTH * 4, ROWS, cudaMemcpyHostToDevice, s));
    const struct cudaMemcpy3DPeerParms box = {.srcPtr = {device, FROM * 4, WIDTH * 4, ROWS},
        .srcDevice = 0,
        .dstPtr = {other, FROM * 4, WIDTH * 4, ROWS},
        .dstDevice = 1,
        .extent = {WIDTH * 4, ROWS, 1}};
    CUDA(cudaMemcpy3DPeerAsync(&box, s));
    CUDA(cudaMemcpyPeerAsync(device, 0, other, 1, WIDTH * 4, s));
    CUDA(
        cudaMemcpy2DAsync(to, TO * 4, other, FROM * 4, WIDTH * 4, ROWS, cudaMemcpyDeviceToHost, s));
    CUDA(cudaStreamSynchronize(s));
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < TO; x++)
            REQUIRE(
                to[y * TO + x] == (x < WIDTH ? from[y * FROM + x] : (float)(y * TO + x - 1000)));
    float corner;
    CUDA(cudaMemcpy(&corner, other + WIDTH, 4, cudaMemcpyDeviceToHost));
    REQUIRE(corner != corner); /* what lies between the rows was not written */
}

/* Columns of one matrix, by two streams: rows that interleave do not overlap. */
static void interleaved(void *unused)
{
    (void)unused;
    float *from = pinned_new(40, 0), *device = device_new(40);
    const cudaStream_t a = stream_new(), b = stream_new();
    CUDA(cudaMemcpy2DAsync(device, 40, from, 40, 20, 4, cudaMemcpyHostToDevice, a));
    CUDA(cudaMemcpy2DAsync(device + 5, 40, from + 5, 40, 20, 4, cudaMemcpyHostToDevice, b));
    CUDA(cudaDeviceSynchronize());
}

/* What was done is counted. */
static void counted(void *unused)
{
    (void)unused;
    static const struct {
        fake_count count;
        uint64_t times;
    } rows[] = {{FAKE_ALLOCATIONS, 2}, {FAKE_FREES, 1}, {FAKE_HOST_ALLOCATIONS, 1},
        {FAKE_HOST_FREES, 1}, {FAKE_TO_DEVICE, 1}, {FAKE_TO_DEVICE_BYTES, 16}, {FAKE_TO_HOST, 1},
        {FAKE_TO_HOST_BYTES, 8}, {FAKE_ON_DEVICE, 1}, {FAKE_ON_DEVICE_BYTES, 12},
        {FAKE_BETWEEN_DEVICES, 0}, {FAKE_PAGEABLE, 1}, {FAKE_FILLS, 1}, {FAKE_LAUNCHES, 1},
        {FAKE_SYNCHRONISATIONS, 2}, {FAKE_STREAMS, 1}, {FAKE_EVENTS, 0}};
    uint64_t counts[FAKE_COUNTS];
    float host[4], *pinned = pinned_new(4, 0), *a = device_new(4), *b = device_new(4);
    const cudaStream_t s = stream_new();
    CUDA(cudaMemcpyAsync(a, pinned, 16, cudaMemcpyHostToDevice, s));
    CUDA(cudaMemcpyAsync(b, a, 12, cudaMemcpyDeviceToDevice, s));
    CUDA(cudaMemsetAsync(b + 3, 0, 4, s));
    increase(s, b, a, 4);
    CUDA(cudaStreamSynchronize(s));
    CUDA(cudaMemcpy(host, a, 8, cudaMemcpyDeviceToHost));
    REQUIRE(host[1] == 2);
    CUDA(cudaFree(b));
    CUDA(cudaFreeHost(pinned));
    fake_counts(counts);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (counts[rows[i].count] != rows[i].times)
            fake_fail("%s: %d, not %d", fake_count_name(rows[i].count), (int)counts[rows[i].count],
                (int)rows[i].times);
}

/* ... and written to a file when the process ends. */
static void reported(void *name)
{
    setenv("TUTTI_FAKE_REPORT", name, 1);
    device_new(4);
}

static const struct {
    const char *name;
    void (*body)(void *arg);
} bodies[] = {{"pageable", pageable}, {"blocking", blocking}, {"shapes", shapes},
    {"interleaved", interleaved}, {"counted", counted}};

START_TEST(copies_in_every_order)
{
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
        for (int o = 0; o < ORDERS; o++)
            for (unsigned seed = 1; seed <= (o == 2 ? 10 : 1); seed++) {
                child c = {.order = all_orders[o], .seed = seed, .devices = 2};
                child_run(&c, bodies[b].body, NULL);
                child_check_right(&c, bodies[b].name);
            }
}
END_TEST

START_TEST(copies_of_pinned_memory)
{
    for (int o = 0; o < ORDERS; o++) {
        child c = {.order = all_orders[o]};
        int is_late = o == 1;
        child_run(&c, pinned, &is_late);
        child_check_right(&c, "pinned");
    }
}
END_TEST

START_TEST(a_report)
{
    char name[] = "fake-report-XXXXXX", line[64];
    const int fd = mkstemp(name);
    ck_assert_int_ge(fd, 0);
    child c = {.order = "random"};
    child_run(&c, reported, name);
    child_check_right(&c, "report");
    FILE *file = fdopen(fd, "r");
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "allocations 1\n");
    fclose(file);
    remove(name);
}
END_TEST

void add_copy_tests(Suite *suite)
{
    TCase *tests = testing_case(suite, "copies");
    tcase_add_test(tests, copies_in_every_order);
    tcase_add_test(tests, copies_of_pinned_memory);
    tcase_add_test(tests, a_report);
}
