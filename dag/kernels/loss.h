/* Softmax and cross-entropy.
 *   loss_n = log(sum over k of exp(logits[n,k])) - logits[n,label_n]
 *   SOFTMAX_XENT:  dlogits[n,k] = weight * (softmax(logits)[n,k] - [k == label_n]);   XENT_EVAL: metrics only
 *   metrics[0] = sum of loss_n, metrics[1] = how many n have their label's logit as the first maximum,
 *   metrics[2] = how many n counted.  (float64, 3 elements, written.)
 *   A label below 0 marks a padding row: no loss, gradient zero, not counted.  A label >= K is a KERNEL error.
 *   logits, dlogits (N,K)   labels (N) int32.   weight is 1 / global batch, so that sums over slices and ranks are the
 *   gradient of the mean loss. */
#ifndef TUTTI_LOSS_H
#define TUTTI_LOSS_H

#include <stdint.h>

enum { TUTTI_METRICS = 3 };

typedef struct tutti_xent_desc {
    int64_t N, K;
    float weight;
} tutti_xent_desc;

#endif
