/* dag/kernels: every op on every case of cases.txt agrees with the reference in double precision, with
 * PyTorch's numbers, and with finite differences; it reproduces the same bits, also while others run;
 * and it stays on the calling thread. */
#include "dag/base/clock.h"
#include "dag/base/rng.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/optim.h"
#include "tests/kernels/cases.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to a tensor's largest number: single precision with sums of a few hundred terms. */
static const double TOLERANCE = 1e-5;

/* A bf16 is one rounding away from what float32 has: half a unit in its last place, or a whole one
 * if the float32 itself is on the other side of a middle. */
static const double TOLERANCE_BF16 = 0x1p-8;

static int has_bf16(const test_case *c)
{
    int has = 0;
    for (int i = 0; i < c->tensors; i++) has |= c->tensor[i].dtype == TUTTI_BF16;
    return has;
}

static int can_run(const test_case *c);

/* Opens a case of these values and calls `use` with it and the seed; returns whether the family has
 * such a case. */
static int one_case(
    const char *text, tutti_dtype values, void (*use)(test_case *c, uint64_t seed), uint64_t seed)
{
    test_case c;
    ck_assert_msg(test_parse(text, values, &c), "%s", text);
    if (values == TUTTI_BF16 && !c.family->halves) return 0;
    test_case_open(&c);
    if (can_run(&c)) use(&c, seed);
    test_case_close(&c);
    return 1;
}

typedef struct every_case {
    void (*use)(test_case *c, uint64_t seed);
    uint64_t seed;
    int cases;
} every_case;

static void in_all_types(const char *text, void *context)
{
    every_case *every = context;
    every->cases += one_case(text, TUTTI_F32, every->use, every->seed);
    every->cases += one_case(text, TUTTI_BF16, every->use, every->seed);
}

/* Does so for every case. */
static void each_case(void (*use)(test_case *c, uint64_t seed), uint64_t seed)
{
    every_case every = {use, seed, 0};
    test_each_text("cases.txt", in_all_types, &every);
    ck_assert_int_gt(every.cases, 100);
}

/* ---- Every op has a case ---- */

static const tutti_op *wanted;
static int cases_of_wanted;

static void count_wanted(test_case *c, uint64_t seed)
{
    (void)seed;
    for (int i = 0; i < c->family->ops; i++) cases_of_wanted += c->family->op[i] == wanted;
}

/* No test of this file would check an op without a case. */
START_TEST(every_op_has_a_case)
{
    for (int i = 0; (wanted = tutti_op_get(i)); i++) {
        cases_of_wanted = 0;
        each_case(count_wanted, 1);
        if (!cases_of_wanted && tutti_kernel_fault(TUTTI_BF16)) continue; /* see can_run */
        ck_assert_msg(cases_of_wanted > 0,
            "%s: no line of tests/kernels/cases.txt runs it (a family of tests/kernels/families.c)",
            wanted->name);
    }
}
END_TEST

/* The kernel for the case's tensors. */
static const tutti_kernel *kernel_for(const test_case *c, const tutti_op *op)
{
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS];
    ck_assert_int_gt(test_buffers(c, op, tensor, written), 0);
    const tutti_kernel *kernel = tutti_kernel_find(op, TUTTI_CPU, tensor[0]->dtype);
    ck_assert_msg(kernel != NULL, "%s: no kernel", c->text);
    return kernel;
}

/* Whether this processor can: without instructions for bf16 the library need not compute in it. */
static int can_run(const test_case *c)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < c->family->ops && !status; i++) {
        const tutti_kernel *kernel = kernel_for(c, c->family->op[i]);
        void *args = NULL;
        status = kernel->open(&c->desc, &args);
        if (!status) kernel->close(args);
    }
    if (status == TUTTI_ERR_UNSUPPORTED && has_bf16(c) && !testing_computes_bf16(c->family->name))
        return 0;
    ck_assert_ok(status);
    return 1;
}

/* Opens, runs and closes one op on the case's tensors. */
static void run_op(const test_case *c, const tutti_op *op)
{
    const tutti_kernel *kernel = kernel_for(c, op);
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS], count = test_buffers(c, op, tensor, written);
    void *buf[MAX_BUFFERS], *args = NULL;
    for (int i = 0; i < count; i++) buf[i] = tensor[i]->data;
    ck_assert_ok(kernel->open(&c->desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
}

static void run_ops(const test_case *c)
{
    for (int i = 0; i < c->family->ops; i++) run_op(c, c->family->op[i]);
}

static double largest(const double *value, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(value[i]));
    return most;
}

static void expect_equal(const test_case *c, const test_tensor *t, const double *expected)
{
    double bound = TOLERANCE * largest(expected, t->count) + 1e-6;
    double each = t->dtype == TUTTI_BF16 ? TOLERANCE_BF16 : 0;
    /* the library adds the gradients of windows that overlap in bf16 (dag/kernels/pool.h) */
    if (!strncmp(c->family->name, "pool", 4)) bound += 2 * each * largest(expected, t->count);
    /* what is rounded before a sum, half of a last bit from here or there */
    if (!strcmp(c->family->name, "norm_add")) bound += each * largest(expected, t->count);
    for (int64_t i = 0; i < t->count; i++) {
        double got = test_element(t, i);
        ck_assert_msg(fabs(got - expected[i]) <= bound + each * fabs(expected[i]),
            "%s: %s[%lld] in %s is %.9g, not %.9g", c->text, t->name, (long long)i,
            tutti_dtype_name(t->dtype), got, expected[i]);
    }
}

/* ---- Against the reference ---- */

static void check_reference(test_case *c, uint64_t seed)
{
    (void)seed;
    run_ops(c);
    c->family->reference(c);
    for (int i = 0; i < c->family->ops; i++) {
        const test_tensor *tensor[MAX_BUFFERS];
        int written[MAX_BUFFERS], count = test_buffers(c, c->family->op[i], tensor, written);
        for (int b = 0; b < count; b++)
            if (written[b] && tensor[b]->dtype != TUTTI_U8)
                expect_equal(c, tensor[b], tensor[b]->value);
    }
}

/* But what the library adds up in bf16, where many windows overlap (dag/kernels/pool.h). */
static void check_large(test_case *c, uint64_t seed)
{
    if (has_bf16(c) && !strncmp(c->family->name, "pool", 4)) return;
    check_reference(c, seed);
}

START_TEST(equals_reference)
{
    every_case every = {check_large, 0, 0};
    each_case(check_reference, 0);
    if (testing_fewer()) return;
    test_each_text("large_cases.txt", in_all_types, &every);
    ck_assert_int_gt(every.cases, 16);
}
END_TEST

/* ---- Clones: isa.sh compares what each has written ---- */

static FILE *bits_file;

static void write_bits(test_case *c, uint64_t seed)
{
    static const char *const libraries[] = {
        "conv", "dense", "pool"}; /* bits depend on the processor */
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!strncmp(c->family->name, libraries[i], strlen(libraries[i]))) return;
    (void)seed;
    run_ops(c);
    for (int i = 0; i < c->tensors; i++) {
        const test_tensor *t = &c->tensor[i];
        const unsigned char *byte = t->data;
        uint64_t hash = 14695981039346656037ull;
        for (size_t b = 0; b < (size_t)t->count * tutti_dtype_bytes(t->dtype); b++)
            hash = (hash ^ byte[b]) * 1099511628211ull;
        fprintf(bits_file, "%016llx %s %s %s\n", (unsigned long long)hash, c->text, t->name,
            tutti_dtype_name(t->dtype));
    }
}

START_TEST(bits_are_written)
{
    const char *path = getenv("TUTTI_TEST_BITS");
    if (!path) return;
    bits_file = fopen(path, "w");
    ck_assert(bits_file != NULL);
    each_case(write_bits, 0);
    ck_assert_int_eq(fclose(bits_file), 0);
}
END_TEST

/* ---- Against PyTorch ---- */

/* Compares the case's tensors with every line of the index that names the case. */
static void check_golden(test_case *c, uint64_t seed)
{
    (void)seed;
    long long offset, count;
    char name[16], text[MAX_TEXT];
    int results = 0;
    static const char *const without[] = {"dropout", "mixup_draw", "cutmix", "cutmix_draw", "gate",
        "divide", "outer", "pair", "put", "share_set", "share_halve", "share_weigh", "share_mix",
        "share_scale", "take", "onebit", "topk", "powersgd"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (!strcmp(c->family->name, without[i])) return; /* make.py says why */
    if (has_bf16(c)) return;                              /* likewise */
    FILE *index = fopen(testing_source("tests/golden/kernels/index.txt"), "r");
    FILE *data = fopen(testing_source("tests/golden/kernels/results.f32"), "rb");
    ck_assert(index && data);
    run_ops(c);
    while (fscanf(index, "%lld %lld %15s %159[^\n]", &offset, &count, name, text) == 4) {
        if (strcmp(text, c->text)) continue;
        const test_tensor *t = test_find(c, name);
        ck_assert_msg(t && t->count == count, "%s: golden %s", text, name);
        ck_assert_int_eq(fseek(data, (long)(offset * (long long)sizeof(float)), SEEK_SET), 0);
        for (long long i = 0; i < count; i++) {
            float value;
            ck_assert_uint_eq(fread(&value, sizeof value, 1, data), 1);
            t->value[i] = (double)value;
        }
        expect_equal(c, t, t->value);
        results++;
    }
    fclose(index);
    fclose(data);
    ck_assert_msg(results > 0, "%s: no golden numbers; run tests/golden/kernels/make.py", c->text);
}

START_TEST(equals_pytorch)
{
    each_case(check_golden, 0);
}
END_TEST

/* ---- Against finite differences ---- */

/* The function whose gradients are tested: dy . y, or the weighted loss. */
static double objective(const test_case *c)
{
    static const char *const outputs[] = {"y", "y0", "y1", "y2", "y3"};
    double total = 0;
    c->family->reference(c);
    if (test_find(c, "metrics"))
        return (double)((const tutti_xent_desc *)c->desc.bytes)->weight * *test_value(c, "metrics");
    for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
        char name[16];
        snprintf(name, sizeof name, "d%s", outputs[o]);
        const test_tensor *dy = test_find(c, name);
        for (int64_t i = 0; dy && i < dy->count; i++)
            total += dy->value[i] * test_value(c, outputs[o])[i];
    }
    return total;
}

/* The slope along a random direction, by central differences, against gradient . direction. */
static void check_slope(
    const test_case *c, const test_tensor *x, const test_tensor *gradient, uint64_t seed)
{
    const double h = 1e-6;
    double product = 0, norm = 0, slope = 0;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int64_t i = 0; i < x->count; i++)
            x->value[i] += sign * h * tutti_rng_normal(seed, 0, (uint64_t)i);
        slope += sign * objective(c) / (2 * h);
        for (int64_t i = 0; i < x->count; i++) x->value[i] = test_element(x, i);
    }
    for (int64_t i = 0; i < x->count; i++) {
        double g = test_element(gradient, i);
        product += g * tutti_rng_normal(seed, 0, (uint64_t)i);
        norm += g * g;
    }
    double share = gradient->dtype == TUTTI_BF16 ? 4 * TOLERANCE_BF16 : 1e-4;
    ck_assert_msg(fabs(slope - product) <= share * sqrt(norm) + 1e-6,
        "%s: along direction %llu, %s gives %.9g, differences %.9g", c->text,
        (unsigned long long)seed, gradient->name, product, slope);
}

static void check_differences(test_case *c, uint64_t seed)
{
    static const char *const pairs[][2] = {{"x", "dx"}, {"other", "dother"}, {"w", "dw"},
        {"b", "db"}, {"scaleshift", "dscaleshift"}, {"logits", "dlogits"}, {"x0", "dx0"},
        {"x1", "dx1"}, {"x2", "dx2"}};
    enum { DIRECTIONS = 4 };
    /* among 256 numbers some windows have several largest, where a maximum has no slope */
    if (c->values == TUTTI_BF16 && !strcmp(c->family->name, "pool_max")) return;
    /* what is rounded before a sum has none, either */
    if (c->values == TUTTI_BF16 && !strcmp(c->family->name, "norm_add")) return;
    run_ops(c);
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        const test_tensor *x = test_find(c, pairs[p][0]), *dx = test_find(c, pairs[p][1]);
        for (uint64_t d = 0; x && dx && d < DIRECTIONS; d++) check_slope(c, x, dx, seed + d);
    }
}

START_TEST(equals_finite_differences)
{
    each_case(check_differences, testing_seed(20240501));
}
END_TEST

/* ---- The same bits ---- */

/* A case with all its ops opened, so that another thread may run them. */
typedef struct opened {
    test_case c;
    void *args[MAX_OPS];
    int rounds;
    tutti_status status;
} opened;

static void opened_open(opened *o, const char *text, tutti_dtype values, int rounds)
{
    *o = (opened){.rounds = rounds};
    ck_assert_msg(test_parse(text, values, &o->c), "%s", text);
    test_case_open(&o->c);
    for (int i = 0; i < o->c.family->ops; i++)
        ck_assert_ok(kernel_for(&o->c, o->c.family->op[i])->open(&o->c.desc, &o->args[i]));
}

static void opened_close(opened *o)
{
    for (int i = 0; i < o->c.family->ops; i++)
        kernel_for(&o->c, o->c.family->op[i])->close(o->args[i]);
    test_case_close(&o->c);
}

/* Runs all ops `rounds` times from the same inputs; a thread's main function. */
static void *opened_run(void *argument)
{
    opened *o = argument;
    for (int round = 0; !o->status && round < o->rounds; round++) {
        for (int i = 0; i < o->c.tensors; i++) test_to_data(&o->c.tensor[i]);
        for (int i = 0; !o->status && i < o->c.family->ops; i++) {
            const test_tensor *tensor[MAX_BUFFERS];
            int written[MAX_BUFFERS];
            const tutti_op *op = o->c.family->op[i];
            int count = test_buffers(&o->c, op, tensor, written);
            void *buf[MAX_BUFFERS];
            for (int b = 0; b < count; b++) buf[b] = tensor[b]->data;
            o->status = kernel_for(&o->c, op)->fn(o->args[i], buf, NULL);
        }
    }
    return NULL;
}

static void expect_same_bits(const test_case *a, const test_case *b)
{
    for (int i = 0; i < a->tensors; i++) {
        const test_tensor *t = &a->tensor[i];
        size_t bytes = (size_t)t->count * tutti_dtype_bytes(t->dtype);
        ck_assert_msg(
            !memcmp(t->data, b->tensor[i].data, bytes), "%s: %s differs", a->text, t->name);
    }
}

/* Runs them one after another, the first for twice as many rounds; then both at once. */
static void check_bits(const char *text, tutti_dtype values, int rounds)
{
    opened one, other;
    pthread_t thread;
    test_case expected;
    opened_open(&one, text, values, 2 * rounds);
    opened_open(&other, text, values, rounds);
    opened_run(&one);
    opened_run(&other);
    ck_assert(!one.status && !other.status);
    expect_same_bits(&one.c, &other.c);
    ck_assert(test_parse(text, values, &expected));
    test_case_open(&expected);
    run_ops(&expected);
    expect_same_bits(&expected, &one.c);
    ck_assert_int_eq(pthread_create(&thread, NULL, opened_run, &one), 0);
    opened_run(&other);
    pthread_join(thread, NULL);
    ck_assert(!one.status && !other.status);
    expect_same_bits(&expected, &one.c);
    expect_same_bits(&expected, &other.c);
    test_case_close(&expected);
    opened_close(&one);
    opened_close(&other);
}

static void check_case_bits(test_case *c, uint64_t seed)
{
    (void)seed;
    check_bits(c->text, c->values, testing_fewer() ? 1 : 3);
}

static void check_larger_bits(test_case *c, uint64_t seed)
{
    (void)seed;
    check_bits(c->text, c->values, testing_fewer() ? 1 : 5);
}

static int threads_of_this_process(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return -1;
    for (struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* main ensures that OpenMP would use four threads by default, and that this test computes first: OpenMP keeps
 * the threads that it has started. */
START_TEST(same_bits_on_the_calling_thread)
{
    static const char *const larger[] = {
        "conv N=4 H=32 W=32 C=16 K=16 R=3 S=3 stride=1 pad=1 bias=0",
        "dense N=32 C=512 K=64 bias=1",
        "norm N=8 H=32 W=32 C=16 eps=1e-5 relu=1",
        "pool_max N=8 H=32 W=32 C=16 R=3 S=3 stride=2 pad=1",
    };
    int before = threads_of_this_process();
    each_case(check_case_bits, 0);
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
        one_case(larger[i], TUTTI_F32, check_larger_bits, 0);
        one_case(larger[i], TUTTI_BF16, check_larger_bits, 0);
    }
    for (int i = 0; i < 1000 && threads_of_this_process() != before; i++)
        tutti_clock_sleep(0.001); /* joined threads leave the list with a delay */
    ck_assert_int_eq(threads_of_this_process(), before);
}
END_TEST

/* ---- The tables ---- */

/* An op's text has the type of each of its buffers. */
static void check_types(test_case *c, uint64_t seed)
{
    (void)seed;
    for (int i = 0; i < c->family->ops; i++) {
        const tutti_op *op = c->family->op[i];
        const test_tensor *tensor[MAX_BUFFERS];
        int written[MAX_BUFFERS], count = test_buffers(c, op, tensor, written);
        tutti_op_buffer buffer;
        for (int b = 0; b < count; b++) {
            ck_assert_msg(tutti_op_buffer_get(op, tensor[0]->dtype, count, b, &buffer),
                "%s: %d buffers of %s", c->text, count, op->name);
            ck_assert_msg(buffer.dtype == tensor[b]->dtype, "%s: %s of %s is %s, not %s", c->text,
                buffer.name, op->name, tutti_dtype_name(tensor[b]->dtype),
                tutti_dtype_name(buffer.dtype));
            ck_assert_int_eq(strncmp(buffer.name, tensor[b]->name, strlen(buffer.name)), 0);
        }
    }
}

START_TEST(buffers_have_types)
{
    static const struct {
        const char *buffers;
        int count, i;
        const char *name; /* NULL: none */
        tutti_dtype dtype;
    } rows[] = {
        {"x,[b:U8]->y:BF16(rw),z", 4, 1, "b", TUTTI_U8},
        {"x,[b:U8]->y:BF16(rw),z", 4, 2, "y", TUTTI_BF16},
        {"x,[b:U8]->y:BF16(rw),z", 4, 3, "z", TUTTI_F64},
        {"x,[b:U8]->y:BF16(rw),z", 3, 0, "x", TUTTI_F64},
        {"x,[b:U8]->y:BF16(rw),z", 3, 1, "y", TUTTI_BF16},
        {"x,[b:U8]->y:BF16(rw),z", 3, 2, "z", TUTTI_F64},
        {"x,[b:U8]->y:BF16(rw),z", 3, 3, NULL, TUTTI_F64},
        {"x,[b:U8]->y:BF16(rw),z", 2, 0, NULL, TUTTI_F64},
        {"x,[b:U8]->y:BF16(rw),z", 5, 0, NULL, TUTTI_F64},
        {"x,...->y:I8", 2, 1, "y", TUTTI_I8},
        {"x,...->y:I8", 5, 3, "x", TUTTI_F64},
        {"x,...->y:I8", 5, 4, "y", TUTTI_I8},
        {"x,...->y:I8", 1, 0, NULL, TUTTI_F64},
        {"x->y", 2, -1, NULL, TUTTI_F64},
    };
    each_case(check_types, 0);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const tutti_op op = {.buffers = rows[r].buffers};
        tutti_op_buffer buffer;
        int found = tutti_op_buffer_get(&op, TUTTI_F64, rows[r].count, rows[r].i, &buffer);
        ck_assert_msg(found == (rows[r].name != NULL), "row %zu", r);
        if (!found) continue;
        ck_assert_str_eq(buffer.name, rows[r].name);
        ck_assert_int_eq(buffer.dtype, rows[r].dtype);
    }
}
END_TEST

START_TEST(table_is_complete)
{
    const tutti_op *op, *other;
    const tutti_kernel *kernel;
    int ops = 0;
    for (; (op = tutti_op_get(ops)); ops++) {
        ck_assert_uint_gt(op->desc_bytes, 0);
        ck_assert(strstr(op->buffers, "->") != NULL);
        ck_assert_int_eq(strstr(op->name, "_bwd") != NULL, op->part == TUTTI_PART_BACKWARD);
        for (int i = 0; i < ops && (other = tutti_op_get(i)); i++)
            ck_assert_str_ne(op->name, other->name);
        int kernels = 0;
        for (int i = 0; (kernel = tutti_kernel_get(i)); i++) kernels += kernel->op == op;
        ck_assert_msg(kernels > 0, "%s has no kernel", op->name);
    }
    for (int i = 0; (kernel = tutti_kernel_get(i)); i++) {
        ck_assert(kernel->open && kernel->fn && kernel->close);
        ck_assert_str_ne(tutti_device_name(kernel->device), "unknown");
        ck_assert_ptr_eq(tutti_kernel_find(kernel->op, kernel->device, kernel->dtype), kernel);
        kernel->close(NULL);
    }
    ck_assert_int_gt(ops, 20);
    ck_assert_ptr_null(tutti_op_get(-1));
    ck_assert_ptr_null(tutti_kernel_get(-1));
    ck_assert_ptr_null(tutti_kernel_find(&tutti_op_conv, TUTTI_CPU, TUTTI_I64));
    ck_assert_str_eq(tutti_device_name((tutti_device)-1), "unknown");
    ck_assert_uint_gt(strlen(tutti_kernel_library()), 0);
    const tutti_conv_desc conv = {
        .N = 2, .H = 8, .W = 6, .C = 3, .K = 5, .R = 3, .S = 3, .stride = {2, 2}, .pad = {1, 1}};
    const tutti_dense_desc dense = {.N = 2, .C = 3, .K = 5};
    ck_assert_double_eq(tutti_op_conv.flops(&conv), 2 * 2 * 4 * 3 * 5 * 27);
    ck_assert_double_eq(tutti_op_dense.flops(&dense), 60);
    const tutti_shortcut_desc shortcut = {.N = 2, .H = 5, .W = 4, .C = 3, .K = 6, .stride = 2};
    ck_assert_double_eq(tutti_op_shortcut.bytes(&shortcut, 4), 4 * 2 * 3 * 2 * (3 + 6));
    ck_assert_double_eq(tutti_op_shortcut_bwd.bytes(&shortcut, 2), 2 * 2 * 3 * (3 * 2 + 5 * 4));
    const tutti_put_desc put = {.count = 3, .first = 3, .total = 9};
    ck_assert_double_eq(tutti_op_put.bytes(&put, 4), 2 * 3 * 4);
    const tutti_take_desc take = {.rows = 2, .parts = 3, .each = 5, .total = 90};
    ck_assert_double_eq(tutti_op_take.bytes(&take, 2), 2 * 2 * 3 * 5 * 2);
    tutti_sgd_desc sgd = {.count = 10};
    ck_assert_double_eq(tutti_op_sgd.bytes(&sgd, 2), 10 * 2 + 10 * 2 * 4 + 4);
    sgd.momentum = 0.9f;
    ck_assert_double_eq(tutti_op_sgd.bytes(&sgd, 2), 10 * 2 + 10 * 4 * 4 + 4);
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv("OMP_NUM_THREADS")) { /* OpenMP reads it before main */
        setenv("OMP_NUM_THREADS", "4", 1);
        execv("/proc/self/exe", argv);
    }
    Suite *suite = suite_create("kernels");
    TCase *tcase = testing_case(suite, "kernels");
    tcase_add_test(tcase, same_bits_on_the_calling_thread);
    tcase_add_test(tcase, table_is_complete);
    tcase_add_test(tcase, every_op_has_a_case);
    tcase_add_test(tcase, equals_reference);
    tcase_add_test(tcase, bits_are_written);
    tcase_add_test(tcase, equals_pytorch);
    tcase_add_test(tcase, equals_finite_differences);
    tcase_add_test(tcase, buffers_have_types);
    return testing_run(suite);
}
