/* Elementwise layers on `count` elements, of float32 or bf16, computed in float32.
 *   RELU:     y = max(x, 0).                     RELU_BWD: dx = y > 0 ? dy : 0   (takes y, not x)
 *             With a limit L, which is first rounded to the type of x: y = min(max(x, 0), L), and
 *             dx = 0 < y < L ? dy : 0. NaN stays NaN. L = 6 is ReLU6.
 *   DROPOUT:  y = keep ? x / (1-rate) : 0, where element e of a step is kept when
 *             tutti_rng_uniform(seed + step, stream, offset + e) >= rate.
 *             `step` is an int64 tensor of one element; the backward pass draws the same
 *             numbers again, so no mask is stored.
 * Source: Nair & Hinton 2010; Howard et al. 2017, arXiv:1704.04861 (ReLU6); Srivastava et al. 2014
 * (inverted dropout). */
#ifndef TUTTI_ACT_H
#define TUTTI_ACT_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_relu_desc {
    int64_t count;
    float limit; /* 0: none */
} tutti_relu_desc;

typedef struct tutti_dropout_desc {
    int64_t count, offset; /* offset: of this micro-batch within the global batch, in elements */
    uint64_t seed, stream;
    float rate; /* in [0, 1) */
} tutti_dropout_desc;

extern const tutti_op tutti_op_relu, tutti_op_relu_bwd, tutti_op_dropout, tutti_op_dropout_bwd;

#endif
