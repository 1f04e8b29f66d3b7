/* Dense layers: products by cuBLAS, biases by ourselves (bias.cuh). Where a bias is added to values
 * of bf16, the product is kept in float32 until then, in the kernel's memory. */
#include "dag/kernels/bias.cuh"
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/cublas.h"
#include "dag/kernels/dense.h"
}

namespace
{

struct Dense {
    tutti_dense_desc desc;
    tutti_cublas *product;
    tutti_workspace *space; /* for the library; then for values in float32, or blocks' sums of db */
};

inline float *numbers_of(const Dense *k)
{
    return (float *)((char *)k->space->memory + TUTTI_CUBLAS_WORKSPACE);
}

void close_dense(void *args)
{
    Dense *k = (Dense *)args;
    if (!k) return;
    tutti_cublas_close(k->product);
    tutti_workspace_leave(k->space);
    free(k);
}

/* Opens it for a product, and with room for this many float32. */
inline tutti_status open_product(
    const tutti_dense_desc *d, const tutti_product *product, int64_t numbers, void **args)
{
    Dense *k = (Dense *)calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", product->op);
    k->desc = *d;
    tutti_status status =
        space_get(product->op, TUTTI_CUBLAS_WORKSPACE + (size_t)numbers * sizeof(float), &k->space);
    if (!status) status = tutti_cublas_open(product, k->space, &k->product);
    if (status)
        close_dense(k);
    else
        *args = k;
    return status;
}

/* y = x w^T. FROM: of x and w; TO: of y. */
template <tutti_dtype FROM, tutti_dtype TO, int TF32>
tutti_status open_dense(const void *desc, void **args)
{
    const tutti_dense_desc *d = (const tutti_dense_desc *)desc;
    const tutti_status status = tutti_check_dense(d);
    if (status) return status;
    const int waits = d->bias && TO == TUTTI_BF16;
    const tutti_product product = {
        "dense", d->N, d->K, d->C, 0, 1, FROM, waits ? TUTTI_F32 : TO, TF32};
    return open_product(d, &product, waits ? d->N * d->K : 0, args);
}

/* dx = dy w */
template <tutti_dtype DTYPE, int TF32>
tutti_status open_dense_bwd_data(const void *desc, void **args)
{
    const tutti_dense_desc *d = (const tutti_dense_desc *)desc;
    const tutti_status status = tutti_check_dense(d);
    if (status) return status;
    const tutti_product product = {"dense_bwd_data", d->N, d->C, d->K, 0, 0, DTYPE, DTYPE, TF32};
    return open_product(d, &product, 0, args);
}

/* dw = dy^T x */
template <tutti_dtype DTYPE, int TF32>
tutti_status open_dense_bwd_weights(const void *desc, void **args)
{
    const tutti_dense_desc *d = (const tutti_dense_desc *)desc;
    const tutti_status status = tutti_check_dense(d);
    if (status) return status;
    const tutti_product product = {
        "dense_bwd_weights", d->K, d->C, d->N, 1, 0, DTYPE, TUTTI_F32, TF32};
    return open_product(d, &product, d->bias ? sums_room(d->N, d->K) : 0, args);
}

/* The product in y, to which a bias is added there. */
tutti_status dense(const void *args, void *const buf[], void *queue)
{
    const Dense *k = (const Dense *)args;
    const int bias = k->desc.bias, relu = k->desc.relu;
    float *y = (float *)buf[bias ? 3 : 2];
    const tutti_status status =
        tutti_cublas_run(k->product, buf[0], buf[1], y, k->space->memory, queue);
    if (status || (!bias && !relu)) return status;
    return add_bias(
        "dense", y, bias ? (const float *)buf[2] : NULL, relu, y, k->desc.N, k->desc.K, queue);
}

/* With a bias the product is in float32 until that is added. */
tutti_status dense_bf16(const void *args, void *const buf[], void *queue)
{
    const Dense *k = (const Dense *)args;
    const int bias = k->desc.bias, relu = k->desc.relu;
    uint16_t *y = (uint16_t *)buf[bias ? 3 : 2];
    void *product = bias ? (void *)numbers_of(k) : (void *)y;
    const tutti_status status =
        tutti_cublas_run(k->product, buf[0], buf[1], product, k->space->memory, queue);
    if (status || (!bias && !relu)) return status;
    if (!bias) return add_bias("dense", y, NULL, relu, y, k->desc.N, k->desc.K, queue);
    return add_bias(
        "dense", numbers_of(k), (const float *)buf[2], relu, y, k->desc.N, k->desc.K, queue);
}

tutti_status dense_bwd_data(const void *args, void *const buf[], void *queue)
{
    const Dense *k = (const Dense *)args;
    return tutti_cublas_run(k->product, buf[0], buf[1], buf[2], k->space->memory, queue);
}

template <typename Value>
tutti_status dense_bwd_weights(const void *args, void *const buf[], void *queue)
{
    const Dense *k = (const Dense *)args;
    const tutti_status status =
        tutti_cublas_run(k->product, buf[1], buf[0], buf[2], k->space->memory, queue);
    if (status || !k->desc.bias) return status;
    return sum_columns("dense_bwd_weights", (const Value *)buf[1], (float *)buf[3], k->desc.N,
        k->desc.K, numbers_of(k), queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(dense)[] = {
    {&tutti_op_dense, TUTTI_CUDA, TUTTI_F32, open_dense<TUTTI_F32, TUTTI_F32, 0>, dense,
        close_dense, NULL},
    {&tutti_op_dense, TUTTI_CUDA, TUTTI_BF16, open_dense<TUTTI_BF16, TUTTI_BF16, 0>, dense_bf16,
        close_dense, NULL},
    {&tutti_op_dense_wide, TUTTI_CUDA, TUTTI_BF16, open_dense<TUTTI_BF16, TUTTI_F32, 0>, dense,
        close_dense, NULL},
    {&tutti_op_dense_bwd_data, TUTTI_CUDA, TUTTI_F32, open_dense_bwd_data<TUTTI_F32, 0>,
        dense_bwd_data, close_dense, NULL},
    {&tutti_op_dense_bwd_data, TUTTI_CUDA, TUTTI_BF16, open_dense_bwd_data<TUTTI_BF16, 0>,
        dense_bwd_data, close_dense, NULL},
    {&tutti_op_dense_bwd_weights, TUTTI_CUDA, TUTTI_F32, open_dense_bwd_weights<TUTTI_F32, 0>,
        dense_bwd_weights<float>, close_dense, NULL},
    {&tutti_op_dense_bwd_weights, TUTTI_CUDA, TUTTI_BF16, open_dense_bwd_weights<TUTTI_BF16, 0>,
        dense_bwd_weights<uint16_t>, close_dense, NULL},
    {},
};

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(dense_tf32)[] = {
    {&tutti_op_dense, TUTTI_CUDA, TUTTI_F32, open_dense<TUTTI_F32, TUTTI_F32, 1>, dense,
        close_dense, NULL},
    {&tutti_op_dense_bwd_data, TUTTI_CUDA, TUTTI_F32, open_dense_bwd_data<TUTTI_F32, 1>,
        dense_bwd_data, close_dense, NULL},
    {&tutti_op_dense_bwd_weights, TUTTI_CUDA, TUTTI_F32, open_dense_bwd_weights<TUTTI_F32, 1>,
        dense_bwd_weights<float>, close_dense, NULL},
    {},
};
