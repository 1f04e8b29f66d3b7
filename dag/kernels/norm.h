/* Batch normalisation over N,H,W for each channel, optionally followed by a ReLU.
 *
 *   NORM (training):  mean, var over the batch (biased);
 *                     y = [relu]( scale * (x - mean) / sqrt(var + eps) + shift ), where the ReLU may have a
 *                     limit (dag/kernels/act.h), with the bits of a RELU after it, as its gradient has
 *   NORM_INFER:       the same with running statistics
 *   NORM_ADD:         y = relu( what NORM without relu writes + other ), with the bits of a SUM after it
 *   NORM_ADD_BWD:     its gradients: dother = dy where y > 0, else 0, from which NORM_BWD computes the others
 *   NORM_RUNNING:     running = (1-momentum) * running + momentum * stats_sum * weight, where
 *                     stats_sum is the sum of the batch statistics of `1/weight` batches, and the
 *                     variance row is multiplied by unbias = n/(n-1) (n: images*H*W of one such
 *                     batch), as in PyTorch
 *
 *   x, y, other and their gradients (N,H,W,C), of float32 or bf16; all others float32, as is the arithmetic.
 *   scaleshift, dscaleshift, stats, running, stats_sum (2,C): row 0 scale
 *   or mean, row 1 shift or variance (not its root).
 *   With relu, NORM_BWD takes the gradient of the ReLU's output as dy. NORM_ADD and NORM_ADD_BWD take no relu.
 * Source: Ioffe & Szegedy 2015, arXiv:1502.03167. */
#ifndef TUTTI_NORM_H
#define TUTTI_NORM_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_norm_desc {
    int64_t N, H, W, C;
    float eps;
    int relu;
    float limit; /* of the ReLU; 0: none */
} tutti_norm_desc;

typedef struct tutti_norm_running_desc {
    int64_t C;
    float momentum, weight, unbias;
} tutti_norm_running_desc;

extern const tutti_op tutti_op_norm, tutti_op_norm_infer, tutti_op_norm_bwd, tutti_op_norm_add,
    tutti_op_norm_add_bwd, tutti_op_norm_running;

#endif
