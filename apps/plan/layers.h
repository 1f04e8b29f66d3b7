/* The layers of a model as rows of a plan: their numbers, and how long they take. Threads: [M]. */
#ifndef TUTTI_PLAN_LAYERS_H
#define TUTTI_PLAN_LAYERS_H

#include "apps/plan/equations.h"
#include "apps/sim/program.h"

typedef struct tutti_plan_layer {
    const char *name;                    /* of the net */
    tutti_plan_shape shape;              /* weights: all parameters */
    int divides;                         /* dense, and large enough to be divided */
    double image_s;                      /* of one worker, for an image, both ways */
    double forward_s, backward_s,
        sum_s; /* data-parallel, with images_each on each rank; of one worker */
    double hidden_s, exposed_s;
    int groups, blocks; /* G* of the equations; Tutti's best split */
    double
        memory; /* bytes of a rank: weights, gradients, momentum, and what is kept for the backward pass */
    double crosses; /* bytes of an image behind the layer, one way */
} tutti_plan_layer;

typedef struct tutti_plan_layers {
    int count; /* of the net, the input with it */
    tutti_plan_layer *layer;
    double images;  /* of a rank; data-parallel */
    double image_s; /* of all, on one worker */
    int workers;    /* of a rank, among which its kernels are spread */
    double step_s;  /* data-parallel, with the bubble */
} tutti_plan_layers;

/* rate: bytes a second that a rank sends while all do; 0: no limit. batch: of all ranks. workers: of each. Errors of
 * tutti_sim_model_layers. */
tutti_status tutti_plan_layers_open(tutti_sim_model *m, int64_t batch, int ranks, int workers,
    double rate, tutti_plan_layers *layers);
void tutti_plan_layers_close(tutti_plan_layers *layers);

#endif
