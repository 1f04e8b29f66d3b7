#include "tests/kernels/cases.h"

#include "dag/base/bf16.h"
#include "dag/base/rng.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/mixup.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/share.h"
#include "tests/support/cpu_kernel.h"
#include "tests/support/testing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_CLASSES = 5 /* of labels without logits */ };

static int set_field(test_case *c, const char *key, const char *value)
{
    size_t offset;
    char type;
    if (!test_field(c->family, key, &offset, &type)) return 0;
    char *at = c->desc.bytes + offset;
    int64_t i = strtoll(value, NULL, 0);
    uint64_t u = strtoull(value, NULL, 0);
    int d = (int)i;
    float f = strtof(value, NULL);
    double r = strtod(value, NULL);
    if (type == 'i' || type == 'p') memcpy(at, &i, sizeof i);
    if (type == 'p') memcpy(at + sizeof i, &i, sizeof i);
    if (type == 'u') memcpy(at, &u, sizeof u);
    if (type == 'd') memcpy(at, &d, sizeof d);
    if (type == 'f') memcpy(at, &f, sizeof f);
    if (type == 'r') memcpy(at, &r, sizeof r);
    return 1;
}

void test_each_text(const char *file, void (*use)(const char *text, void *context), void *context)
{
    char line[MAX_TEXT], path[MAX_TEXT];
    snprintf(path, sizeof path, "tests/kernels/%s", file);
    FILE *cases = fopen(testing_source(path), "r");
    ck_assert_msg(cases != NULL, "%s", path);
    while (fgets(line, sizeof line, cases)) {
        line[strcspn(line, "\n")] = 0;
        if (*line && *line != '#') use(line, context);
    }
    fclose(cases);
}

int test_parse(const char *text, tutti_dtype values, test_case *c)
{
    char copy[MAX_TEXT], *save = NULL;
    *c = (test_case){.family = NULL, .values = values};
    snprintf(c->text, sizeof c->text, "%s", text);
    snprintf(copy, sizeof copy, "%s", text);
    const char *name = strtok_r(copy, " ", &save);
    for (int i = 0; name && test_families[i]; i++)
        if (!strcmp(test_families[i]->name, name)) c->family = test_families[i];
    if (!c->family) return 0;
    for (char *word; (word = strtok_r(NULL, " ", &save));) {
        char *equals = strchr(word, '=');
        if (!equals) return 0;
        *equals = 0;
        if (!set_field(c, word, equals + 1)) return 0;
    }
    return 1;
}

void test_declare(test_case *c, const char *name, tutti_dtype dtype, int64_t count)
{
    ck_assert_int_lt(c->tensors, MAX_TENSORS);
    test_tensor *t = &c->tensor[c->tensors++];
    snprintf(t->name, sizeof t->name, "%s", name);
    t->dtype = dtype;
    t->count = count;
    t->value = calloc((size_t)count, sizeof *t->value);
    t->data = calloc((size_t)count, tutti_dtype_bytes(dtype));
    ck_assert(t->value && t->data);
}

double test_bf16(double value)
{
    return (double)tutti_bf16_widen(tutti_bf16_narrow((float)value));
}

/* 20 bits that depend on all bits of stream and index. */
static uint32_t bits_of(uint64_t stream, uint64_t index)
{
    uint64_t h = (index + 1) * 0x9E3779B97F4A7C15ull ^ stream;
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93ull;
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93ull;
    return (uint32_t)(h >> 44);
}

typedef enum content { NUMBERS, STEPS, PIXELS, LABELS, BOXES, PARTS, ABOVE_ZERO } content;

static content content_of(const test_case *c, const char *name)
{
    if (!strcmp(name, "step")) return STEPS;
    if (!strcmp(name, "pixels")) return PIXELS;
    if (!strcmp(name, "labels")) return LABELS;
    if (!strcmp(c->family->name, "cutmix") && !strcmp(name, "box")) return BOXES;
    if (!strcmp(name, "part")) return PARTS;
    if (!strcmp(name, "running") || !strcmp(name, "stats_sum") || !strcmp(name, "square") ||
        !strncmp(name, "length", 6) || !strcmp(name, "share") || !strncmp(name, "received", 8))
        return ABOVE_ZERO;
    return NUMBERS;
}

/* Numbers in [-1, 1) that the type represents; statistics, squares, lengths and shares are shifted above zero,
 * labels are -1 to classes-1, pixels bytes, boxes within the image. */
static double fill_value(const test_case *c, const test_tensor *t, content of, uint32_t classes,
    uint64_t stream, int64_t i)
{
    uint32_t bits = bits_of(stream, (uint64_t)i);
    if (of == STEPS) return 5;
    if (of == PIXELS) return (double)(bits % 256);
    if (of == LABELS) return (double)(bits % (classes + 1)) - 1;
    if (of == BOXES) {
        const tutti_cutmix_desc *d = (const void *)c->desc.bytes;
        const int64_t size = i % TUTTI_BOX < 2 ? d->H : d->W, middle = size / 2;
        return (double)(i % 2 ? middle + bits % (size - middle + 1) : bits % (middle + 1));
    }
    double value = (double)bits / 524288 - 1;
    if (of == PARTS) return (value + 1) / 2;
    if (of == ABOVE_ZERO) value += 1.5;
    return t->dtype == TUTTI_BF16 ? test_bf16(value) : value;
}

static void fill_tensor(const test_case *c, test_tensor *t, uint64_t stream)
{
    const content of = content_of(c, t->name);
    const test_tensor *logits = of == LABELS ? test_find(c, "logits") : NULL;
    const uint32_t classes = logits ? (uint32_t)(logits->count / t->count) : FEW_CLASSES;
    for (int64_t e = 0; e < t->count; e++) t->value[e] = fill_value(c, t, of, classes, stream, e);
}

void test_case_open(test_case *c)
{
    c->family->tensors(c);
    for (int i = 0; i < c->tensors; i++) {
        char name[MAX_TEXT + 32];
        snprintf(name, sizeof name, "%s:%s", c->text, c->tensor[i].name);
        uint64_t stream = tutti_rng_stream(name);
        fill_tensor(c, &c->tensor[i], stream);
        test_to_data(&c->tensor[i]);
    }
}

void test_case_close(test_case *c)
{
    for (int i = 0; i < c->tensors; i++) {
        free(c->tensor[i].value);
        free(c->tensor[i].data);
    }
    c->tensors = 0;
}

const test_tensor *test_find(const test_case *c, const char *name)
{
    for (int i = 0; i < c->tensors; i++)
        if (!strcmp(c->tensor[i].name, name)) return &c->tensor[i];
    return NULL;
}

double *test_value(const test_case *c, const char *name)
{
    const test_tensor *t = test_find(c, name);
    ck_assert_msg(t != NULL, "%s: no tensor %s", c->text, name);
    return t->value;
}

double test_element(const test_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case TUTTI_F32:
        return (double)((const float *)t->data)[i];
    case TUTTI_F64:
        return ((const double *)t->data)[i];
    case TUTTI_I32:
        return ((const int32_t *)t->data)[i];
    case TUTTI_I64:
        return (double)((const int64_t *)t->data)[i];
    case TUTTI_BF16:
        return (double)tutti_bf16_widen(((const uint16_t *)t->data)[i]);
    default:
        return ((const uint8_t *)t->data)[i];
    }
}

void test_to_data(const test_tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        if (t->dtype == TUTTI_F32) ((float *)t->data)[i] = (float)t->value[i];
        if (t->dtype == TUTTI_F64) ((double *)t->data)[i] = t->value[i];
        if (t->dtype == TUTTI_I32) ((int32_t *)t->data)[i] = (int32_t)t->value[i];
        if (t->dtype == TUTTI_I64) ((int64_t *)t->data)[i] = (int64_t)t->value[i];
        if (t->dtype == TUTTI_U8)
            ((uint8_t *)t->data)[i] = t->value[i] > 0 ? (uint8_t)t->value[i] : 0;
        if (t->dtype == TUTTI_BF16)
            ((uint16_t *)t->data)[i] = tutti_bf16_narrow((float)t->value[i]);
    }
}

/* How many buffers "x,..." stands for. */
static int list_length(const test_case *c, const tutti_op *op)
{
    if (op == &tutti_op_sum || op == &tutti_op_sum_narrow)
        return ((const tutti_sum_desc *)c->desc.bytes)->inputs;
    if (op == &tutti_op_gate) return ((const tutti_gate_desc *)c->desc.bytes)->inputs;
    if (op == &tutti_op_lengths) return ((const tutti_lengths_desc *)c->desc.bytes)->inputs;
    if (op == &tutti_op_share_weigh) return ((const tutti_share_weigh_desc *)c->desc.bytes)->inputs;
    if (op == &tutti_op_share_mix) return ((const tutti_share_mix_desc *)c->desc.bytes)->inputs;
    if (op == &tutti_op_clip_factor) return ((const tutti_clip_factor_desc *)c->desc.bytes)->inputs;
    return ((const tutti_concat_desc *)c->desc.bytes)->parts;
}

/* The op's buffers, with x,... written out as x0,x1: as many as the descriptor has. */
static const char *buffers_text(const test_case *c, const tutti_op *op, char *text, size_t size)
{
    const char *rest = strstr(op->buffers, ",..."), *name = rest;
    if (!rest) return op->buffers;
    while (name > op->buffers && isalpha((unsigned char)name[-1])) name--;
    int at = snprintf(text, size, "%.*s", (int)(name - op->buffers), op->buffers);
    for (int i = 0; i < list_length(c, op); i++)
        at += snprintf(
            text + at, size - (size_t)at, "%s%.*s%d", i ? "," : "", (int)(rest - name), name, i);
    snprintf(text + at, size - (size_t)at, "%s", rest + strlen(",..."));
    return text;
}

int test_buffers(const test_case *c, const tutti_op *op, const test_tensor *buffer[MAX_BUFFERS],
    int written[MAX_BUFFERS])
{
    char expanded[256], name[16];
    int count = 0, out = 0;
    for (const char *p = buffers_text(c, op, expanded, sizeof expanded); *p;) {
        if (!strncmp(p, "->", 2)) out = 1;
        p += strspn(p, "->,[]");
        size_t length = strcspn(p, "->,[](:");
        ck_assert_uint_lt(length, sizeof name);
        memcpy(name, p, length);
        name[length] = 0;
        p += length;
        if (*p == ':') p += strcspn(p, "->,[](");
        if (!strncmp(p, "(rw)", 4)) p += 4;
        p += strspn(p, "]");
        const test_tensor *t = test_find(c, name);
        if (!t) continue; /* optional, and absent in this descriptor */
        buffer[count] = t;
        written[count++] = out;
    }
    return count;
}

void test_run_on_cpu(const test_case *c, const tutti_op *op, int count,
    const test_tensor *const buffer[], void *const data[])
{
    const tutti_op *wide = op == &tutti_op_dense_wide ? &tutti_op_dense : op;
    cpu_operand operand[MAX_BUFFERS];
    for (int b = 0; b < count; b++)
        operand[b] = (cpu_operand){data[b], (size_t)buffer[b]->count, buffer[b]->dtype};
    ck_assert_ok(cpu_kernel_run(tutti_kernel_find(op, TUTTI_CPU, buffer[0]->dtype),
        tutti_kernel_find(wide, TUTTI_CPU, TUTTI_F32), &c->desc, operand, count));
}

int test_is_rounded_on_gpu(const test_case *c, const tutti_op *op, const test_tensor *tensor)
{
    return op == &tutti_op_conv_bwd_weights && c->values == TUTTI_BF16 &&
           !strcmp(tensor->name, "dw") &&
           !tutti_conv_is_product((const tutti_conv_desc *)c->desc.bytes);
}

void test_round_to_bf16(const test_tensor *tensor)
{
    float *numbers = tensor->data;
    for (int64_t i = 0; i < tensor->count; i++)
        numbers[i] = tutti_bf16_widen(tutti_bf16_narrow(numbers[i]));
}
