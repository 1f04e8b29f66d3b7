/* Sum-weighted gossip. A replica has a share, beside weights w, and stands for share * w. It gives a part of its
 * share away, together with w, so that it keeps w and stands for less; who gets both takes the mean of what it then
 * stands for. What all stand for together stays as it is, and so does the sum of the shares.
 *
 *   SHARE_SET     share = value
 *   SHARE_HALVE   sent = share / 2, rounded down to a multiple of `unit`;   share -= sent
 *   SHARE_WEIGH   total = share + received0 + ... of `inputs` neighbours, in this order;
 *                 factors = (share / total, received0 / total, ...);   share = total
 *   SHARE_MIX     w = factors[0] w + factors[1] near0 + factors[2] near1 + ..., `count` elements; a neighbour of
 *                 factor 0 is not read
 *   SHARE_SCALE   w *= share
 *
 * Shares and factors are float64 of one element, and of 1 + inputs; w and near float32. Multiples of a power of two
 * that are below 2^53 of it are halved and added without rounding, in any order, so that shares are exact however
 * often they are halved. MIX and SCALE compute in float64 and round once: replicas that are equal stay equal.
 * Sources: Kempe, Dobra & Gehrke 2003, "Gossip-Based Computation of Aggregate Information" (FOCS), push-sum; Blot,
 * Picard, Cord & Thome 2016, "Gossip training for deep learning", arXiv:1611.09726, for this form of it. */
#ifndef TUTTI_SHARE_H
#define TUTTI_SHARE_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

enum { TUTTI_SHARE_INPUTS = 2 /* at most */ };

typedef struct tutti_share_set_desc {
    double value; /* from 0 */
} tutti_share_set_desc;

typedef struct tutti_share_halve_desc {
    double unit; /* a power of two */
} tutti_share_halve_desc;

typedef struct tutti_share_weigh_desc {
    int inputs;
} tutti_share_weigh_desc;

typedef struct tutti_share_mix_desc {
    int64_t count;
    int inputs;
} tutti_share_mix_desc;

typedef struct tutti_share_scale_desc {
    int64_t count;
} tutti_share_scale_desc;

extern const tutti_op tutti_op_share_set, tutti_op_share_halve, tutti_op_share_weigh,
    tutti_op_share_mix, tutti_op_share_scale;

#endif
