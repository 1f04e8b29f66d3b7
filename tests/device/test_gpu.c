/* dag/kernels on a GPU, with the device's memory and streams: each kernel for CUDA writes what the CPU's
 * kernel writes, or almost (slack_of), for each case of tests/kernels, on two streams at the same
 * time: kernels that were opened apart share nothing. A recording of each writes the bits of the kernel
 * itself, from other inputs than those that were there when it was made. Every row has a case. All that
 * differs is reported, since a GPU is rarely at hand, and then fails the test.
 * gpu.sh runs it on a real GPU; fake_gpu.sh, linked with the fakes, without one. Skipped where there is no
 * GPU. */
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/device/device.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/loss.h"
#include "dag/kernels/lrn.h"
#include "dag/kernels/mixup.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pool.h"
#include "tests/kernels/cases.h"
#include "tests/support/testing.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 128, STREAMS = 2, REPLAYS = 2 };
static const tutti_device_kind *const gpu = &tutti_device_kind_built;
static const double longest_s = 60;
static int compared, replayed;
static int seen[MOST_OPS][TUTTI_DTYPE_COUNT], seen_again[MOST_OPS][TUTTI_DTYPE_COUNT];

/* ---- what may differ ---- */

/* How far off a number may be from the CPU's, relative to the largest of its tensor; an op that is not
 * here writes the same bits. Sums have another order; exp, log and powf are CUDA's (doc/gpu.md). */
static const struct {
    const tutti_op *op;
    double f32, bf16;
} slacks[] = {{&tutti_op_conv, 0x1p-17, 0x1p-7}, {&tutti_op_conv_bwd_data, 0x1p-17, 0x1p-7},
    {&tutti_op_conv_bwd_weights, 0x1p-17, 0x1p-7}, {&tutti_op_dense, 0x1p-17, 0x1p-7},
    {&tutti_op_dense_wide, 0x1p-17, 0x1p-7}, {&tutti_op_dense_bwd_data, 0x1p-17, 0x1p-7},
    {&tutti_op_dense_bwd_weights, 0x1p-17, 0x1p-7}, {&tutti_op_length, 0x1p-22, 0x1p-22},
    {&tutti_op_lars, 0x1p-22, 0x1p-22}, {&tutti_op_pool_avg_bwd, 0x1p-20, 0x1p-5},
    {&tutti_op_pool_max_bwd, 0, 0x1p-6}, {&tutti_op_softmax_xent, 0x1p-20, 0x1p-8},
    {&tutti_op_xent_eval, 0x1p-20, 0x1p-8}, {&tutti_op_lrn, 0x1p-20, 0x1p-8},
    {&tutti_op_lrn_bwd, 0x1p-20, 0x1p-8}, {&tutti_op_mixup_draw, 0x1p-20, 0x1p-20},
    {&tutti_op_cutmix_draw, 0x1p-20, 0x1p-20}};
/* Products with TF32 round their factors to 10 bits behind the point. */
static const double slack_tf32 = 0x1p-8;

static double slack_of(const tutti_op *op, tutti_dtype dtype)
{
    for (size_t i = 0; i < sizeof slacks / sizeof *slacks; i++)
        if (slacks[i].op == op) return dtype == TUTTI_BF16 ? slacks[i].bf16 : slacks[i].f32;
    return 0;
}

static double largest_of(const test_tensor *tensor)
{
    double largest = 0;
    for (int64_t i = 0; i < tensor->count; i++)
        largest = fmax(largest, fabs(test_element(tensor, i)));
    return largest;
}

static int failed;

/* A line on what is wrong with an op in a case. */
__attribute__((format(printf, 3, 4))) static void wrong(
    const test_case *c, const tutti_op *op, const char *format, ...)
{
    va_list what;
    va_start(what, format);
    printf("%s, %s: ", c->text, op->name);
    vprintf(format, what);
    putchar('\n');
    va_end(what);
    failed++;
}

static void compare_tensor(const test_case *c, const tutti_op *op, const test_tensor *cpu,
    const void *written, double slack)
{
    const size_t element = tutti_dtype_bytes(cpu->dtype);
    test_tensor other = *cpu;
    other.data = (void *)written;
    if (!memcmp(cpu->data, written, (size_t)cpu->count * element)) return;
    const double most = slack * largest_of(cpu);
    int64_t beyond = 0, at = 0;
    double farthest = 0;
    for (int64_t i = 0; i < cpu->count; i++) {
        const size_t byte = (size_t)i * element;
        if (!memcmp((char *)cpu->data + byte, (const char *)written + byte, element)) continue;
        const double off = fabs(test_element(cpu, i) - test_element(&other, i));
        if (slack > 0 && off <= most) continue; /* NaN is beyond any slack */
        if (!beyond++ || off > farthest) {
            farthest = off;
            at = i;
        }
    }
    if (beyond)
        wrong(c, op, "%s[%lld] in %s is %.9g, not %.9g; %lld of %lld are farther off than %.3g",
            cpu->name, (long long)at, tutti_dtype_name(cpu->dtype), test_element(&other, at),
            test_element(cpu, at), (long long)beyond, (long long)cpu->count, most);
}

/* ---- on the GPU ---- */

typedef struct stream {
    void *queue, *event;
    /* of the kernel on it: as it was opened, its tensors on the GPU, and pinned */
    void *args, *there[MAX_BUFFERS], *pinned[MAX_BUFFERS];
} stream;
static stream streams[STREAMS];

static void copy(const stream *s, void *to, const void *from, size_t bytes)
{
    ck_assert_ok(gpu->copy(0, to, from, bytes, s->queue));
}

static void wait_for(const stream *s)
{
    const double until_s = tutti_clock_s() + longest_s;
    int passed = 0;
    while (!passed) {
        ck_assert_ok(gpu->event_passed(0, s->event, &passed));
        ck_assert_msg(tutti_clock_s() < until_s, "the GPU was not done in %g s", longest_s);
    }
}

static size_t bytes_of(const test_tensor *tensor)
{
    return (size_t)tensor->count * tutti_dtype_bytes(tensor->dtype);
}

/* Memory first, all of it: whoever allocates waits for the GPU. */
static tutti_status prepare(stream *s, const test_case *c, const tutti_kernel *kernel, int count,
    const test_tensor *const tensor[])
{
    for (int b = 0; b < count; b++) {
        ck_assert_ok(gpu->alloc(0, bytes_of(tensor[b]), &s->there[b]));
        ck_assert_ok(gpu->pin(0, bytes_of(tensor[b]), &s->pinned[b]));
        memcpy(s->pinned[b], tensor[b]->data, bytes_of(tensor[b]));
    }
    s->args = NULL;
    return kernel->open(&c->desc, &s->args);
}

/* recording: of the kernel, which is put there instead; NULL: the kernel. */
static tutti_status put(const stream *s, const tutti_kernel *kernel, void *recording, int count,
    const test_tensor *const tensor[])
{
    for (int b = 0; b < count; b++) copy(s, s->there[b], s->pinned[b], bytes_of(tensor[b]));
    const tutti_status status = recording ? gpu->replay(0, recording, s->queue)
                                          : kernel->fn(s->args, (void *const *)s->there, s->queue);
    for (int b = 0; b < count; b++) copy(s, s->pinned[b], s->there[b], bytes_of(tensor[b]));
    ck_assert_ok(gpu->event_mark(0, s->event, s->queue));
    return status;
}

static void forget(stream *s, const tutti_kernel *kernel, int count)
{
    if (s->args) kernel->close(s->args);
    for (int b = 0; b < count; b++) {
        gpu->unpin(0, s->pinned[b]);
        gpu->release(0, s->there[b]);
    }
}

/* On the case's tensors. */
static void run_on_cpu(const test_case *c, const tutti_op *op)
{
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS];
    void *data[MAX_BUFFERS];
    const int count = test_buffers(c, op, tensor, written);
    for (int b = 0; b < count; b++) data[b] = tensor[b]->data;
    test_run_on_cpu(c, op, count, tensor, data);
}

/* Runs the op on the GPU, and then on the CPU, from the same inputs. */
static void compare(const test_case *c, const tutti_op *op, const tutti_kernel *kernel, double more)
{
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS];
    tutti_status status = TUTTI_OK;
    const int count = test_buffers(c, op, tensor, written);
    for (int s = 0; s < STREAMS; s++) {
        const tutti_status opened = prepare(&streams[s], c, kernel, count, tensor);
        if (opened) status = opened;
    }
    if (status)
        wrong(c, op, "cannot be opened: %s", tutti_status_name(status));
    else {
        for (int s = 0; s < STREAMS && !status; s++)
            status = put(&streams[s], kernel, NULL, count, tensor);
        if (status) wrong(c, op, "cannot be started: %s", tutti_status_name(status));
        for (int s = 0; s < STREAMS && !status; s++) wait_for(&streams[s]);
    }
    tutti_dtype dtype[MAX_BUFFERS]; /* whose precision the numbers have */
    if (!status) run_on_cpu(c, op);
    for (int b = 0; b < count; b++) {
        const int rounded = test_is_rounded_on_gpu(c, op, tensor[b]);
        if (rounded) test_round_to_bf16(tensor[b]);
        dtype[b] = rounded ? TUTTI_BF16 : tensor[b]->dtype;
    }
    for (int s = 0; s < STREAMS; s++) {
        for (int b = 0; b < count && !status; b++)
            compare_tensor(
                c, op, tensor[b], streams[s].pinned[b], fmax(more, slack_of(op, dtype[b])));
        forget(&streams[s], kernel, count);
    }
    compared++;
}

static int number_of(const tutti_op *op)
{
    int i = 0;
    while (tutti_op_get(i) != op) i++;
    return i;
}

/* The type of an op's first buffer in a case. */
static tutti_dtype first_of(const test_case *c, const tutti_op *op)
{
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS];
    test_buffers(c, op, tensor, written);
    return tensor[0]->dtype;
}

static void run_case(const char *text, tutti_dtype values)
{
    test_case c;
    ck_assert_msg(test_parse(text, values, &c), "%s", text);
    if (values == TUTTI_BF16 && !c.family->halves) return;
    test_case_open(&c);
    for (int o = 0; o < c.family->ops; o++) {
        const tutti_op *op = c.family->op[o];
        const tutti_dtype first = first_of(&c, op);
        const tutti_kernel *kernel = tutti_kernel_find(op, TUTTI_CUDA, first);
        const tutti_kernel *tf32 = first == TUTTI_F32 ? tutti_kernel_find_tf32(op) : NULL;
        if (!kernel) continue;
        if (tf32) compare(&c, op, tf32, slack_tf32);
        compare(&c, op, kernel, 0);
        seen[number_of(op)][first] = 1;
    }
    test_case_close(&c);
}

static void in_all_types(const char *text, void *context)
{
    (void)context;
    run_case(text, TUTTI_F32);
    run_case(text, TUTTI_BF16);
}

/* ---- recordings ---- */

typedef struct recorded {
    const tutti_op *op;
    const tutti_kernel *kernel;
    void *recording; /* NULL: there is none */
    stream stream;   /* with memory of its own */
} recorded;

/* Runs once first: a GPU loads a kernel when it is first started. */
static void record(const test_case *c, recorded *r)
{
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS], operations = 0;
    const char *why = "";
    const int count = test_buffers(c, r->op, tensor, written);
    r->stream = streams[0];
    tutti_status status = prepare(&r->stream, c, r->kernel, count, tensor);
    if (!status) status = put(&r->stream, r->kernel, NULL, count, tensor);
    if (!status) wait_for(&r->stream);
    if (!status) status = gpu->capture_begin(0, r->stream.queue);
    if (status) {
        wrong(c, r->op, "cannot be started: %s", tutti_status_name(status));
        return;
    }
    const tutti_status put_there =
        r->kernel->fn(r->stream.args, (void *const *)r->stream.there, r->stream.queue);
    status = gpu->capture_end(0, r->stream.queue, &r->recording, &operations, &why);
    if (!put_there && !status && (operations > 0 || r->op == &tutti_op_gate)) return;
    wrong(c, r->op, "cannot be recorded, %d operations: %s, %s: %s", operations,
        tutti_status_name(put_there), tutti_status_name(status), why);
}

static void fill_pinned(const stream *s, int count, const test_tensor *const tensor[])
{
    for (int b = 0; b < count; b++) memcpy(s->pinned[b], tensor[b]->data, bytes_of(tensor[b]));
}

/* The kernel, and then its recording, on another stream. */
static void compare_replay(const test_case *c, recorded *r)
{
    const test_tensor *tensor[MAX_BUFFERS];
    int written[MAX_BUFFERS];
    void *direct[MAX_BUFFERS];
    const int count = test_buffers(c, r->op, tensor, written);
    stream *s = &r->stream;
    fill_pinned(s, count, tensor);
    tutti_status status = put(s, r->kernel, NULL, count, tensor);
    if (!status) wait_for(s);
    for (int b = 0; b < count; b++) {
        direct[b] = malloc(bytes_of(tensor[b]));
        ck_assert_ptr_nonnull(direct[b]);
        memcpy(direct[b], s->pinned[b], bytes_of(tensor[b]));
    }
    fill_pinned(s, count, tensor);
    stream other = *s;
    other.queue = streams[1].queue;
    other.event = streams[1].event;
    if (!status) status = put(&other, r->kernel, r->recording, count, tensor);
    if (!status) wait_for(&other);
    if (status) wrong(c, r->op, "cannot be replayed: %s", tutti_status_name(status));
    for (int b = 0; b < count; b++) {
        if (!status && memcmp(direct[b], s->pinned[b], bytes_of(tensor[b])))
            wrong(c, r->op, "its recording writes another %s", tensor[b]->name);
        free(direct[b]);
    }
    replayed++;
}

/* Other inputs: numbers are larger, labels and pixels others, steps later. What is written as whole
 * numbers by earlier ops of the case stays until they write it anew. */
static void change_inputs(const test_case *c)
{
    for (int i = 0; i < c->tensors; i++) {
        const test_tensor *t = &c->tensor[i];
        const int labels = !strcmp(t->name, "labels"), pixels = !strcmp(t->name, "pixels");
        const int whole = t->dtype == TUTTI_I32 || t->dtype == TUTTI_U8;
        const double first = t->value[0];
        if (whole && !labels && !pixels) continue;
        for (int64_t e = 0; e < t->count; e++) {
            if (labels)
                t->value[e] = e + 1 < t->count ? t->value[e + 1] : first;
            else if (pixels)
                t->value[e] = 255 - t->value[e] / 2;
            else
                t->value[e] = t->dtype == TUTTI_I64 ? t->value[e] + 1 : t->value[e] * 1.25;
        }
        test_to_data(t);
    }
}

static void replay_case(const char *text, tutti_dtype values)
{
    test_case c;
    recorded all[2 * MAX_OPS] = {{0}};
    int count = 0;
    ck_assert_msg(test_parse(text, values, &c), "%s", text);
    if (values == TUTTI_BF16 && !c.family->halves) return;
    test_case_open(&c);
    for (int o = 0; o < c.family->ops; o++) {
        const tutti_op *op = c.family->op[o];
        const tutti_dtype first = first_of(&c, op);
        const tutti_kernel *kernel = tutti_kernel_find(op, TUTTI_CUDA, first);
        const tutti_kernel *tf32 = first == TUTTI_F32 ? tutti_kernel_find_tf32(op) : NULL;
        if (kernel && tf32) all[count++] = (recorded){.op = op, .kernel = tf32};
        if (kernel) all[count++] = (recorded){.op = op, .kernel = kernel};
        if (kernel) seen_again[number_of(op)][first] = 1;
    }
    for (int i = 0; i < count; i++) record(&c, &all[i]);
    for (int replay = 0; replay < REPLAYS; replay++) {
        change_inputs(&c);
        for (int i = 0; i < count; i++) {
            if (all[i].recording) compare_replay(&c, &all[i]);
            if (i + 1 == count || all[i + 1].op != all[i].op) run_on_cpu(&c, all[i].op);
        }
    }
    for (int i = 0; i < count; i++) {
        const test_tensor *tensor[MAX_BUFFERS];
        int written[MAX_BUFFERS];
        gpu->recording_close(0, all[i].recording);
        forget(&all[i].stream, all[i].kernel, test_buffers(&c, all[i].op, tensor, written));
    }
    test_case_close(&c);
}

static void replay_in_all_types(const char *text, void *context)
{
    (void)context;
    replay_case(text, TUTTI_F32);
    replay_case(text, TUTTI_BF16);
}

START_TEST(recordings_write_what_kernels_write)
{
    failed = 0;
    test_each_text("cases.txt", replay_in_all_types, NULL);
    test_each_text("large_cases.txt", replay_in_all_types, NULL);
    printf("%d replays of recordings\n", replayed);
    ck_assert_msg(!failed, "%d recordings were not what their kernels are", failed);
}
END_TEST

START_TEST(kernels_write_what_the_cpu_writes)
{
    test_each_text("cases.txt", in_all_types, NULL);
    test_each_text("large_cases.txt", in_all_types, NULL);
    ck_assert_msg(!failed, "%d times the GPU did not write what the CPU did", failed);
}
END_TEST

START_TEST(every_row_has_a_case)
{
    const tutti_op *op;
    int rows = 0;
    for (int i = 0; (op = tutti_op_get(i)); i++)
        for (int dtype = 0; dtype < TUTTI_DTYPE_COUNT; dtype++) {
            if (op == &tutti_op_gate) continue; /* it computes nothing */
            if (!tutti_kernel_find(op, TUTTI_CUDA, (tutti_dtype)dtype)) continue;
            ck_assert_int_lt(i, MOST_OPS);
            ck_assert_msg(seen[i][dtype] && seen_again[i][dtype], "%s for %s has no case", op->name,
                tutti_dtype_name((tutti_dtype)dtype));
            rows++;
        }
    printf("%d kernels in %d cases\n", rows, compared);
}
END_TEST

int main(void)
{
    tutti_log_set_level(TUTTI_LOG_ERROR);
    if (gpu->lacks()) {
        printf("%s\n", gpu->lacks());
        return 77;
    }
    if (gpu->select(0)) return 1;
    for (int s = 0; s < STREAMS; s++)
        if (gpu->queue_open(0, &streams[s].queue) || gpu->event_open(0, &streams[s].event))
            return 1;
    Suite *suite = suite_create("gpu");
    TCase *tests = testing_case(suite, "gpu");
    tcase_add_test(tests, kernels_write_what_the_cpu_writes);
    tcase_add_test(tests, recordings_write_what_kernels_write);
    tcase_add_test(tests, every_row_has_a_case);
    const int status = testing_run(suite);
    for (int s = 0; s < STREAMS; s++) {
        gpu->event_close(0, streams[s].event);
        gpu->queue_close(0, streams[s].queue);
    }
    return status;
}
