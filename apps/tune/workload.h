/* Training steps of a model to measure: a runner with its graph and a fixed random batch. Workloads
 * with the same options do the same computation. Threads: [M]. */
#ifndef TUTTI_TUNE_WORKLOAD_H
#define TUTTI_TUNE_WORKLOAD_H

#include "apps/models/model.h"
#include "dag/net/step.h"
#include "designs/exchange/exchange.h"

typedef struct tutti_workload_options {
    const tutti_model *model;
    const tutti_model_input *input; /* image size and classes; NULL: the model's own */
    int64_t batch;
    int micro_batches;
    uint64_t seed; /* of the weights, the same on all ranks; images also depend on the rank */
    int ranks, rank;
    tutti_exchange *exchange; /* NULL: nothing is summed over ranks */
    tutti_meter *meter;       /* may be NULL */
    double timeout_s;         /* of a block of steps */
} tutti_workload_options;

typedef struct tutti_workload {
    tutti_workload_options options;
    const tutti_runner *runner;
    tutti_net *net;
    tutti_step *step;
    tutti_run *run; /* NULL between stop and start */
    float *images, rate;
    int32_t *labels;
    int64_t counter;
    double metrics[3];
} tutti_workload;

/* Its image size and classes. [P] */
const tutti_model_input *tutti_workload_input(const tutti_workload_options *options);
/* Errors as of the calls it makes. */
tutti_status tutti_workload_open(
    const tutti_workload_options *options, const char *runner, tutti_workload *workload);
/* Sums its gradients over an exchange, as open does with the option `exchange`. Once, before start.
 * All ranks call it. */
tutti_status tutti_workload_join(tutti_workload *workload, tutti_exchange *exchange);
/* Starts the runner with the initial weights; stops it. A stopped workload uses no thread. */
tutti_status tutti_workload_start(tutti_workload *workload);
void tutti_workload_stop(tutti_workload *workload);
/* Runs `steps` steps, submitted ahead of their execution; *seconds: from the first submission to
 * the last end. Fails (KERNEL, logged) if the loss of the last is not finite. */
tutti_status tutti_workload_steps(tutti_workload *workload, int steps, double *seconds);
/* Times `steps` steps between `warm` earlier ones and one later one, from end to end. So they
 * overlap as in a run, where a step begins while the sums of the previous one are in flight.
 * *hidden_pct: from the meter, 0 without one. */
tutti_status tutti_workload_pace(
    tutti_workload *workload, int warm, int steps, double *step_s, double *hidden_pct);
/* FNV-1a over the 32-bit words of all weights, with nothing submitted. */
tutti_status tutti_workload_hash(const tutti_workload *workload, uint64_t *hash);
double tutti_workload_loss(const tutti_workload *workload); /* mean, of the last step run */
void tutti_workload_close(tutti_workload *workload);

#endif
