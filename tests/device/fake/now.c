#include "tests/device/fake/now.h"

#include "tests/device/fake/fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 64 };

/* What was written last; a ring. */
static struct {
    cudaStream_t stream;
    const char *begin, *end;
} written[REMEMBERED];
static size_t next;

void fake_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fake device: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    abort();
}

static void check_write(const char *call, cudaStream_t stream, const char *begin, size_t bytes)
{
    for (int i = 0; i < REMEMBERED; i++)
        if (written[i].stream && written[i].stream != stream && begin < written[i].end &&
            begin + bytes > written[i].begin)
            fake_fail("%s writes memory that is written on another stream", call);
    written[next].stream = stream;
    written[next].begin = begin;
    written[next].end = begin + bytes;
    next = (next + 1) % REMEMBERED;
}

void fake_wait(void)
{
    for (int i = 0; i < REMEMBERED; i++) written[i].stream = NULL;
}

static double spent; /* seconds, on all streams */

void fake_enqueue(cudaStream_t stream, const fake_work *work)
{
    for (int i = 0; i < work->accesses; i++)
        if (work->access[i].mode == FAKE_WRITE)
            check_write(work->call, stream, work->access[i].address, work->access[i].bytes);
    while (!work->run(work->arg)) continue;
    spent += work->seconds;
}

void *fake_own(size_t bytes)
{
    return malloc(bytes);
}

void fake_disown(void *memory)
{
    free(memory);
}

void *fake_inside(const char *call, const void *address, size_t bytes)
{
    (void)bytes;
    if (!address) fake_fail("%s: no memory", call);
    return (void *)(uintptr_t)address;
}

/* ---- CUDA's run time ---- */

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    const char *begin = *memory; /* what was written there before is nobody's */
    for (int i = 0; i < REMEMBERED && begin; i++)
        if (begin < written[i].end && begin + bytes > written[i].begin) written[i].stream = NULL;
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(
    void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind;
    (void)stream;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    check_write("cudaMemsetAsync", stream, memory, bytes);
    memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = malloc(1); /* its address is the stream */
    return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    for (int i = 0; i < REMEMBERED; i++)
        if (written[i].stream == stream) written[i].stream = NULL;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = calloc(1, sizeof spent); /* when it was recorded */
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    memcpy(event, &spent, sizeof spent);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    double begin, end;
    memcpy(&begin, from, sizeof begin);
    memcpy(&end, to, sizeof end);
    *ms = (float)(1e3 * (end - begin));
    return cudaSuccess;
}
