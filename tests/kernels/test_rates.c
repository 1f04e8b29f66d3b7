/* dag/kernels: loops of our own keep their vectors in registers. A loop that moves them through memory, or takes
 * their elements one by one, takes 5 to 20 times as long as one that does not. So each op is compared with a plain
 * loop, y = 2 x, over as many bytes, in the same run and compiled for the same instructions: the best of many turns,
 * which other programs on the machine disturb alike. */
#include "dag/base/clock.h"
#include "dag/base/clones.h"
#include "dag/base/mem.h"
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/mixup.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <stdlib.h>

/* A tensor of 64 KiB: what an op uses stays in a second-level cache. */
enum { N = 16, H = 8, W = 8, C = 16, COUNT = N * H * W * C, BUFFERS = 8, TURNS = 150 };

static const tutti_norm_desc norm = {.N = N, .H = H, .W = W, .C = C, .eps = 1e-5f};
static const tutti_norm_desc norm_relu = {.N = N, .H = H, .W = W, .C = C, .eps = 1e-5f, .relu = 1};
static const tutti_relu_desc relu = {.count = COUNT};
static const tutti_sum_desc sum = {.count = COUNT, .inputs = 2, .relu = 1};
static const tutti_sgd_desc sgd = {
    .count = COUNT, .momentum = 0.9f, .weight_decay = 1e-4f, .rate_factor = 1};
static const tutti_clip_desc clip = {.count = COUNT};
static const tutti_average_desc average = {.count = COUNT, .decay = 0.9};
static const tutti_mixup_desc mixup = {.N = N, .each = COUNT / N};

/* An op, and how many tensors it reads and writes in its passes over them. */
static const struct row {
    const tutti_op *op;
    const void *desc;
    tutti_dtype dtype;
    double tensors;
    double least; /* of the plain loop's rate */
} rows[] = {
    {&tutti_op_relu, &relu, TUTTI_F32, 2, 0.2},
    {&tutti_op_relu_bwd, &relu, TUTTI_F32, 3, 0.2},
    {&tutti_op_sum, &sum, TUTTI_F32, 3, 0.2},
    {&tutti_op_norm, &norm, TUTTI_F32, 4, 0.2},
    {&tutti_op_norm, &norm_relu, TUTTI_F32, 4, 0.2},
    {&tutti_op_norm_bwd, &norm, TUTTI_F32, 5, 0.15},
    {&tutti_op_norm_bwd, &norm_relu, TUTTI_F32, 5, 0.15},
    {&tutti_op_norm_add, &norm, TUTTI_F32, 5, 0.2},
    {&tutti_op_norm_add_bwd, &norm, TUTTI_F32, 7, 0.15},
    {&tutti_op_sgd, &sgd, TUTTI_F32, 5, 0.2},
    {&tutti_op_clip, &clip, TUTTI_F32, 2, 0.2},
    {&tutti_op_average, &average, TUTTI_F32, 3, 0.2},
    {&tutti_op_mixup, &mixup, TUTTI_F32, 3, 0.2},
};

static void fill(void *buf[])
{
    for (int i = 0; i < BUFFERS; i++) {
        buf[i] = tutti_mem_aligned(COUNT * sizeof(float));
        ck_assert(buf[i] != NULL);
        for (int j = 0; j < COUNT; j++) ((float *)buf[i])[j] = 0.25f;
    }
}

/* y = 2 x in whole registers. */
#define PLAIN_LOOP(name, bytes, instructions)                                                      \
    instructions static void name(size_t n, const void *from, void *to)                            \
    {                                                                                              \
        typedef float vector __attribute__((vector_size(bytes)));                                  \
        const vector *x = from;                                                                    \
        vector *y = to;                                                                            \
        for (size_t i = 0; i < n / sizeof *x; i++) y[i] = x[i] + x[i];                             \
    }
PLAIN_LOOP(twice_default, 16, )
#if TUTTI_HAS_CLONES
PLAIN_LOOP(twice_avx2, 32, __attribute__((target("avx2"))))
PLAIN_LOOP(twice_avx512, 64, __attribute__((target("avx512f"))))
#endif
static void (*const twice[])(size_t, const void *, void *) = TUTTI_OF_EACH_ISA(twice);

static double seconds(const tutti_kernel *kernel, void *args, void *const buf[])
{
    const double begun = tutti_clock_s();
    ck_assert_ok(kernel->fn(args, buf, NULL));
    return tutti_clock_s() - begun;
}

static void check(const struct row *row, void *const buf[])
{
    const tutti_kernel *kernel = tutti_kernel_find(row->op, TUTTI_CPU, row->dtype);
    const size_t bytes = COUNT * sizeof(float);
    void *args;
    double best = 1, plain = 1;
    ck_assert(kernel != NULL);
    ck_assert_ok(kernel->open(row->desc, &args));
    for (int turn = 0; turn < TURNS; turn++) {
        const double took = seconds(kernel, args, buf), begun = tutti_clock_s();
        twice[tutti_isa_chosen()](bytes, buf[0], buf[BUFFERS - 1]);
        const double loop = tutti_clock_s() - begun;
        if (took < best) best = took;
        if (loop < plain) plain = loop;
    }
    kernel->close(args);
    const double share = row->tensors / best / (2 / plain);
    printf("%-6s %-12s %-4s %.2f of a plain loop's %.1f GB/s\n", tutti_isa_name(tutti_isa_chosen()),
        row->op->name, tutti_dtype_name(row->dtype), share, 2 * (double)bytes / plain * 1e-9);
    ck_assert_msg(share >= row->least,
        "%s in %s with TUTTI_MAX_ISA=%s moves %.2f of the bytes that a plain loop moves, not %.2f: "
        "are its vectors in registers?",
        row->op->name, tutti_dtype_name(row->dtype), tutti_isa_name(tutti_isa_chosen()), share,
        row->least);
}

START_TEST(loops_keep_up_with_memory)
{
    void *buf[BUFFERS];
    fill(buf);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check(&rows[i], buf);
    for (int i = 0; i < BUFFERS; i++) free(buf[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rates");
    TCase *tcase = testing_case(suite, "rates");
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    tcase_add_test(tcase, loops_keep_up_with_memory);
#else
    (void)tcase, (void)loops_keep_up_with_memory;
#endif
    return testing_run(suite);
}
