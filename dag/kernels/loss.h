/* Softmax and cross-entropy.
 *   q[n,k] = (1 - smoothing) t[n,k] + smoothing / K
 *   t[n,k] = [k == label_n], or of rows that are mixed in pairs (mixup.h), with m the partner of n,
 *            part[n] [k == label_n] + (1 - part[n]) [k == label_m]
 *   z[n,k] = logits[n,k] / views: logits summed over several views of an image count as their mean
 *   loss_n = log(sum over k of exp(z[n,k])) - sum over k of q[n,k] z[n,k]
 *   SOFTMAX_XENT:  dlogits[n,k] = weight / views * (softmax(z)[n,k] - q[n,k]);
 *   XENT_EVAL:     metrics only
 *   metrics[0] = sum of loss_n, metrics[1] = rows whose label has the first maximum of the logits,
 *   metrics[2] = rows counted.  (float64, 3 elements, written.)  The label of a mixed row is the one
 *   with the larger weight in t, its own if the weights are equal.
 *   smoothing is in [0, 1); 0 is the plain cross-entropy.  views 0 means 1.
 *   A label below 0 marks a padding row: no loss, gradient zero, not counted; its partner is
 *   not mixed.  A label >= K is a KERNEL error;
 *   on a GPU, which cannot return one, the loss and the gradient of the row are NaN.
 *   logits, dlogits (N,K)   labels (N) int32   part (N) float32.   weight is 1 / global batch, so
 *   that sums over micro-batches and ranks are the gradient of the mean loss.
 * Source of smoothing: Szegedy et al. 2015, arXiv:1512.00567, section 7. */
#ifndef TUTTI_LOSS_H
#define TUTTI_LOSS_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

enum { TUTTI_METRICS = 3 };

typedef struct tutti_xent_desc {
    int64_t N, K;
    float weight, smoothing;
    int views;
    int mixed; /* SOFTMAX_XENT: there is a part for each row; N is even */
} tutti_xent_desc;

extern const tutti_op tutti_op_softmax_xent, tutti_op_xent_eval;

#endif
