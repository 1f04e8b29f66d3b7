/* What one core of this machine can do at most, measured: floating-point operations, bytes read,
 * bytes written, and bytes read or written per second. No op can take less time than the longest of
 * these four would.
 *
 * Operations: of large products (a dense layer, convolutions), of which the fastest counts, by
 * element type. They run through the same kernel table as a step, on tensors that stay in a cache.
 *
 * Bytes: how fast they move depends on where they are. Blocks of 32 KiB, 64 KiB, ... 256 MiB are
 * read, written, copied, changed in place, and combined (two thirds of a block from all of it),
 * again and again; the fastest reading, the fastest writing and the fastest sum of both in any of
 * these count. An op that runs repeatedly on the same tensors finds them where such a block of
 * their size would be, so it is judged by the largest block that is not larger than its tensors
 * together: what fits in a cache is judged by that cache, and nothing by a slower memory than its
 * own.
 *
 * Every number is the best of several trials of a few milliseconds, because other programs can only
 * make it smaller. With fewer trials, and less processor time, they are less sure. Threads: [M]. */
#ifndef TUTTI_BENCH_BOUNDS_H
#define TUTTI_BENCH_BOUNDS_H

#include "dag/base/dtype.h"
#include "dag/base/status.h"

#include <stddef.h>

enum { TUTTI_BOUNDS_BLOCKS = 14, TUTTI_BOUNDS_LEAST = 32 << 10, TUTTI_BOUNDS_TRIALS = 12 };

/* Bytes of block i. [P] */
static inline size_t tutti_bounds_block(int i)
{
    return (size_t)TUTTI_BOUNDS_LEAST << i;
}

typedef struct tutti_bounds {
    double flops_per_s[TUTTI_DTYPE_COUNT]; /* by element type; 0: not measured */
    /* by block */
    double read_per_s[TUTTI_BOUNDS_BLOCKS], written_per_s[TUTTI_BOUNDS_BLOCKS];
    double moved_per_s[TUTTI_BOUNDS_BLOCKS]; /* both together */
} tutti_bounds;

/* Measures bytes, and the operations of a type, in this many trials (of blocks at most five). Keeps
 * what is already there if it is larger: called before and after something, it also sees a machine
 * that has become faster meanwhile. TUTTI_BOUNDS_TRIALS take about a second. NOMEM (logged); what the
 * kernels return. */
tutti_status tutti_bounds_measure(tutti_dtype dtype, int trials, tutti_bounds *bounds);

/* The least time of this many operations on elements of a type (of float32, for types without
 * products), in seconds. [P] */
double tutti_bounds_of_flops(const tutti_bounds *bounds, tutti_dtype dtype, double flops);
/* The least time of this many bytes read and written, when `in_use` bytes are read or written again
 * and again. [P] */
double tutti_bounds_of_bytes(
    const tutti_bounds *bounds, double read, double written, double in_use);

#endif
