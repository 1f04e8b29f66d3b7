/* Fully connected layer:  y[n,k] = b[k] + sum over c of x[n,c] * w[k,c].
 *   dx, dw, db: the gradients; written, not accumulated.
 *   x (N,C)   w (K,C)   b (K), only with bias   y (N,K).   Cost: 2*N*K*C flops each way. */
#ifndef TUTTI_DENSE_H
#define TUTTI_DENSE_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_dense_desc {
    int64_t N, C, K;
    int bias;
} tutti_dense_desc;

extern const tutti_op tutti_op_dense, tutti_op_dense_bwd_data, tutti_op_dense_bwd_weights;

#endif
