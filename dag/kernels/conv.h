/* Two-dimensional convolution (cross-correlation, as in every framework).
 *
 *   y[n,i,j,k] = b[k] + sum over r,s,c of x[n, i*stride+r-pad, j*stride+s-pad, c] * w[k,r,s,c]
 *   dx, dw, db: the gradients; written, not accumulated.
 *   x  (N,H,W,C)   w  (K,R,S,C)   b  (K), only with bias
 *   y  (N,P,Q,K),  P = (H+2*pad-R)/stride+1, Q alike
 *   x, w, y, dx, dy: float32 or bf16; b, dw, db: float32. Sums are computed in float32.
 *
 * Cost: 2*N*P*Q*K*R*S*C flops each way.   Source: Dumoulin & Visin 2016, arXiv:1603.07285. */
#ifndef TUTTI_CONV_H
#define TUTTI_CONV_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_conv_desc {
    int64_t N, H, W, C, K, R, S;
    int64_t stride, pad;
    int bias;
} tutti_conv_desc;

/* Output height and width. [P] */
static inline int64_t tutti_conv_out(int64_t in, int64_t window, int64_t stride, int64_t pad)
{
    return (in + 2 * pad - window) / stride + 1;
}

extern const tutti_op tutti_op_conv, tutti_op_conv_bwd_data, tutti_op_conv_bwd_weights;

#endif
