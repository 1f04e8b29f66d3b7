/* Two-dimensional convolution (cross-correlation, as in every framework).
 *
 *   y[n,i,j,k] = b[k] + sum over r,s,c of
 *       x[n, i*stride[0]+r-pad[0], j*stride[1]+s-pad[1], g*C/groups+c] * w[k,r,s,c]
 *   where g = k / (K/groups): the channels of x and the filters are cut into as many groups, and a
 *   filter sees the channels of its group alone. With C groups the convolution is called depthwise.
 *   dx, dw, db: the gradients; written, not accumulated.
 *   x  (N,H,W,C)   w  (K,R,S,C/groups)   b  (K), only with bias
 *   y  (N,P,Q,K),  P = (H+2*pad[0]-R)/stride[0]+1, Q alike
 *   x, w, y, dx, dy: float32 or bf16; b, dw, db: float32. Sums are computed in float32.
 *
 * Cost: 2*N*P*Q*K*R*S*C/groups flops each way.   Source: Dumoulin & Visin 2016, arXiv:1603.07285;
 * groups: Krizhevsky, Sutskever, Hinton 2012, "ImageNet classification with deep convolutional
 * neural networks", section 3.5. */
#ifndef TUTTI_CONV_H
#define TUTTI_CONV_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_conv_desc {
    int64_t N, H, W, C, K, R, S;
    int64_t stride[2], pad[2]; /* down, across */
    int64_t groups;            /* divide C and K; 0: 1 */
    int bias;
    int relu; /* y = max(y, 0), then; on GPUs alone */
} tutti_conv_desc;

static inline int64_t tutti_conv_groups(const tutti_conv_desc *desc)
{
    return desc->groups ? desc->groups : 1;
}

/* Output height or width. [P] */
static inline int64_t tutti_conv_out(int64_t in, int64_t window, int64_t stride, int64_t pad)
{
    return (in + 2 * pad - window) / stride + 1;
}

/* Whether every pixel of y is one of x, multiplied by a matrix. [P] */
static inline int tutti_conv_is_product(const tutti_conv_desc *desc)
{
    return desc->R == 1 && desc->S == 1 && desc->stride[0] == 1 && desc->stride[1] == 1 &&
           !desc->pad[0] && !desc->pad[1] && tutti_conv_groups(desc) == 1;
}

extern const tutti_op tutti_op_conv, tutti_op_conv_bwd_data, tutti_op_conv_bwd_weights;

#endif
