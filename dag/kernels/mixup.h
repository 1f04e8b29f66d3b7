/* Mixup: rows 2k and 2k+1 of a batch are a pair, and each becomes a mean of the two.
 *   MIXUP_DRAW: part[n] = the weight that row n keeps of itself, the same for both rows of a pair:
 *               drawn from Beta(alpha, alpha); 1, which leaves a row as it is, where a label of the
 *               pair is below 0
 *   MIXUP:      y[n] = part[n] x[n] + (1 - part[n]) x[partner of n], in float32
 *   labels (N) int32   step: number of the batch int64 (1)   part (N) float32   x, y (N,each)
 * The weight of a pair is a function of (seed, step, stream, its place in the global batch), so that
 * P ranks with b images draw what one rank with P*b images does, however the batch is cut. The loss
 * of mixed rows is in loss.h.
 * Source: Zhang et al. 2018, arXiv:1710.09412. Beta from two Gammas by Marsaglia & Tsang 2000, "A
 * simple method for generating gamma variables", with logarithms, so that a small alpha does not
 * underflow. */
#ifndef TUTTI_MIXUP_H
#define TUTTI_MIXUP_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_mixup_draw_desc {
    int64_t N, offset; /* rows, and the place of the first in the global batch: even */
    uint64_t seed, stream;
    double alpha; /* above 0 */
} tutti_mixup_draw_desc;

typedef struct tutti_mixup_desc {
    int64_t N, each; /* N: even */
} tutti_mixup_desc;

extern const tutti_op tutti_op_mixup_draw, tutti_op_mixup;

/* The weight of pair number `pair`. [P] */
double tutti_mixup_weight(double alpha, uint64_t seed, uint64_t stream, int64_t step, int64_t pair);

#endif
