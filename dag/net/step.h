/* A net as a graph: the training step (section "train") and the evaluation step (section "eval").
 *
 * The rank's batch is cut into slices that run as independent chains (one for each worker, say);
 * each slice has its own activations, and parameter gradients are summed over slices in slice
 * order. Then stands a mark ("sum over ranks"), then the update of that parameter. Gradients are of
 * the mean loss over the global batch.
 *
 *   train, for each slice: forward, loss, backward;  for each parameter, as soon as its gradient is
 * complete: [sum over slices] -> mark -> sgd;  for each batch norm: [sum] of statistics -> mark ->
 * running statistics eval,  for each slice: forward with running statistics, metrics
 *
 * Running statistics are averaged over slices and ranks in every step, so they are equal on all
 * ranks. Parameters and state are shared by both sections.
 *
 * Tensor names: parameters as PyTorch names them with batch norm's pair in one
 * ("layer1.0.bn1.scaleshift"), gradients "d.<name>", momentum "m.<name>", running statistics
 * "<layer>.running". */
#ifndef TUTTI_STEP_H
#define TUTTI_STEP_H

#include "dag/graph/graph.h"
#include "dag/net/net.h"
#include "dag/run/run.h"

typedef struct tutti_step_options {
    int64_t batch;   /* images a rank */
    int slices;      /* 1 .. batch */
    int ranks, rank; /* ranks: for the loss weight and statistics; rank: for dropout's place in the
                        global batch */
    float momentum, weight_decay;
    int nesterov;
    uint64_t seed; /* initial weights, dropout */
} tutti_step_options;

typedef struct tutti_step_slice {
    int64_t first, count; /* images of the rank's batch */
    int images, labels,
        metrics; /* tensors of both sections: (n,H,W,C) float32, (n) int32, metrics float64 */
} tutti_step_slice;

typedef struct tutti_step {
    tutti_graph *graph; /* owned */
    int train, eval;    /* sections */
    int rate, counter;  /* inputs: learning rate float32 (1); step number int64 (1) */
    int slices;
    tutti_step_slice *slice;
    int parameters, *parameter; /* tensors, in net order: the order of hashes and checkpoints */
    int states, *state;         /* running statistics and momentum */
} tutti_step;

tutti_status tutti_step_build(
    const tutti_net *net, const tutti_step_options *options, tutti_step **step);
void tutti_step_free(tutti_step *step);

/* Writes the initial values of every parameter and state into the run's memory: a function of the
 * seed and the parameter's name alone. Running mean 0, variance 1; momentum 0; biases and shifts 0;
 * scales 1. */
tutti_status tutti_step_init(const tutti_step *step, const tutti_net *net,
    const tutti_runner *runner, tutti_run *run, uint64_t seed);

#endif
