/* Convolution by cuDNN, and what it does not do: biases of several groups (bias.cuh), for which it has
 * only slow engines; gradients of biases; and gradients of weights in float32 from values in bf16. Where the window is one pixel these are one product, which cuBLAS
 * computes. cuDNN has no engines for the others: it writes them in bf16, to the kernel's memory, and
 * they are widened. */
#include "dag/kernels/bias.cuh"
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/conv.h"
#include "dag/kernels/cublas.h"
#include "dag/kernels/cudnn.h"
}

namespace
{

struct Conv {
    tutti_conv_desc desc;
    int64_t y_rows, weights; /* pixels of y; elements of w */
    tutti_cublas *product;   /* or NULL: cuDNN computes it */
    tutti_cudnn *library;    /* or NULL */
    int widens;              /* it writes dw in bf16 */
    int adds_bias;           /* it does, of its own type, and the ReLU behind */
    /* Parts of the space: for the library, at its begin; dw or a bias in bf16; blocks' sums of db. */
    tutti_workspace *space;
    size_t narrow, sums;
};

/* A part of the space, which begins there. */
inline void *part_of(const Conv *k, size_t begin)
{
    return (char *)k->space->memory + begin;
}

inline const char *name_of(tutti_pass pass)
{
    return pass == TUTTI_PASS_FORWARD         ? "conv"
           : pass == TUTTI_PASS_BACKWARD_DATA ? "conv_bwd_data"
                                              : "conv_bwd_weights";
}

void close_conv(void *args)
{
    Conv *k = (Conv *)args;
    if (!k) return;
    tutti_cublas_close(k->product);
    tutti_cudnn_close(k->library);
    tutti_workspace_leave(k->space);
    free(k);
}

/* dw = dy^T x */
inline tutti_status open_product(Conv *k, tutti_dtype from, size_t *bytes)
{
    const tutti_product product = {
        "conv_bwd_weights", k->desc.K, k->desc.C, k->y_rows, 1, 0, from, TUTTI_F32, 0, 0};
    *bytes = TUTTI_CUBLAS_WORKSPACE;
    return tutti_cublas_open(&product, k->space, &k->product);
}

/* bytes: what the library works in. */
template <tutti_pass PASS, tutti_dtype DTYPE, int TF32>
tutti_status open_library(Conv *k, size_t *bytes)
{
    const tutti_conv_desc *d = &k->desc;
    const int weights = PASS == TUTTI_PASS_BACKWARD_WEIGHTS, narrow = DTYPE != TUTTI_F32;
    if (weights && narrow && tutti_conv_is_product(d) && k->y_rows < 1ll << 31)
        return open_product(k, DTYPE, bytes);
    k->widens = weights && narrow;
    tutti_cudnn_conv conv = {*d, PASS, DTYPE, TF32};
    conv.desc.bias = PASS == TUTTI_PASS_FORWARD && d->bias && tutti_conv_groups(d) == 1;
    conv.desc.relu = conv.desc.bias && d->relu;
    const tutti_status status = tutti_cudnn_open(&conv, k->space, &k->library, bytes);
    k->adds_bias = !status && tutti_cudnn_adds_bias(k->library);
    return status;
}

template <tutti_pass PASS, tutti_dtype DTYPE, int TF32>
tutti_status open_conv(const void *desc, void **args)
{
    const tutti_conv_desc *d = (const tutti_conv_desc *)desc;
    const char *name = name_of(PASS);
    size_t bytes = 0;
    tutti_status status = tutti_check_conv(d);
    if (status) return status;
    Conv *k = (Conv *)calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", name);
    k->desc = *d;
    k->y_rows = d->N * tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) *
                tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]);
    k->weights = d->K * d->R * d->S * (d->C / tutti_conv_groups(d));
    status = space_get(name, 0, &k->space);
    if (!status) status = open_library<PASS, DTYPE, TF32>(k, &bytes);
    const int64_t narrow = k->widens ? k->weights : k->adds_bias && DTYPE != TUTTI_F32 ? d->K : 0;
    k->narrow = room_for(bytes);
    k->sums = k->narrow + room_for((size_t)narrow * sizeof(uint16_t));
    const int sums = PASS == TUTTI_PASS_BACKWARD_WEIGHTS && d->bias;
    bytes = k->sums + (sums ? (size_t)sums_room(k->y_rows, d->K) * sizeof(float) : 0);
    if (!status) status = space_grow(name, bytes, k->space);
    if (status)
        close_conv(k);
    else
        *args = k;
    return status;
}

struct Narrow {
    const float *from;
    uint16_t *to;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        put(to, i, from[i]);
    }
};

/* A bias in the type of the library's tensors, the last argument but one. */
inline tutti_status bias_as(const Conv *, const float *bias, const float *, void *, const void **as)
{
    *as = bias;
    return TUTTI_OK;
}

inline tutti_status bias_as(
    const Conv *k, const float *bias, const uint16_t *, void *queue, const void **as)
{
    const Narrow element = {bias, (uint16_t *)part_of(k, k->narrow)};
    *as = element.to;
    return launch("conv", k->desc.K, element, queue);
}

template <typename Value> tutti_status conv(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const float *bias = k->desc.bias ? (const float *)buf[2] : NULL;
    Value *y = (Value *)buf[bias ? 3 : 2];
    tutti_status status = TUTTI_OK;
    tutti_cudnn_call call = {{buf[0], buf[1]}, y, NULL, k->space->memory, queue};
    if (k->adds_bias) status = bias_as(k, bias, y, queue, &call.bias);
    if (!status) status = tutti_cudnn_run(k->library, &call);
    if (status || k->adds_bias || (!bias && !k->desc.relu)) return status;
    return add_bias("conv", y, bias, k->desc.relu, y, k->y_rows, k->desc.K, queue);
}

tutti_status conv_bwd_data(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const tutti_cudnn_call call = {{buf[0], buf[1]}, buf[2], NULL, k->space->memory, queue};
    return tutti_cudnn_run(k->library, &call);
}

struct Widen {
    const uint16_t *from;
    float *to;
    template <int WIDE> TUTTI_BOTH void pack(int64_t i) const
    {
        const Pack<uint16_t, WIDE> narrow = pack_at<WIDE>(from, i);
        Pack<float, WIDE> wide;
        for (int j = 0; j < WIDE; j++) wide.value[j] = get(narrow.value, j);
        put_pack(to, i, wide);
    }
};

inline tutti_status widen(const uint16_t *from, float *to, int64_t count, void *queue)
{
    constexpr int WIDE = WIDEST<uint16_t>;
    const Widen element = {from, to};
    const bool packs = has_packs<WIDE>(from) && has_packs<WIDE>(to);
    return launch_packs<WIDE>("conv_bwd_weights", count, packs, element, queue);
}

inline tutti_status multiply(const Conv *k, const void *x, const void *dy, float *dw, void *queue)
{
    void *workspace = k->space->memory, *narrow = part_of(k, k->narrow);
    const tutti_cudnn_call call = {{x, dy}, k->widens ? narrow : dw, NULL, workspace, queue};
    if (k->product) {
        const tutti_cublas_call product = {dy, x, dw, NULL, workspace};
        return tutti_cublas_run(k->product, &product, queue);
    }
    const tutti_status status = tutti_cudnn_run(k->library, &call);
    if (status || !k->widens) return status;
    return widen((const uint16_t *)narrow, dw, k->weights, queue);
}

template <typename Value>
tutti_status conv_bwd_weights(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const Value *dy = (const Value *)buf[1];
    const tutti_status status = multiply(k, buf[0], dy, (float *)buf[2], queue);
    if (status || !k->desc.bias) return status;
    return sum_columns("conv_bwd_weights", dy, (float *)buf[3], k->y_rows, k->desc.K,
        (float *)part_of(k, k->sums), queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(conv)[] = {
    {&tutti_op_conv, TUTTI_CUDA, TUTTI_F32, open_conv<TUTTI_PASS_FORWARD, TUTTI_F32, 0>,
        conv<float>, close_conv, NULL},
    {&tutti_op_conv, TUTTI_CUDA, TUTTI_BF16, open_conv<TUTTI_PASS_FORWARD, TUTTI_BF16, 0>,
        conv<uint16_t>, close_conv, NULL},
    {&tutti_op_conv_bwd_data, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_DATA, TUTTI_F32, 0>, conv_bwd_data, close_conv, NULL},
    {&tutti_op_conv_bwd_data, TUTTI_CUDA, TUTTI_BF16,
        open_conv<TUTTI_PASS_BACKWARD_DATA, TUTTI_BF16, 0>, conv_bwd_data, close_conv, NULL},
    {&tutti_op_conv_bwd_weights, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_WEIGHTS, TUTTI_F32, 0>, conv_bwd_weights<float>, close_conv,
        NULL},
    {&tutti_op_conv_bwd_weights, TUTTI_CUDA, TUTTI_BF16,
        open_conv<TUTTI_PASS_BACKWARD_WEIGHTS, TUTTI_BF16, 0>, conv_bwd_weights<uint16_t>,
        close_conv, NULL},
    {},
};

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(conv_tf32)[] = {
    {&tutti_op_conv, TUTTI_CUDA, TUTTI_F32, open_conv<TUTTI_PASS_FORWARD, TUTTI_F32, 1>,
        conv<float>, close_conv, NULL},
    {&tutti_op_conv_bwd_data, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_DATA, TUTTI_F32, 1>, conv_bwd_data, close_conv, NULL},
    {&tutti_op_conv_bwd_weights, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_WEIGHTS, TUTTI_F32, 1>, conv_bwd_weights<float>, close_conv,
        NULL},
    {},
};
