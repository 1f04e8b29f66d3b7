/* Stochastic gradient descent with momentum, as PyTorch's torch.optim.SGD (dampening 0):
 *   g' = g + weight_decay * w;   v = momentum * v + g';
 *   w -= rate * (nesterov ? g' + momentum * v : v)
 *   g, w, v: `count` elements, w and v in place; rate: float32 tensor of one element.
 * g may be bf16, which is exact in float32; w and v are float32.
 * With momentum 0, v is left alone. Source: Sutskever et al. 2013. */
#ifndef TUTTI_OPTIM_H
#define TUTTI_OPTIM_H

#include "dag/kernels/kernel.h"

#include <stdint.h>

typedef struct tutti_sgd_desc {
    int64_t count;
    float momentum, weight_decay;
    int nesterov;
} tutti_sgd_desc;

extern const tutti_op tutti_op_sgd;

#endif
