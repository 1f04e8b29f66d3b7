/* What follows the sum of a gradient over all ranks. Everything works in place, on `count` elements
 * of float32; rate is a float32 tensor of one element, which rate_factor multiplies.
 *
 * SGD: stochastic gradient descent with momentum, as PyTorch's torch.optim.SGD (dampening 0):
 *   g' = g + weight_decay * w;   v = momentum * v + g';
 *   w -= rate * (nesterov ? g' + momentum * v : v)
 * With momentum 0, v is left alone. g may also be bf16. Source: Sutskever et al. 2013.
 * SGD and ADAM update `count` elements from `first` on of g and w; what they keep (v, mean, square) has
 * only these. A count of 0 updates nothing.
 *
 * ADAM: as torch.optim.Adam, and with `decoupled` as torch.optim.AdamW. Update t (from 1) is that
 * of step (t-1) * every to t * every - 1, where step is an int64 tensor of one element:
 *   g' = decoupled ? g : g + weight_decay * w;   if decoupled: w -= rate * weight_decay * w
 *   mean = beta1 * mean + (1 - beta1) * g';   square = beta2 * square + (1 - beta2) * g' * g'
 *   w -= rate / (1 - beta1^t) * mean / (sqrt(square / (1 - beta2^t)) + epsilon)
 * Sources: Kingma & Ba 2015, arXiv:1412.6980; Loshchilov & Hutter 2019, arXiv:1711.05101.
 *
 * LARS: momentum with a rate for each tensor, in proportion to its length |w|:
 *   local = trust * |w| / (|g| + weight_decay * |w|), or 1 where trust, |w| or |g| is 0
 *   v = momentum * v + rate * local * (g + weight_decay * w);   w -= v
 * Source: You, Gitman & Ginsburg 2017, arXiv:1708.03888, algorithm 1.
 *
 * Clipping of gradients by their common length, as torch.nn.utils.clip_grad_norm_:
 *   LENGTH: length = |x|, of float32 or bf16.   CLIP_FACTOR: factor = min(1, most / (|length0, length1, ...| + 1e-6)).
 *   CLIP: g *= factor.   LENGTHS: lengths = (0, ..., length0, length1, ..., 0, ...), from element `first`
 *   on: sums over ranks that have other ones collect them all, and an input of CLIP_FACTOR may be `each` of them
 * Lengths are summed in double precision, in an order that depends on nothing else, and rounded
 * once. NaN stays NaN.
 *
 * AVERAGE: average += (1 - decay) * (w - average).
 *
 * DIVIDE: x /= by, of what is a sum over `by` ranks.
 * OUTER: what follows the sum w of `by` ranks' weights that began as w0:
 *   g = w0 - w / by;   v = momentum * v + g;   w = w0 = w0 - rate * (g + momentum * v)
 * With momentum 0 there is no v. Source: Douillard et al. 2023, arXiv:2311.08105, algorithm 1.
 * PAIR: w += (other - own) / 2, of what the two of a pair had when they met. The two moves are each other's
 * negative, to the last bit. */
#ifndef TUTTI_OPTIM_H
#define TUTTI_OPTIM_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_sgd_desc {
    int64_t first, count;
    float momentum, weight_decay, rate_factor;
    int nesterov;
} tutti_sgd_desc;

typedef struct tutti_adam_desc {
    int64_t first, count, every;
    double beta1, beta2;
    float epsilon, weight_decay, rate_factor;
    int decoupled;
} tutti_adam_desc;

typedef struct tutti_lars_desc {
    int64_t count;
    float momentum, weight_decay, rate_factor, trust;
} tutti_lars_desc;

typedef struct tutti_length_desc {
    int64_t count;
} tutti_length_desc;

typedef struct tutti_lengths_desc {
    int inputs;
    int64_t first, count; /* of lengths: `count` elements */
} tutti_lengths_desc;

typedef struct tutti_clip_factor_desc {
    int inputs;
    int64_t each; /* lengths in each input; 0: 1 */
    float most;
} tutti_clip_factor_desc;

typedef struct tutti_clip_desc {
    int64_t count;
} tutti_clip_desc;

typedef struct tutti_average_desc {
    int64_t count;
    double decay;
} tutti_average_desc;

typedef struct tutti_divide_desc {
    int64_t count;
    float by;
} tutti_divide_desc;

typedef struct tutti_outer_desc {
    int64_t count;
    float by, rate, momentum;
} tutti_outer_desc;

typedef struct tutti_pair_desc {
    int64_t count;
} tutti_pair_desc;

/* The row of the CPU's kernel (kernel.h), for who has no use for those of other families; NULL: there
 * is none. [P] */
const tutti_kernel *tutti_optim_kernel(const tutti_op *op, tutti_dtype dtype);

extern const tutti_op tutti_op_sgd, tutti_op_adam, tutti_op_lars, tutti_op_length, tutti_op_lengths,
    tutti_op_clip_factor, tutti_op_clip, tutti_op_average, tutti_op_divide, tutti_op_outer,
    tutti_op_pair;

#endif
