#include "apps/tune/workload.h"

#include "apps/session/weights.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/mem.h"
#include "dag/base/rng.h"
#include "dag/kernels/loss.h"

#include <math.h>
#include <stdlib.h>

enum { AHEAD = 2 };

const tutti_model_input *tutti_workload_input(const tutti_workload *w)
{
    return w->input ? w->input : &w->model->input;
}

tutti_status tutti_workload_build(const tutti_workload *w, tutti_training_session *session)
{
    return tutti_training_session_build(session, w->model, tutti_workload_input(w), &w->recipe);
}

/* ---- the batch ---- */

/* What every step reads. */
typedef struct inputs {
    uint8_t *images;
    float rate;
    int32_t *labels;
    int64_t counter;
} inputs;

static void free_inputs(inputs *in)
{
    if (!in) return;
    free(in->images);
    free(in->labels);
    free(in);
}

static inputs *new_inputs(const tutti_workload *w, int64_t image_bytes)
{
    inputs *in = calloc(1, sizeof *in);
    if (!in) return NULL;
    in->rate = 0.001f;
    in->images = tutti_mem_aligned(tutti_mem_product((size_t)w->recipe.batch, (size_t)image_bytes));
    in->labels = tutti_mem_aligned(tutti_mem_product((size_t)w->recipe.batch, sizeof *in->labels));
    if (in->images && in->labels) return in;
    free_inputs(in);
    return NULL;
}

/* Draws the images and labels of a replica. */
static void draw(const tutti_workload *w, int replica, int64_t image_bytes, inputs *in)
{
    uint64_t seed = w->recipe.seed + (uint64_t)replica;
    for (int64_t i = 0; i < w->recipe.batch * image_bytes; i++)
        in->images[i] =
            (uint8_t)tutti_rng_below(seed, tutti_rng_stream("images"), (uint64_t)i, UINT8_MAX + 1);
    for (int64_t i = 0; i < w->recipe.batch; i++)
        in->labels[i] = (int32_t)tutti_rng_below(seed, tutti_rng_stream("labels"), (uint64_t)i,
            (uint64_t)tutti_workload_input(w)->classes);
}

/* With OK the inputs have been copied; otherwise they may still be read. */
static tutti_status feed(const tutti_workload *w, tutti_training_session *s, const inputs *in)
{
    const tutti_runner *runner = s->runner;
    tutti_status status = tutti_training_session_feed(s, 0, in->images, in->labels);
    if (!status)
        status = runner->feed(s->run, s->step->rate, &in->rate, sizeof in->rate, NULL, NULL);
    if (!status)
        status =
            runner->feed(s->run, s->step->counter, &in->counter, sizeof in->counter, NULL, NULL);
    if (!status) status = runner->wait(s->run, 0, runner->point(s->run), w->timeout_s);
    return status;
}

tutti_status tutti_workload_start(const tutti_workload *w, tutti_training_session *s)
{
    inputs *in = new_inputs(w, s->image_bytes);
    if (!in)
        return tutti_fail(
            TUTTI_ERR_NOMEM, "no memory for a batch of %lld images", (long long)w->recipe.batch);
    draw(w, s->placement.own.global_replica, s->image_bytes, in);
    tutti_status status = tutti_training_session_start(s);
    if (!status) status = tutti_training_session_init(s);
    if (status) {
        free_inputs(in);
        return status;
    }
    status = feed(w, s, in);
    if (!status) free_inputs(in);
    return status;
}

static tutti_status agree(const tutti_training_session *s, tutti_status mine)
{
    return s->exchange ? tutti_exchange_agree(s->exchange, mine, NULL) : mine;
}

tutti_status tutti_workload_begin(const tutti_workload *w, tutti_training_session *s)
{
    tutti_status status = agree(s, tutti_workload_build(w, s));
    if (!status) status = agree(s, tutti_training_session_apply(s));
    return status ? status : agree(s, tutti_workload_start(w, s));
}

/* ---- steps ---- */

tutti_status tutti_workload_loss(tutti_training_session *s, double *loss)
{
    double sum[TUTTI_METRICS] = {0};
    for (int i = 0; i < s->step->micro_batches; i++) {
        double part[TUTTI_METRICS];
        tutti_status status =
            tutti_run_read(s->runner, s->run, s->step->micro_batch[i].metrics, part, sizeof part);
        if (status) return status;
        for (int k = 0; k < TUTTI_METRICS; k++) sum[k] += part[k];
    }
    *loss = sum[0] / sum[2];
    return TUTTI_OK;
}

static tutti_status check_loss(tutti_training_session *s)
{
    double loss;
    if (s->placement.own.stage) return TUTTI_OK; /* the first one knows */
    tutti_status status = tutti_workload_loss(s, &loss);
    if (!status && !isfinite(loss))
        status = tutti_fail(TUTTI_ERR_KERNEL,
            "the loss on the runner \"%s\" is not a finite number", s->runner->name);
    return status;
}

typedef struct interval {
    double s;
    tutti_meter_reading meter;
} interval;

static interval look(const tutti_training_session *s)
{
    interval now = {.s = tutti_clock_s()};
    if (s->meter) now.meter = tutti_meter_read(s->meter);
    return now;
}

/* A series of steps: when `warm` of them have ended the clock starts, after `steps` more it stops. */
typedef struct series {
    int warm, steps, after;
    interval from, to;
} series;

/* All batches of a step. */
static tutti_status submit_step(tutti_training_session *s, int64_t number)
{
    int before[TUTTI_STEP_BEFORE];
    const int sections = tutti_step_before(s->step, number, 0, before);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < sections && !status; i++) status = s->runner->submit(s->run, before[i]);
    for (int batch = 0; batch < s->step->accumulate && !status; batch++)
        status = s->runner->submit(s->run, tutti_step_section(s->step, batch));
    /* Designs differ in this section alone, so that each step has it. */
    if (!status && s->step->average >= 0) status = s->runner->submit(s->run, s->step->average);
    return status;
}

/* Runs a series with AHEAD steps in flight. */
static tutti_status run_series(const tutti_workload *w, tutti_training_session *s, series *r)
{
    int64_t point[AHEAD] = {0};
    int all = r->warm + r->steps + r->after;
    tutti_status status = TUTTI_OK;
    r->from = look(s);
    for (int i = 0; i < all + AHEAD && !status; i++) {
        int landed = i - AHEAD;
        if (landed >= 0 && landed < all)
            status = s->runner->wait(s->run, 0, point[landed % AHEAD], w->timeout_s);
        if (landed == r->warm - 1) r->from = look(s);
        if (landed == r->warm + r->steps - 1) r->to = look(s);
        if (!status && i < all) status = submit_step(s, i);
        point[i % AHEAD] = s->runner->point(s->run);
    }
    return status;
}

tutti_status tutti_workload_steps(
    const tutti_workload *w, tutti_training_session *s, int steps, double *seconds)
{
    series r = {.steps = steps};
    tutti_status status = run_series(w, s, &r);
    if (status) return status;
    *seconds = r.to.s - r.from.s;
    return check_loss(s);
}

tutti_status tutti_workload_pace(
    const tutti_workload *w, tutti_training_session *s, int warm, int steps, tutti_pace *pace)
{
    series r = {.warm = warm, .steps = steps, .after = 1};
    tutti_status status = run_series(w, s, &r);
    if (status) return status;
    double took_s = r.to.s - r.from.s, comm_s = r.to.meter.comm_s - r.from.meter.comm_s;
    *pace = (tutti_pace){.step_s = took_s / steps,
        .hidden_pct = comm_s > 0 ? 100 * (r.to.meter.hidden_s - r.from.meter.hidden_s) / comm_s : 0,
        .busy = (r.to.meter.compute_s - r.from.meter.compute_s) / took_s};
    return check_loss(s);
}

/* ---- the weights ---- */

static tutti_status add_words(void *ctx, const tutti_tensor *tensor, void *data)
{
    uint64_t *hash = ctx;
    const uint32_t *word = data;
    for (size_t k = 0; k < tensor->bytes / sizeof *word; k++)
        *hash = (*hash ^ word[k]) * 1099511628211u;
    return TUTTI_OK;
}

tutti_status tutti_workload_hash(const tutti_training_session *s, uint64_t *hash)
{
    *hash = 14695981039346656037u;
    if (tutti_placement_is_divided(&s->placement))
        return tutti_weights_collect(s, tutti_weights_parameters(s), add_words, hash);
    return tutti_weights_walk(s, tutti_weights_parameters(s), TUTTI_READ, add_words, hash);
}
