/* Pooling over windows of R x S; output P = (H+2*pad[0]-R)/stride[0]+1, Q alike. Windows are clipped
 * at the border: padding is never the maximum and does not count in the average, unless
 * counts_padding says that it does, as zeros. Global average pooling is POOL_AVG with R=H, S=W,
 * pad=0.
 *   ceiling: the quotient is rounded up, so that the last windows may stick out behind the padding;
 *   but a window that would begin behind the image is left out (Caffe, pooling_layer.cpp; PyTorch,
 *   ceil_mode). With counts_padding no window may stick out.
 *   x (N,H,W,C)   y (N,P,Q,C)   argmax: uint8, tutti_pool_argmax_bytes() (the library's format).
 *   dx: written, not accumulated.   x, y, dx, dy: float32 or bf16; in bf16
 *   the gradients of windows that overlap are added in bf16 on the CPU, in float32 on a GPU. */
#ifndef TUTTI_POOL_H
#define TUTTI_POOL_H

#include "dag/kernels/kernel.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_pool_desc {
    int64_t N, H, W, C, R, S;
    int64_t stride[2], pad[2]; /* down, across */
    int ceiling, counts_padding;
} tutti_pool_desc;

/* Output height or width. [P] */
static inline int64_t tutti_pool_out(
    int64_t in, int64_t window, int64_t stride, int64_t pad, int ceiling)
{
    int64_t reach = in + 2 * pad - window;
    if (!ceiling) return reach / stride + 1;
    int64_t out = (reach + stride - 1) / stride + 1;
    return (out - 1) * stride >= in + pad ? out - 1 : out;
}

static inline int64_t tutti_pool_height(const tutti_pool_desc *d)
{
    return tutti_pool_out(d->H, d->R, d->stride[0], d->pad[0], d->ceiling);
}

static inline int64_t tutti_pool_width(const tutti_pool_desc *d)
{
    return tutti_pool_out(d->W, d->S, d->stride[1], d->pad[1], d->ceiling);
}

/* Whether the last of `out` windows sticks out behind the padding. [P] */
static inline int tutti_pool_sticks_out(
    int64_t in, int64_t window, int64_t stride, int64_t pad, int64_t out)
{
    return (out - 1) * stride + window > in + 2 * pad;
}

/* Bytes of the argmax workspace of a maximum pooling of such elements, at least 1. Where the processor
 * cannot compute in this type, as many as for float32: a GPU can, and takes no more. [M] */
size_t tutti_pool_argmax_bytes(const tutti_pool_desc *desc, tutti_dtype dtype);

extern const tutti_op tutti_op_pool_max, tutti_op_pool_max_bwd, tutti_op_pool_avg,
    tutti_op_pool_avg_bwd;

#endif
