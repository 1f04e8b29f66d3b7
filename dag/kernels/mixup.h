/* Mixup: rows 2k and 2k+1 of a batch are a pair, and each becomes a mean of the two; or CutMix: a box of each becomes
 * that of the other.
 *   MIXUP_DRAW: part[n] = the weight that row n keeps of itself, the same for both rows of a pair:
 *               drawn from Beta(alpha, alpha); 1, which leaves a row as it is, where a label of the
 *               pair is below 0
 *   MIXUP:      y[n] = part[n] x[n] + (1 - part[n]) x[partner of n], in float32
 *   CUTMIX_DRAW: a box for each pair, {top, bottom, left, right} without bottom and right. With w drawn as above its
 *               height and width are those of the image times sqrt(1 - w), its centre is any pixel, and what is
 *               outside is cut off; part[n] = 1 - its area / (H*W). Empty where a label of the pair is below 0
 *   CUTMIX:     y[n] = x[partner of n] in the box, else x[n]
 *   labels (N) int32   step: number of the batch int64 (1)   part (N) float32   x, y (N,each), or (N,H,W,C)
 *   box (N/2,4) int32
 * The weight of a pair is a function of (seed, step, stream, its place in the global batch), so that
 * P ranks with b images draw what one rank with P*b images does, however the batch is cut. The loss
 * of mixed rows is in loss.h.
 * Source: Zhang et al. 2018, arXiv:1710.09412; Yun et al. 2019, arXiv:1905.04899 (CutMix). Beta from
 * two Gammas by Marsaglia & Tsang 2000, "A simple method for generating gamma variables", with
 * logarithms, so that a small alpha does not underflow. */
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

typedef struct tutti_cutmix_draw_desc {
    tutti_mixup_draw_desc draw;
    int64_t H, W;
} tutti_cutmix_draw_desc;

typedef struct tutti_cutmix_desc {
    int64_t N, H, W, C; /* N: even */
} tutti_cutmix_desc;

enum { TUTTI_BOX = 4 }; /* numbers of a box */

extern const tutti_op tutti_op_mixup_draw, tutti_op_mixup, tutti_op_cutmix_draw, tutti_op_cutmix;

/* The weight of pair number `pair`. [P] */
double tutti_mixup_weight(double alpha, uint64_t seed, uint64_t stream, int64_t step, int64_t pair);
/* The box of pair number `pair`; returns the part of the image that is outside. [P] */
double tutti_cutmix_box(
    const tutti_cutmix_draw_desc *d, int64_t step, int64_t pair, int32_t box[TUTTI_BOX]);

#endif
