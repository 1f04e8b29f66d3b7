/* What a layer costs if the work on it is divided over ranks in one way or another. The source: Das et al. 2016,
 * "Distributed Deep Learning Using Synchronous Stochastic Gradient Descent", arXiv:1602.06709, section 3, whose letters
 * these are: a mini-batch of MB images on N ranks; numbers of 4 bytes; overlap from 0, a link sends or receives, to 1,
 * it does both at a time. doc/scale.md has them in formulas.
 *
 *   data     every rank has all weights and MB / N images: gradients travel
 *   model    every rank has a part of the weights, and sees all images: values travel
 *   hybrid   G groups of N / G ranks: model within a group, data between groups; G = N and G = 1 are the two above
 *
 * Threads: [P]. */
#ifndef TUTTI_PLAN_EQUATIONS_H
#define TUTTI_PLAN_EQUATIONS_H

/* Numbers of a layer: its weights, and what it reads and writes of an image. Pixels: of what it writes. */
typedef struct tutti_plan_shape {
    double weights, inputs, outputs, pixels;
    int first; /* nothing needs the gradient of what it reads: there are only images below */
} tutti_plan_shape;

/* Operations for each byte that a rank sends, with `images` of its own. */
double tutti_plan_data_balance(const tutti_plan_shape *shape, double images, double overlap);
/* Bytes of a step. */
double tutti_plan_data_bytes(const tutti_plan_shape *shape, double overlap);
double tutti_plan_model_bytes(const tutti_plan_shape *shape, double batch);
double tutti_plan_hybrid_bytes(
    const tutti_plan_shape *shape, double batch, int ranks, double groups, double overlap);
/* Whether model costs less than data. */
int tutti_plan_prefers_model(const tutti_plan_shape *shape, double batch, double overlap);
/* G*: where the derivative of hybrid_bytes by the number of groups is 0. Of a layer without weights: infinite */
double tutti_plan_groups_free(
    const tutti_plan_shape *shape, double batch, int ranks, double overlap);
/* G*, a divisor of N: the best number of groups. */
int tutti_plan_groups(const tutti_plan_shape *shape, double batch, int ranks, double overlap);

/* The same as Tutti divides layers (dag/net/divide.h), exactly: what each of `replicas` with `images` each sends if
 * `blocks` of them share the layer. */
double tutti_plan_values_bytes(const tutti_plan_shape *shape, double images, int blocks);
double tutti_plan_sums_bytes(const tutti_plan_shape *shape, int replicas, int blocks);
/* The divisor of `replicas`, and of the outputs, by which a rank sends least; 1: the layer is better left whole. */
int tutti_plan_blocks(const tutti_plan_shape *shape, double images, int replicas);

/* The bubble of data-parallel training: gradients are summed one after another, from the last layer to the first, each
 * not before it is complete; the next step's forward pass of a layer waits for its sum. exposed_s: how long that is.
 * Returns the seconds from the beginning of one backward pass to the next. end_s: room for a number for each layer. */
double tutti_plan_bubble(int layers, const double forward_s[], const double backward_s[],
    const double sum_s[], double exposed_s[], double end_s[]);

#endif
