/* Pooling over windows of R x S; output P = (H+2*pad-R)/stride+1, Q alike. Windows are clipped at
 * the border: padding is never the maximum and does not count in the average. Global average
 * pooling is POOL_AVG with R=H, S=W, pad=0.
 *   x (N,H,W,C)   y (N,P,Q,C)   argmax: uint8, tutti_pool_argmax_bytes() (the library's format).
 *   dx: written, not accumulated.   x, y, dx, dy: float32 or bf16; in bf16
 *   the gradients of windows that overlap are added in bf16. */
#ifndef TUTTI_POOL_H
#define TUTTI_POOL_H

#include "dag/kernels/kernel.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_pool_desc {
    int64_t N, H, W, C, R, S, stride, pad;
} tutti_pool_desc;

/* Bytes of the argmax workspace of a maximum pooling of such elements, at least 1. [M] */
size_t tutti_pool_argmax_bytes(const tutti_pool_desc *desc, tutti_dtype dtype);

extern const tutti_op tutti_op_pool_max, tutti_op_pool_max_bwd, tutti_op_pool_avg,
    tutti_op_pool_avg_bwd;

#endif
