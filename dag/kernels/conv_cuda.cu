/* Convolution by cuDNN, and what it does not do: biases (bias.cuh), and gradients of weights in
 * float32 from values in bf16. For these, x and dy are widened in the kernel's memory, some images
 * at a time, and the library adds up what they contribute. It may use TF32 there: its factors have
 * as many bits as those of bf16 and more, so nothing is rounded. */
#include "dag/kernels/bias.cuh"
#include "dag/kernels/cuda.cuh"

extern "C" {
#include "dag/kernels/conv.h"
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
    int64_t images;            /* in one call of the library */
    tutti_cudnn *whole, *rest; /* of so many images; of those that remain, or NULL */
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
    tutti_cudnn_close(k->whole);
    tutti_cudnn_close(k->rest);
    tutti_workspace_leave(k->space);
    free(k);
}

/* As few calls as the room for widened images allows, of almost as many images each. */
inline void cut_images(Conv *k)
{
    const int64_t each = (k->x_each + k->y_each) * (int64_t)sizeof(float);
    const int64_t fit = each < MOST_WIDE_BYTES ? MOST_WIDE_BYTES / each : 1;
    const int64_t calls = (k->desc.N + fit - 1) / fit;
    k->images = (k->desc.N + calls - 1) / calls;
    k->wide_x = room_for((size_t)(k->images * k->x_each) * sizeof(float));
    k->wide_y = room_for((size_t)(k->images * k->y_each) * sizeof(float));
}

/* The library's part, of a type that it takes. */
inline tutti_status open_library(Conv *k, tutti_pass pass, tutti_dtype dtype, int tf32)
{
    tutti_conv_desc desc = k->desc;
    size_t whole = 0, rest = 0;
    desc.N = k->images;
    tutti_status status = tutti_cudnn_open(&desc, pass, dtype, tf32, &k->whole, &whole);
    desc.N = k->desc.N % k->images;
    if (!status && desc.N) status = tutti_cudnn_open(&desc, pass, dtype, tf32, &k->rest, &rest);
    k->bytes = room_for(whole > rest ? whole : rest);
    return status;
}

template <tutti_pass PASS, tutti_dtype DTYPE, int TF32>
tutti_status open_conv(const void *desc, void **args)
{
    const tutti_conv_desc *d = (const tutti_conv_desc *)desc;
    const char *name = name_of(PASS);
    const int weights = PASS == TUTTI_PASS_BACKWARD_WEIGHTS, widens = weights && DTYPE != TUTTI_F32;
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
    k->images = d->N;
    if (widens) cut_images(k);
    status = open_library(k, PASS, widens ? TUTTI_F32 : DTYPE, TF32 || widens);
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
    const tutti_cudnn_call call = {{buf[0], buf[1]}, y, 0, k->space->memory, queue};
    const tutti_status status = tutti_cudnn_run(k->whole, &call);
    if (status || !bias) return status;
    return add_bias("conv", y, (const float *)buf[2], y, k->y_rows, k->desc.K, queue);
}

tutti_status conv_bwd_data(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const tutti_cudnn_call call = {{buf[0], buf[1]}, buf[2], 0, k->space->memory, queue};
    return tutti_cudnn_run(k->whole, &call);
}

struct WidenImages {
    const uint16_t *from;
    float *to;
    TUTTI_BOTH void operator()(int64_t i) const
    {
        to[i] = get(from, i);
    }
};

/* The library's calls. */
inline tutti_status add_images(
    const Conv *k, const float *x, const float *dy, void *dw, void *queue)
{
    const tutti_cudnn_call call = {{x, dy}, dw, 0, k->space->memory, queue};
    return tutti_cudnn_run(k->whole, &call);
}

inline tutti_status add_images(
    const Conv *k, const uint16_t *x, const uint16_t *dy, void *dw, void *queue)
{
    float *wide_x = part_of(k, k->wide_x), *wide_y = part_of(k, k->wide_y);
    tutti_status status = TUTTI_OK;
    for (int64_t n = 0; !status && n < k->desc.N; n += k->images) {
        const int64_t left = k->desc.N - n, images = left < k->images ? left : k->images;
        const WidenImages values = {x + n * k->x_each, wide_x},
                          slopes = {dy + n * k->y_each, wide_y};
        const tutti_cudnn_call call = {{wide_x, wide_y}, dw, n > 0, k->space->memory, queue};
        status = launch("conv_bwd_weights", images * k->x_each, values, queue);
        if (!status) status = launch("conv_bwd_weights", images * k->y_each, slopes, queue);
        if (!status) status = tutti_cudnn_run(images < k->images ? k->rest : k->whole, &call);
    }
    return status;
}

template <typename Value>
tutti_status conv_bwd_weights(const void *args, void *const buf[], void *queue)
{
    const Conv *k = (const Conv *)args;
    const Value *dy = (const Value *)buf[1];
    const tutti_status status = add_images(k, (const Value *)buf[0], dy, buf[2], queue);
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
