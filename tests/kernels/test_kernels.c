/* dag/kernels: every op on every case of cases.txt agrees with the reference in double precision, with
 * PyTorch's numbers, and with finite differences; it reproduces the same bits, also while others run;
 * and it stays on the calling thread. */
#include "dag/base/bf16.h"
#include "dag/base/clock.h"
#include "dag/base/rng.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/mixup.h"
#include "dag/kernels/norm.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pixel.h"
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

static const tutti_kernel *kernel_of(const tutti_op *op)
{
    const tutti_kernel *kernel = tutti_kernel_find(op, TUTTI_CPU, TUTTI_F32);
    if (!kernel) kernel = tutti_kernel_find(op, TUTTI_CPU, TUTTI_U8);
    ck_assert_msg(kernel != NULL, "%s", op->name);
    return kernel;
}

/* Whatever its type is. */
static const tutti_kernel *first_kernel_of(const tutti_op *op)
{
    const tutti_kernel *kernel;
    for (int i = 0; (kernel = tutti_kernel_get(i)); i++)
        if (kernel->op == op) return kernel;
    ck_abort_msg("%s has no kernel", op->name);
}

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
    static const char *const without[] = {"dropout", "mixup_draw", "gate", "divide", "outer",
        "pair", "put", "share_set", "share_halve", "share_weigh", "share_mix", "share_scale",
        "take", "onebit", "topk", "powersgd"};
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
    static const char *const pairs[][2] = {{"x", "dx"}, {"w", "dw"}, {"b", "db"},
        {"scaleshift", "dscaleshift"}, {"logits", "dlogits"}, {"x0", "dx0"}, {"x1", "dx1"},
        {"x2", "dx2"}};
    enum { DIRECTIONS = 4 };
    /* among 256 numbers some windows have several largest, where a maximum has no slope */
    if (c->values == TUTTI_BF16 && !strcmp(c->family->name, "pool_max")) return;
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

/* ---- Errors ---- */

/* Redirects what a call writes to stderr into a file, to be read back. */
typedef struct capture {
    FILE *file;
    int saved;
} capture;

static void capture_begin(capture *c)
{
    c->file = tmpfile();
    c->saved = dup(STDERR_FILENO);
    ck_assert(c->file && c->saved >= 0);
    ck_assert_int_ge(dup2(fileno(c->file), STDERR_FILENO), 0);
}

static void capture_end(capture *c, char *text, size_t size)
{
    ck_assert_int_ge(dup2(c->saved, STDERR_FILENO), 0);
    close(c->saved);
    rewind(c->file);
    text[fread(text, 1, size - 1, c->file)] = 0;
    fclose(c->file);
}

START_TEST(bad_descriptors_are_refused)
{
    static const char *const rows[] = {
        "conv N=0 H=4 W=4 C=1 K=1 R=3 S=3 stride=1 pad=1",
        "conv N=1 H=4 W=4 C=-1 K=1 R=3 S=3 stride=1 pad=1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride=0 pad=1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride=1 pad=-1",
        "conv N=1 H=2 W=4 C=1 K=1 R=5 S=3 stride=1 pad=1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride=1 pad0=1 pad1=-1",
        "conv N=1 H=4 W=4 C=1 K=1 R=3 S=3 stride0=1 pad=1",
        "conv N=1 H=4 W=4 C=6 K=4 R=3 S=3 stride=1 pad=1 groups=3",
        "conv N=1 H=4 W=4 C=4 K=6 R=3 S=3 stride=1 pad=1 groups=3",
        "conv N=1 H=4 W=4 C=4 K=6 R=3 S=3 stride=1 pad=1 groups=-1",
        "conv N=2000000000 H=2000000000 W=2000000000 C=2000000000 K=1 R=1 S=1 stride=1 pad=0",
        "dense N=1 C=0 K=1",
        "dense N=1 C=1 K=99999999999",
        "norm N=1 H=1 W=1 C=0 eps=1e-5",
        "norm N=1 H=1 W=1 C=1 eps=0",
        "norm_running C=1 momentum=2 weight=1 unbias=1",
        "norm_running C=1 momentum=0.1 weight=0 unbias=1",
        "relu count=0",
        "dropout count=1 rate=1",
        "dropout count=1 rate=nan",
        "dropout count=1 rate=0.5 offset=-1",
        "pool_max N=1 H=4 W=4 C=1 R=2 S=2 stride=2 pad=2",
        "pool_max N=1 H=4 W=4 C=1 R=3 S=2 stride=2 pad0=1 pad1=2",
        "pool_avg N=1 H=2 W=2 C=1 R=3 S=3 stride=1 pad=0",
        "pool_avg N=1 H=4 W=4 C=1 R=3 S=3 stride=2 pad=0 ceiling=1 counts_padding=1",
        "lrn N=1 H=1 W=1 C=0 size=5 alpha=1 beta=0.75 k=1",
        "lrn N=1 H=1 W=1 C=3 size=4 alpha=1 beta=0.75 k=1",
        "lrn N=1 H=1 W=1 C=3 size=5 alpha=-1 beta=0.75 k=1",
        "lrn N=1 H=1 W=1 C=3 size=5 alpha=1 beta=nan k=1",
        "lrn N=1 H=1 W=1 C=3 size=5 alpha=1 beta=0.75 k=0",
        "shortcut N=1 H=2 W=2 C=4 K=3 stride=2",
        "sum count=1 inputs=0",
        "put count=2 first=3 total=4",
        "put count=1 first=-1 total=4",
        "take rows=2 parts=2 each=1 first=1 row=2 part=4 total=7",
        "take rows=0 parts=1 each=1 first=0 row=1 part=1 total=7",
        "concat pixels=0 parts=1 C0=1",
        "concat pixels=1 parts=0",
        "concat pixels=1 parts=17 C0=1",
        "concat pixels=1 parts=2 C0=1",
        "split pixels=1 parts=1 C0=-1",
        "sum_narrow count=0 inputs=1",
        "sum_narrow count=1 inputs=1 into=1",
        "widen count=0",
        "narrow count=0",
        "accumulate count=0",
        "dense_wide N=1 C=1 K=0",
        "xent N=1 K=0 weight=1",
        "xent N=1 K=2 weight=inf",
        "xent N=1 K=2 weight=1 smoothing=1",
        "xent N=1 K=2 weight=1 smoothing=-0.1",
        "xent N=1 K=2 weight=1 views=-1",
        "xent_mixed N=3 K=2 weight=1 mixed=1",
        "mixup N=3 each=1",
        "mixup N=0 each=1",
        "mixup N=2 each=0",
        "mixup_draw N=2 offset=1 alpha=1",
        "mixup_draw N=2 offset=-2 alpha=1",
        "mixup_draw N=3 alpha=1",
        "mixup_draw N=2 alpha=0",
        "mixup_draw N=2 alpha=inf",
        "normalise pixels=0 C=1 deviation0=1",
        "normalise pixels=1 C=0 deviation0=1",
        "normalise pixels=1 C=5 deviation0=1",
        "normalise pixels=1 C=2 deviation0=1 deviation1=0",
        "normalise pixels=1 C=1 mean0=nan deviation0=1",
        "normalise pixels=1 C=1 deviation0=inf",
        "sgd count=1 momentum=-1",
        "sgd count=1 nesterov=1",
        "sgd count=1 weight_decay=-1",
        "sgd count=1 rate_factor=-1",
        "adam count=-1 every=1 epsilon=1e-8",
        "adam first=-1 count=1 every=1 epsilon=1e-8",
        "sgd first=-1 count=1",
        "adam count=1 every=0 epsilon=1e-8",
        "adam count=1 every=1 beta1=1",
        "adam count=1 every=1 beta2=-0.5",
        "adam count=1 every=1 beta2=nan",
        "adam count=1 every=1 epsilon=inf",
        "adam count=1 every=1 weight_decay=-1",
        "lars count=0",
        "lars count=1 momentum=1",
        "lars count=1 trust=-1",
        "length count=0",
        "clip_factor inputs=0 most=1",
        "clip_factor inputs=1 most=0",
        "clip_factor inputs=1 most=inf",
        "clip count=0",
        "average count=1 decay=1",
        "average count=1 decay=-0.1",
        "gate inputs=0",
        "divide count=0 by=2",
        "divide count=1 by=0",
        "outer count=1 by=0 rate=1",
        "outer count=1 by=2 rate=0",
        "outer count=1 by=2 rate=1 momentum=1",
        "pair count=0",
        "share_set value=-1",
        "share_set value=inf",
        "share_halve unit=0",
        "share_halve unit=0.75",
        "share_weigh inputs=0",
        "share_weigh inputs=3",
        "share_mix count=0 inputs=1",
        "share_mix count=1 inputs=3",
        "share_scale count=0",
        "onebit count=0 replicas=1",
        "onebit count=1 replica=1 replicas=1",
        "topk count=4 kept=0 replicas=1",
        "topk count=4 kept=5 replicas=1",
        "topk count=4 kept=1 replica=-1 replicas=1",
        "powersgd rows=0 columns=1 rank=1",
        "powersgd rows=2 columns=3 rank=0",
        "powersgd rows=2 columns=3 rank=3",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_case c;
        capture errors;
        char message[512];
        ck_assert_msg(test_parse(rows[i], TUTTI_F32, &c), "%s", rows[i]);
        for (int op = 0; op < c.family->ops; op++) {
            void *args = &c;
            capture_begin(&errors);
            tutti_status status = first_kernel_of(c.family->op[op])->open(&c.desc, &args);
            capture_end(&errors, message, sizeof message);
            ck_assert_msg(status == TUTTI_ERR_INVAL, "%s: %s", rows[i], tutti_status_name(status));
            ck_assert_msg(strstr(message, "error") != NULL, "%s: silent", rows[i]);
            ck_assert_ptr_eq(args, &c);
        }
    }
}
END_TEST

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

START_TEST(label_out_of_range_is_named)
{
    const tutti_xent_desc desc = {.N = 3, .K = 4, .weight = 1};
    const int32_t labels[] = {0, -1, 4};
    float logits[12] = {0}, dlogits[12];
    double metrics[TUTTI_METRICS];
    for (int i = 0; i < 2; i++) {
        const tutti_kernel *kernel = kernel_of(i ? &tutti_op_xent_eval : &tutti_op_softmax_xent);
        void *train[] = {logits, (void *)labels, dlogits, metrics};
        void *eval[] = {logits, (void *)labels, metrics}, *args = NULL;
        capture errors;
        char message[512];
        ck_assert_ok(kernel->open(&desc, &args));
        capture_begin(&errors);
        tutti_status status = kernel->fn(args, i ? eval : train, NULL);
        capture_end(&errors, message, sizeof message);
        kernel->close(args);
        ck_assert_int_eq(status, TUTTI_ERR_KERNEL);
        ck_assert_msg(strstr(message, "row 2 has label 4") != NULL, "%s", message);
        ck_assert_ptr_eq(strchr(message, '\n'), message + strlen(message) - 1);
    }
}
END_TEST

/* ---- Numbers worth a test of their own ---- */

/* Weights are those of Beta(alpha, alpha), whose mean is 1/2 and variance 1 / (4 (2 alpha + 1)), alike
 * for a small alpha and a large one; and another draw in another step. */
START_TEST(mixed_parts_have_their_distribution)
{
    static const double alphas[] = {0.001, 0.2, 1, 8, 1000};
    enum { N = 20000, BINS = 10 };
    double alpha = alphas[_i], sum = 0, squares = 0, bins[BINS] = {0};
    for (int64_t pair = 0; pair < N; pair++) {
        double w = tutti_mixup_weight(alpha, 5, 77, pair % 3, pair);
        ck_assert(w >= 0 && w <= 1);
        ck_assert(pair < 10 || alpha < 0.1 || w != tutti_mixup_weight(alpha, 5, 77, 3, pair));
        sum += w;
        squares += (w - 0.5) * (w - 0.5);
        bins[w < 1 ? (int)(w * BINS) : BINS - 1]++;
    }
    double variance = 1 / (4 * (2 * alpha + 1));
    ck_assert_double_eq_tol(sum / N, 0.5, 5 * sqrt(variance / N));
    ck_assert_double_eq_tol(squares / N, variance, 0.05 * variance);
    for (int b = 0; b < BINS && alpha == 1; b++) /* uniform */
        ck_assert_double_eq_tol(bins[b], N / BINS, 5 * sqrt(N / BINS));
}
END_TEST

/* A mean of a thousand deviations: plain sums of squares would lose the variance. */
START_TEST(variance_survives_a_large_mean)
{
    enum { ROWS = 3000, C = 16 };
    const tutti_norm_desc desc = {.N = ROWS, .H = 1, .W = 1, .C = C, .eps = 1e-5f};
    float *x = malloc(ROWS * C * sizeof *x), *y = malloc(ROWS * C * sizeof *y);
    float scaleshift[2 * C], stats[2 * C];
    double sum = 0, squares = 0;
    void *buf[] = {x, scaleshift, y, stats}, *args = NULL;
    ck_assert(x && y);
    for (int i = 0; i < ROWS * C; i++) x[i] = 1000 + (float)tutti_rng_normal(7, 1, (uint64_t)i);
    for (int c = 0; c < 2 * C; c++) scaleshift[c] = c < C;
    ck_assert_ok(kernel_of(&tutti_op_norm)->open(&desc, &args));
    ck_assert_ok(kernel_of(&tutti_op_norm)->fn(args, buf, NULL));
    kernel_of(&tutti_op_norm)->close(args);
    for (int r = 0; r < ROWS; r++) sum += (double)x[r * C];
    for (int r = 0; r < ROWS; r++)
        squares += ((double)x[r * C] - sum / ROWS) * ((double)x[r * C] - sum / ROWS);
    ck_assert_double_eq_tol((double)stats[0], sum / ROWS, 1e-3);
    ck_assert_double_eq_tol((double)stats[C], squares / ROWS, 1e-4);
    free(x);
    free(y);
}
END_TEST

/* The weights of a run depend on every bit of its images: not x * (1/255), nor x/255 * (1/deviation). */
START_TEST(pixels_are_normalised_in_one_order)
{
    const tutti_normalise_desc desc = {.pixels = 256,
        .C = 3,
        .mean = {0.4914f, 0.4822f, 0.4465f},
        .deviation = {0.247f, 0.2435f, 0.2616f}};
    uint8_t x[256 * 3];
    float y[256 * 3];
    uint16_t half[256 * 3];
    void *buf[] = {x, y}, *narrowed[] = {x, half}, *args = NULL;
    for (int i = 0; i < 256 * 3; i++) x[i] = (uint8_t)(i / 3);
    ck_assert_ok(kernel_of(&tutti_op_normalise_narrow)->open(&desc, &args));
    ck_assert_ok(kernel_of(&tutti_op_normalise_narrow)->fn(args, narrowed, NULL));
    kernel_of(&tutti_op_normalise_narrow)->close(args);
    ck_assert_ok(kernel_of(&tutti_op_normalise)->open(&desc, &args));
    ck_assert_ok(kernel_of(&tutti_op_normalise)->fn(args, buf, NULL));
    kernel_of(&tutti_op_normalise)->close(args);
    for (int i = 0; i < 256 * 3; i++) {
        volatile float expected = (float)x[i];
        expected = expected / 255.0f;
        expected = expected - desc.mean[i % 3];
        expected = expected / desc.deviation[i % 3];
        ck_assert_msg(y[i] == expected, "%d: %.9g, not %.9g", x[i], (double)y[i], (double)expected);
        ck_assert_uint_eq(half[i], tutti_bf16_narrow(y[i]));
    }
}
END_TEST

/* The loops' loads and stores are those of dag/base/bf16.h, which is tested for every value: a sum of
 * one input stores each rounding, and in bf16 it copies what is neither a NaN nor a denormal number
 * of float32. */
START_TEST(loops_round_as_one_does)
{
    enum { COUNT = 1 << 16 };
    float *x = malloc(COUNT * sizeof *x);
    uint16_t *y = malloc(COUNT * sizeof *y), *same = malloc(COUNT * sizeof *same);
    ck_assert(x && y && same);
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    const tutti_sum_desc sum = {.count = COUNT - 1, .inputs = 1};
    for (size_t l = 0; l < sizeof lower / sizeof *lower; l++) {
        void *narrow[] = {x, y}, *copy[] = {y, same}, *args = NULL;
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t bits = i << 16 | lower[l];
            memcpy(&x[i], &bits, sizeof bits);
        }
        const tutti_kernel *bf16 = tutti_kernel_find(&tutti_op_sum, TUTTI_CPU, TUTTI_BF16);
        ck_assert_ok(kernel_of(&tutti_op_sum_narrow)->open(&sum, &args));
        ck_assert_ok(kernel_of(&tutti_op_sum_narrow)->fn(args, narrow, NULL));
        ck_assert_ok(bf16->fn(args, copy, NULL));
        bf16->close(args);
        for (int i = 0; i < COUNT - 1; i++) {
            ck_assert_msg(y[i] == tutti_bf16_narrow(x[i]), "%#x is rounded to %#x, not %#x",
                (unsigned)i << 16 | lower[l], y[i], tutti_bf16_narrow(x[i]));
            ck_assert_msg(same[i] == tutti_bf16_narrow(tutti_bf16_widen(y[i])), "%#x", y[i]);
        }
    }
    free(x);
    free(y);
    free(same);
}
END_TEST

START_TEST(not_a_number_is_not_hidden)
{
    const tutti_sum_desc sum = {.count = 2, .inputs = 1, .relu = 1};
    float x[] = {NAN, -1}, y[2];
    void *buf[] = {x, y}, *args = NULL;
    ck_assert_ok(kernel_of(&tutti_op_sum)->open(&sum, &args));
    ck_assert_ok(kernel_of(&tutti_op_sum)->fn(args, buf, NULL));
    kernel_of(&tutti_op_sum)->close(args);
    ck_assert(isnan(y[0]));
    ck_assert(y[1] >= 0 && y[1] <= 0);
}
END_TEST

static void run_on(const tutti_op *op, const void *desc, void *const buf[])
{
    const tutti_kernel *kernel = kernel_of(op);
    void *args = NULL;
    ck_assert_ok(kernel->open(desc, &args));
    ck_assert_ok(kernel->fn(args, buf, NULL));
    kernel->close(args);
}

/* One NaN among the gradients reaches all of them, and is found; lengths that overflow float32 when
 * squared do not matter. */
START_TEST(clipping_hides_nothing)
{
    const tutti_clip_factor_desc three = {.inputs = 3, .most = 1};
    const tutti_length_desc length = {.count = 2};
    const tutti_clip_desc clip = {.count = 2};
    float large[] = {3e30f, 4e30f}, small[] = {1, 2}, lengths[] = {0, 1, 1}, factor;
    run_on(&tutti_op_length, &length, (void *[]){large, &lengths[0]});
    ck_assert_float_eq_tol(lengths[0], 5e30f, 1e25f);
    run_on(
        &tutti_op_clip_factor, &three, (void *[]){&lengths[0], &lengths[1], &lengths[2], &factor});
    ck_assert_float_eq_tol(factor, 2e-31f, 1e-36f);
    lengths[0] = NAN;
    run_on(
        &tutti_op_clip_factor, &three, (void *[]){&lengths[0], &lengths[1], &lengths[2], &factor});
    run_on(&tutti_op_clip, &clip, (void *[]){&factor, small});
    ck_assert(isnan(small[0]) && isnan(small[1]));
}
END_TEST

/* Two ranks' lengths, put in their places and added, clip as all of them do on one rank. */
START_TEST(lengths_are_collected)
{
    const tutti_clip_factor_desc apart = {.inputs = 3, .most = 1},
                                 together = {.inputs = 1, .each = 3, .most = 1};
    const tutti_lengths_desc one = {.inputs = 1, .count = 3},
                             two = {.inputs = 2, .first = 1, .count = 3},
                             wrong = {.inputs = 2, .first = 2, .count = 3};
    float length[] = {1.1f, 2.3f, 0.7f}, part[2][3], want, factor;
    void *args = NULL;
    run_on(&tutti_op_lengths, &one, (void *[]){&length[0], part[0]});
    run_on(&tutti_op_lengths, &two, (void *[]){&length[1], &length[2], part[1]});
    for (int i = 0; i < 3; i++) part[0][i] += part[1][i];
    run_on(&tutti_op_clip_factor, &together, (void *[]){part[0], &factor});
    run_on(&tutti_op_clip_factor, &apart, (void *[]){&length[0], &length[1], &length[2], &want});
    ck_assert_float_eq(factor, want);
    ck_assert_int_eq(kernel_of(&tutti_op_lengths)->open(&wrong, &args), TUTTI_ERR_INVAL);
}
END_TEST

/* Weights that are all zero (biases at the start) move at the given rate. */
START_TEST(lars_moves_zeros)
{
    const tutti_lars_desc lars = {.count = 2, .rate_factor = 1, .trust = 0.02f};
    float g[] = {1, -2}, w[] = {0, 0}, v[] = {0, 0}, rate = 0.5f;
    run_on(&tutti_op_lars, &lars, (void *[]){g, &rate, w, v});
    ck_assert_float_eq(w[0], -0.5f);
    ck_assert_float_eq(w[1], 1);
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
        ck_assert_ptr_nonnull(first_kernel_of(op));
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
    tcase_add_test(tcase, bad_descriptors_are_refused);
    tcase_add_test(tcase, buffers_have_types);
    tcase_add_test(tcase, label_out_of_range_is_named);
    tcase_add_loop_test(tcase, mixed_parts_have_their_distribution, 0, 5);
    tcase_add_test(tcase, variance_survives_a_large_mean);
    tcase_add_test(tcase, pixels_are_normalised_in_one_order);
    tcase_add_test(tcase, loops_round_as_one_does);
    tcase_add_test(tcase, not_a_number_is_not_hidden);
    tcase_add_test(tcase, clipping_hides_nothing);
    tcase_add_test(tcase, lengths_are_collected);
    tcase_add_test(tcase, lars_moves_zeros);
    return testing_run(suite);
}
