/* Dense layers whose weights are divided over a group of G ranks, each of which has a block of the
 * outputs: rows of the weight. The ranks of a group train on different images; in a divided layer
 * each computes its outputs for the images of all.
 *
 *   forward     x (N,C) of each -- allgather --> (G*N,C) -> a block (G*N,K/G) of y
 *               blocks -- allgather --> y (N,K) of this rank's own images
 *   backward    dy (N,K) of each -- allgather --> this rank's columns (G*N,K/G)
 *               -> dw, db of the block, of all images of the group
 *               -> what the block adds to dx (G*N,C) -- reduce-scatter --> dx (N,C)
 *
 * What travels grows with images, 2*(G-1)*N*(C+K) numbers from each rank, and not with the K*C
 * weights, whose gradients are summed only over the ranks that have the same block: one of each
 * group. Where weights outnumber that, it is less than the sum over all ranks. Blocks of outputs, and
 * not of inputs, make y the same sum as in a whole layer; only dx is added in another order. The
 * source: Das et al. 2016, "Distributed Deep Learning Using Synchronous Stochastic Gradient Descent",
 * arXiv:1602.06709.
 *
 * Layers with fewer weights than `divided_least` of the placement stay whole, and so do those whose outputs are no
 * multiple of G. Threads: [P], but that errors are logged. */
#ifndef TUTTI_DIVIDE_H
#define TUTTI_DIVIDE_H

#include "dag/base/status.h"
#include "dag/net/layer.h"
#include "dag/net/placement.h"

enum { TUTTI_DIVISION_LEAST = 1 << 18 };

/* Whether a layer is divided. */
int tutti_layer_is_divided(const tutti_layer *layer, const tutti_placement *placement);
/* tutti_layer_parameters, with the shapes of this rank's blocks. */
int tutti_divided_parameters(const tutti_layer *layer, const tutti_placement *placement,
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS]);
/* INVAL (logged): blocks, and no layer that is divided. */
tutti_status tutti_division_check(const tutti_net *net, const tutti_placement *placement);

#endif
