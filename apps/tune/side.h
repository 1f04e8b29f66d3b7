/* One way to run training steps of a model: a runner with its graph and a fixed random batch. Sides
 * made from the same options do the same computation. Threads: [M]. */
#ifndef TUTTI_TUNE_SIDE_H
#define TUTTI_TUNE_SIDE_H

#include "apps/models/model.h"
#include "dag/net/step.h"
#include "designs/exchange/exchange.h"

typedef struct tutti_side_options {
    const tutti_model *model;
    const tutti_model_input *input; /* images and classes; NULL: what the model is made for */
    int64_t batch;
    int micro_batches;
    uint64_t seed; /* of the weights, the same on all ranks; images follow the rank, too */
    int ranks, rank;
    tutti_exchange *exchange; /* NULL: nothing is summed over ranks */
    tutti_meter *meter;       /* may be NULL */
    double timeout_s;         /* of a block of steps */
} tutti_side_options;

typedef struct tutti_side {
    tutti_side_options options;
    const tutti_runner *runner;
    tutti_net *net;
    tutti_step *step;
    tutti_run *run; /* NULL between stop and start */
    float *images, rate;
    int32_t *labels;
    int64_t counter;
    double metrics[3];
} tutti_side;

/* Its images and classes. [P] */
const tutti_model_input *tutti_side_input(const tutti_side_options *options);
/* Errors as of the calls it makes. */
tutti_status tutti_side_open(
    const tutti_side_options *options, const char *runner, tutti_side *side);
/* Has its gradients summed over an exchange: what the option `exchange` asks open to do. Once, before
 * start. All ranks call it. */
tutti_status tutti_side_join(tutti_side *side, tutti_exchange *exchange);
/* Starts the runner with the initial weights; stops it. A stopped side uses no thread. */
tutti_status tutti_side_start(tutti_side *side);
void tutti_side_stop(tutti_side *side);
/* Runs so many steps, submitted ahead of their execution; *seconds: from the first submission to
 * the last end. Fails (KERNEL, logged) when the loss of the last is not finite. */
tutti_status tutti_side_steps(tutti_side *side, int steps, double *seconds);
/* So many steps after `warm` others and before one more, and the time from the end of the first to the
 * end of the last of them: steps among steps, as in a run, where one begins while the sums of the one
 * before it are on their way. *hidden_pct: as the meter tells, 0 without one. */
tutti_status tutti_side_pace(
    tutti_side *side, int warm, int steps, double *step_s, double *hidden_pct);
/* FNV-1a over all weights, with nothing submitted. */
tutti_status tutti_side_hash(const tutti_side *side, uint64_t *hash);
double tutti_side_loss(const tutti_side *side); /* mean, of the last step run */
void tutti_side_close(tutti_side *side);

#endif
