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
 * Layers with fewer weights than `least` stay whole, and so do those whose outputs are no multiple
 * of G. Threads: [M], but for what is [P]. */
#ifndef TUTTI_DIVIDE_H
#define TUTTI_DIVIDE_H

#include "dag/base/status.h"
#include "dag/net/layer.h"

enum { TUTTI_DIVISION_LEAST = 1 << 18 };

/* Zeroes: nothing is divided. */
typedef struct tutti_division {
    int ranks, block; /* G; this rank's */
    int group;        /* tutti_mark: the ranks of all blocks, in their order */
    int alike;        /* the ranks that have this block */
    int64_t least;    /* weights of a divided layer; 0: TUTTI_DIVISION_LEAST */
} tutti_division;

/* Whether a layer is divided. [P] */
int tutti_layer_is_divided(const tutti_layer *layer, const tutti_division *division);
/* tutti_layer_parameters, with the shapes of this rank's blocks. [P] */
int tutti_divided_parameters(const tutti_layer *layer, const tutti_division *division,
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS]);
/* INVAL (logged): a block out of range; groups that do not make up the replicas; no layer that is divided. */
tutti_status tutti_division_check(
    const tutti_net *net, const tutti_division *division, int replicas);

#endif
