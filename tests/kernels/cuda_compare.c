#include "tests/kernels/cuda_compare.h"

#include "dag/base/rng.h"
#include "dag/kernels/conv.h"
#include "dag/kernels/dense.h"
#include "dag/kernels/optim.h"
#include "dag/kernels/pool.h"
#include "tests/kernels/host_rows.h"
#include "tests/support/cpu_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cuda_compared;

const tutti_kernel *cuda_kernel_of(
    const tutti_kernel *const rows[], const tutti_op *op, tutti_dtype dtype)
{
    for (int f = 0; rows[f]; f++)
        for (const tutti_kernel *row = rows[f]; row->op; row++)
            if (row->op == op && row->dtype == dtype) return row;
    return NULL;
}

const tutti_kernel *cuda_kernel(const tutti_op *op, tutti_dtype dtype)
{
    return cuda_kernel_of(test_host_rows, op, dtype);
}

char cuda_streams[2];
int cuda_runs = 1;

void cuda_run(const tutti_kernel *kernel, const test_case *c, void *const buf[])
{
    void *args = NULL;
    ck_assert_ok(kernel->open(&c->desc, &args));
    for (int i = 0; i < cuda_runs; i++) ck_assert_ok(kernel->fn(args, buf, &cuda_streams[0]));
    kernel->close(args);
}

int cuda_is_product(const tutti_op *op)
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
    if (cuda_is_product(op)) return dtype == TUTTI_BF16 ? 0x1p-7 : 0x1p-20;
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

void cuda_compare(const test_case *c, const tutti_op *op)
{
    const test_tensor *tensor[MAX_BUFFERS];
    void *cpu[MAX_BUFFERS], *host[MAX_BUFFERS];
    int written[MAX_BUFFERS], count = test_buffers(c, op, tensor, written);
    const tutti_kernel *kernel = cuda_kernel(op, tensor[0]->dtype);
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
    cuda_run(kernel, c, host);
    for (int b = 0; b < count; b++) {
        const size_t bytes = (size_t)tensor[b]->count * tutti_dtype_bytes(tensor[b]->dtype);
        if (test_is_rounded_on_gpu(c, op, tensor[b])) test_round_to_bf16(tensor[b]);
        for (int64_t e = 0; memcmp(tensor[b]->data, host[b], bytes) && e < tensor[b]->count; e++)
            compare_element(c, op, tensor[b], host[b], e);
        free(host[b]);
    }
    cuda_compared++;
}

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

int cuda_one_case(const char *text, tutti_dtype values, const any_numbers *any)
{
    test_case c;
    ck_assert_msg(test_parse(text, values, &c), "%s", text);
    if (values == TUTTI_BF16 && !c.family->halves) return 0;
    int here = 0;
    for (int i = 0; i < c.family->ops; i++)
        for (int dtype = 0; dtype < TUTTI_DTYPE_COUNT; dtype++)
            here |= cuda_kernel(c.family->op[i], (tutti_dtype)dtype) != NULL;
    if (!here) return 0;
    test_case_open(&c);
    if (any) fill_any(&c, any);
    for (int i = 0; i < c.family->ops; i++) cuda_compare(&c, c.family->op[i]);
    test_case_close(&c);
    return 1;
}

void cuda_open_case(test_case *c, const char *text, tutti_dtype values)
{
    ck_assert_msg(test_parse(text, values, c), "%s", text);
    test_case_open(c);
}
