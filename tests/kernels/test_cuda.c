/* dag/kernels/<family>_cuda.cu: compiled as C++, each kernel writes the bits that the CPU's kernel
 * writes, or almost (slack_of): on the cases of cases.txt, on more elements than a grid has threads,
 * and on numbers of every kind. Convolutions and dense layers call fakes of cuDNN and cuBLAS
 * (tests/device/fake), which check the calls. Skipped without a C++ compiler. */
#include "dag/kernels/arith.h"
#include "dag/kernels/codec.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pool.h"
#include "dag/kernels/workspace.h"
#include "tests/kernels/cuda_compare.h"
#include "tests/kernels/host_rows.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void in_all_types(const char *text, void *context)
{
    (void)context;
    cuda_one_case(text, TUTTI_F32, NULL);
    cuda_one_case(text, TUTTI_BF16, NULL);
}

START_TEST(cases_have_the_same_bits)
{
    cuda_compared = 0;
    test_each_text("cases.txt", in_all_types, NULL);
    ck_assert_int_ge(cuda_compared, 426);
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
        ck_assert(cuda_one_case(cases[i].text, TUTTI_F32, &any));
        cuda_one_case(cases[i].text, TUTTI_BF16, &any);
    }
}
END_TEST

/* A grid has 2^22 threads. */
START_TEST(a_thread_takes_several_elements)
{
    const any_numbers any = {testing_seed(20261124), 1};
    ck_assert(cuda_one_case("relu count=4200001", TUTTI_BF16, &any));
}
END_TEST

START_TEST(sums_of_many_have_the_same_bits)
{
    cuda_compared = 0;
    test_each_text("large_cases.txt", in_all_types, NULL);
    ck_assert_int_ge(cuda_compared, 48);
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
    cuda_compared = 0;
    test_each_text("large_cases.txt", of_family, "pool_");
    ck_assert_int_ge(cuda_compared, 48);
    const any_numbers any = {testing_seed(20261126), 0};
    ck_assert(cuda_one_case("pool_max N=3 H=14 W=13 C=24 R=3 S=3 stride=2 pad=1", TUTTI_F32, &any));
}
END_TEST

START_TEST(shortcuts_have_the_same_bits)
{
    cuda_compared = 0;
    test_each_text("cases.txt", of_family, "shortcut");
    test_each_text("large_cases.txt", of_family, "shortcut");
    ck_assert_int_ge(cuda_compared, 28);
}
END_TEST

/* They are counted in 32 bits. */
START_TEST(more_than_a_shortcut_takes)
{
    tutti_shortcut_desc desc = {.N = (1 << 22) - 1, .H = 16, .W = 16, .C = 1, .K = 2, .stride = 2};
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_shortcut, TUTTI_F32);
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    kernel->close(args);
    desc.N++;
    ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(pixels_have_the_same_bits)
{
    cuda_compared = 0;
    test_each_text("cases.txt", of_family, "normalise");
    test_each_text("large_cases.txt", of_family, "normalise");
    ck_assert_int_ge(cuda_compared, 9);
}
END_TEST

/* Each several times, in memory that all of them share: blocks of threads that count each other leave no count. */
START_TEST(losses_have_the_same_bits)
{
    cuda_compared = 0;
    tutti_workspace_begin(SIZE_MAX);
    cuda_runs = 3;
    test_each_text("large_cases.txt", of_family, "xent");
    test_each_text("cases.txt", of_family, "xent");
    cuda_runs = 1;
    ck_assert_uint_gt(tutti_workspace_end(), 0);
    ck_assert_int_ge(cuda_compared, 18);
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
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_softmax_xent, TUTTI_F32);
    void *args = NULL, *const buf[] = {logits, (void *)labels, dlogits, metrics};
    ck_assert_ok(kernel->open(&desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
    ck_assert(isnan(metrics[0]) && metrics[1] == 3 && metrics[2] == 4);
    for (int k = 0; k < CLASSES; k++) ck_assert(dlogits[3 * CLASSES + k] == 0);
}
END_TEST

/* A network may have more tensors than a launch has inputs. */
START_TEST(lengths_of_many)
{
    enum { MOST = 600 };
    static const int counts[] = {1, 256, 257, 512, MOST};
    static float length[MOST], all[2][MOST + 7], factor[2];
    void *buf[MOST + 1];
    for (int i = 0; i < MOST; i++) {
        length[i] = 1.0f / (float)(i + 3);
        buf[i] = &length[i];
    }
    tutti_workspace_begin(SIZE_MAX);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        const int inputs = counts[c];
        const tutti_lengths_desc put = {.inputs = inputs, .first = 4, .count = inputs + 7};
        const tutti_clip_factor_desc add = {.inputs = inputs, .most = 0.125f};
        for (int gpu = 0; gpu < 2; gpu++) {
            const tutti_kernel *kernel[] = {
                gpu ? cuda_kernel(&tutti_op_lengths, TUTTI_F32)
                    : tutti_kernel_find(&tutti_op_lengths, TUTTI_CPU, TUTTI_F32),
                gpu ? cuda_kernel(&tutti_op_clip_factor, TUTTI_F32)
                    : tutti_kernel_find(&tutti_op_clip_factor, TUTTI_CPU, TUTTI_F32)};
            for (int k = 0; k < 2; k++) {
                void *args = NULL;
                buf[inputs] = k ? (void *)&factor[gpu] : all[gpu];
                ck_assert_ok(kernel[k]->open(k ? (const void *)&add : (const void *)&put, &args));
                ck_assert_ok(kernel[k]->fn(args, buf, NULL));
                kernel[k]->close(args);
                buf[inputs] = &length[inputs % MOST];
            }
        }
        ck_assert(!memcmp(all[0], all[1], (size_t)(inputs + 7) * sizeof **all));
        ck_assert(factor[0] > 0 && factor[0] < 1 && factor[0] == factor[1]);
    }
    tutti_workspace_end();
}
END_TEST

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
    for (cuda_runs = 1; cuda_runs <= 3;
         cuda_runs += 2) /* what another one has left, and what it has left itself */
        for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++)
            ck_assert(cuda_one_case(cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32, NULL));
    cuda_runs = 1;
    ck_assert_uint_gt(tutti_workspace_end(), 0);
}
END_TEST

/* One counter for each set of channels. */
START_TEST(more_channels_than_a_norm_takes)
{
    tutti_norm_desc desc = {.N = 1, .H = 1, .W = 2, .C = 32768, .eps = 1e-5f};
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_norm, TUTTI_F32);
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
    cuda_open_case(c, text, values);
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
        kernel = cuda_kernel(one[i].c.family->op[0], one[i].c.tensor[0].dtype);
        ck_assert_msg(kernel && kernel->many, "%s", one[i].c.text);
        alone[i].c = one[i].c;
        take_part(&one[i], kernel, i % 3 == 1);
        take_part(&alone[i], kernel, 0);
        args[i] = one[i].args;
        buf[i] = one[i].buf;
        ck_assert_ok(kernel->fn(alone[i].args, alone[i].buf, &cuda_streams[0]));
    }
    ck_assert_ok(kernel->many(count, args, buf, &cuda_streams[0]));
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
            const tutti_kernel *kernel = cuda_kernel(ops[o], bf16 ? TUTTI_BF16 : TUTTI_F32);
            ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
            ck_assert_ptr_null(args);
            const char *said = tutti_last_error();
            ck_assert_msg(
                strstr(said, "1 images of 5x5 pixels, 16 channels, 8 filters of 3x3"), "%s", said);
            ck_assert_msg(strstr(said, "a pad as large as the window"), "%s", said);
        }
}
END_TEST

/* Products, and only those, have a row with TF32, where they have one for CUDA at all. */
START_TEST(rows_with_tf32)
{
    const tutti_op *op;
    for (int i = 0; (op = tutti_op_get(i)); i++) {
        const int has = cuda_kernel_of(test_host_tf32, op, TUTTI_F32) != NULL;
        ck_assert_int_eq(has, cuda_is_product(op) && op != &tutti_op_dense_wide);
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
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_softmax_xent, TUTTI_F32);
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
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_pool_max, TUTTI_F32);
    void *args = NULL;
    ck_assert_ok(kernel->open(&desc, &args));
    kernel->close(args);
    desc.S = 17;
    ck_assert_int_eq(kernel->open(&desc, &args), TUTTI_ERR_UNSUPPORTED);
    kernel = cuda_kernel(&tutti_op_pool_avg, TUTTI_F32);
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
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_pool_avg, TUTTI_F32);
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
            ck_assert(cuda_one_case(
                cases[i], TUTTI_F32, any ? &(any_numbers){testing_seed(20261125), 0} : NULL));
    for (int same = 1; same < 3; same++) { /* of elements, half have one magnitude, or all */
        test_case c;
        cuda_open_case(
            &c, "topk count=20011 kept=5000 replica=0 replicas=1 stride=10000", TUTTI_F32);
        for (int t = 0; t < c.tensors; t++)
            for (int64_t i = 0; i < c.tensor[t].count && c.tensor[t].dtype == TUTTI_F32; i++)
                if (i % 4 < 2 * same) ((float *)c.tensor[t].data)[i] = i % 2 ? 0.25f : -0.25f;
        for (int o = 0; o < c.family->ops; o++) cuda_compare(&c, c.family->op[o]);
        test_case_close(&c);
    }
}
END_TEST

/* Vectors that are all 0, between others, are drawn, and no others. */
START_TEST(vectors_are_drawn_alike)
{
    enum { COLUMNS = 21 };
    test_case c;
    cuda_open_case(&c, "powersgd rows=9 columns=21 rank=3 seed=3 stream=4", TUTTI_F32);
    for (int t = 0; t < c.tensors; t++)
        for (int i = 0; i < 3 * COLUMNS && !strcmp(c.tensor[t].name, "q"); i++)
            if (i / COLUMNS != 1) ((float *)c.tensor[t].data)[i] = 0;
    cuda_compare(&c, &tutti_op_powersgd_left);
    test_case_close(&c);
}
END_TEST

/* Indices that were changed on the way: not a number, which is found before weights are. */
START_TEST(an_index_that_is_no_element)
{
    const tutti_topk_desc desc = {.rows = {.replicas = 2, .stride = 2}, .count = 4, .kept = 1};
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_topk_decode, TUTTI_I32);
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
                              !cuda_kernel(op, (tutti_dtype)dtype),
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
    tcase_add_test(tests, lengths_of_many);
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
    cuda_add_products(products);
    return testing_run(suite);
}
