/* A net on a runner, for tests: build, feed a batch, run a step, look at tensors. Any failure fails
 * the test. */
#ifndef TUTTI_TRIAL_H
#define TUTTI_TRIAL_H

#include "dag/step/step.h"
#include "tests/support/testing.h"

typedef struct trial {
    tutti_net *net;
    tutti_step_options options;
    tutti_step *step;
    const tutti_runner *runner;
    tutti_run *run;
} trial;

typedef void trial_net_fn(tutti_net *net);

/* Builds the net and its step, opens a run, and sets initial weights, and copies of them, from
 * options->seed. The inline
 * runner draws its order from order_seed. */
void trial_open(
    trial *t, trial_net_fn *build, const tutti_step_options *options, uint64_t order_seed);
void trial_open_on(trial *t, trial_net_fn *build, const tutti_step_options *options,
    const tutti_runner *runner, const tutti_run_options *run);
/* Copies the weights once more, after something else has written them. */
void trial_refresh(trial *t);
void trial_close(trial *t);

/* Feeds options.batch images (float, rounded to options.precision; or bytes with options.bytes) and
 * labels (the rank's batch, cut into micro-batches here), the rate and the step number, and runs a
 * section to its end. */
void trial_run(
    trial *t, int section, const void *images, const int32_t *labels, float rate, int64_t number);

/* The same without waiting: the pointed-to data must stay until trial_wait, which waits for all. */
void trial_submit(trial *t, int section, const void *images, const int32_t *labels,
    const float *rate, const int64_t *number);
void trial_wait(trial *t);

/* The sum over micro-batches of metrics[which]. */
double trial_metric(const trial *t, int which);
/* A tensor's elements and their number; the test fails if the name is unknown. */
float *trial_tensor(const trial *t, const char *name, int64_t *count);

/* Random images (standard normal) and labels 0..classes-1, from element `first` on of the streams
 * "images", "labels". */
void trial_images(uint64_t seed, int64_t first, int64_t count, float *images);
void trial_labels(uint64_t seed, int64_t first, int64_t count, int classes, int32_t *labels);

/* FNV-1a over all parameters and states, in order. */
uint64_t trial_hash(const trial *t);

#endif
