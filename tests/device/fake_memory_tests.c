/* The fake's memory: nobody but its operations reaches a device's, and what is fresh is poisoned. */
#include "tests/device/fake_tests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1000 };

static void host_reads(void *unused)
{
    (void)unused;
    volatile float *memory = device_new(COUNT);
    exit((int)memory[3]);
}

static void host_writes(void *unused)
{
    (void)unused;
    device_new(COUNT)[7] = 1;
}

START_TEST(the_host_cannot_touch_a_devices_memory)
{
    child reads = {.order = "eager"}, writes = {.order = "late"};
    child_run(&reads, host_reads, NULL);
    child_check_fails(&reads, "read", "the host reads or writes at 0x");
    child_run(&writes, host_writes, NULL);
    child_check_fails(&writes, "write", "which is device 0's memory");
}
END_TEST

/* A library that hands the address to the system, as MPI does, gets an error. */
static void system_call(void *unused)
{
    (void)unused;
    int ends[2];
    const float *memory = device_new(COUNT);
    REQUIRE(!pipe(ends));
    REQUIRE(write(ends[1], memory, sizeof *memory) == -1 && errno == EFAULT);
}

START_TEST(nor_can_the_system)
{
    child c = {.order = "eager"};
    child_run(&c, system_call, NULL);
    child_check_right(&c, "system call");
}
END_TEST

static void fresh(void *unused)
{
    (void)unused;
    const float *device = device_new(COUNT);
    float *pinned, host[COUNT];
    CUDA(cudaMallocHost((void **)&pinned, sizeof host));
    for (int i = 0; i < COUNT; i++) REQUIRE(isnan(pinned[i]));
    CUDA(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) REQUIRE(isnan(host[i]));
}

START_TEST(fresh_memory_is_no_number)
{
    child c = {.order = "random"};
    child_run(&c, fresh, NULL);
    child_check_right(&c, "fresh");
}
END_TEST

static int write_one(void *arg)
{
    *(volatile char *)arg = 1;
    return 1;
}

/* Writes a byte at `offset` from a block of 1000 bytes, which ends 24 bytes before its page does. */
static void write_beside(void *offset)
{
    void *memory;
    CUDA(cudaMalloc(&memory, 1000));
    char *inside = fake_inside("beside", memory, 1000);
    const fake_work work = {.call = "beside", .run = write_one, .arg = inside + *(int *)offset};
    fake_enqueue(NULL, &work);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaFree(memory));
}

START_TEST(what_a_kernel_writes_beside_its_memory)
{
    static const struct {
        int offset;
        const char *sentence; /* NULL: it is right */
    } rows[] = {{0, NULL}, {999, NULL}, {1000, "something wrote at 0x"},
        {1023, "behind the 1000 bytes at 0x"}, {1024, "reads or writes outside of live memory"},
        {-1, "before the 1000 bytes at 0x"}, {-4096, "outside of live memory"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        child c = {.order = "eager"};
        int offset = rows[i].offset;
        child_run(&c, write_beside, &offset);
        if (rows[i].sentence)
            child_check_fails(&c, "beside", rows[i].sentence);
        else
            child_check_right(&c, "beside");
    }
}
END_TEST

static void fill_device(void *unused)
{
    (void)unused;
    size_t left, all;
    void *memory, *more = &left;
    setenv("TUTTI_FAKE_MEMORY_MB", "16", 1);
    CUDA(cudaMalloc(&memory, 10 << 20));
    CUDA(cudaMemGetInfo(&left, &all));
    REQUIRE(left == 6 << 20 && all == 16 << 20);
    REQUIRE(cudaMalloc(&more, 7 << 20) == cudaErrorMemoryAllocation && !more);
    REQUIRE(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
    CUDA(cudaFree(memory));
    CUDA(cudaMalloc(&more, 7 << 20));
    REQUIRE(more != memory); /* no address is used twice */
}

START_TEST(a_full_device)
{
    child c = {.order = "eager"};
    child_run(&c, fill_device, NULL);
    child_check_right(&c, "full");
}
END_TEST

static void look_at_pointers(void *unused)
{
    (void)unused;
    struct cudaPointerAttributes attributes;
    static float pageable[4];
    CUDA(cudaSetDevice(1));
    float *device = device_new(4), *pinned = pinned_new(4, 0);
    CUDA(cudaPointerGetAttributes(&attributes, device + 3));
    REQUIRE(attributes.type == cudaMemoryTypeDevice && attributes.device == 1);
    CUDA(cudaPointerGetAttributes(&attributes, pinned + 3));
    REQUIRE(attributes.type == cudaMemoryTypeHost);
    CUDA(cudaPointerGetAttributes(&attributes, pageable));
    REQUIRE(attributes.type == cudaMemoryTypeUnregistered);
    CUDA(cudaHostRegister(pageable, sizeof pageable, 0));
    REQUIRE(cudaHostRegister(pageable, sizeof pageable, 0) == cudaErrorHostMemoryAlreadyRegistered);
    CUDA(cudaPointerGetAttributes(&attributes, pageable));
    REQUIRE(attributes.type == cudaMemoryTypeHost);
    CUDA(cudaHostUnregister(pageable));
    REQUIRE(cudaHostUnregister(pageable) == cudaErrorHostMemoryNotRegistered);
}

START_TEST(addresses_tell_whose_they_are)
{
    child c = {.order = "eager", .devices = 2};
    child_run(&c, look_at_pointers, NULL);
    child_check_right(&c, "pointers");
}
END_TEST

static void see_devices(void *unused)
{
    (void)unused;
    int count = 7;
    char bus[32];
    struct cudaDeviceProp properties;
    setenv("CUDA_VISIBLE_DEVICES", "3,1,9,0", 1);
    CUDA(cudaGetDeviceCount(&count));
    REQUIRE(count == 2);
    CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    REQUIRE(strstr(bus, ":04:00.0"));
    CUDA(cudaGetDeviceProperties(&properties, 1));
    REQUIRE(properties.pciBusID == 2);
    REQUIRE(cudaSetDevice(2) == cudaErrorInvalidDevice);
}

static void see_none(void *unused)
{
    (void)unused;
    int count = 7;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    REQUIRE(cudaGetDeviceCount(&count) == cudaErrorNoDevice && !count);
}

START_TEST(devices_that_are_visible)
{
    child c = {.order = "eager", .devices = 4};
    child_run(&c, see_devices, NULL);
    child_check_right(&c, "some");
    child_run(&c, see_none, NULL);
    child_check_right(&c, "none");
}
END_TEST

/* A kernel of device 0 reads memory of device 1. */
static void reach_peer(void *enable)
{
    CUDA(cudaSetDevice(1));
    const float *far = device_new(4);
    CUDA(cudaMemset((void *)far, 0, 4 * sizeof *far));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaSetDevice(0));
    if (*(int *)enable) CUDA(cudaDeviceEnablePeerAccess(1, 0));
    increase(NULL, far, device_new(4), 4);
    CUDA(cudaDeviceSynchronize());
}

START_TEST(another_devices_memory)
{
    child c = {.order = "random", .devices = 2};
    int enable = 1;
    child_run(&c, reach_peer, &enable);
    child_check_right(&c, "with access");
    enable = 0;
    child_run(&c, reach_peer, &enable);
    child_check_fails(&c, "without access", "increase: device 0 has no access to 0x");
}
END_TEST

void add_memory_tests(Suite *suite)
{
    TCase *tests = testing_case(suite, "memory");
    tcase_add_test(tests, the_host_cannot_touch_a_devices_memory);
    tcase_add_test(tests, nor_can_the_system);
    tcase_add_test(tests, fresh_memory_is_no_number);
    tcase_add_test(tests, what_a_kernel_writes_beside_its_memory);
    tcase_add_test(tests, a_full_device);
    tcase_add_test(tests, addresses_tell_whose_they_are);
    tcase_add_test(tests, devices_that_are_visible);
    tcase_add_test(tests, another_devices_memory);
}
