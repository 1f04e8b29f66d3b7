#include "apps/tune/workload.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/base/rng.h"
#include "dag/kernels/loss.h"

#include <math.h>
#include <stdlib.h>

enum { AHEAD = 2 };

const tutti_model_input *tutti_workload_input(const tutti_workload_options *options)
{
    return options->input ? options->input : &options->model->input;
}

/* Values per image. */
static int64_t image_size(const tutti_workload *s)
{
    const tutti_model_input *in = tutti_workload_input(&s->options);
    return (int64_t)in->H * in->W * in->C;
}

static tutti_status make_batch(tutti_workload *s)
{
    int64_t batch = s->options.batch, pixels = batch * image_size(s);
    uint64_t seed = s->options.seed + (uint64_t)s->options.rank;
    s->images = tutti_mem_aligned(tutti_mem_product((size_t)pixels, sizeof *s->images));
    s->labels = tutti_mem_aligned(tutti_mem_product((size_t)batch, sizeof *s->labels));
    if (!s->images || !s->labels)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for a batch of %lld images", (long long)batch);
    for (int64_t i = 0; i < pixels; i++)
        s->images[i] = (float)tutti_rng_normal(seed, tutti_rng_stream("images"), (uint64_t)i);
    for (int64_t i = 0; i < batch; i++)
        s->labels[i] = (int32_t)tutti_rng_below(seed, tutti_rng_stream("labels"), (uint64_t)i,
            (uint64_t)tutti_workload_input(&s->options)->classes);
    return TUTTI_OK;
}

static tutti_status build(tutti_workload *s)
{
    tutti_status status = tutti_net_new(&s->net);
    if (status) return status;
    const tutti_model_input *in = tutti_workload_input(&s->options);
    s->options.model->build(s->net, in->H, in->W, in->C, in->classes);
    status = tutti_net_status(s->net);
    if (status) return status;
    tutti_step_options options = {.batch = s->options.batch,
        .micro_batches = s->options.micro_batches,
        .ranks = s->options.ranks,
        .rank = s->options.rank,
        .momentum = 0.9f,
        .weight_decay = 1e-4f,
        .seed = s->options.seed};
    return tutti_step_build(s->net, &options, &s->step);
}

tutti_status tutti_workload_join(tutti_workload *s, tutti_exchange *exchange)
{
    s->options.exchange = exchange;
    return tutti_exchange_apply(exchange, s->step->graph);
}

tutti_status tutti_workload_open(
    const tutti_workload_options *options, const char *runner, tutti_workload *workload)
{
    tutti_workload s = {.options = *options, .runner = tutti_runner_find(runner), .rate = 0.001f};
    tutti_status status = make_batch(&s);
    if (!status) status = build(&s);
    if (!status && options->exchange) status = tutti_workload_join(&s, options->exchange);
    if (status)
        tutti_workload_close(&s);
    else
        *workload = s;
    return status;
}

static tutti_status feed_batch(tutti_workload *s)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < s->step->micro_batches && !status; i++) {
        const tutti_micro_batch *micro_batch = &s->step->micro_batch[i];
        status = s->runner->feed(s->run, micro_batch->images,
            s->images + micro_batch->first * image_size(s),
            (size_t)(micro_batch->count * image_size(s)) * sizeof *s->images, NULL, NULL);
        if (!status)
            status = s->runner->feed(s->run, micro_batch->labels, s->labels + micro_batch->first,
                (size_t)micro_batch->count * sizeof *s->labels, NULL, NULL);
    }
    if (!status)
        status = s->runner->feed(s->run, s->step->rate, &s->rate, sizeof s->rate, NULL, NULL);
    return status;
}

tutti_status tutti_workload_start(tutti_workload *s)
{
    tutti_run_options options = {.workers = s->options.micro_batches, .meter = s->options.meter};
    if (s->options.exchange) options.hooks = tutti_exchange_hooks(s->options.exchange);
    tutti_status status = s->runner->open(s->step->graph, &options, &s->run);
    if (status) return status;
    s->counter = 0;
    status = tutti_step_init(s->step, s->net, s->runner, s->run, s->options.seed);
    if (!status) status = feed_batch(s);
    if (!status)
        status =
            s->runner->feed(s->run, s->step->counter, &s->counter, sizeof s->counter, NULL, NULL);
    if (!status) status = s->runner->wait(s->run, s->runner->point(s->run), s->options.timeout_s);
    return status;
}

void tutti_workload_stop(tutti_workload *s)
{
    if (s->run) s->runner->close(s->run);
    s->run = NULL;
}

/* Checks that the loss of the last step is finite. */
static tutti_status check_loss(tutti_workload *s)
{
    double metrics[TUTTI_METRICS] = {0};
    for (int i = 0; i < s->step->micro_batches; i++) {
        double micro_batch[TUTTI_METRICS];
        tutti_status status = tutti_run_read(
            s->runner, s->run, s->step->micro_batch[i].metrics, micro_batch, sizeof micro_batch);
        if (status) return status;
        for (int k = 0; k < TUTTI_METRICS; k++) metrics[k] += micro_batch[k];
    }
    if (!isfinite(metrics[0]))
        return tutti_fail(TUTTI_ERR_KERNEL, "the loss on the runner \"%s\" is not a finite number",
            s->runner->name);
    for (int k = 0; k < TUTTI_METRICS; k++) s->metrics[k] = metrics[k];
    return TUTTI_OK;
}

typedef struct interval {
    double s;
    tutti_meter_reading meter;
} interval;

static interval look(const tutti_workload *s)
{
    interval now = {.s = tutti_clock_s()};
    if (s->options.meter) now.meter = tutti_meter_read(s->options.meter);
    return now;
}

/* Runs warm + steps + after steps, AHEAD in flight; *from: when the first `warm` have ended, *to: when `steps` more
 * have. */
static tutti_status run_steps(
    tutti_workload *s, int warm, int steps, int after, interval *from, interval *to)
{
    int64_t point[AHEAD] = {0};
    int all = warm + steps + after;
    tutti_status status = TUTTI_OK;
    *from = look(s);
    for (int i = 0; i < all + AHEAD && !status; i++) {
        int landed = i - AHEAD;
        if (landed >= 0 && landed < all)
            status = s->runner->wait(s->run, point[landed % AHEAD], s->options.timeout_s);
        if (landed == warm - 1) *from = look(s);
        if (landed == warm + steps - 1) *to = look(s);
        if (!status && i < all) status = s->runner->submit(s->run, s->step->train);
        point[i % AHEAD] = s->runner->point(s->run);
    }
    return status;
}

tutti_status tutti_workload_steps(tutti_workload *s, int steps, double *seconds)
{
    interval from, to;
    tutti_status status = run_steps(s, 0, steps, 0, &from, &to);
    if (status) return status;
    *seconds = to.s - from.s;
    return check_loss(s);
}

tutti_status tutti_workload_pace(
    tutti_workload *s, int warm, int steps, double *step_s, double *hidden_pct)
{
    interval from, to;
    tutti_status status = run_steps(s, warm, steps, 1, &from, &to);
    if (status) return status;
    double comm_s = to.meter.comm_s - from.meter.comm_s;
    *step_s = (to.s - from.s) / steps;
    *hidden_pct = comm_s > 0 ? 100 * (to.meter.hidden_s - from.meter.hidden_s) / comm_s : 0;
    return check_loss(s);
}

tutti_status tutti_workload_hash(const tutti_workload *s, uint64_t *hash)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < s->step->parameters; i++) {
        int tensor = s->step->parameter[i];
        size_t bytes = tutti_graph_get_tensor(s->step->graph, tensor)->bytes;
        void *data;
        tutti_status status = s->runner->acquire(s->run, tensor, TUTTI_READ, bytes, &data);
        if (status) return status;
        const uint32_t *word = data;
        for (size_t k = 0; k < bytes / sizeof *word; k++) h = (h ^ word[k]) * 1099511628211u;
        s->runner->release(s->run, tensor);
    }
    *hash = h;
    return TUTTI_OK;
}

double tutti_workload_loss(const tutti_workload *s)
{
    return s->metrics[0] / s->metrics[2];
}

void tutti_workload_close(tutti_workload *s)
{
    tutti_workload_stop(s);
    tutti_step_free(s->step);
    tutti_net_free(s->net);
    free(s->images);
    free(s->labels);
    *s = (tutti_workload){0};
}
