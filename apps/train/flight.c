#include "apps/train/flight.h"

#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/base/rng.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- memory and batches ---- */

tutti_status tutti_flights_open(tutti_flight flights[TUTTI_FLIGHTS], int micro_batches)
{
    for (int i = 0; i < TUTTI_FLIGHTS; i++) {
        flights[i] = (tutti_flight){
            .metrics = calloc((size_t)micro_batches * TUTTI_METRICS, sizeof(double))};
        if (!flights[i].metrics)
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the metrics of a step");
    }
    return TUTTI_OK;
}

void tutti_flights_close(tutti_flight flights[TUTTI_FLIGHTS])
{
    for (int i = 0; i < TUTTI_FLIGHTS; i++) {
        if (flights[i].batch) tutti_prefetch_release((void *)flights[i].batch);
        free(flights[i].metrics);
        free(flights[i].outputs);
    }
}

static double trace_now(void *trainer)
{
    const tutti_trainer *s = trainer;
    return tutti_trace_now(s->session.trace);
}

static void trace_images(void *trainer, int thread, int64_t batch, double begin_s, double end_s)
{
    const tutti_trainer *s = trainer;
    tutti_trace_read(s->session.trace, thread, "decode images", batch / s->options->accumulate + 1,
        begin_s, end_s);
}

/* Ranks that read images of their own draw what happens to them independently. */
static uint64_t order_seed(const tutti_trainer *s)
{
    uint64_t seed = (uint64_t)s->options->seed;
    return s->local ? tutti_rng_u64(seed, tutti_rng_stream("shards.local"),
                          (uint64_t)s->session.placement.rank)
                    : seed;
}

tutti_status tutti_flight_batches(tutti_trainer *s, int train, tutti_prefetch **batches)
{
    const tutti_placement *p = &s->session.placement;
    tutti_prefetch_options options = {.dataset = train ? &s->train : &s->test,
        .train = train,
        .rank = s->local ? 0
                : train  ? p->own.global_replica
                         : p->own.replica,
        .ranks = s->local ? 1
                 : train  ? p->global_replicas
                          : p->replicas, /* these evaluate together */
        .most = s->steps_per_epoch * s->options->accumulate,
        .batch = s->options->batch,
        .first_step = train ? s->first_step * s->options->accumulate : 0,
        .multiple = train ? s->options->accumulate : 1,
        .augment = s->options->data.augment,
        .rand_augment = s->options->data.rand_augment,
        .jitter = s->options->data.jitter,
        .erase = tutti_conf_real_or(s->options->images.erase, 0),
        .window = s->options->data.window,
        .crop_epochs = s->crop_epochs,
        .views = s->options->evaluation.views,
        .seed = order_seed(s),
        .bad = !tutti_bad_images_skipped(s->options->images.bad_images) ? NULL
               : train                                                  ? &s->bad_train
                                                                        : &s->bad_test,
        .threads = s->readers,
        .depth = (int)s->options->data.depth,
        .memory_bytes = tutti_data_memory(&s->options->images),
        .tell = train && tutti_trainer_reports(s)};
    *batches = NULL;
    if (p->own.stage != 0) return TUTTI_OK; /* only the first stage sees images */
    if (train) options.observer = (tutti_prefetch_observer){trace_now, trace_images, s};
    return tutti_prefetch_open(&options, batches);
}

/* ---- there and back ---- */

/* Waits for the next batch, or until --timeout. The other ranks, which may have to wait for this one,
 * learn why. Where the main thread drives the collectives, theirs move only when it attends to them:
 * often. */
static void await_batch(tutti_trainer *s, tutti_prefetch *batches, const char *split)
{
    static const double moment_s = 1e-3;
    double until_s = tutti_clock_s() + s->options->exchange.timeout_s;
    if (tutti_prefetch_await(batches, 0)) return;
    snprintf(s->doing, sizeof s->doing, "waits for a batch of '%s' (format %s)", split,
        s->train.source->name);
    tutti_exchange_set_activity(s->session.exchange, s->doing, 0);
    while (!tutti_prefetch_await(batches, moment_s) && tutti_clock_s() < until_s)
        tutti_exchange_attend(s->session.exchange);
    tutti_exchange_set_activity(s->session.exchange, NULL, 0);
}

tutti_status tutti_flight_take_batch(
    tutti_trainer *s, tutti_prefetch *batches, const char *split, int64_t step, tutti_flight *f)
{
    double begun_s = tutti_trace_now(s->session.trace);
    tutti_status status = TUTTI_OK;
    if (batches) {
        await_batch(s, batches, split);
        status = tutti_prefetch_next(batches, s->options->exchange.timeout_s, &f->batch);
        tutti_trace_main(s->session.trace, TUTTI_SPAN_WAIT, "wait for a batch", begun_s);
    }
    if (status) return status;
    f->step = step;
    f->from = s->session.runner->point(s->session.run);
    f->busy = 1;
    return TUTTI_OK;
}

tutti_status tutti_flight_fetch(tutti_training_session *on, tutti_flight *f)
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < on->step->micro_batches && !status; i++)
        if (on->step->micro_batch[i].metrics >= 0)
            status = on->runner->fetch(on->run, on->step->micro_batch[i].metrics,
                f->metrics + i * TUTTI_METRICS, TUTTI_METRICS * sizeof(double));
    return status;
}

tutti_status tutti_flight_submit(
    tutti_training_session *on, int evaluation, int section, tutti_flight *f)
{
    double begun_s = tutti_trace_now(on->trace);
    tutti_status status = tutti_training_session_feed(
        on, evaluation, f->batch ? f->batch->images : NULL, f->batch ? f->batch->labels : NULL);
    if (!status) status = on->runner->submit(on->run, section);
    if (!status) status = tutti_flight_fetch(on, f);
    f->point = on->runner->point(on->run);
    tutti_trace_main(on->trace, TUTTI_SPAN_SUBMIT, "submit", begun_s);
    return status;
}

tutti_status tutti_flight_complete(
    tutti_trainer *s, tutti_flight *f, tutti_metric_sums *sum, tutti_tally *tally)
{
    tutti_training_session *on = &s->session;
    double begun_s = tutti_trace_now(on->trace);
    tutti_status status =
        on->runner->wait(on->run, f->from, f->point, s->options->exchange.timeout_s);
    tutti_trace_main(on->trace, TUTTI_SPAN_WAIT, "wait for a step", begun_s);
    if (status) return status; /* the batch may still be read */
    f->busy = 0;
    if (tally && f->batch) tutti_tally_add(tally, s->options->batch, f->outputs, f->batch->labels);
    if (f->batch) tutti_prefetch_release((void *)f->batch);
    f->batch = NULL;
    for (int i = 0; i < on->step->micro_batches; i++)
        for (int k = 0; k < TUTTI_METRICS; k++) sum->value[k] += f->metrics[i * TUTTI_METRICS + k];
    return TUTTI_OK;
}

void tutti_flights_abandon(
    tutti_trainer *s, tutti_flight flights[TUTTI_FLIGHTS], tutti_status status)
{
    static const double most_s = 5;
    tutti_training_session *on = &s->session;
    if (on->run) (void)on->runner->wait(on->run, 0, on->runner->point(on->run), most_s);
    if (!tutti_training_session_stop(on)) tutti_trainer_end_all(status);
    for (int i = 0; i < TUTTI_FLIGHTS; i++) {
        if (flights[i].batch) tutti_prefetch_release((void *)flights[i].batch);
        flights[i].batch = NULL;
        flights[i].busy = 0;
    }
}
