/* Copies and sums.
 *
 * CONCAT: the channels of `parts` tensors one behind the other:
 *   x_i (pixels,C[i])     y (pixels,C[0]+C[1]+...)     y[p, C[0]+...+C[i-1]+c] = x_i[p,c]
 * SPLIT: the opposite, from x to y_i. Each is the gradient of the other.
 *
 * SUM: y = x0 + x1 + ... in this order, `inputs` >= 1 tensors of `count` elements (1: a copy); with
 * relu, y = max(that sum, 0). With into, y = y + x0 + x1 + ... instead.
 *
 * SUM_NARROW: the same sum of float32, without into, which is rounded to bf16 once, at its end.
 * WIDEN: bf16 to float32, `count` elements; exact. NARROW: the opposite, rounded.
 * ACCUMULATE: y = y + x, of x in bf16 and y in float32; with WIDEN's descriptor.
 *
 * GATE: nothing happens to `inputs` tensors, but what reads any of them afterwards waits for all that
 * was written before.
 *
 * Elements are float32 or bf16; sums are computed in float32 and rounded to the type of y.
 *
 * PUT: y[first + i] = x[i], `count` elements, in place among the `total` of y.
 * TAKE: y[r, p, i] = x[first + r*row + p*part + i], where i counts `each`: from x, of `total`
 * elements, for each of `rows` rows a block of each of `parts` parts.
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
    int relu, into;
} tutti_sum_desc;

typedef struct tutti_widen_desc {
    int64_t count;
} tutti_widen_desc;

typedef struct tutti_gate_desc {
    int inputs;
} tutti_gate_desc;

typedef struct tutti_put_desc {
    int64_t count, first, total;
} tutti_put_desc;

typedef struct tutti_take_desc {
    int64_t rows, parts, each;
    int64_t first, row, part, total;
} tutti_take_desc;

typedef struct tutti_shortcut_desc {
    int64_t N, H, W, C, K, stride;
} tutti_shortcut_desc;

enum { TUTTI_CONCAT_PARTS = 16 /* at most */ };

typedef struct tutti_concat_desc {
    int64_t pixels; /* N*H*W */
    int parts;
    int64_t C[TUTTI_CONCAT_PARTS];
} tutti_concat_desc;

extern const tutti_op tutti_op_concat, tutti_op_concat_bwd, tutti_op_split, tutti_op_split_bwd,
    tutti_op_shortcut, tutti_op_shortcut_bwd, tutti_op_sum, tutti_op_sum_narrow, tutti_op_narrow,
    tutti_op_widen, tutti_op_accumulate, tutti_op_gate, tutti_op_put, tutti_op_take;

#endif
