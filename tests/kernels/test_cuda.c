/* dag/kernels/<family>_cuda.cu: compiled as C++, each kernel writes the bits that the CPU's kernel
 * writes, or almost (slack_of): on the cases of cases.txt, on more elements than a grid has threads,
 * and on numbers of every kind. Convolutions and dense layers call fakes of cuDNN and cuBLAS
 * (tests/device/fake), which check the calls. Skipped without a C++ compiler. */
#include "dag/base/rng.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/codec.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/cublas.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/engines.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pool.h"
#include "dag/kernels/workspace.h"
#include "tests/device/fake/cudnn_run.h"
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
static int runs = 1;    /* of each kernel */

static void run(const tutti_kernel *kernel, const test_case *c, void *const buf[])
{
    void *args = NULL;
    ck_assert_ok(kernel->open(&c->desc, &args));
    for (int i = 0; i < runs; i++) ck_assert_ok(kernel->fn(args, buf, &streams[0]));
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
    if (slack > 0 && fabs(cpu - gpu) <= slack * fabs(cpu))
        return; /* the largest need not be found */
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
        host[b] = aligned_alloc(64, (bytes + 63) / 64 * 64); /* as a binding does: packs */
        ck_assert_ptr_nonnull(host[b]);
        memcpy(host[b], tensor[b]->data, bytes);
    }
    test_run_on_cpu(c, op, count, tensor, cpu);
    run(kernel, c, host);
    for (int b = 0; b < count; b++) {
        const size_t bytes = (size_t)tensor[b]->count * tutti_dtype_bytes(tensor[b]->dtype);
        if (test_is_rounded_on_gpu(c, op, tensor[b])) test_round_to_bf16(tensor[b]);
        for (int64_t e = 0; memcmp(tensor[b]->data, host[b], bytes) && e < tensor[b]->count; e++)
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
    } cases[] = {{"relu count=100003", 1}, {"relu count=100003 limit=1.1", 1},
        {"dropout count=100003 offset=4000000000 rate=0.3 seed=11 stream=5", 1},
        {"widen count=100003", 1}, {"narrow count=100003", 1}, {"accumulate count=100003", 0},
        {"concat pixels=3001 parts=3 C0=16 C1=3 C2=33", 1},
        {"split pixels=3001 parts=2 C0=17 C1=5", 1},
        {"shortcut N=3 H=33 W=31 C=16 K=33 stride=2", 1}, {"sum count=100003 inputs=3 relu=0", 0},
        {"sum count=100003 inputs=2 relu=1", 0}, {"sum count=100003 inputs=2 relu=0 into=1", 0},
        {"sum_narrow count=100003 inputs=2 relu=1", 0}, {"relu count=100000", 1},
        {"sum count=100000 inputs=2 relu=1", 0}, {"sum count=100000 inputs=2 relu=0 into=1", 0},
        {"sum count=100000 inputs=4 relu=0", 0}, {"sum_narrow count=100000 inputs=2 relu=0", 0},
        {"mixup N=22 each=1001", 0},
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
    ck_assert_int_ge(compared, 48);
}
END_TEST

/* Those of one family: the context is how its cases begin. */
static void of_family(const char *text, void *context)
{
    const char *family = context;
    if (!strncmp(text, family, strlen(family))) in_all_types(text, NULL);
}

START_TEST(pools_have_the_same_bits)
{
    compared = 0;
    test_each_text("large_cases.txt", of_family, "pool_");
    ck_assert_int_ge(compared, 48);
    const any_numbers any = {testing_seed(20261126), 0};
    ck_assert(one_case("pool_max N=3 H=14 W=13 C=24 R=3 S=3 stride=2 pad=1", TUTTI_F32, &any));
}
END_TEST

START_TEST(shortcuts_have_the_same_bits)
{
    compared = 0;
    test_each_text("cases.txt", of_family, "shortcut");
    test_each_text("large_cases.txt", of_family, "shortcut");
    ck_assert_int_ge(compared, 28);
}
END_TEST

/* They are counted in 32 bits. */
START_TEST(more_than_a_shortcut_takes)
{
    tutti_shortcut_desc desc = {.N = (1 << 22) - 1, .H = 16, .W = 16, .C = 1, .K = 2, .stride = 2};
    const tutti_kernel *kernel = host_kernel(&tutti_op_shortcut, TUTTI_F32);
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    kernel->close(args);
    desc.N++;
    ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(pixels_have_the_same_bits)
{
    compared = 0;
    test_each_text("cases.txt", of_family, "normalise");
    test_each_text("large_cases.txt", of_family, "normalise");
    ck_assert_int_ge(compared, 9);
}
END_TEST

/* Each several times, in memory that all of them share: blocks of threads that count each other leave no count. */
START_TEST(losses_have_the_same_bits)
{
    compared = 0;
    tutti_workspace_begin(SIZE_MAX);
    runs = 3;
    test_each_text("large_cases.txt", of_family, "xent");
    test_each_text("cases.txt", of_family, "xent");
    runs = 1;
    ck_assert_uint_gt(tutti_workspace_end(), 0);
    ck_assert_int_ge(compared, 18);
}
END_TEST

/* The first of equal logits is the largest, whichever thread has it; a logit that is not a number makes a row wrong. */
START_TEST(the_largest_logit)
{
    enum { ROWS = 5, CLASSES = 600 };
    static float logits[ROWS * CLASSES], dlogits[ROWS * CLASSES];
    const tutti_xent_desc desc = {.N = ROWS, .K = CLASSES, .weight = 1};
    const int32_t labels[ROWS] = {44, 44, 0, -1, 599};
    double metrics[TUTTI_METRICS] = {0};
    for (int n = 0; n < 2; n++) logits[n * CLASSES + 44] = logits[n * CLASSES + 300 - n] = 1;
    logits[3 * CLASSES - 1] = NAN;
    logits[5 * CLASSES - 1] = 1;
    const tutti_kernel *kernel = host_kernel(&tutti_op_softmax_xent, TUTTI_F32);
    void *args = NULL, *const buf[] = {logits, (void *)labels, dlogits, metrics};
    ck_assert_ok(kernel->open(&desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
    ck_assert(isnan(metrics[0]) && metrics[1] == 3 && metrics[2] == 4);
    for (int k = 0; k < CLASSES; k++) ck_assert(dlogits[3 * CLASSES + k] == 0);
}
END_TEST

static void open_case(test_case *c, const char *text, tutti_dtype values)
{
    ck_assert_msg(test_parse(text, values, c), "%s", text);
    test_case_open(c);
}

/* Each several times, in memory that all of them share: blocks of threads that count each other leave no count behind.
 * More groups of rows than are read at a time, blocks of rows of all lengths, channels in packs and alone. */
START_TEST(norms_again)
{
    static const char *const cases[] = {"norm N=17 H=64 W=64 C=64 eps=1e-5 relu=1",
        "norm N=9 H=33 W=31 C=32 eps=1e-5 relu=0", "norm N=3 H=29 W=31 C=128 eps=1e-5 relu=0",
        "norm N=3 H=20 W=21 C=192 eps=1e-5 relu=1", "norm N=2 H=17 W=19 C=512 eps=1e-5 relu=1",
        "norm N=9 H=33 W=31 C=33 eps=1e-5 relu=1", "norm N=2 H=5 W=3 C=17 eps=1e-3 relu=0",
        "norm_add N=3 H=20 W=21 C=256 eps=1e-5", "norm_add N=9 H=33 W=31 C=33 eps=1e-5"};
    tutti_workspace_begin(SIZE_MAX);
    for (runs = 1; runs <= 3;
         runs += 2) /* what another one has left, and what it has left itself */
        for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++)
            ck_assert(one_case(cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32, NULL));
    runs = 1;
    ck_assert_uint_gt(tutti_workspace_end(), 0);
}
END_TEST

/* One counter for each set of channels. */
START_TEST(more_channels_than_a_norm_takes)
{
    tutti_norm_desc desc = {.N = 1, .H = 1, .W = 2, .C = 32768, .eps = 1e-5f};
    const tutti_kernel *kernel = host_kernel(&tutti_op_norm, TUTTI_F32);
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    kernel->close(args);
    desc.C++;
    ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
}
END_TEST

/* ---- many kernels at once ---- */

enum { MOST_AT_ONCE = 300, SPARE = 64 /* bytes around a tensor that nothing may touch */ };

/* What one of them takes: tensors, which begin where packs may, or an element behind. */
typedef struct one_of_many {
    test_case c;
    void *args, *memory[MAX_BUFFERS], *buf[MAX_BUFFERS];
    size_t bytes[MAX_BUFFERS];
} one_of_many;

static void take_part(one_of_many *one, const tutti_kernel *kernel, int behind)
{
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS];
    const int count = test_buffers(&one->c, one->c.family->op[0], tensor, written);
    for (int b = 0; b < count; b++) {
        const size_t element = tutti_dtype_bytes(tensor[b]->dtype);
        const size_t bytes = (size_t)tensor[b]->count * element;
        one->bytes[b] = (bytes + 2 * SPARE + 63) / 64 * 64;
        one->memory[b] = aligned_alloc(64, one->bytes[b]);
        ck_assert_ptr_nonnull(one->memory[b]);
        memset(one->memory[b], 0x5a, one->bytes[b]);
        one->buf[b] = (char *)one->memory[b] + SPARE + (behind ? element : 0);
        memcpy(one->buf[b], tensor[b]->data, bytes);
    }
    ck_assert_ok(kernel->open(&one->c.desc, &one->args));
}

static void leave(one_of_many *one, const tutti_kernel *kernel)
{
    kernel->close(one->args);
    for (int b = 0; b < MAX_BUFFERS; b++) free(one->memory[b]);
}

/* A family's first op; the key of its descriptor that is a size, and one that is somewhat more. */
typedef struct works_case {
    const char *text, *size, *more;
} works_case;

static void open_size(test_case *c, const works_case *of, tutti_dtype values, int size)
{
    char text[MAX_TEXT];
    int length = snprintf(text, sizeof text, "%s %s=%d", of->text, of->size, size);
    if (of->more)
        snprintf(text + length, sizeof text - (size_t)length, " %s=%d", of->more, size + 5);
    open_case(c, text, values);
}

/* `count` of them, of several sizes from `first` on: by `many`, and one after another. Returns the row. */
static const tutti_kernel *compare_many(
    const works_case *of, tutti_dtype values, int count, int first)
{
    static const int sizes[] = {1, 3, 4, 1021, 8, 5, 64, 2048, 255, 4099};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    one_of_many *one = calloc(2 * MOST_AT_ONCE, sizeof *one), *alone = one + MOST_AT_ONCE;
    void *args[MOST_AT_ONCE], *const *buf[MOST_AT_ONCE];
    const tutti_kernel *kernel = NULL;
    ck_assert_ptr_nonnull(one);
    for (int i = 0; i < count; i++) {
        open_size(&one[i].c, of, values, i ? sizes[i % SIZES] : first);
        kernel = host_kernel(one[i].c.family->op[0], one[i].c.tensor[0].dtype);
        ck_assert_msg(kernel && kernel->many, "%s", one[i].c.text);
        alone[i].c = one[i].c;
        take_part(&one[i], kernel, i % 3 == 1);
        take_part(&alone[i], kernel, 0);
        args[i] = one[i].args;
        buf[i] = one[i].buf;
        ck_assert_ok(kernel->fn(alone[i].args, alone[i].buf, &streams[0]));
    }
    ck_assert_ok(kernel->many(count, args, buf, &streams[0]));
    for (int i = 0; i < count; i++) {
        for (int b = 0; b < MAX_BUFFERS && one[i].memory[b]; b++) {
            const size_t at = (size_t)((char *)one[i].buf[b] - (char *)one[i].memory[b]);
            const size_t to = one[i].bytes[b] - at;
            ck_assert_msg(!memcmp(one[i].buf[b], alone[i].buf[b], to - SPARE),
                "%s: buffer %d of number %d of %d", one[i].c.text, b, i, count);
            for (size_t byte = 0; byte < at; byte++)
                ck_assert_int_eq(((char *)one[i].memory[b])[byte], 0x5a);
        }
        leave(&one[i], kernel);
        leave(&alone[i], kernel);
        test_case_close(&one[i].c);
    }
    free(one);
    return kernel;
}

/* Of all rows that have `many`. */
START_TEST(many_write_what_each_writes)
{
    static const works_case cases[] = {{"sgd momentum=0 weight_decay=0.01", "count", NULL},
        {"sgd momentum=0.9 weight_decay=0.01", "count", NULL},
        {"sgd momentum=0.9 weight_decay=0.01 nesterov=1", "count", NULL},
        {"sgd_bf16 momentum=0.9 weight_decay=0.01", "count", NULL},
        {"adam every=1 beta1=0.9 beta2=0.99 epsilon=1e-8 weight_decay=0.1", "count", NULL},
        {"clip", "count", NULL}, {"average decay=0.9", "count", NULL},
        {"divide by=3", "count", NULL}, {"outer by=3 rate=0.7 momentum=0.9", "count", NULL},
        {"outer by=3 rate=0.7", "count", NULL}, {"pair", "count", NULL}, {"narrow", "count", NULL},
        {"widen", "count", NULL}, {"accumulate", "count", NULL}, {"put first=3", "count", "total"},
        {"put first=4", "count", "total"},
        {"norm_running momentum=0.1 weight=0.5 unbias=1.25", "C", NULL}};
    const tutti_kernel *seen[2 * sizeof cases / sizeof *cases];
    int rows = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int values = 0; values < 2; values++) {
            const tutti_dtype dtype = values ? TUTTI_BF16 : TUTTI_F32;
            test_case c;
            ck_assert_msg(test_parse(cases[i].text, dtype, &c), "%s", cases[i].text);
            if (values && !c.family->halves) continue;
            compare_many(&cases[i], dtype, 1, 1021);
            compare_many(&cases[i], dtype, 2, 3);
            seen[rows++] = compare_many(&cases[i], dtype, MOST_AT_ONCE, 100003);
        }
    for (int i = 0; i < 2; i++) /* more than a thread has one item of */
        compare_many(&cases[i], TUTTI_F32, 3, 5000003);
    for (int f = 0; test_host_rows[f]; f++)
        for (const tutti_kernel *row = test_host_rows[f]; row->op; row++) {
            int i = 0;
            while (i < rows && seen[i] != row) i++;
            ck_assert_msg(!row->many == (i == rows), "%s has no case", row->op->name);
        }
}
END_TEST

/* The sums of whole numbers are exact in any order: of one chain of rows, and of merges of one to three levels; with
 * packs of columns, and without. */
START_TEST(gradients_of_biases_are_whole)
{
    static const struct {
        int64_t rows, columns;
    } cases[] = {{1, 16}, {128, 5}, {129, 8}, {2048, 16}, {2049, 3}, {16384, 8}, {16385, 24},
        {40001, 7}, {2097153, 1}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const int bf16 = i % 2 != 0;
        const tutti_dense_desc desc = {
            .N = cases[i / 2].rows, .C = 1, .K = cases[i / 2].columns, .bias = 1};
        const size_t rows = (size_t)desc.N, columns = (size_t)desc.K, count = rows * columns;
        float *x = calloc(rows, sizeof *x), *dy = calloc(count, sizeof *dy), dw[24], db[24];
        double sum[24] = {0};
        ck_assert(x && dy);
        for (size_t e = 0; e < count; e++) {
            const float number = (float)((e * 2654435761u >> 16) % 9) - 3.0f;
            uint32_t bits;
            memcpy(&bits, &number, sizeof bits);
            if (bf16)
                ((uint16_t *)dy)[e] = (uint16_t)(bits >> 16);
            else
                dy[e] = number;
            sum[e % columns] += (double)number;
        }
        const tutti_kernel *kernel =
            host_kernel(&tutti_op_dense_bwd_weights, bf16 ? TUTTI_BF16 : TUTTI_F32);
        void *args = NULL;
        ck_assert_ok(kernel->open(&desc, &args));
        ck_assert_ok(kernel->fn(args, (void *[]){x, dy, dw, db}, &streams[0]));
        kernel->close(args);
        for (size_t c = 0; c < columns; c++)
            ck_assert_msg(fabs(sum[c] - (double)db[c]) < 0.5, "%zu rows: %g, not %g", rows,
                (double)db[c], sum[c]);
        free(x);
        free(dy);
    }
}
END_TEST

/* In bf16, the gradients of the weights of the last but one are a product of cuBLAS. */
START_TEST(products_agree)
{
    static const char *const cases[] = {"dense N=3 C=17 K=10 bias=1", "dense N=4 C=16 K=24 bias=1",
        "dense N=4 C=16 K=10 bias=1", "conv N=2 H=8 W=8 C=16 K=8 R=3 S=3 stride=1 pad=1 bias=1",
        "conv N=2 H=4 W=3 C=6 K=4 R=1 S=1 stride=1 pad=0 bias=1",
        "conv N=2 H=8 W=7 C=6 K=4 R=3 S=3 stride=2 pad=1 bias=1 groups=2"};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++)
        ck_assert(one_case(cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32, NULL));
}
END_TEST

/* One channel and one filter: of the fake's engines that may be taken, all need a large workspace. */
START_TEST(a_large_workspace_where_there_is_no_other)
{
    ck_assert(one_case("conv N=1 H=3 W=3 C=1 K=1 R=3 S=3 stride=1 pad=1 bias=0", TUTTI_F32, NULL));
}
END_TEST

/* Runs the forward pass of a case, with a ReLU or without; returns a copy of y. */
static void *forward_of(test_case *c, int relu, size_t *count)
{
    const tutti_op *op = c->family->op[0];
    const test_tensor *tensor[MAX_BUFFERS], *y = test_find(c, "y");
    void *buf[MAX_BUFFERS];
    int written[MAX_BUFFERS];
    const int buffers = test_buffers(c, op, tensor, written);
    const size_t bytes = (size_t)y->count * tutti_dtype_bytes(y->dtype);
    if (op == &tutti_op_conv)
        ((tutti_conv_desc *)c->desc.bytes)->relu = relu;
    else
        ((tutti_dense_desc *)c->desc.bytes)->relu = relu;
    for (int b = 0; b < buffers; b++) buf[b] = tensor[b]->data;
    run(host_kernel(op, c->values), c, buf);
    void *copy = malloc(bytes);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, y->data, bytes);
    *count = (size_t)y->count;
    return copy;
}

/* A ReLU that a kernel computes too has the bits of one behind it. */
START_TEST(relus_behind_products)
{
    static const char *const cases[] = {"dense N=3 C=17 K=10 bias=1", "dense N=3 C=17 K=10 bias=0",
        "conv N=2 H=8 W=8 C=16 K=8 R=3 S=3 stride=1 pad=1 bias=1",
        "conv N=2 H=8 W=8 C=16 K=8 R=3 S=3 stride=1 pad=1 bias=0",
        "conv N=2 H=8 W=8 C=16 K=1 R=3 S=3 stride=1 pad=1 bias=1",
        "conv N=2 H=8 W=7 C=6 K=4 R=3 S=3 stride=2 pad=1 bias=1 groups=2"};
    for (int i = 0; i < 12; i++) {
        test_case c;
        size_t count;
        int below = 0;
        open_case(&c, cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32);
        void *plain = forward_of(&c, 0, &count), *rectified = forward_of(&c, 1, &count);
        test_tensor y = *test_find(&c, "y");
        for (size_t e = 0; e < count; e++) {
            y.data = plain;
            const double value = test_element(&y, (int64_t)e);
            y.data = rectified;
            const double got = test_element(&y, (int64_t)e);
            below += value < 0;
            ck_assert_msg(!signbit(got) && fabs(got - fmax(value, 0)) <= 0, "%s: %g of %g", c.text,
                got, value);
        }
        ck_assert_int_gt(below, 0);
        free(plain);
        free(rectified);
        test_case_close(&c);
    }
}
END_TEST

/* What a forward pass of dense with a bias and a ReLU, whose inputs are NaNs, leaves. */
static float forward_of_nans(tutti_dtype dtype)
{
    enum { N = 2, C = 3, K = 4 };
    float x[N * C], w[K * C], bias[K] = {0}, y[N * K] = {0};
    const tutti_dense_desc desc = {.N = N, .C = C, .K = K, .bias = dtype == TUTTI_F32, .relu = 1};
    const tutti_kernel *kernel = host_kernel(&tutti_op_dense, dtype);
    void *with[] = {x, w, bias, y}, *without[] = {x, w, y}, *args = NULL;
    memset(x, 0xff, sizeof x);
    memset(w, 0xff, sizeof w);
    ck_assert_ok(kernel->open(&desc, &args));
    ck_assert_ok(kernel->fn(args, desc.bias ? with : without, &streams[0]));
    kernel->close(args);
    return y[0];
}

/* Where the library's ReLU makes zeros of them, it is not asked for one. */
START_TEST(relus_keep_nans)
{
    for (int drops = 0; drops < 2; drops++) {
        setenv("TUTTI_FAKE_DROPS_NANS", drops ? "1" : "0", 1);
        ck_assert(isnan(forward_of_nans(TUTTI_F32)));
        ck_assert(isnan(forward_of_nans(TUTTI_BF16)));
    }
    unsetenv("TUTTI_FAKE_DROPS_NANS");
}
END_TEST

/* Biases, their gradients and ReLUs cost no launch of their own where the library computes them. */
START_TEST(products_do_more)
{
    const unsigned bias = TUTTI_PRODUCT_BIAS, relu = TUTTI_PRODUCT_RELU, sums = TUTTI_PRODUCT_SUMS;
    const struct {
        int64_t columns;
        unsigned wanted, gets;
        const char *drops;
    } cases[] = {{3, 0, 0, "0"}, {3, bias, bias, "0"}, {3, relu, relu, "0"},
        {3, bias | relu, bias | relu, "0"}, {3, sums, sums, "0"}, {3, bias | relu, bias, "1"},
        {3, relu, 0, "1"}, {1, bias | relu, 0, "0"}, {1, sums, 0, "0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_workspace space = {0};
        tutti_cublas *k = NULL;
        const tutti_product product = {
            "test", 2, cases[i].columns, 5, 1, 0, TUTTI_F32, TUTTI_F32, 0, cases[i].wanted};
        setenv("TUTTI_FAKE_DROPS_NANS", cases[i].drops, 1);
        ck_assert_ok(tutti_cublas_open(&product, &space, &k));
        ck_assert_uint_eq(tutti_cublas_also(k), cases[i].gets);
        tutti_cublas_close(k);
        space.library[TUTTI_WORKSPACE_CUBLAS].close(space.library[TUTTI_WORKSPACE_CUBLAS].handle);
    }
    unsetenv("TUTTI_FAKE_DROPS_NANS");
}
END_TEST

/* The CPU's kernels have none. */
START_TEST(no_relu_on_the_cpu)
{
    const tutti_conv_desc conv = {.N = 1,
        .H = 3,
        .W = 3,
        .C = 8,
        .K = 8,
        .R = 3,
        .S = 3,
        .stride = {1, 1},
        .pad = {1, 1},
        .relu = 1};
    const tutti_dense_desc dense = {.N = 1, .C = 3, .K = 3, .relu = 1};
    void *args = NULL;
    ck_assert_int_eq(tutti_kernel_find(&tutti_op_conv, TUTTI_CPU, TUTTI_F32)->open(&conv, &args),
        TUTTI_ERR_UNSUPPORTED);
    ck_assert_int_eq(tutti_kernel_find(&tutti_op_dense, TUTTI_CPU, TUTTI_F32)->open(&dense, &args),
        TUTTI_ERR_UNSUPPORTED);
}
END_TEST

/* ---- engines chosen by timing ---- */

static const char timed_case[] = "conv N=2 H=8 W=8 C=16 K=8 R=3 S=3 stride=1 pad=1 bias=1";
static const char timed_text[] =
    "conv bf16 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1 bias = cuDNN 9.19.0 e12 2=6\n"
    "conv_bwd_data bf16 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1 = cuDNN 9.19.0 e12 2=6\n"
    "conv_bwd_weights bf16 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1 = cuDNN 9.19.0 e12 2=6\n";

/* Opens the forward pass of the case, and runs it. */
static tutti_status run_timed(tutti_engines *engines, tutti_dtype values)
{
    test_case c;
    const test_tensor *tensor[MAX_BUFFERS];
    void *buf[MAX_BUFFERS], *args = NULL;
    int written[MAX_BUFFERS];
    open_case(&c, timed_case, values);
    const tutti_kernel *kernel = host_kernel(&tutti_op_conv, values);
    const int count = test_buffers(&c, &tutti_op_conv, tensor, written);
    for (int b = 0; b < count; b++) buf[b] = tensor[b]->data;
    tutti_engines_begin(engines);
    tutti_status status = kernel->open(&c.desc, &args);
    tutti_engines_end();
    if (!status) status = kernel->fn(args, buf, &streams[0]);
    if (args) kernel->close(args);
    test_case_close(&c);
    return status;
}

/* Of the fake's engines the fastest that may be taken, with its knob; one that is faster by a hundredth is none. In
 * float32 without TF32, of those without tensor cores. */
START_TEST(the_fastest_engine_is_taken)
{
    tutti_engines *engines;
    ck_assert_ok(tutti_engines_new(&engines));
    tutti_engines_begin(engines);
    ck_assert(one_case(timed_case, TUTTI_BF16, NULL));
    tutti_engines_end();
    char *text = tutti_engines_print(engines);
    ck_assert_str_eq(text, timed_text);
    free(text);
    ck_assert_ok(run_timed(engines, TUTTI_F32));
    const char *found =
        tutti_engines_find(engines, "conv f32 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1 bias");
    ck_assert_str_eq(found, "cuDNN 9.19.0 e14 2=2");
    tutti_engines_free(engines);
}
END_TEST

/* What a table has is taken as it is, without timing. */
START_TEST(a_given_engine_is_taken)
{
    tutti_engines *engines;
    ck_assert_ok(tutti_engines_new(&engines));
    ck_assert_ok(tutti_engines_read(engines,
        "conv bf16 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1 bias = cuDNN 9.19.0 e12 2=4\n"));
    const int slow = cudnn_runs(12, 4), quick = cudnn_runs(12, 6);
    ck_assert_ok(run_timed(engines, TUTTI_BF16));
    ck_assert_int_eq(cudnn_runs(12, 4), slow + 1);
    ck_assert_int_eq(cudnn_runs(12, 6), quick);
    ck_assert_int_eq(tutti_engines_count(engines), 1);
    tutti_engines_free(engines);
}
END_TEST

/* One filter: of the fake's engines none adds a bias. A table has that, too. */
START_TEST(a_bias_that_no_engine_adds)
{
    static const char alone[] = "conv bf16 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1";
    static const char one_filter[] = "conv N=2 H=8 W=8 C=16 K=1 R=3 S=3 stride=1 pad=1 bias=1";
    tutti_engines *engines;
    ck_assert(one_case(one_filter, TUTTI_F32, NULL));
    ck_assert_ok(tutti_engines_new(&engines));
    tutti_engines_begin(engines);
    ck_assert(one_case(one_filter, TUTTI_BF16, NULL));
    tutti_engines_end();
    const char *found =
        tutti_engines_find(engines, "conv bf16 2x8x8x16 1x3x3 stride 1x1 pad 1x1 groups 1 bias");
    ck_assert_str_eq(found, "none");
    ck_assert_ok(tutti_engines_read(
        engines, "conv bf16 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1 bias = none\n"));
    ck_assert_ok(run_timed(engines, TUTTI_BF16));
    ck_assert_str_eq(tutti_engines_find(engines, alone), "cuDNN 9.19.0 e12 2=6");
    tutti_engines_free(engines);
}
END_TEST

/* A row that a table has stays, until another is put in its place. */
START_TEST(tables_of_engines_as_text)
{
    tutti_engines *engines;
    ck_assert_ok(tutti_engines_new(&engines));
    ck_assert_ok(tutti_engines_put(engines, "a b", "e1 2=3"));
    ck_assert_ok(tutti_engines_read(engines, "a b = e2\n\nc = e3 = 4\n"));
    char *text = tutti_engines_print(engines);
    ck_assert_str_eq(text, "a b = e1 2=3\nc = e3 = 4\n");
    free(text);
    ck_assert_ok(tutti_engines_put(engines, "a b", "e2"));
    ck_assert_str_eq(tutti_engines_find(engines, "a b"), "e2");
    ck_assert_ptr_null(tutti_engines_find(engines, "a"));
    static const char *const wrong[] = {"d", " = e1", "d = ", "d=e1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(tutti_engines_read(engines, wrong[i]), TUTTI_ERR_FORMAT);
    ck_assert_int_eq(tutti_engines_count(engines), 2);
    tutti_engines_free(engines);
}
END_TEST

/* One that the library cannot open is an error; one of another version of the library is chosen anew. */
START_TEST(a_given_engine_that_there_is_not)
{
    static const char computed[] = "conv bf16 2x8x8x16 8x3x3 stride 1x1 pad 1x1 groups 1 bias";
    static const char *const unknown[] = {
        "cuDNN 9.19.0 e99", "cuDNN 9.19.0 e12 2=9", "cuDNN 9.19.0 e12 3=4", "cuDNN 9.19.0 e12"};
    static const char *const others[] = {"cuDNN 9.18.0 e12 2=4", "cuDNN 9.19.0", "e12 2=4",
        "cuDNN 9.19.0 e12 2", "cuDNN 9.19.0 e12 2=4x"};
    tutti_engines *engines;
    ck_assert_ok(tutti_engines_new(&engines));
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        ck_assert_ok(tutti_engines_put(engines, computed, unknown[i]));
        ck_assert_int_eq(run_timed(engines, TUTTI_BF16), TUTTI_ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(tutti_last_error(), "cannot open the engine"));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_ok(tutti_engines_put(engines, computed, others[i]));
        ck_assert_ok(run_timed(engines, TUTTI_BF16));
        ck_assert_str_eq(tutti_engines_find(engines, computed), "cuDNN 9.19.0 e12 2=6");
    }
    tutti_engines_free(engines);
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
    tcase_add_test(tests, a_thread_takes_several_elements);
    tcase_add_test(tests, sums_of_many_have_the_same_bits);
    tcase_add_test(tests, a_convolution_that_the_library_lacks);
    tcase_add_test(tests, rows_with_tf32);
    tcase_add_test(tests, a_window_too_large_for_its_argmax);
    tcase_add_test(tests, more_images_than_a_pool_takes);
    tcase_add_test(tests, more_channels_than_a_norm_takes);
    tcase_add_test(tests, rows_are_complete);
    TCase *codecs = testing_case(suite, "codecs"); /* cuda_mutants.sh runs these */
    tcase_add_test(codecs, compressed_gradients_have_the_same_bits);
    tcase_add_test(codecs, vectors_are_drawn_alike);
    tcase_add_test(codecs, an_index_that_is_no_element);
    TCase *many = testing_case(suite, "many"); /* and these */
    tcase_add_test(many, many_write_what_each_writes);
    TCase *norms = testing_case(suite, "norms"); /* and these */
    tcase_add_test(norms, norms_again);
    TCase *pools = testing_case(suite, "pools"); /* and these */
    tcase_add_test(pools, pools_have_the_same_bits);
    TCase *pixels = testing_case(suite, "pixels"); /* and these */
    tcase_add_test(pixels, pixels_have_the_same_bits);
    TCase *shortcuts = testing_case(suite, "shortcuts"); /* and these */
    tcase_add_test(shortcuts, shortcuts_have_the_same_bits);
    tcase_add_test(shortcuts, more_than_a_shortcut_takes);
    TCase *numbers = testing_case(suite, "numbers"); /* and these */
    tcase_add_test(numbers, any_numbers_have_the_same_bits);
    TCase *losses = testing_case(suite, "losses"); /* and these */
    tcase_add_test(losses, losses_have_the_same_bits);
    tcase_add_test(losses, the_largest_logit);
    tcase_add_test(losses, a_label_that_is_no_class);
    TCase *products = testing_case(suite, "products"); /* and these */
    tcase_add_test(products, streams_share_nothing);
    tcase_add_test(products, products_agree);
    tcase_add_test(products, gradients_of_biases_are_whole);
    tcase_add_test(products, a_large_workspace_where_there_is_no_other);
    tcase_add_test(products, tf32_only_where_it_is_allowed);
    tcase_add_test(products, relus_behind_products);
    tcase_add_test(products, relus_keep_nans);
    tcase_add_test(products, products_do_more);
    tcase_add_test(products, no_relu_on_the_cpu);
    tcase_add_test(products, the_fastest_engine_is_taken);
    tcase_add_test(products, a_given_engine_is_taken);
    tcase_add_test(products, a_bias_that_no_engine_adds);
    tcase_add_test(products, a_given_engine_that_there_is_not);
    tcase_add_test(products, tables_of_engines_as_text);
    return testing_run(suite);
}
