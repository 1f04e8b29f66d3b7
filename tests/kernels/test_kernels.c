/* dag/kernels: every op on every case of cases.txt equals the reference in double precision, PyTorch's numbers, and finite
 * differences; gives the same bits again, also when others run beside it; and stays on the calling thread. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/norm.h"
#include "tests/kernels/cases.h"
#include "tests/support/testing.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Errors relative to a tensor's largest number: single precision with sums of a few hundred terms. */
static const double TOLERANCE = 1e-5;

/* Calls `use` with every case, opened. */
static void each_case(void (*use)(test_case *c))
{
    char line[MAX_TEXT];
    int cases = 0;
    FILE *file = fopen(testing_source("tests/kernels/cases.txt"), "r");
    ck_assert_msg(file != NULL, "%s", testing_source("tests/kernels/cases.txt"));
    while (fgets(line, sizeof line, file)) {
        test_case c;
        line[strcspn(line, "\n")] = 0;
        if (!*line || *line == '#') continue;
        ck_assert_msg(test_parse(line, &c), "%s", line);
        test_case_open(&c);
        use(&c);
        test_case_close(&c);
        cases++;
    }
    fclose(file);
    ck_assert_int_gt(cases, 50);
}

/* Opens, runs and closes one op on the case's tensors. */
static void run_op(const test_case *c, int op)
{
    const tutti_kernel *kernel = tutti_kernel_cpu(op);
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
    for (int64_t i = 0; i < t->count; i++) {
        double got = test_element(t, i);
        ck_assert_msg(fabs(got - expected[i]) <= bound, "%s: %s[%lld] is %.9g, not %.9g", c->text,
            t->name, (long long)i, got, expected[i]);
    }
}

/* ---- Against the reference ---- */

static void check_reference(test_case *c)
{
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

START_TEST(equals_reference)
{
    each_case(check_reference);
}
END_TEST

/* ---- Against PyTorch ---- */

/* Compares the case's tensors with every line of the index that names the case. */
static void check_golden(test_case *c)
{
    long long offset, count;
    char name[16], text[MAX_TEXT];
    int results = 0;
    if (!strcmp(c->family->name, "dropout")) return;
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
    each_case(check_golden);
}
END_TEST

/* ---- Against finite differences ---- */

/* What the gradients are of: dy . y, or the weighted loss. */
static double objective(const test_case *c)
{
    c->family->reference(c);
    const test_tensor *dy = test_find(c, "dy");
    double total = 0;
    if (!dy) return (double)((const tutti_xent_desc *)c->desc.bytes)->weight * *test_value(c, "metrics");
    for (int64_t i = 0; i < dy->count; i++) total += dy->value[i] * test_value(c, "y")[i];
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
    ck_assert_msg(fabs(slope - product) <= 1e-4 * sqrt(norm) + 1e-6,
        "%s: along direction %llu, %s gives %.9g, differences %.9g", c->text,
        (unsigned long long)seed, gradient->name, product, slope);
}

static void check_differences(test_case *c)
{
    static const char *const pairs[][2] = {{"x", "dx"}, {"w", "dw"}, {"b", "db"},
        {"scaleshift", "dscaleshift"}, {"logits", "dlogits"}};
    enum { DIRECTIONS = 4 };
    run_ops(c);
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        const test_tensor *x = test_find(c, pairs[p][0]), *dx = test_find(c, pairs[p][1]);
        for (uint64_t d = 0; x && dx && d < DIRECTIONS; d++)
            check_slope(c, x, dx, testing_seed_quiet() + d);
    }
}

START_TEST(equals_finite_differences)
{
    testing_seed(20240501);
    each_case(check_differences);
}
END_TEST
