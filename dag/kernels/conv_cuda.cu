/* Convolution by cuDNN, and what it does not do: biases (bias.cuh), and gradients of weights in
 * float32 from values in bf16. Where the window is one pixel these are one product, which cuBLAS
 * computes. Where cuDNN has no engine for the others, x and dy are widened in the kernel's memory,
 * some images at a time, and the library adds up what they contribute. It may use TF32 there: its
 * factors have as many bits as those of bf16 and more, so nothing is rounded. */
#include "dag/kernels/bias.cuh"
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/conv.h"
#include "dag/kernels/cublas.h"
#include "dag/kernels/cudnn.h"
}

namespace
{

/* So much of its memory a kernel may use for widened images, unless a single one takes more. */
enum { MOST_WIDE_BYTES = 32 << 20 };

struct Conv {
    tutti_conv_desc desc;
    int64_t x_each, y_each; /* elements of an image */
    int64_t y_rows;
    tutti_cublas *product;      /* or NULL: cuDNN computes it */
    tutti_cudnn *begin, *other; /* its first call; those that add to what it wrote, or NULL */
    int widens;
    int64_t first, images; /* then: of the first call, and of each other */
    /* Parts of the space: for the library, at its begin; widened x and dy; blocks' sums of db. */
    tutti_workspace *space;
    size_t wide_x, wide_y, sums, bytes;
};

/* A part of the space, which begins there. */
inline float *part_of(const Conv *k, size_t begin)
{
    return (float *)((char *)k->space->memory + begin);
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
    tutti_cudnn_close(k->begin);
    tutti_cudnn_close(k->other);
    tutti_workspace_leave(k->space);
    free(k);
}

/* As few calls as the room for widened images allows, of almost as many images each; the first one
 * may have fewer. */
inline void cut_images(Conv *k)
{
    const int64_t each = (k->x_each + k->y_each) * (int64_t)sizeof(float);
    const int64_t fit = each < MOST_WIDE_BYTES ? MOST_WIDE_BYTES / each : 1;
    const int64_t calls = (k->desc.N + fit - 1) / fit;
    k->images = (k->desc.N + calls - 1) / calls;
    k->first = (k->desc.N - 1) % k->images + 1;
    k->wide_x = room_for((size_t)(k->images * k->x_each) * sizeof(float));
    k->wide_y = room_for((size_t)(k->images * k->y_each) * sizeof(float));
}

/* Whether every pixel of y is one of x, multiplied by a matrix. */
inline int is_product(const Conv *k)
{
    const tutti_conv_desc *d = &k->desc;
    return d->R == 1 && d->S == 1 && d->stride[0] == 1 && d->stride[1] == 1 && !d->pad[0] &&
           !d->pad[1] && tutti_conv_groups(d) == 1 && k->y_rows < 1ll << 31;
}

/* dw = dy^T x */
inline tutti_status open_product(Conv *k, tutti_dtype from)
{
    const tutti_product product = {
        "conv_bwd_weights", k->desc.K, k->desc.C, k->y_rows, 1, 0, from, TUTTI_F32, 0};
    k->bytes = TUTTI_CUBLAS_WORKSPACE;
    return tutti_cublas_open(&product, &k->product);
}

/* cuDNN's part, of types that it takes. */
inline tutti_status open_cudnn(Conv *k, tutti_cudnn_conv conv)
{
    size_t begin = 0, other = 0;
    conv.may_lack = conv.from != conv.to;
    tutti_status status = tutti_cudnn_open(&conv, &k->begin, &begin);
    if (!status && !k->begin) {
        k->widens = conv.tf32 = 1;
        cut_images(k);
        conv.from = TUTTI_F32;
        conv.may_lack = 0;
        conv.desc.N = k->first;
        status = tutti_cudnn_open(&conv, &k->begin, &begin);
        conv.adds = 1;
        conv.desc.N = k->images;
        if (!status && k->first < k->desc.N) status = tutti_cudnn_open(&conv, &k->other, &other);
    }
    k->bytes = room_for(begin > other ? begin : other);
    return status;
}

template <tutti_pass PASS, tutti_dtype DTYPE, int TF32>
tutti_status open_conv(const void *desc, void **args)
{
    const tutti_conv_desc *d = (const tutti_conv_desc *)desc;
    const char *name = name_of(PASS);
    const int weights = PASS == TUTTI_PASS_BACKWARD_WEIGHTS;
    tutti_status status = tutti_check_conv(d);
    if (status) return status;
    Conv *k = (Conv *)calloc(1, sizeof *k);
    if (!k) return tutti_fail(TUTTI_ERR_NOMEM, "%s: no memory to open the kernel", name);
    k->desc = *d;
    const int64_t pixels = tutti_conv_out(d->H, d->R, d->stride[0], d->pad[0]) *
                           tutti_conv_out(d->W, d->S, d->stride[1], d->pad[1]);
    k->x_each = d->H * d->W * d->C;
    k->y_each = pixels * d->K;
    k->y_rows = d->N * pixels;
    if (weights && DTYPE != TUTTI_F32 && is_product(k))
        status = open_product(k, DTYPE);
    else
        status = open_cudnn(k, {*d, PASS, DTYPE, weights ? TUTTI_F32 : DTYPE, TF32, 0, 0});
    const size_t sums = weights && d->bias ? (size_t)(sum_blocks(k->y_rows, d->K) * d->K) : 0;
    const size_t x_bytes = k->wide_x, y_bytes = k->wide_y;
    k->wide_x = k->bytes;
    k->wide_y = k->wide_x + x_bytes;
    k->sums = k->wide_y + y_bytes;
    k->bytes = k->sums + sums * sizeof(float);
    if (!status) status = space_get(name, k->bytes, &k->space);
    if (status)
        close_conv(k);
    else
        *args = k;
    return status;
}

template <typename Value> tutti_status conv(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const int bias = k->desc.bias;
    Value *y = (Value *)buf[bias ? 3 : 2];
    const tutti_cudnn_call call = {{buf[0], buf[1]}, y, k->space->memory, queue};
    const tutti_status status = tutti_cudnn_run(k->begin, &call);
    if (status || !bias) return status;
    return add_bias("conv", y, (const float *)buf[2], y, k->y_rows, k->desc.K, queue);
}

tutti_status conv_bwd_data(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const tutti_cudnn_call call = {{buf[0], buf[1]}, buf[2], k->space->memory, queue};
    return tutti_cudnn_run(k->begin, &call);
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

/* In float32, from x and dy as they are. */
inline tutti_status multiply(const Conv *k, const void *x, const void *dy, void *dw, void *queue)
{
    const tutti_cudnn_call call = {{x, dy}, dw, k->space->memory, queue};
    if (k->product) return tutti_cublas_run(k->product, dy, x, dw, k->space->memory, queue);
    return tutti_cudnn_run(k->begin, &call);
}

inline tutti_status multiply_widened(
    const Conv *k, const uint16_t *x, const uint16_t *dy, void *dw, void *queue)
{
    float *wide_x = part_of(k, k->wide_x), *wide_y = part_of(k, k->wide_y);
    const tutti_cudnn_call call = {{wide_x, wide_y}, dw, k->space->memory, queue};
    tutti_status status = TUTTI_OK;
    for (int64_t n = 0; !status && n < k->desc.N; n += n ? k->images : k->first) {
        const int64_t images = n ? k->images : k->first;
        status = widen(x + n * k->x_each, wide_x, images * k->x_each, queue);
        if (!status) status = widen(dy + n * k->y_each, wide_y, images * k->y_each, queue);
        if (!status) status = tutti_cudnn_run(n ? k->other : k->begin, &call);
    }
    return status;
}

template <typename Value>
tutti_status conv_bwd_weights(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const Value *dy = (const Value *)buf[1];
    const tutti_status status = k->widens ? multiply_widened(k, (const uint16_t *)buf[0],
                                                (const uint16_t *)buf[1], buf[2], queue)
                                          : multiply(k, buf[0], dy, buf[2], queue);
    if (status || !k->desc.bias) return status;
    return sum_columns(
        "conv_bwd_weights", dy, (float *)buf[3], k->y_rows, k->desc.K, part_of(k, k->sums), queue);
}

} // namespace

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(conv)[] = {
    {&tutti_op_conv, TUTTI_CUDA, TUTTI_F32, open_conv<TUTTI_PASS_FORWARD, TUTTI_F32, 0>,
        conv<float>, close_conv},
    {&tutti_op_conv, TUTTI_CUDA, TUTTI_BF16, open_conv<TUTTI_PASS_FORWARD, TUTTI_BF16, 0>,
        conv<uint16_t>, close_conv},
    {&tutti_op_conv_bwd_data, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_DATA, TUTTI_F32, 0>, conv_bwd_data, close_conv},
    {&tutti_op_conv_bwd_data, TUTTI_CUDA, TUTTI_BF16,
        open_conv<TUTTI_PASS_BACKWARD_DATA, TUTTI_BF16, 0>, conv_bwd_data, close_conv},
    {&tutti_op_conv_bwd_weights, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_WEIGHTS, TUTTI_F32, 0>, conv_bwd_weights<float>, close_conv},
    {&tutti_op_conv_bwd_weights, TUTTI_CUDA, TUTTI_BF16,
        open_conv<TUTTI_PASS_BACKWARD_WEIGHTS, TUTTI_BF16, 0>, conv_bwd_weights<uint16_t>,
        close_conv},
    {},
};

extern "C" const tutti_kernel TUTTI_CUDA_TABLE(conv_tf32)[] = {
    {&tutti_op_conv, TUTTI_CUDA, TUTTI_F32, open_conv<TUTTI_PASS_FORWARD, TUTTI_F32, 1>,
        conv<float>, close_conv},
    {&tutti_op_conv_bwd_data, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_DATA, TUTTI_F32, 1>, conv_bwd_data, close_conv},
    {&tutti_op_conv_bwd_weights, TUTTI_CUDA, TUTTI_F32,
        open_conv<TUTTI_PASS_BACKWARD_WEIGHTS, TUTTI_F32, 1>, conv_bwd_weights<float>, close_conv},
    {},
};
