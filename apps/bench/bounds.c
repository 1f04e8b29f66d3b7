#include "apps/bench/bounds.h"

#include "dag/base/clock.h"
#include "dag/base/clones.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void raise(double *best, double value)
{
    if (*best < value) *best = value;
}

/* ---- operations ---- */

/* A product of a few milliseconds. */
typedef struct product {
    const tutti_op *op;
    const void *desc;
    int64_t x, w, y; /* elements */
} product;

static const tutti_conv_desc small = {
    .N = 64, .H = 8, .W = 8, .C = 64, .K = 64, .R = 3, .S = 3, .stride = {1, 1}, .pad = {1, 1}};
static const tutti_conv_desc wide = {
    .N = 8, .H = 28, .W = 28, .C = 64, .K = 64, .R = 3, .S = 3, .stride = {1, 1}, .pad = {1, 1}};
static const tutti_conv_desc deep = {
    .N = 8, .H = 14, .W = 14, .C = 128, .K = 128, .R = 3, .S = 3, .stride = {1, 1}, .pad = {1, 1}};
static const tutti_dense_desc matrix = {.N = 2048, .C = 512, .K = 512};
static const product products[] = {
    {&tutti_op_conv, &small, 64 * 8 * 8 * 64, 64 * 9 * 64, 64 * 8 * 8 * 64},
    {&tutti_op_conv, &wide, 8 * 28 * 28 * 64, 64 * 9 * 64, 8 * 28 * 28 * 64},
    {&tutti_op_conv, &deep, 8 * 14 * 14 * 128, 128 * 9 * 128, 8 * 14 * 14 * 128},
    {&tutti_op_dense, &matrix, 2048 * 512, 512 * 512, 2048 * 512},
};

static tutti_status time_product(
    const product *p, const tutti_kernel *kernel, int trials, void *const buf[], double *best_s)
{
    void *args;
    tutti_status status = kernel->open(p->desc, &args);
    if (status) return status;
    status = kernel->fn(args, buf, NULL);
    for (int i = 0; i < trials && !status; i++) {
        double begun = tutti_clock_s();
        status = kernel->fn(args, buf, NULL);
        double seconds = tutti_clock_s() - begun;
        if (i == 0 || seconds < *best_s) *best_s = seconds;
    }
    kernel->close(args);
    return status;
}

static tutti_status measure_product(
    const product *p, tutti_dtype dtype, int trials, double *flops_per_s)
{
    const tutti_kernel *kernel = tutti_kernel_find(p->op, TUTTI_CPU, dtype);
    if (!kernel) return TUTTI_OK;
    const size_t element = sizeof(float); /* no type of a product has larger elements */
    void *buf[] = {tutti_mem_aligned((size_t)p->x * element),
        tutti_mem_aligned((size_t)p->w * element), tutti_mem_aligned((size_t)p->y * element)};
    double best_s = 0;
    tutti_status status = buf[0] && buf[1] && buf[2]
                              ? time_product(p, kernel, trials, buf, &best_s)
                              : tutti_fail(TUTTI_ERR_NOMEM, "no memory to measure a product");
    if (!status) raise(flops_per_s, p->op->flops(p->desc) / best_s);
    for (int i = 0; i < 3; i++) free(buf[i]);
    return status;
}

/* ---- bytes ---- */

/* A way to move a block, which holds zeros throughout, and what part of it that reads and writes. The result is not 0
 * if the block does not hold zeros; so no read can be left out. */
typedef struct mover {
    int (*move)(char *block, size_t bytes);
    double reads, writes;
} mover;

static int write_block(char *block, size_t bytes)
{
    memset(block, 0, bytes);
    return 0;
}

static int copy_block(char *block, size_t bytes)
{
    memcpy(block + bytes / 2, block, bytes / 2);
    return 0;
}

/* With registers of `width` bytes. volatile: the loops below do not know what they call, so none of it can be left
 * out. */
#define MOVERS(isa, target, width)                                                                 \
    typedef uint64_t line_##isa __attribute__((vector_size(width)));                               \
    target static int read_##isa(char *block, size_t bytes)                                        \
    {                                                                                              \
        line_##isa *l = (line_##isa *)block, a = l[0], b = a, c = a, d = a;                        \
        for (size_t i = 0; i < bytes / sizeof *l; i += 4) {                                        \
            a |= l[i];                                                                             \
            b |= l[i + 1];                                                                         \
            c |= l[i + 2];                                                                         \
            d |= l[i + 3];                                                                         \
        }                                                                                          \
        a |= b | c | d;                                                                            \
        return a[0] != 0;                                                                          \
    }                                                                                              \
    target static int change_##isa(char *block, size_t bytes)                                      \
    {                                                                                              \
        line_##isa *l = (line_##isa *)block;                                                       \
        for (size_t i = 0; i < bytes / sizeof *l; i++) l[i] <<= 1;                                 \
        return 0;                                                                                  \
    }                                                                                              \
    target static int combine_##isa(char *block, size_t bytes)                                     \
    {                                                                                              \
        size_t third = bytes / sizeof(line_##isa) / 3;                                             \
        line_##isa *a = (line_##isa *)block, *b = a + third, *c = b + third;                       \
        for (size_t i = 0; i < third; i++) {                                                       \
            line_##isa both = b[i] | c[i];                                                         \
            b[i] = both;                                                                           \
            a[i] |= both;                                                                          \
        }                                                                                          \
        return 0;                                                                                  \
    }                                                                                              \
    static const volatile mover movers_##isa[] = {{read_##isa, 1, 0}, {write_block, 0, 1},         \
        {copy_block, 0.5, 0.5}, {change_##isa, 1, 1}, {combine_##isa, 1, 2.0 / 3}};

MOVERS(default, , 16)
#if TUTTI_HAS_CLONES
MOVERS(avx2, __attribute__((target("avx2"))), 32)
MOVERS(avx512, __attribute__((target("avx512f"))), 64)
#endif
static const volatile mover *const movers_of[TUTTI_ISAS] = TUTTI_OF_EACH_ISA(movers);
enum { MOVERS_COUNT = sizeof movers_default / sizeof *movers_default };

/* Blocks per second: the best trial of some 2 MiB, or of one block. */
static double best_of(int (*move)(char *block, size_t bytes), int trials, char *block, size_t bytes)
{
    enum { TRIAL = 2 << 20 };
    double best = 0;
    move(block, bytes);
    for (int trial = 0; trial < trials; trial++) {
        size_t times = 0;
        double begun = tutti_clock_s();
        do move(block, bytes);
        while (++times * bytes < TRIAL);
        double rate = (double)times / (tutti_clock_s() - begun);
        if (rate > best) best = rate;
    }
    return best;
}

static tutti_status measure_bytes(int trials, tutti_bounds *bounds)
{
    const volatile mover *movers = movers_of[tutti_isa_chosen()];
    char *block = tutti_mem_aligned(tutti_bounds_block(TUTTI_BOUNDS_BLOCKS - 1));
    if (!block) return tutti_fail(TUTTI_ERR_NOMEM, "no memory to measure its bandwidth");
    /* What a large block can do, a smaller one can, too. */
    for (int i = TUTTI_BOUNDS_BLOCKS - 1; i >= 0; i--) {
        double bytes = (double)tutti_bounds_block(i);
        for (int m = 0; m < MOVERS_COUNT; m++) {
            double rate = best_of(movers[m].move, trials, block, tutti_bounds_block(i));
            raise(&bounds->read_per_s[i], rate * movers[m].reads * bytes);
            raise(&bounds->written_per_s[i], rate * movers[m].writes * bytes);
            raise(&bounds->moved_per_s[i], rate * (movers[m].reads + movers[m].writes) * bytes);
        }
        if (i + 1 == TUTTI_BOUNDS_BLOCKS) continue;
        raise(&bounds->read_per_s[i], bounds->read_per_s[i + 1]);
        raise(&bounds->written_per_s[i], bounds->written_per_s[i + 1]);
        raise(&bounds->moved_per_s[i], bounds->moved_per_s[i + 1]);
    }
    free(block);
    return TUTTI_OK;
}

/* ---- all of it ---- */

tutti_status tutti_bounds_measure(tutti_dtype dtype, int trials, tutti_bounds *bounds)
{
    enum { BLOCK_TRIALS = 5 }; /* the largest block takes long */
    tutti_status status = TUTTI_OK;
    for (size_t i = 0; i < sizeof products / sizeof *products && !status; i++)
        status = measure_product(&products[i], dtype, trials, &bounds->flops_per_s[dtype]);
    return status ? status : measure_bytes(trials < BLOCK_TRIALS ? trials : BLOCK_TRIALS, bounds);
}

double tutti_bounds_of_flops(const tutti_bounds *bounds, tutti_dtype dtype, double flops)
{
    double own = bounds->flops_per_s[dtype];
    return flops / (own > 0 ? own : bounds->flops_per_s[TUTTI_F32]);
}

double tutti_bounds_of_bytes(const tutti_bounds *bounds, double read, double written, double in_use)
{
    int i = 0;
    while (i + 1 < TUTTI_BOUNDS_BLOCKS && (double)tutti_bounds_block(i + 1) <= in_use) i++;
    double least_s = (read + written) / bounds->moved_per_s[i];
    raise(&least_s, read / bounds->read_per_s[i]);
    raise(&least_s, written / bounds->written_per_s[i]);
    return least_s;
}
