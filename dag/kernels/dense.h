/* Fully connected layer:  y[n,k] = b[k] + sum over c of x[n,c] * w[k,c].
 *   dx, dw, db: the gradients; written, not accumulated.
 *   DENSE_WIDE: the same with y in float32, of x and w in bf16.
 *   x (N,C)   w (K,C)   b (K), only with bias   y (N,K).   Cost: 2*N*K*C flops each way.
 *   x, w, y, dx, dy: float32 or bf16; b, dw, db: float32. Sums are computed in float32. */
#ifndef TUTTI_DENSE_H
#define TUTTI_DENSE_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_dense_desc {
    int64_t N, C, K;
    int bias;
    int relu; /* y = max(y, 0), then; on GPUs alone, and not of DENSE_WIDE */
} tutti_dense_desc;

extern const tutti_op tutti_op_dense, tutti_op_dense_wide, tutti_op_dense_bwd_data,
    tutti_op_dense_bwd_weights;

#endif
