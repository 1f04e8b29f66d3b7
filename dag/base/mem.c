#include "dag/base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks from LARGE bytes on begin at a huge page, and ask for more of them: weights are touched for
 * the first time, and walked through, in less time. */
enum { ALIGNMENT = 64, HUGE = 2 << 20, LARGE = 2 * HUGE };

size_t tutti_mem_product(size_t a, size_t b)
{
    size_t p;
    return __builtin_mul_overflow(a, b, &p) ? SIZE_MAX : p;
}

void *tutti_mem_aligned(size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT) return NULL;
    size_t rounded = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    void *block;
    if (posix_memalign(&block, rounded < LARGE ? ALIGNMENT : HUGE, rounded)) return NULL;
#ifdef MADV_HUGEPAGE
    if (rounded >= LARGE)
        (void)madvise(block, rounded, MADV_HUGEPAGE); /* where there are none, nothing changes */
#endif
    return memset(block, 0, rounded);
}
