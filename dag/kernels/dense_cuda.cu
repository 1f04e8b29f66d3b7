/* Dense layers: products by cuBLAS, with biases, their gradients and ReLUs where it computes them, too, which are
 * computed by ourselves elsewhere (bias.cuh). Where a bias is added to values of bf16, the product is kept in float32
 * until then, in the kernel's memory: the library would round the bias. */
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
    const unsigned also =
        waits ? 0 : (d->bias ? TUTTI_PRODUCT_BIAS : 0) | (d->relu ? TUTTI_PRODUCT_RELU : 0);
    const tutti_product product = {
        "dense", d->N, d->K, d->C, 0, 1, FROM, waits ? TUTTI_F32 : TO, TF32, also};
    return open_product(d, &product, waits ? d->N * d->K : 0, args);
}

/* dx = dy w */
template <tutti_dtype DTYPE, int TF32>
tutti_status open_dense_bwd_data(const void *desc, void **args)
{
    const tutti_dense_desc *d = (const tutti_dense_desc *)desc;
    const tutti_status status = tutti_check_dense(d);
    if (status) return status;
    const tutti_product product = {"dense_bwd_data", d->N, d->C, d->K, 0, 0, DTYPE, DTYPE, TF32, 0};
    return open_product(d, &product, 0, args);
}

/* dw = dy^T x */
template <tutti_dtype DTYPE, int TF32>
tutti_status open_dense_bwd_weights(const void *desc, void **args)
{
    const tutti_dense_desc *d = (const tutti_dense_desc *)desc;
    const tutti_status status = tutti_check_dense(d);
    if (status) return status;
    const tutti_product product = {"dense_bwd_weights", d->K, d->C, d->N, 1, 0, DTYPE, TUTTI_F32,
        TF32, d->bias ? (unsigned)TUTTI_PRODUCT_SUMS : 0};
    return open_product(d, &product, d->bias ? sums_room(d->N, d->K) : 0, args);
}

inline tutti_status multiply(
    const Dense *k, const void *a, const void *b, void *to, const void *vector, void *queue)
{
    const tutti_cublas_call call = {a, b, to, vector, k->space->memory};
    return tutti_cublas_run(k->product, &call, queue);
}

/* The product in y; what the library has not computed is, there. */
template <typename Value> tutti_status dense(const void *args, void *const buf[], void *queue)
{
    const Dense *k = (const Dense *)args;
    const unsigned also = tutti_cublas_also(k->product);
    const float *bias = k->desc.bias ? (const float *)buf[2] : NULL;
    Value *y = (Value *)buf[bias ? 3 : 2];
    const tutti_status status = multiply(k, buf[0], buf[1], y, bias, queue);
    if (also & TUTTI_PRODUCT_BIAS) bias = NULL;
    const int relu = k->desc.relu && !(also & TUTTI_PRODUCT_RELU);
    if (status || (!bias && !relu)) return status;
    return add_bias("dense", y, bias, relu, y, k->desc.N, k->desc.K, queue);
}

/* With a bias the product is in float32 until that is added. */
tutti_status dense_bf16(const void *args, void *const buf[], void *queue)
{
    const Dense *k = (const Dense *)args;
    if (!k->desc.bias) return dense<uint16_t>(args, buf, queue);
    float *product = numbers_of(k);
    const tutti_status status = multiply(k, buf[0], buf[1], product, NULL, queue);
    if (status) return status;
    return add_bias("dense", product, (const float *)buf[2], k->desc.relu, (uint16_t *)buf[3],
        k->desc.N, k->desc.K, queue);
}

tutti_status dense_bwd_data(const void *args, void *const buf[], void *queue)
{
    return multiply((const Dense *)args, buf[0], buf[1], buf[2], NULL, queue);
}

template <typename Value>
tutti_status dense_bwd_weights(const void *args, void *const buf[], void *queue)
{
    const Dense *k = (const Dense *)args;
    const int bias = k->desc.bias;
    const tutti_status status =
        multiply(k, buf[1], buf[0], buf[2], bias ? buf[3] : NULL, queue);
    if (status || !bias || tutti_cublas_also(k->product) & TUTTI_PRODUCT_SUMS) return status;
    return sum_columns("dense_bwd_weights", (const Value *)buf[1], (float *)buf[3], k->desc.N,
        k->desc.K, numbers_of(k), queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(dense)[] = {
    {&tutti_op_dense, TUTTI_CUDA, TUTTI_F32, open_dense<TUTTI_F32, TUTTI_F32, 0>, dense<float>,
        close_dense, NULL},
    {&tutti_op_dense, TUTTI_CUDA, TUTTI_BF16, open_dense<TUTTI_BF16, TUTTI_BF16, 0>, dense_bf16,
        close_dense, NULL},
    {&tutti_op_dense_wide, TUTTI_CUDA, TUTTI_BF16, open_dense<TUTTI_BF16, TUTTI_F32, 0>, dense<float>,
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
    {&tutti_op_dense, TUTTI_CUDA, TUTTI_F32, open_dense<TUTTI_F32, TUTTI_F32, 1>, dense<float>,
        close_dense, NULL},
    {&tutti_op_dense_bwd_data, TUTTI_CUDA, TUTTI_F32, open_dense_bwd_data<TUTTI_F32, 1>,
        dense_bwd_data, close_dense, NULL},
    {&tutti_op_dense_bwd_weights, TUTTI_CUDA, TUTTI_F32, open_dense_bwd_weights<TUTTI_F32, 1>,
        dense_bwd_weights<float>, close_dense, NULL},
    {},
};
