/* dag/kernels/<family>_cuda.cu: compiled as C++, each kernel writes the bits that the CPU's kernel
 * writes, or almost (slack_of): on the cases of cases.txt, on more elements than a grid has threads,
 * and on numbers of every kind. Convolutions and dense layers call fakes of cuDNN and cuBLAS
 * (tests/device/fake), which check the calls. Skipped without a C++ compiler. */
#include "dag/base/rng.h"
#include "dag/kernels/codec.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pool.h"
#include "tests/device/fake/now.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/host_rows.h"
#include "tests/support/cpu_kernel.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compared; /* ops of cases */

/* Of test_host_rows, or test_host_tf32. */
static const tutti_kernel *kernel_of(
    const tutti_kernel *const rows[], const tutti_op *op, tutti_dtype dtype)
{
    for (int f = 0; rows[f]; f++)
        for (const tutti_kernel *row = rows[f]; row->op; row++)
            if (row->op == op && row->dtype == dtype) return row;
    return NULL;
}

static const tutti_kernel *host_kernel(const tutti_op *op, tutti_dtype dtype)
{
    return kernel_of(test_host_rows, op, dtype);
}

static char streams[2]; /* their addresses are streams */

static void run(const tutti_kernel *kernel, const test_case *c, void *const buf[])
{
    void *args = NULL;
    ck_assert_ok(kernel->open(&c->desc, &args));
    ck_assert_ok(kernel->fn(args, buf, &streams[0]));
    kernel->close(args);
}

static int is_product(const tutti_op *op)
{
    return op == &tutti_op_conv || op == &tutti_op_conv_bwd_data ||
           op == &tutti_op_conv_bwd_weights || op == &tutti_op_dense ||
           op == &tutti_op_dense_wide || op == &tutti_op_dense_bwd_data ||
           op == &tutti_op_dense_bwd_weights;
}

/* How far off a number may be from the CPU's, relative to the largest of its tensor. Lengths and
 * products add in another order, and a bias is added to what was rounded to bf16 already; the CPU's
 * library adds gradients of bf16 in bf16, and averages them as it likes. */
static double slack_of(const tutti_op *op, tutti_dtype dtype)
{
    if (is_product(op)) return dtype == TUTTI_BF16 ? 0x1p-7 : 0x1p-20;
    if (op == &tutti_op_length || op == &tutti_op_lars) return 0x1p-22;
    if (op == &tutti_op_pool_avg_bwd) return dtype == TUTTI_BF16 ? 0x1p-5 : 0x1p-20;
    return op == &tutti_op_pool_max_bwd && dtype == TUTTI_BF16 ? 0x1p-6 : 0;
}

static double largest_of(const test_tensor *tensor)
{
    double largest = 0;
    for (int64_t i = 0; i < tensor->count; i++)
        largest = fmax(largest, fabs(test_element(tensor, i)));
    return largest;
}

/* Compares element i of what the CPU's kernel wrote and of `host`. */
static void compare_element(
    const test_case *c, const tutti_op *op, const test_tensor *tensor, void *host, int64_t i)
{
    const size_t element = tutti_dtype_bytes(tensor->dtype);
    const size_t at = (size_t)i * element;
    if (!memcmp((char *)tensor->data + at, (char *)host + at, element)) return;
    test_tensor other = *tensor;
    other.data = host;
    const double cpu = test_element(tensor, i), gpu = test_element(&other, i);
    const double slack = slack_of(op, tensor->dtype);
    ck_assert_msg(slack > 0 && fabs(cpu - gpu) <= slack * largest_of(tensor),
        "%s, %s: %s[%lld] in %s is %.9g, not %.9g", c->text, op->name, tensor->name, (long long)i,
        tutti_dtype_name(tensor->dtype), gpu, cpu);
}

/* Runs an op of the case in both ways from the same inputs. */
static void compare(const test_case *c, const tutti_op *op)
{
    const test_tensor *tensor[MAX_BUFFERS];
    void *cpu[MAX_BUFFERS], *host[MAX_BUFFERS];
    int written[MAX_BUFFERS], count = test_buffers(c, op, tensor, written);
    const tutti_kernel *kernel = host_kernel(op, tensor[0]->dtype);
    if (!kernel) return;
    ck_assert_int_eq(kernel->device, TUTTI_CUDA);
    for (int b = 0; b < count; b++) {
        const size_t bytes = (size_t)tensor[b]->count * tutti_dtype_bytes(tensor[b]->dtype);
        cpu[b] = tensor[b]->data;
        host[b] = malloc(bytes);
        ck_assert_ptr_nonnull(host[b]);
        memcpy(host[b], tensor[b]->data, bytes);
    }
    test_run_on_cpu(c, op, count, tensor, cpu);
    run(kernel, c, host);
    for (int b = 0; b < count; b++) {
        for (int64_t e = 0; e < tensor[b]->count; e++)
            compare_element(c, op, tensor[b], host[b], e);
        free(host[b]);
    }
    compared++;
}

/* Numbers of every kind, from a seed. */
typedef struct any_numbers {
    uint64_t seed;
    int nans; /* none where two may meet: which of them is the result is not specified */
} any_numbers;

static void fill_any(const test_case *c, const any_numbers *any)
{
    for (int t = 0; t < c->tensors; t++)
        for (int64_t i = 0; i < c->tensor[t].count; i++) {
            uint32_t bits =
                (uint32_t)(tutti_rng_uniform(any->seed, (uint64_t)t, (uint64_t)i) * 0x1p32);
            if (i % 5 == 0) bits &= 0x80ffffff; /* zero, and denormal or close to it */
            if (i % 7 == 0) bits |= 0x7f000000; /* infinite, NaN, or close to it */
            if (!any->nans && (bits & 0x7f800000) == 0x7f800000) bits &= 0xff800000;
            if (c->tensor[t].dtype == TUTTI_F32)
                memcpy((char *)c->tensor[t].data + i * 4, &bits, 4);
            bits >>= 16;
            if (c->tensor[t].dtype == TUTTI_BF16)
                memcpy((char *)c->tensor[t].data + i * 2, &bits, 2);
        }
}

/* On `any` numbers, or the case's own. Returns whether the family has such a case. */
static int one_case(const char *text, tutti_dtype values, const any_numbers *any)
{
    test_case c;
    ck_assert_msg(test_parse(text, values, &c), "%s", text);
    if (values == TUTTI_BF16 && !c.family->halves) return 0;
    int here = 0;
    for (int i = 0; i < c.family->ops; i++)
        for (int dtype = 0; dtype < TUTTI_DTYPE_COUNT; dtype++)
            here |= host_kernel(c.family->op[i], (tutti_dtype)dtype) != NULL;
    if (!here) return 0;
    test_case_open(&c);
    if (any) fill_any(&c, any);
    for (int i = 0; i < c.family->ops; i++) compare(&c, c.family->op[i]);
    test_case_close(&c);
    return 1;
}

static void in_all_types(const char *text, void *context)
{
    (void)context;
    one_case(text, TUTTI_F32, NULL);
    one_case(text, TUTTI_BF16, NULL);
}

START_TEST(cases_have_the_same_bits)
{
    compared = 0;
    test_each_text("cases.txt", in_all_types, NULL);
    ck_assert_int_ge(compared, 426);
}
END_TEST

START_TEST(any_numbers_have_the_same_bits)
{
    static const struct {
        const char *text;
        int nans;
    } cases[] = {{"relu count=100003", 1},
        {"dropout count=100003 offset=4000000000 rate=0.3 seed=11 stream=5", 1},
        {"widen count=100003", 1}, {"narrow count=100003", 1}, {"accumulate count=100003", 0},
        {"concat pixels=3001 parts=3 C0=16 C1=3 C2=33", 1},
        {"split pixels=3001 parts=2 C0=17 C1=5", 1},
        {"shortcut N=3 H=33 W=31 C=16 K=33 stride=2", 1}, {"sum count=100003 inputs=3 relu=0", 0},
        {"sum count=100003 inputs=2 relu=1", 0}, {"sum count=100003 inputs=2 relu=0 into=1", 0},
        {"sum_narrow count=100003 inputs=2 relu=1", 0}, {"mixup N=22 each=1001", 0},
        {"sgd count=100003 momentum=0.9 weight_decay=0.01 nesterov=1", 0},
        {"sgd_bf16 count=100003 momentum=0.9 weight_decay=0.01 nesterov=0", 0},
        {"adam count=100003 every=3 beta1=0.9 beta2=0.99 epsilon=1e-8 weight_decay=0.1 decoupled=1",
            0},
        {"clip count=100003", 0}, {"average count=100003 decay=0.999", 0}, {"gate inputs=3", 0},
        {"divide count=100003 by=3", 0}, {"outer count=100003 by=3 rate=0.7 momentum=0.9", 0},
        {"outer count=100003 by=3 rate=0.7", 0}, {"pair count=100003", 0},
        {"share_weigh inputs=2", 0}, {"share_mix count=100003 inputs=2", 0},
        {"share_scale count=100003", 0},
        {"onebit count=100003 replica=1 replicas=3 first=5 stride=4000", 0},
        {"topk count=100003 kept=999 replica=2 replicas=3 first=7 stride=2010", 0},
        {"topk count=100003 kept=60000 replica=0 replicas=2 stride=120000", 0}};
    const uint64_t seed = testing_seed(20261123);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const any_numbers any = {seed, cases[i].nans};
        ck_assert(one_case(cases[i].text, TUTTI_F32, &any));
        one_case(cases[i].text, TUTTI_BF16, &any);
    }
}
END_TEST

/* A grid has 2^22 threads. */
START_TEST(a_thread_takes_several_elements)
{
    const any_numbers any = {testing_seed(20261124), 1};
    ck_assert(one_case("relu count=4200001", TUTTI_BF16, &any));
}
END_TEST

START_TEST(sums_of_many_have_the_same_bits)
{
    compared = 0;
    test_each_text("large_cases.txt", in_all_types, NULL);
    ck_assert_int_ge(compared, 24);
}
END_TEST

static void open_case(test_case *c, const char *text, tutti_dtype values)
{
    ck_assert_msg(test_parse(text, values, c), "%s", text);
    test_case_open(c);
}

/* Gradients of weights in float32 from bf16: several calls of the library, the first of them with
 * fewer images. */
START_TEST(images_in_parts)
{
    const tutti_conv_desc desc = {.N = 3,
        .H = 224,
        .W = 224,
        .C = 64,
        .K = 1,
        .R = 1,
        .S = 1,
        .stride = {1, 2},
        .pad = {0, 0}};
    const size_t count = (size_t)(desc.N * desc.H * desc.W * desc.C);
    const size_t pixels = (size_t)(desc.N * desc.H * desc.W / 2);
    uint16_t *x = malloc(count * sizeof *x), *dy = malloc(pixels * sizeof *dy);
    float dw[2][64];
    ck_assert(x && dy);
    for (size_t i = 0; i < count; i++) x[i] = (uint16_t)(0x3f00 + i % 253);
    for (size_t i = 0; i < pixels; i++) dy[i] = (uint16_t)(0x3a00 + i % 127);
    const cpu_operand operand[] = {
        {x, count, TUTTI_BF16}, {dy, pixels, TUTTI_BF16}, {dw[0], 64, TUTTI_F32}};
    const tutti_op *op = &tutti_op_conv_bwd_weights;
    ck_assert_ok(cpu_kernel_run(tutti_kernel_find(op, TUTTI_CPU, TUTTI_BF16),
        tutti_kernel_find(op, TUTTI_CPU, TUTTI_F32), &desc, operand, 3));
    const tutti_kernel *kernel = host_kernel(op, TUTTI_BF16);
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    ck_assert_ok(kernel->fn(args, (void *[]){x, dy, dw[1]}, &streams[0]));
    kernel->close(args);
    for (int c = 0; c < 64; c++)
        ck_assert_msg(fabsf(dw[0][c] - dw[1][c]) <= 0x1p-16f * dw[0][c], "%g, not %g",
            (double)dw[1][c], (double)dw[0][c]);
    free(x);
    free(dy);
}
END_TEST

/* In bf16 the library has no engine for gradients of the last one's weights, and those of the last but
 * one are a product of cuBLAS. */
START_TEST(products_agree)
{
    static const char *const cases[] = {"dense N=3 C=17 K=10 bias=1",
        "conv N=2 H=8 W=8 C=16 K=8 R=3 S=3 stride=1 pad=1 bias=1",
        "conv N=2 H=4 W=3 C=6 K=4 R=1 S=1 stride=1 pad=0 bias=1",
        "conv N=2 H=8 W=7 C=6 K=4 R=3 S=3 stride=2 pad=1 bias=1 groups=2"};
    for (int i = 0; i < 8; i++)
        ck_assert(one_case(cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32, NULL));
}
END_TEST

/* One channel and one filter: of the fake's engines that may be taken, all need a large workspace. */
START_TEST(a_large_workspace_where_there_is_no_other)
{
    ck_assert(one_case("conv N=1 H=3 W=3 C=1 K=1 R=3 S=3 stride=1 pad=1 bias=0", TUTTI_F32, NULL));
}
END_TEST

/* A pad that is as large as the window. */
START_TEST(a_convolution_that_the_library_lacks)
{
    const tutti_op *const ops[] = {
        &tutti_op_conv, &tutti_op_conv_bwd_data, &tutti_op_conv_bwd_weights};
    const tutti_conv_desc desc = {
        .N = 1, .H = 5, .W = 5, .C = 16, .K = 8, .R = 3, .S = 3, .stride = {1, 1}, .pad = {3, 1}};
    for (int o = 0; o < 3; o++)
        for (int bf16 = 0; bf16 < 2; bf16++) {
            void *args = NULL;
            const tutti_kernel *kernel = host_kernel(ops[o], bf16 ? TUTTI_BF16 : TUTTI_F32);
            ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
            ck_assert_ptr_null(args);
            const char *said = tutti_last_error();
            ck_assert_msg(
                strstr(said, "1 images of 5x5 pixels, 16 channels, 8 filters of 3x3"), "%s", said);
            ck_assert_msg(strstr(said, "a pad as large as the window"), "%s", said);
        }
}
END_TEST

/* Two of a kind, on two streams: they have no memory in common. */
START_TEST(streams_share_nothing)
{
    static const char *const cases[] = {
        "conv N=2 H=8 W=8 C=16 K=8 R=3 S=3 stride=1 pad=1 bias=1", "dense N=3 C=17 K=10 bias=1"};
    fake_wait(); /* for what other tests have left on streams */
    for (int i = 0; i < 4; i++) {
        test_case c[2];
        for (int s = 0; s < 2; s++) open_case(&c[s], cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32);
        for (int o = 0; o < c[0].family->ops; o++) {
            void *args[2] = {NULL, NULL};
            for (int s = 0; s < 2; s++) {
                const test_tensor *tensor[MAX_BUFFERS];
                void *buf[MAX_BUFFERS];
                int written[MAX_BUFFERS];
                const int count = test_buffers(&c[s], c[s].family->op[o], tensor, written);
                const tutti_kernel *kernel = host_kernel(c[s].family->op[o], tensor[0]->dtype);
                for (int b = 0; b < count; b++) buf[b] = tensor[b]->data;
                ck_assert_ok(kernel->open(&c[s].desc, &args[s]));
                ck_assert_ok(kernel->fn(args[s], buf, &streams[s]));
            }
            fake_wait();
            for (int s = 0; s < 2; s++)
                host_kernel(c[s].family->op[o], c[s].values)->close(args[s]);
        }
        for (int s = 0; s < 2; s++) test_case_close(&c[s]);
    }
}
END_TEST

/* With TF32 numbers are off by about its last bit; the other rows do not round so. */
START_TEST(tf32_only_where_it_is_allowed)
{
    static const char *const cases[] = {
        "conv N=2 H=8 W=8 C=16 K=8 R=3 S=3 stride=1 pad=1 bias=1", "dense N=3 C=17 K=10 bias=1"};
    for (int i = 0; i < 2; i++) {
        test_case c;
        open_case(&c, cases[i], TUTTI_F32);
        for (int o = 0; o < c.family->ops; o++) {
            const test_tensor *tensor[MAX_BUFFERS];
            void *buf[MAX_BUFFERS];
            int written[MAX_BUFFERS], out = 0;
            const int count = test_buffers(&c, c.family->op[o], tensor, written);
            for (int b = 0; b < count; b++) buf[b] = tensor[b]->data;
            while (!written[out]) out++;
            const size_t elements = (size_t)tensor[out]->count;
            float *exact = malloc(elements * sizeof *exact), *rounded = buf[out];
            double off = 0, largest = 0;
            ck_assert_ptr_nonnull(exact);
            run(host_kernel(c.family->op[o], TUTTI_F32), &c, buf);
            memcpy(exact, rounded, elements * sizeof *exact);
            run(kernel_of(test_host_tf32, c.family->op[o], TUTTI_F32), &c, buf);
            for (size_t e = 0; e < elements; e++) {
                off = fmax(off, fabs((double)exact[e] - (double)rounded[e]));
                largest = fmax(largest, fabs((double)exact[e]));
            }
            ck_assert_msg(off > 0x1p-16 * largest && off < 0x1p-8 * largest, "%s, %s: %g of %g",
                cases[i], c.family->op[o]->name, off, largest);
            free(exact);
        }
        test_case_close(&c);
    }
}
END_TEST

/* Products, and only those, have a row with TF32, where they have one for CUDA at all. */
START_TEST(rows_with_tf32)
{
    const tutti_op *op;
    for (int i = 0; (op = tutti_op_get(i)); i++) {
        const int has = kernel_of(test_host_tf32, op, TUTTI_F32) != NULL;
        ck_assert_int_eq(has, is_product(op) && op != &tutti_op_dense_wide);
        const tutti_kernel *row = tutti_kernel_find_tf32(op);
        ck_assert_int_eq(row != NULL, has && tutti_kernel_find(op, TUTTI_CUDA, TUTTI_F32));
        if (row) ck_assert_ptr_eq(row->op, op);
    }
}
END_TEST

/* A kernel cannot return that a label is no class: the loss and its gradient are no numbers. */
START_TEST(a_label_that_is_no_class)
{
    const tutti_xent_desc desc = {.N = 2, .K = 3, .weight = 1};
    const float logits[6] = {1, 2, 3, 4, 5, 6};
    const int32_t labels[2] = {0, 3};
    float dlogits[6] = {0};
    double metrics[TUTTI_METRICS] = {0};
    const tutti_kernel *kernel = host_kernel(&tutti_op_softmax_xent, TUTTI_F32);
    void *args = NULL, *const buf[] = {(void *)logits, (void *)labels, dlogits, metrics};
    ck_assert_ok(kernel->open(&desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
    ck_assert(isnan(metrics[0]) && isfinite(dlogits[2]) && isnan(dlogits[3]) && isnan(dlogits[5]));
}
END_TEST

/* An argmax is a byte. */
START_TEST(a_window_too_large_for_its_argmax)
{
    tutti_pool_desc desc = {
        .N = 1, .H = 20, .W = 20, .C = 1, .R = 16, .S = 16, .stride = {1, 1}, .pad = {0, 0}};
    const tutti_kernel *kernel = host_kernel(&tutti_op_pool_max, TUTTI_F32);
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    kernel->close(args);
    desc.S = 17;
    ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
    kernel = host_kernel(&tutti_op_pool_avg, TUTTI_F32);
    ck_assert_ok(kernel->open(&desc, &args));
    kernel->close(args);
}
END_TEST

/* They are counted in 32 bits. */
START_TEST(more_images_than_a_pool_takes)
{
    tutti_pool_desc desc = {.N = (1 << 22) - 1,
        .H = 16,
        .W = 16,
        .C = 2,
        .R = 1,
        .S = 1,
        .stride = {1, 1},
        .pad = {0, 0}};
    const tutti_kernel *kernel = host_kernel(&tutti_op_pool_avg, TUTTI_F32);
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    kernel->close(args);
    desc.N++;
    ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
}
END_TEST

/* More elements than a part, a group or a thread has; ties. */
START_TEST(compressed_gradients_have_the_same_bits)
{
    static const char *const cases[] = {"onebit count=5003 replica=1 replicas=3 first=5 stride=180",
        "topk count=5003 kept=999 replica=2 replicas=3 first=7 stride=2010",
        "topk count=20011 kept=15000 replica=0 replicas=2 stride=30000",
        "powersgd rows=70 columns=333 rank=5"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int any = 0; any < 2 && i + any < 4; any++)
            ck_assert(one_case(
                cases[i], TUTTI_F32, any ? &(any_numbers){testing_seed(20261125), 0} : NULL));
    for (int same = 1; same < 3; same++) { /* of elements, half have one magnitude, or all */
        test_case c;
        open_case(&c, "topk count=20011 kept=5000 replica=0 replicas=1 stride=10000", TUTTI_F32);
        for (int t = 0; t < c.tensors; t++)
            for (int64_t i = 0; i < c.tensor[t].count && c.tensor[t].dtype == TUTTI_F32; i++)
                if (i % 4 < 2 * same) ((float *)c.tensor[t].data)[i] = i % 2 ? 0.25f : -0.25f;
        for (int o = 0; o < c.family->ops; o++) compare(&c, c.family->op[o]);
        test_case_close(&c);
    }
}
END_TEST

/* Vectors that are all 0, between others, are drawn, and no others. */
START_TEST(vectors_are_drawn_alike)
{
    enum { COLUMNS = 21 };
    test_case c;
    open_case(&c, "powersgd rows=9 columns=21 rank=3 seed=3 stream=4", TUTTI_F32);
    for (int t = 0; t < c.tensors; t++)
        for (int i = 0; i < 3 * COLUMNS && !strcmp(c.tensor[t].name, "q"); i++)
            if (i / COLUMNS != 1) ((float *)c.tensor[t].data)[i] = 0;
    compare(&c, &tutti_op_powersgd_left);
    test_case_close(&c);
}
END_TEST

/* Indices that were changed on the way: not a number, which is found before weights are. */
START_TEST(an_index_that_is_no_element)
{
    const tutti_topk_desc desc = {.rows = {.replicas = 2, .stride = 2}, .count = 4, .kept = 1};
    const tutti_kernel *kernel = host_kernel(&tutti_op_topk_decode, TUTTI_I32);
    int32_t code[] = {3, 0, 4, 0};
    float g[4];
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    for (int i = 0; i < 3; i++) {
        code[2] = 4 - 5 * i; /* 4, -1, and again */
        if (i == 2) code[2] = 1;
        ck_assert_ok(kernel->fn(args, (void *[]){code, g}, NULL));
        ck_assert_int_eq(isnan(g[0]) != 0, i < 2);
    }
    kernel->close(args);
}
END_TEST

/* Every op has rows for CUDA for the types for which it has rows for the CPU, and no others. */
START_TEST(rows_are_complete)
{
    const tutti_op *op;
    for (int i = 0; (op = tutti_op_get(i)); i++)
        for (int dtype = 0; dtype < TUTTI_DTYPE_COUNT; dtype++)
            ck_assert_msg(!tutti_kernel_find(op, TUTTI_CPU, (tutti_dtype)dtype) ==
                              !host_kernel(op, (tutti_dtype)dtype),
                "%s for %s", op->name, tutti_dtype_name((tutti_dtype)dtype));
}
END_TEST

int main(void)
{
    if (!test_host_rows[0]) return 77;
    Suite *suite = suite_create("cuda");
    TCase *tests = testing_case(suite, "cuda");
    tcase_add_test(tests, cases_have_the_same_bits);
    tcase_add_test(tests, any_numbers_have_the_same_bits);
    tcase_add_test(tests, a_thread_takes_several_elements);
    tcase_add_test(tests, sums_of_many_have_the_same_bits);
    tcase_add_test(tests, a_convolution_that_the_library_lacks);
    tcase_add_test(tests, rows_with_tf32);
    tcase_add_test(tests, a_label_that_is_no_class);
    tcase_add_test(tests, a_window_too_large_for_its_argmax);
    tcase_add_test(tests, more_images_than_a_pool_takes);
    tcase_add_test(tests, rows_are_complete);
    TCase *codecs = testing_case(suite, "codecs"); /* cuda_mutants.sh runs these */
    tcase_add_test(codecs, compressed_gradients_have_the_same_bits);
    tcase_add_test(codecs, vectors_are_drawn_alike);
    tcase_add_test(codecs, an_index_that_is_no_element);
    TCase *products = testing_case(suite, "products"); /* and these */
    tcase_add_test(products, streams_share_nothing);
    tcase_add_test(products, products_agree);
    tcase_add_test(products, images_in_parts);
    tcase_add_test(products, a_large_workspace_where_there_is_no_other);
    tcase_add_test(products, tf32_only_where_it_is_allowed);
    return testing_run(suite);
}
