/* Local response normalisation across channels.
 *
 *   y[.,c] = x[.,c] * (k + alpha/size * s[.,c])^-beta
 *   s[.,c] = sum over the `size` channels around c, those that exist, of x[.,.]^2
 *   x, y, dx, dy (N,H,W,C): float32 or bf16; computed in float32. dx: written, not accumulated.
 *
 * Source: Krizhevsky, Sutskever, Hinton 2012, "ImageNet classification with deep convolutional
 * neural networks", section 3.3; alpha is divided by size as in Caffe and PyTorch. */
#ifndef TUTTI_LRN_H
#define TUTTI_LRN_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_lrn_desc {
    int64_t N, H, W, C;
    int64_t size; /* odd */
    float alpha, beta, k;
} tutti_lrn_desc;

extern const tutti_op tutti_op_lrn, tutti_op_lrn_bwd;

#endif
