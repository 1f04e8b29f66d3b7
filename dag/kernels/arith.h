/* Copies and sums.
 *
 * SUM: y = x0 + x1 + ... in this order, `inputs` >= 1 tensors of `count` elements (1: a copy); with
 * relu, y = max(that sum, 0).
 *
 * SHORTCUT: the parameter-free shortcut of CIFAR ResNets ("option A"): every stride-th pixel, with
 * (K-C)/2 channels of zeros in front and the rest behind.
 *   x (N,H,W,C)   y (N,ceil(H/stride),ceil(W/stride),K), K >= C.
 * Source: He et al. 2016, arXiv:1512.03385, section 4.2. */
#ifndef TUTTI_ARITH_H
#define TUTTI_ARITH_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_sum_desc {
    int64_t count;
    int inputs;
    int relu;
} tutti_sum_desc;

typedef struct tutti_shortcut_desc {
    int64_t N, H, W, C, K, stride;
} tutti_shortcut_desc;

extern const tutti_op tutti_op_shortcut, tutti_op_shortcut_bwd, tutti_op_sum;

#endif
