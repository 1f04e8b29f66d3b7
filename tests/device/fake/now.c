#include "tests/device/fake/now.h"

#include "tests/device/fake/fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

void fake_enqueue(cudaStream_t stream, const fake_work *work)
{
    for (int i = 0; i < work->accesses; i++)
        if (work->access[i].mode == FAKE_WRITE)
            check_write(work->call, stream, work->access[i].address, work->access[i].bytes);
    while (!work->run(work->arg)) continue;
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
