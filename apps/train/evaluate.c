#include "apps/train/evaluate.h"

#include "apps/train/agree.h"
#include "apps/train/elastic_run.h"
#include "dag/base/log.h"

#include <math.h>
#include <stdlib.h>

/* ---- this rank's share ---- */

static tutti_status open_outputs(const tutti_trainer *s, tutti_flight flights[TUTTI_FLIGHTS])
{
    size_t count = (size_t)(s->options->batch * s->test.classes);
    for (int i = 0; i < TUTTI_FLIGHTS; i++) {
        flights[i].outputs = calloc(count, sizeof(float));
        if (!flights[i].outputs)
            return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the outputs of a batch");
    }
    return TUTTI_OK;
}

/* Fetches the outputs that the tensors of one view have. */
static tutti_status fetch_outputs(tutti_trainer *s, int view, tutti_flight *f)
{
    tutti_training_session *on = &s->session;
    int64_t classes = s->test.classes;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < on->step->micro_batches && !status; i++) {
        const tutti_micro_batch *m = &on->step->micro_batch[i];
        if (m->seen < 0) continue;
        status = on->runner->fetch(on->run, view ? m->both : m->seen,
            f->outputs + m->first * classes, (size_t)(m->count * classes) * sizeof(float));
    }
    if (!status) f->point = on->runner->point(on->run);
    return status;
}

/* Evaluates this rank's share of the test set, each batch once per view: sum[v] is for the mean of
 * views 0 .. v; `tally`, if there is one, for the mean of all. A rank that is asked to end skips the
 * rest. */
static tutti_status evaluate_share(tutti_trainer *s, const int section[TUTTI_TEST_VIEWS],
    tutti_metric_sums sum[TUTTI_TEST_VIEWS], tutti_tally *tally)
{
    tutti_training_session *on = &s->session;
    int64_t views = s->options->evaluation.views;
    int64_t steps = views * tutti_prefetch_steps(&s->test, 0, s->local ? 1 : on->placement.replicas,
                                s->options->batch, 1);
    tutti_flight flights[TUTTI_FLIGHTS] = {{0}};
    tutti_prefetch *batches = NULL;
    if (steps < 1) return TUTTI_OK;
    tutti_status status = tutti_flights_open(flights, on->step->micro_batches);
    if (!status && tally) status = open_outputs(s, flights);
    if (!status) status = tutti_flight_batches(s, 0, &batches);
    for (int64_t step = 0; step < steps + TUTTI_FLIGHTS && !status; step++) {
        /* Where stages wait for each other, all go to the end. */
        if (step < steps && !on->whole && tutti_trainer_ends(s)) steps = step;
        if (step < steps && s->elastic && tutti_train_elastic_is_over(s->elastic)) steps = step;
        tutti_flight *f = &flights[step % TUTTI_FLIGHTS];
        int last = f->step % views == views - 1;
        if (f->busy)
            status = tutti_flight_complete(s, f, &sum[f->step % views], last ? tally : NULL);
        if (status || step >= steps) continue;
        status = tutti_flight_take_batch(s, batches, "test", step, f);
        if (!status) status = tutti_flight_submit(on, 1, section[step % views], f);
        if (!status && tally && step % views == views - 1)
            status = fetch_outputs(s, (int)(step % views), f);
    }
    if (status && !s->elastic)
        return status; /* flights and batches may still be in use: the run ends */
    if (status) tutti_flights_abandon(s, flights, status);
    tutti_prefetch_close(batches);
    tutti_flights_close(flights);
    return status;
}

tutti_status tutti_evaluate(tutti_trainer *s, tutti_test_sums *sums, tutti_tally *tally)
{
    const tutti_step *step = s->session.step;
    const int own[TUTTI_TEST_VIEWS] = {step->eval, step->eval_again};
    const int averages[TUTTI_TEST_VIEWS] = {step->eval_average, step->eval_average_again};
    tutti_status status = evaluate_share(s, own, sums->own, tally);
    if (!status && step->eval_average >= 0)
        status = evaluate_share(s, averages, sums->average, NULL);
    return status;
}

/* ---- all ranks ---- */

/* Sums over all ranks. */
static tutti_status add_ranks(tutti_trainer *s, int count, tutti_metric_sums all[])
{
    return tutti_exchange_call(s->session.exchange, "the epoch's sums",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_SUM,
            .count = count * TUTTI_METRICS,
            .recv = all});
}

static tutti_status tally_ranks(tutti_trainer *s, const tutti_tally *tally)
{
    return tutti_exchange_call(s->session.exchange, "the test set's counts",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_I64,
            .op = TUTTI_SUM,
            .count = tally->counts,
            .recv = tally->count});
}

static double part(double x, double of)
{
    return of > 0 ? x / of : NAN;
}

tutti_status tutti_evaluate_sum(
    tutti_trainer *s, tutti_test_sums *sums, tutti_tally *tally, tutti_evaluation *result)
{
    const int averaged = s->session.step->eval_average >= 0;
    const tutti_metric_sums *trained = &sums->trained, *one = &sums->own[0],
                            *last = &sums->own[s->options->evaluation.views - 1],
                            *average = &sums->average[s->options->evaluation.views - 1];
    tutti_status status = add_ranks(s, 1 + (averaged ? 2 : 1) * TUTTI_TEST_VIEWS, &sums->trained);
    if (!status) status = tally_ranks(s, tally);
    if (status) return status;
    *result = (tutti_evaluation){.images = last->value[2],
        .train_loss = part(trained->value[0], trained->value[2]),
        .test_loss = part(last->value[0], last->value[2]),
        .test_accuracy = part(last->value[1], last->value[2]),
        .one_view_accuracy = part(one->value[1], one->value[2]),
        .best_accuracy = tutti_tally_best(tally),
        .macro_f1 = tutti_tally_macro(tally).f1,
        .average_loss = part(average->value[0], average->value[2]),
        .average_accuracy = part(average->value[1], average->value[2])};
    return TUTTI_OK;
}
