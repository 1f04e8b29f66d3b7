#include "tests/step/trial.h"

#include "dag/base/bf16.h"
#include "dag/base/rng.h"
#include "dag/kernels/loss.h"
#include "dag/run/inline.h"

#include <stdlib.h>

static const double DEADLINE_S = 100;

void trial_open(
    trial *t, trial_net_fn *build, const tutti_step_options *options, uint64_t order_seed)
{
    tutti_run_options run = {.workers = 1, .seed = order_seed};
    trial_open_on(t, build, options, &tutti_runner_inline, &run);
}

void trial_open_on(trial *t, trial_net_fn *build, const tutti_step_options *options,
    const tutti_runner *runner, const tutti_run_options *run)
{
    *t = (trial){.options = *options, .runner = runner};
    ck_assert_ok(tutti_net_new(&t->net));
    build(t->net);
    ck_assert_ok(tutti_net_status(t->net));
    ck_assert_ok(tutti_step_build(t->net, options, &t->step));
    ck_assert_ok(runner->open(t->step->graph, run, &t->run));
    ck_assert_ok(tutti_step_init(t->step, t->net, runner, t->run, options->seed));
    trial_refresh(t);
}

void trial_refresh(trial *t)
{
    if (t->step->refresh < 0) return;
    ck_assert_ok(t->runner->submit(t->run, t->step->refresh));
    trial_wait(t);
}

void trial_close(trial *t)
{
    t->runner->close(t->run);
    tutti_step_free(t->step);
    tutti_net_free(t->net);
}

static void feed(const trial *t, int tensor, const void *data)
{
    size_t bytes = tutti_graph_get_tensor(t->step->graph, tensor)->bytes;
    ck_assert_ok(t->runner->feed(t->run, tensor, data, bytes, NULL, NULL));
}

/* Feeds images that are float as bf16. */
static void feed_rounded(const trial *t, int tensor, const float *images)
{
    int64_t count = tutti_shape_count(&tutti_graph_get_tensor(t->step->graph, tensor)->shape);
    uint16_t *half = malloc((size_t)count * sizeof *half);
    ck_assert_ptr_nonnull(half);
    for (int64_t e = 0; e < count; e++) half[e] = tutti_bf16_narrow(images[e]);
    ck_assert_ok(t->runner->feed(t->run, tensor, half, (size_t)count * sizeof *half, free, half));
}

void trial_submit(trial *t, int section, const void *images, const int32_t *labels,
    const float *rate, const int64_t *number)
{
    int64_t H, W, C;
    size_t element = t->options.bytes ? 1 : sizeof(float);
    tutti_net_shape(t->net, 0, &H, &W, &C);
    feed(t, t->step->rate, rate);
    feed(t, t->step->counter, number);
    for (int s = 0; s < t->step->micro_batches; s++) {
        const tutti_micro_batch *micro_batch = &t->step->micro_batch[s];
        const char *first =
            (const char *)images + (size_t)(micro_batch->first * H * W * C) * element;
        if (t->options.precision == TUTTI_F32 || t->options.bytes)
            feed(t, micro_batch->images, first);
        else
            feed_rounded(t, micro_batch->images, (const void *)first);
        feed(t, micro_batch->labels, labels + micro_batch->first);
    }
    ck_assert_ok(t->runner->submit(t->run, section));
}

void trial_wait(trial *t)
{
    ck_assert_ok(t->runner->wait(t->run, 0, t->runner->point(t->run), DEADLINE_S));
}

void trial_run(
    trial *t, int section, const void *images, const int32_t *labels, float rate, int64_t number)
{
    trial_submit(t, section, images, labels, &rate, &number);
    trial_wait(t);
}

double trial_metric(const trial *t, int which)
{
    double sum = 0, metrics[TUTTI_METRICS];
    for (int s = 0; s < t->step->micro_batches; s++) {
        ck_assert_ok(tutti_run_read(
            t->runner, t->run, t->step->micro_batch[s].metrics, metrics, sizeof metrics));
        sum += metrics[which];
    }
    return sum;
}

/* These tests have one memory node, where a tensor's address does not change. */
static void *memory_of(const trial *t, int tensor)
{
    void *data;
    size_t bytes = tutti_graph_get_tensor(t->step->graph, tensor)->bytes;
    ck_assert_ok(t->runner->acquire(t->run, tensor, TUTTI_READWRITE, bytes, &data));
    t->runner->release(t->run, tensor);
    return data;
}

float *trial_tensor(const trial *t, const char *name, int64_t *count)
{
    int tensor = tutti_graph_find(t->step->graph, name);
    ck_assert_msg(tensor >= 0, "no tensor %s", name);
    *count = tutti_shape_count(&tutti_graph_get_tensor(t->step->graph, tensor)->shape);
    return memory_of(t, tensor);
}

void trial_images(uint64_t seed, int64_t first, int64_t count, float *images)
{
    uint64_t stream = tutti_rng_stream("images");
    for (int64_t e = 0; e < count; e++)
        images[e] = (float)tutti_rng_normal(seed, stream, (uint64_t)(first + e));
}

void trial_labels(uint64_t seed, int64_t first, int64_t count, int classes, int32_t *labels)
{
    uint64_t stream = tutti_rng_stream("labels");
    for (int64_t e = 0; e < count; e++)
        labels[e] = (int32_t)(tutti_rng_uniform(seed, stream, (uint64_t)(first + e)) * classes);
}

static uint64_t hash_tensor(const trial *t, int tensor, uint64_t h)
{
    const unsigned char *byte = memory_of(t, tensor);
    size_t bytes = tutti_graph_get_tensor(t->step->graph, tensor)->bytes;
    for (size_t i = 0; i < bytes; i++) h = (h ^ byte[i]) * 1099511628211ull;
    return h;
}

uint64_t trial_hash(const trial *t)
{
    uint64_t h = 14695981039346656037ull;
    for (int i = 0; i < t->step->parameters; i++) h = hash_tensor(t, t->step->parameter[i], h);
    for (int i = 0; i < t->step->states; i++) h = hash_tensor(t, t->step->state[i], h);
    return h;
}
