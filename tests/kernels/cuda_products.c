/* Convolutions and dense layers on a GPU: products, ReLUs behind them, engines, TF32. */
#include "dag/kernels/conv.h"
#include "dag/kernels/cublas.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/engines.h"
#include "tests/device/fake/cudnn_run.h"
#include "tests/device/fake/now.h"
#include "tests/kernels/cuda_compare.h"
#include "tests/kernels/host_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
            cuda_kernel(&tutti_op_dense_bwd_weights, bf16 ? TUTTI_BF16 : TUTTI_F32);
        void *args = NULL;
        ck_assert_ok(kernel->open(&desc, &args));
        ck_assert_ok(kernel->fn(args, (void *[]){x, dy, dw, db}, &cuda_streams[0]));
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
        ck_assert(cuda_one_case(cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32, NULL));
}
END_TEST

/* One channel and one filter: of the fake's engines that may be taken, all need a large workspace. */
START_TEST(a_large_workspace_where_there_is_no_other)
{
    ck_assert(
        cuda_one_case("conv N=1 H=3 W=3 C=1 K=1 R=3 S=3 stride=1 pad=1 bias=0", TUTTI_F32, NULL));
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
    cuda_run(cuda_kernel(op, c->values), c, buf);
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
        cuda_open_case(&c, cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32);
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
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_dense, dtype);
    void *with[] = {x, w, bias, y}, *without[] = {x, w, y}, *args = NULL;
    memset(x, 0xff, sizeof x);
    memset(w, 0xff, sizeof w);
    ck_assert_ok(kernel->open(&desc, &args));
    ck_assert_ok(kernel->fn(args, desc.bias ? with : without, &cuda_streams[0]));
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
    cuda_open_case(&c, timed_case, values);
    const tutti_kernel *kernel = cuda_kernel(&tutti_op_conv, values);
    const int count = test_buffers(&c, &tutti_op_conv, tensor, written);
    for (int b = 0; b < count; b++) buf[b] = tensor[b]->data;
    tutti_engines_begin(engines);
    tutti_status status = kernel->open(&c.desc, &args);
    tutti_engines_end();
    if (!status) status = kernel->fn(args, buf, &cuda_streams[0]);
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
    ck_assert(cuda_one_case(timed_case, TUTTI_BF16, NULL));
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
    ck_assert(cuda_one_case(one_filter, TUTTI_F32, NULL));
    ck_assert_ok(tutti_engines_new(&engines));
    tutti_engines_begin(engines);
    ck_assert(cuda_one_case(one_filter, TUTTI_BF16, NULL));
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

/* One that the library cannot open is an error, and so is one of another version of the library: others have it. */
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
        ck_assert_int_eq(run_timed(engines, TUTTI_BF16), TUTTI_ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(
            strstr(tutti_last_error(), "is not an engine of cuDNN 9.19.0, which"));
        ck_assert_str_eq(tutti_engines_find(engines, computed), others[i]);
    }
    tutti_engines_free(engines);
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
        for (int s = 0; s < 2; s++)
            cuda_open_case(&c[s], cases[i / 2], i % 2 ? TUTTI_BF16 : TUTTI_F32);
        for (int o = 0; o < c[0].family->ops; o++) {
            void *args[2] = {NULL, NULL};
            for (int s = 0; s < 2; s++) {
                const test_tensor *tensor[MAX_BUFFERS];
                void *buf[MAX_BUFFERS];
                int written[MAX_BUFFERS];
                const int count = test_buffers(&c[s], c[s].family->op[o], tensor, written);
                const tutti_kernel *kernel = cuda_kernel(c[s].family->op[o], tensor[0]->dtype);
                for (int b = 0; b < count; b++) buf[b] = tensor[b]->data;
                ck_assert_ok(kernel->open(&c[s].desc, &args[s]));
                ck_assert_ok(kernel->fn(args[s], buf, &cuda_streams[s]));
            }
            fake_wait();
            for (int s = 0; s < 2; s++)
                cuda_kernel(c[s].family->op[o], c[s].values)->close(args[s]);
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
        cuda_open_case(&c, cases[i], TUTTI_F32);
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
            cuda_run(cuda_kernel(c.family->op[o], TUTTI_F32), &c, buf);
            memcpy(exact, rounded, elements * sizeof *exact);
            cuda_run(cuda_kernel_of(test_host_tf32, c.family->op[o], TUTTI_F32), &c, buf);
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

void cuda_add_products(TCase *tests)
{
    tcase_add_test(tests, streams_share_nothing);
    tcase_add_test(tests, products_agree);
    tcase_add_test(tests, gradients_of_biases_are_whole);
    tcase_add_test(tests, a_large_workspace_where_there_is_no_other);
    tcase_add_test(tests, tf32_only_where_it_is_allowed);
    tcase_add_test(tests, relus_behind_products);
    tcase_add_test(tests, relus_keep_nans);
    tcase_add_test(tests, products_do_more);
    tcase_add_test(tests, no_relu_on_the_cpu);
    tcase_add_test(tests, the_fastest_engine_is_taken);
    tcase_add_test(tests, a_given_engine_is_taken);
    tcase_add_test(tests, a_bias_that_no_engine_adds);
    tcase_add_test(tests, a_given_engine_that_there_is_not);
    tcase_add_test(tests, tables_of_engines_as_text);
}
