#define _GNU_SOURCE /* memfd_create */
/* Two ranks of mpirun that send each other more than 4 GiB, which the counts of StarPU's vectors cannot say. Little
 * memory is needed: all windows of a message are one piece of memory. */
#include "apps/svm/world.h"
#include "dag/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WINDOW = 64 << 20, WINDOWS = 65 };

static unsigned char byte_at(int rank, size_t at)
{
    return (unsigned char)(at % 251 + (size_t)rank + 1);
}

/* NULL: it cannot be had here. */
static unsigned char *map_windows(void)
{
    const int file = memfd_create("tutti-svm", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, WINDOW)) return NULL;
    unsigned char *all = mmap(NULL, (size_t)WINDOWS * WINDOW, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (size_t w = 0; all != MAP_FAILED && w < WINDOWS; w++)
        if (mmap(all + w * WINDOW, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                0) == MAP_FAILED)
            return NULL;
    close(file);
    return all == MAP_FAILED ? NULL : all;
}

static tutti_status exchange(tutti_svm_world *world)
{
    const int64_t bytes =
        (int64_t)WINDOWS * WINDOW - WINDOW / 2; /* cut to 32 bits: half a window */
    unsigned char *sent = map_windows(), *received = map_windows();
    if (!sent || !received || world->size != 2)
        return tutti_fail(TUTTI_ERR_UNSUPPORTED, "two ranks with memory files are needed");
    for (size_t i = 0; i < WINDOW; i++) sent[i] = byte_at(world->rank, i);
    const int64_t counts[2] = {world->rank ? bytes : 0, world->rank ? 0 : bytes};
    tutti_status status = tutti_svm_exchange(world, sent, counts, received, counts);
    for (size_t i = 0; i < WINDOW && !status; i++)
        if (received[i] != byte_at(!world->rank, i))
            status = tutti_fail(TUTTI_ERR_INTERNAL, "byte %zu of a window is wrong", i);
    return status;
}

int main(void)
{
    const char *slowdown = getenv("TUTTI_TEST_SLOWDOWN");
    const tutti_svm_world_options options = {
        .timeout_s = 120 * (slowdown ? atof(slowdown) : 1), .workers = 1};
    tutti_svm_world *world;
    if (tutti_svm_world_attach(&options, &world)) return 1;
    const tutti_status status = exchange(world);
    const tutti_status left = tutti_svm_world_detach(world);
    return status || left ? 1 : 0;
}
