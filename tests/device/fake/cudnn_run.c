#include "tests/device/fake/cudnn_run.h"

#include "dag/base/bf16.h"

#include <stdlib.h>
#include <string.h>

enum { TENSORS = CUDNN_RUN_TENSORS, TO = CUDNN_RUN_TO };
enum { MOST_FILLED = 1 << 20 }; /* of a workspace, at each of its ends */

typedef struct work {
    cudnn_run_job job; /* with addresses inside */
    size_t count[TENSORS];
} work;

static void count_elements(const cudnn_run_job *j, size_t count[TENSORS])
{
    const tutti_conv_desc *d = &j->desc;
    const size_t y = (size_t)(d->N * tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) *
                              tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]) * d->K);
    const size_t x = (size_t)(d->N * d->H * d->W * d->C);
    const size_t w = (size_t)(d->K * d->R * d->S * d->C / d->groups);
    const int weights = j->op == &tutti_op_conv_bwd_weights;
    const int data = j->op == &tutti_op_conv_bwd_data;
    count[CUDNN_RUN_FROM0] = data ? y : x;
    count[CUDNN_RUN_FROM1] = weights ? y : w;
    count[TO] = weights ? w : data ? x : y;
}

static void fill(void *workspace, size_t bytes)
{
    const size_t part = bytes < MOST_FILLED ? bytes : MOST_FILLED;
    memset(workspace, 0xff, part);
    memset((char *)workspace + bytes - part, 0xff, part);
}

static void *rounded(const void *from, size_t count)
{
    float *copy = compute_room(count * sizeof *copy);
    memcpy(copy, from, count * sizeof *copy);
    compute_round_tf32(copy, count);
    return copy;
}

static void narrow(uint16_t *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = tutti_bf16_narrow(from[i]);
}

/* The CPU takes biases in float32. */
static float *widened(const void *bias, tutti_dtype dtype, size_t count)
{
    float *wide = compute_room(count * sizeof *wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = dtype == TUTTI_F32 ? ((const float *)bias)[i]
                                     : tutti_bf16_widen(((const uint16_t *)bias)[i]);
    return wide;
}

static void rectify(void *y, size_t count, tutti_dtype dtype)
{
    float *numbers = y;
    uint16_t *halves = y;
    for (size_t i = 0; i < count; i++) {
        if (dtype == TUTTI_F32 && numbers[i] <= 0) numbers[i] = 0;
        if (dtype != TUTTI_F32 && tutti_bf16_widen(halves[i]) <= 0) halves[i] = 0;
    }
}

static int run(void *arg)
{
    work *w = arg;
    cudnn_run_job *j = &w->job;
    void *copy[TENSORS] = {NULL}, *const to = j->tensor[TO];
    fill(j->workspace, j->bytes);
    for (int t = 0; j->tf32 && t < TO; t++)
        j->tensor[t] = copy[t] = rounded(j->tensor[t], w->count[t]);
    /* The CPU writes gradients of weights in float32. */
    const int wide = j->dtype != TUTTI_F32 && j->op == &tutti_op_conv_bwd_weights;
    if (wide) j->tensor[TO] = copy[TO] = compute_room(w->count[TO] * sizeof(float));
    cpu_operand operand[TENSORS + 1];
    int n = 0;
    const size_t K = (size_t)j->desc.K;
    float *bias = j->bias ? widened(j->bias, j->dtype, K) : NULL;
    for (int t = 0; t < TENSORS; t++) {
        if (t == TO && bias) operand[n++] = (cpu_operand){bias, K, TUTTI_F32};
        operand[n++] =
            (cpu_operand){j->tensor[t], w->count[t], t == TO && wide ? TUTTI_F32 : j->dtype};
    }
    j->desc.bias = bias != NULL;
    compute_run(j->call, j->op, j->dtype, &j->desc, operand, n);
    free(bias);
    if (j->relu) rectify(to, w->count[TO], j->dtype);
    if (wide) narrow(to, copy[TO], w->count[TO]);
    for (int t = 0; t < TENSORS; t++) free(copy[t]);
    free(w);
    return 1;
}

void cudnn_run_enqueue(cudaStream_t stream, const cudnn_run_job *job)
{
    work *w = compute_room(sizeof *w);
    fake_access access[TENSORS + 2];
    w->job = *job;
    count_elements(job, w->count);
    for (int t = 0; t < TENSORS; t++) {
        const size_t bytes = w->count[t] * tutti_dtype_bytes(job->dtype);
        w->job.tensor[t] = fake_inside(job->call, job->tensor[t], bytes);
        access[t] = (fake_access){job->tensor[t], bytes, t == TO ? FAKE_WRITE : FAKE_READ, 1, 0};
    }
    w->job.workspace = fake_inside(job->call, job->workspace, job->bytes);
    access[TENSORS] = (fake_access){job->workspace, job->bytes, FAKE_WRITE, 1, 0};
    const size_t bias = (size_t)job->desc.K * tutti_dtype_bytes(job->dtype);
    if (job->bias) {
        w->job.bias = fake_inside(job->call, job->bias, bias);
        access[TENSORS + 1] = (fake_access){job->bias, bias, FAKE_READ, 1, 0};
    }
    const fake_work enqueued = {.call = job->call,
        .run = run,
        .arg = w,
        .bytes = sizeof *w,
        .seconds = job->seconds,
        .access = access,
        .accesses = TENSORS + 1 + (job->bias != NULL)};
    fake_enqueue(stream, &enqueued);
}
