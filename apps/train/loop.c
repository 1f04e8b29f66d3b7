#include "apps/train/loop.h"

#include "apps/train/again.h"
#include "apps/train/agree.h"
#include "apps/train/elastic_run.h"
#include "apps/train/evaluate.h"
#include "apps/train/find_rate.h"
#include "apps/train/finite.h"
#include "apps/train/replica.h"
#include "apps/train/saver.h"
#include "apps/train/stopwatch.h"
#include "apps/train/timetable.h"
#include "apps/train/tracer.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct loop {
    tutti_trainer *s;
    tutti_report *report;
    tutti_prefetch *batches;
    tutti_stopwatch watch;
    tutti_tracer tracer;
    tutti_flight flight[TUTTI_FLIGHTS];
    int64_t epoch;              /* of the sums, from 0 */
    tutti_metric_sums trained;  /* this rank's images of the epoch */
    tutti_metric_sums gathered; /* of the step's batches so far */
    tutti_evaluation found;     /* by the last evaluation, over all ranks */
    int64_t replica_checks;
    int64_t lost;              /* the first step whose loss on this rank was not finite; 0: none */
    int64_t saved;             /* the step of the last checkpoint; 0: none */
    int64_t saved_here;        /* the same, since the ranks were last changed */
    int64_t evaluated;         /* up to this step; -1: the first step's is still to be made */
    tutti_timetable timetable; /* of rank 0; for --checkpoint-minutes */
    int64_t look;              /* the step at which rank 0 looks at it; 0: never */
    int better;                /* the last evaluation was the best one */
    int64_t known;             /* after this step the loss is known to be finite on all ranks */
    int64_t round;             /* that begins next, from 0 */
    int64_t began;             /* the first step of this one */
    /* what rank 0 had received after its second step, and after its last one */
    tutti_exchange_counts early, late;
    int64_t early_step;        /* that second step; 0: there was none */
    int signal;                /* all ranks end because one received this; 0: they continue */
} loop;

/* ---- one step ---- */

/* Over all ranks that the exchange joins. */
static double images_per_step(const tutti_trainer *s)
{
    return (double)(s->session.placement.replicas * s->options->batch * s->options->accumulate);
}

static void report_step(
    loop *l, const tutti_flight *f, const tutti_metric_sums *step, double took_s)
{
    tutti_trainer *s = l->s;
    if (!tutti_trainer_reports(s)) return;
    tutti_stopwatch_lap(&l->watch);
    tutti_report_on_step(
        l->report, &(tutti_report_step){.epoch = f->step / s->steps_per_epoch + 1,
                       .epochs = (s->steps + s->steps_per_epoch - 1) / s->steps_per_epoch,
                       .step = f->step + 1,
                       .steps = s->steps,
                       .epoch_step = f->step % s->steps_per_epoch + 1,
                       .steps_per_epoch = s->steps_per_epoch,
                       .loss = step->value[0] / step->value[2],
                       .rate = f->rate,
                       .step_ms = 1e3 * took_s,
                       .images_per_s = images_per_step(s) / took_s,
                       .hidden_pct = tutti_stopwatch_hidden_pct(&l->watch)});
}

/* Whether a batch is the first, or the last, of its step. */
static int begins_step(const tutti_trainer *s, int64_t number)
{
    return number % s->options->accumulate == 0;
}

static int ends_step(const tutti_trainer *s, int64_t number)
{
    return (number + 1) % s->options->accumulate == 0;
}

/* From here on messages travel as in any later step. */
static tutti_status count_early(loop *l, int64_t done)
{
    if (!tutti_trainer_reports(l->s)) return TUTTI_OK;
    l->early_step = done;
    return tutti_exchange_count(l->s->session.exchange, &l->early);
}

static tutti_status retire(loop *l, tutti_flight *f)
{
    if (!f->busy) return TUTTI_OK;
    if (begins_step(l->s, f->number)) l->gathered = (tutti_metric_sums){0};
    tutti_status status = tutti_flight_complete(l->s, f, &l->gathered, NULL);
    if (status || !ends_step(l->s, f->number)) return status;
    const tutti_metric_sums step = l->gathered;
    double took_s = tutti_stopwatch_step(&l->watch);
    tutti_find_rate *find = l->s->find_rate;
    if (find) tutti_find_rate_add(find, step.value[0], step.value[2]);
    if (!find && !l->lost && !isfinite(step.value[0])) l->lost = f->step + 1;
    if (l->s->elastic) l->s->elastic->done = f->step + 1;
    if (l->lost) return TUTTI_OK; /* the others know; later results are useless */
    int64_t epoch = f->step / l->s->steps_per_epoch;
    if (epoch != l->epoch) l->trained = (tutti_metric_sums){0};
    l->epoch = epoch;
    for (int k = 0; k < TUTTI_METRICS; k++) l->trained.value[k] += step.value[k];
    report_step(l, f, &step, took_s);
    return f->step == l->s->first_step + 1 ? count_early(l, f->step + 1) : TUTTI_OK;
}

/* Whether replicas are equal before this step. */
static int begins_round(const tutti_trainer *s, int64_t step)
{
    return step == s->first_step || tutti_trainer_ends_round(s, step);
}

/* Before the passes of a step: what replicas that meet others do. */
static tutti_status submit_mixing(loop *l, int64_t step)
{
    tutti_training_session *on = &l->s->session;
    int section[TUTTI_STEP_BEFORE];
    const int sections = tutti_step_before(on->step, step, l->began, section);
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < sections && !status; i++) status = on->runner->submit(on->run, section[i]);
    return status;
}

/* Takes and submits one batch of training; before the first of a step, mixing steps; behind the last one of a round
 * what makes replicas equal. */
static tutti_status submit_batch(loop *l, int64_t number)
{
    tutti_trainer *s = l->s;
    tutti_training_session *on = &s->session;
    tutti_flight *f = &l->flight[number % TUTTI_FLIGHTS];
    int64_t step = number / s->options->accumulate;
    tutti_status status =
        tutti_training_session_refresh(on); /* mixing steps send shares, which it sets */
    if (!status && begins_step(s, number)) status = submit_mixing(l, step);
    if (!status) status = tutti_flight_take_batch(s, l->batches, "train", step, f);
    if (status) return status;
    f->number = number;
    f->rate = (float)tutti_rate_schedule_at(&s->rate_schedule, step);
    status = on->runner->feed(on->run, on->step->rate, &f->rate, sizeof f->rate, NULL, NULL);
    if (!status)
        status =
            on->runner->feed(on->run, on->step->counter, &f->number, sizeof f->number, NULL, NULL);
    if (status) return status;
    status = tutti_flight_submit(
        on, 0, tutti_step_section(on->step, (int)(number % s->options->accumulate)), f);
    if (!status && s->store && ends_step(s, number))
        status = tutti_train_store_step(s->store, on, (double)f->rate);
    if (status || on->step->average < 0 || !ends_step(s, number) ||
        !tutti_trainer_ends_round(s, step + 1))
        return status;
    status = on->runner->submit(on->run, on->step->average);
    f->point = on->runner->point(on->run);
    return status;
}

/* *stop: this step is not submitted; all ranks have submitted the same steps. They agree on that where a
 * round begins: a step of replicas that train alone may end before the others have submitted it. */
static tutti_status train_step(loop *l, int64_t step, int *stop)
{
    tutti_trainer *s = l->s;
    /* With a store a step may end once all have submitted the one before it: its weights need their pushes of that. */
    const int ahead = TUTTI_FLIGHTS + (s->store != NULL);
    int64_t first = step * s->options->accumulate, end = first + s->options->accumulate;
    tutti_status status = TUTTI_OK;
    tutti_tracer_step(&l->tracer, step + 1);
    for (int64_t number = first; number < end && !status; number++) {
        status = retire(l, &l->flight[number % TUTTI_FLIGHTS]);
        int wish = l->lost || tutti_interrupt_asked(s->interrupt) ||
                   (s->find_rate && s->find_rate->diverged) ||
                   (s->elastic && tutti_train_elastic_wishes(s->elastic));
        if (!status && number == first && begins_round(s, step)) {
            l->began = step;
            status = tutti_exchange_halt(s->session.exchange, l->round++, ahead, wish, stop);
        }
        if (status || *stop) return status;
        status = submit_batch(l, number);
    }
    if (!status) tutti_tracer_step(&l->tracer, 0);
    return status;
}

/* Retires all batches in flight, oldest first, and waits for the rest; with a store, weights are those of the last
 * pull then. */
static tutti_status drain(loop *l, int64_t next_step)
{
    int64_t next = next_step * l->s->options->accumulate;
    tutti_status status = TUTTI_OK;
    for (int64_t number = next; number < next + TUTTI_FLIGHTS && !status; number++)
        status = retire(l, &l->flight[number % TUTTI_FLIGHTS]);
    const tutti_training_session *on = &l->s->session;
    if (!status)
        status = on->runner->wait(
            on->run, 0, on->runner->point(on->run), l->s->options->exchange.timeout_s);
    if (status || !l->s->store) return status;
    return tutti_train_store_finalize(l->s->store, l->s->options->exchange.timeout_s);
}

/* ---- reasons to end ---- */

/* Agrees on the findings of all ranks; this one's is a lost loss, else `mine`, else a signal. */
static tutti_status agree_on_finding(loop *l, int64_t done, tutti_finding mine, int *together)
{
    int signal = tutti_interrupt_asked(l->s->interrupt);
    if (l->lost) mine = (tutti_finding){TUTTI_FINDING_LOSS, l->lost};
    if (!mine.kind && signal)
        mine = (tutti_finding){
            tutti_trainer_ends(l->s) ? TUTTI_FINDING_SIGNAL : TUTTI_FINDING_LEAVES, signal};
    tutti_status status = tutti_finding_agree(l->s, done, l->saved, &mine, &signal);
    *together = status == TUTTI_ERR_KERNEL;
    if (!status && signal) l->signal = signal;
    return status;
}

static tutti_finding look_at_weights(const loop *l)
{
    int tensor = tutti_finite_find(&l->s->session);
    return tensor < 0 ? (tutti_finding){0} : (tutti_finding){TUTTI_FINDING_WEIGHTS, tensor};
}

/* The loss of the last batch after its update: the batch is still in the graph's tensors. */
static tutti_status try_weights(loop *l, tutti_finding *found)
{
    tutti_training_session *on = &l->s->session;
    tutti_flight *f = &l->flight[0];
    double loss = 0;
    tutti_status status = on->runner->submit(on->run, on->step->eval);
    if (!status) status = tutti_flight_fetch(on, f);
    if (!status)
        status = on->runner->wait(
            on->run, 0, on->runner->point(on->run), l->s->options->exchange.timeout_s);
    for (int i = 0; i < on->step->micro_batches; i++)
        if (on->placement.own.stage == 0) loss += f->metrics[i * TUTTI_METRICS];
    *found = isfinite(loss) ? (tutti_finding){0} : (tutti_finding){TUTTI_FINDING_AFTER, 0};
    return status;
}

/* Test loss and accuracy are NaN if the test set is not evaluated. */
static tutti_status evaluate_with(loop *l, int64_t done, tutti_tally *tally, int *together)
{
    tutti_test_sums sums = {.trained = l->trained};
    tutti_status status = TUTTI_OK;
    if (l->s->options->evaluation.every.word != TUTTI_EVAL_NEVER)
        status = tutti_evaluate(l->s, &sums, tally);
    if (!status) status = agree_on_finding(l, done, (tutti_finding){0}, together);
    if (status || l->signal) return status;
    status = tutti_evaluate_sum(l->s, &sums, tally, &l->found);
    if (status) return status;
    const tutti_evaluation *found = &l->found;
    tutti_report_on_eval(l->report, &(tutti_report_eval){.epoch = l->epoch + 1,
                                        .step = done,
                                        .seconds = l->watch.total_s,
                                        .train_loss = found->train_loss,
                                        .test_loss = found->test_loss,
                                        .test_accuracy = found->test_accuracy,
                                        .one_view_accuracy = found->one_view_accuracy,
                                        .tally = tally,
                                        .averaged = l->s->session.step->eval_average >= 0,
                                        .average_loss = found->average_loss,
                                        .average_accuracy = found->average_accuracy,
                                        .views = l->s->options->evaluation.views});
    *together = 1;
    if (found->images > 0 && !isfinite(found->test_loss)) {
        const tutti_finding after = {TUTTI_FINDING_AFTER, 0};
        return tutti_finding_refuse(l->s, done, l->saved, -1, &after);
    }
    if (found->images > 0) l->known = done;
    return TUTTI_OK;
}

/* The accuracy of an evaluation that a run has whether or not it is interrupted. */
static void compare_with_best(loop *l, int64_t done)
{
    tutti_trainer *s = l->s;
    const tutti_conf_int *patience = &s->options->evaluation.patience,
                         *every = &s->options->evaluation.every;
    const int64_t epochs = done / s->steps_per_epoch;
    l->better = 0;
    if (patience->word && !s->options->checkpoint.keep_best) return;
    if (done <= s->first_step && !s->owes_evaluation) return;
    if (done != s->steps && (done % s->steps_per_epoch || every->word || epochs % every->value))
        return;
    l->better = !s->best.step || l->found.test_accuracy > s->best.accuracy;
    s->best.since++;
    if (l->better) s->best = (tutti_train_best){l->found.test_accuracy, done, 0};
    if (patience->word || s->best.since < patience->value || done >= s->last_step) return;
    s->last_step = done;
    if (s->session.placement.rank == 0)
        tutti_log(TUTTI_LOG_INFO,
            "the run ends after step %" PRId64 ": no better test accuracy in %" PRId64
            " evaluations since step %" PRId64 " (%.2f %%)",
            done, s->best.since, s->best.step, 100 * s->best.accuracy);
}

/* Of the evaluations that a run has whether or not it is interrupted. */
static void lower_rate(loop *l, int64_t done)
{
    tutti_trainer *s = l->s;
    const int64_t epoch = done / s->steps_per_epoch, every = s->options->evaluation.every.value;
    tutti_rate_schedule *schedule = &s->rate_schedule;
    if (done <= s->first_step && !s->owes_evaluation) return;
    if (done % s->steps_per_epoch || epoch % every) return;
    if (!tutti_rate_schedule_evaluated(schedule, done, l->found.test_loss)) return;
    if (tutti_trainer_reports(s) && done < s->steps)
        tutti_log(TUTTI_LOG_INFO,
            "the learning rate is %g after step %" PRId64
            ": the test loss was no better than %.4f in %" PRId64 " evaluations",
            tutti_rate_schedule_at(schedule, done), done, schedule->plateau.best,
            schedule->patience);
}

static tutti_status evaluate(loop *l, int64_t done, int *together)
{
    tutti_tally tally;
    tutti_status status =
        tutti_tally_open(l->s->test.classes, l->s->options->outputs.page != NULL, &tally);
    if (status) return status;
    status = evaluate_with(l, done, &tally, together);
    if (!status && !l->signal) compare_with_best(l, done);
    if (!status && !l->signal && tutti_rate_schedule_waits(l->s->rate_schedule.kind))
        lower_rate(l, done);
    if (!status && !l->signal) {
        l->evaluated = done;
        l->s->owes_evaluation = 0;
    }
    tutti_tally_close(&tally);
    return status;
}

/* ---- the run ---- */

/* What is due after some steps. Ranks check before they save: a checkpoint holds what all ranks have. */
typedef struct agenda {
    int trace, check, evaluate, save, look, keep;
} agenda;

/* A run that has nothing to train does not replace its checkpoint with an identical one. */
static int is_saved(const tutti_trainer *s, int64_t done)
{
    return s->resumed_here && !s->restored && !s->owes_evaluation && done == s->first_step;
}

/* Whether a multiple of `every` is in the round that has just ended. */
static int passes(const tutti_trainer *s, int64_t done, int64_t every)
{
    int64_t before = done - 1;
    while (before > s->first_step && !tutti_trainer_ends_round(s, before)) before--;
    return done / every > before / every || done % every == 0;
}

static int checks_replicas(const tutti_trainer *s)
{
    return s->session.placement.ranks > 1 && s->options->replica_check.word != TUTTI_REPLICA_NEVER;
}

/* Within a round replicas differ: what looks at weights waits for its end. */
static agenda find_due(const loop *l, int64_t done)
{
    const tutti_trainer *s = l->s;
    const tutti_train_options *o = s->options;
    int last = done >= s->last_step, epoch_ends = done % s->steps_per_epoch == 0;
    int64_t epochs = done / s->steps_per_epoch;
    const tutti_conf_int *replica = &o->replica_check, *eval = &o->evaluation.every;
    const tutti_conf_int *every = &o->checkpoint.every;
    if (s->find_rate || (done > s->first_step && !tutti_trainer_ends_round(s, done)))
        return (agenda){.trace = s->session.trace && done == l->tracer.due};
    int due = last || epoch_ends || (!every->word && passes(s, done, every->value));
    int save = o->checkpoint.file && due && !is_saved(s, done);
    int check = replica->word ? epoch_ends || save : passes(s, done, replica->value);
    return (agenda){.trace = s->session.trace && done == l->tracer.due,
        .check = checks_replicas(s) && (last || check),
        .evaluate = last || (epoch_ends && !eval->word && epochs % eval->value == 0),
        .save = save,
        .look = l->look && done >= l->look && done > s->first_step,
        .keep = s->elastic && done > s->first_step && (last || done >= s->elastic->due)};
}

static tutti_status check_replicas(loop *l, int64_t done, int *together)
{
    tutti_status status = tutti_replica_check(l->s, done);
    *together = status == TUTTI_ERR_MISMATCH;
    l->replica_checks += !status;
    return status;
}

/* Within an epoch, and at its end before the evaluation, a checkpoint has the sums of every replica, which its first
 * stage has; elsewhere none. */
static tutti_status gather_sums(loop *l, int64_t done)
{
    tutti_trainer *s = l->s;
    const tutti_placement *p = &s->session.placement;
    int replica = p->own.global_replica, replicas = p->global_replicas;
    free(s->sums.value);
    s->sums = (tutti_epoch_sums){0};
    if (done % s->steps_per_epoch == 0 && !s->owes_evaluation) return TUTTI_OK;
    double *value = calloc((size_t)replicas * TUTTI_METRICS, sizeof *value);
    if (!value) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the epoch's sums");
    s->sums = (tutti_epoch_sums){replicas, value};
    if (p->own.stage == 0)
        memcpy(value + replica * TUTTI_METRICS, l->trained.value, sizeof l->trained);
    return tutti_exchange_call(s->session.exchange, "the epoch's sums of each replica",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_SUM,
            .count = (int64_t)replicas * TUTTI_METRICS,
            .recv = value});
}

/* What the epoch had summed up before this process began. With other replicas than before, rank 0 has
 * the sums of all. */
static void begin_sums(loop *l)
{
    const tutti_trainer *s = l->s;
    const tutti_epoch_sums *had = &s->sums;
    if (!had->replicas) return;
    l->epoch = (s->first_step - 1) / s->steps_per_epoch;
    const tutti_placement *p = &s->session.placement;
    const int replica = p->own.global_replica;
    int same = had->replicas == p->global_replicas;
    if (p->own.stage != 0) return;
    for (int r = 0; r < had->replicas; r++)
        for (int k = 0; k < TUTTI_METRICS; k++)
            if (same ? r == replica : replica == 0)
                l->trained.value[k] += had->value[r * TUTTI_METRICS + k];
}

/* Rank 0 decides by its clock whether a checkpoint is due, and when to decide again. */
static tutti_status look_at_clock(loop *l, int64_t done, agenda *due)
{
    tutti_trainer *s = l->s;
    int64_t said[2] = {0};
    if (s->session.placement.rank == 0)
        said[0] = tutti_timetable_decide(&l->timetable, done, tutti_clock_s(), &said[1]);
    tutti_status status =
        tutti_exchange_broadcast(s->session.exchange, "whether to save", TUTTI_I64, 0, 2, said);
    if (said[0]) {
        due->save = 1;
        due->check |= checks_replicas(s) && s->options->replica_check.word;
    }
    l->look = said[1];
    return status;
}

static tutti_status save(loop *l, int64_t done, int *together)
{
    tutti_finding found = {0};
    tutti_status status = TUTTI_OK;
    if (l->known != done && done > l->s->first_step) {
        status = try_weights(l, &found);
        if (!status) status = agree_on_finding(l, done, found, together);
    }
    if (!status) status = gather_sums(l, done);
    if (!status) status = tutti_saver_save(l->s, done, 0, together);
    if (status) return status;
    l->saved = l->saved_here = done;
    tutti_timetable_saved(&l->timetable, done, tutti_clock_s());
    if (l->s->elastic) l->s->elastic->saved = done;
    if (l->s->elastic) l->s->elastic->saved_s = l->timetable.saved_s;
    tutti_report_on_checkpoint(l->report, l->s->options->checkpoint.file, done);
    return TUTTI_OK;
}

/* Right after an evaluation, which has found the weights to be finite, and after FILE: a restart takes FILE.best alone
 * for another run's. */
static tutti_status save_best(loop *l, int64_t done, int *together)
{
    if (!l->better || !l->s->options->checkpoint.keep_best) return TUTTI_OK;
    l->better = 0;
    tutti_status status = gather_sums(l, done);
    if (!status) status = tutti_saver_save(l->s, done, 1, together);
    if (!status && l->s->session.placement.rank == 0)
        tutti_report_on_checkpoint(l->report, l->s->outputs.best, done);
    return status;
}

/* What is resumed may have ended between FILE and FILE.best, which has the same weights. */
static tutti_status save_lost_best(loop *l, int *together)
{
    tutti_trainer *s = l->s;
    int64_t lost = 0;
    if (!s->resumed_here || s->restored || !s->options->checkpoint.keep_best || s->best.step < 1 ||
        s->best.step != s->first_step || s->best.since)
        return TUTTI_OK;
    if (s->session.placement.rank == 0) lost = tutti_outputs_lost_best(&s->outputs, s->best.step);
    tutti_status status = tutti_exchange_broadcast(
        s->session.exchange, "whether the best weights are saved", TUTTI_I64, 0, 1, &lost);
    if (status) *together = status != TUTTI_ERR_COMM && status != TUTTI_ERR_TIMEOUT;
    l->better = lost != 0;
    return status ? status : save_best(l, s->first_step, together);
}

/* When a signal ends the run: also before the first step, if ranks have changed since the last checkpoint. */
static int saves_last(const loop *l, int64_t done)
{
    const tutti_trainer *s = l->s;
    return s->options->checkpoint.file &&
           (done > s->first_step ? done > l->saved_here : s->restored && done > l->saved);
}

/* What is left to do then. */
static agenda find_last(loop *l, int64_t done)
{
    return (agenda){.trace = tutti_tracer_cut(&l->tracer, done),
        .check = checks_replicas(l->s),
        .save = saves_last(l, done)};
}

/* Rank 0 reports how the run ended. */
static void report_end(const loop *l, int64_t done)
{
    const tutti_train_options *o = l->s->options;
    const char *name = tutti_interrupt_name(l->signal),
               *from = l->saved ? o->checkpoint.file : o->checkpoint.resume;
    if (!tutti_trainer_reports(l->s)) return;
    const int64_t step = l->saved        ? l->saved
                         : l->s->elastic ? l->s->elastic->origin
                                         : l->s->first_step;
    const int launched =
        l->s->elastic && !o->elastic.least; /* by tutti-run, perhaps on another host */
    const tutti_placement *all = l->s->store ? &l->s->store->placement : NULL;
    char *command =
        !from ? NULL
        : all && l->s->store->jobs
            ? tutti_again_jobs(
                  all->servers, all->clients, all->workers * all->stages, o->words, from)
            : tutti_again_command(o->words, launched ? 0 : tutti_trainer_ranks(l->s), from);
    tutti_report_on_interrupt(l->report, name, done, command);
    if (command)
        tutti_log(TUTTI_LOG_WARN,
            "interrupted by %s after step %" PRId64 " of %" PRId64
            ", which is saved in %s. To continue: %s",
            name, step, l->s->steps, from, command);
    else
        tutti_log(TUTTI_LOG_WARN,
            "interrupted by %s after step %" PRId64 " of %" PRId64 ": nothing is saved%s", name,
            done, l->s->steps, o->checkpoint.file ? "" : ", because there is no --checkpoint");
    free(command);
}

/* A snapshot, from which the ranks continue if one is lost. */
static tutti_status keep_snapshot(loop *l, int64_t done)
{
    const double since_s = tutti_clock_s();
    const tutti_status status = gather_sums(l, done);
    return status ? status : tutti_train_elastic_keep(l->s->elastic, l->s, done, since_s);
}

static tutti_status do_due(loop *l, int64_t done, agenda due, int *together)
{
    tutti_status status = TUTTI_OK;
    if (due.trace) status = tutti_tracer_write(&l->tracer);
    if (!status && due.check) status = check_replicas(l, done, together);
    if (!status && due.evaluate) status = evaluate(l, done, together);
    if (!status) *together = 0; /* what fails from here on may fail on one rank */
    if (l->signal) due.save = saves_last(l, done);
    if (l->signal && l->evaluated < done && find_due(l, done).evaluate)
        l->s->owes_evaluation = 1; /* the run that continues makes it */
    if (!status && (l->signal || done >= l->s->last_step) && tutti_tracer_cut(&l->tracer, done))
        status = tutti_tracer_write(&l->tracer);
    if (!status && due.save) status = save(l, done, together);
    if (!status && due.evaluate) status = save_best(l, done, together);
    return status;
}

/* stop: the ranks have stopped here, for a reason known to one of them. */
static tutti_status pause_here(loop *l, int64_t done, int stop, int *together)
{
    agenda due = find_due(l, done);
    const int found = l->s->find_rate && done >= l->s->last_step;
    if (!stop && !found && !due.trace && !due.check && !due.evaluate && !due.save && !due.look &&
        !due.keep)
        return TUTTI_OK;
    tutti_status status = drain(l, done);
    if (!status && l->early_step) status = tutti_exchange_count(l->s->session.exchange, &l->late);
    if (!status && due.look) status = look_at_clock(l, done, &due);
    tutti_stopwatch_lap(&l->watch);
    int for_good = !l->s->find_rate && (stop || due.save || done >= l->s->last_step);
    if (!status && (stop || begins_round(l->s, done)))
        status =
            agree_on_finding(l, done, for_good ? look_at_weights(l) : (tutti_finding){0}, together);
    const int halts = stop && !l->signal && l->s->elastic;
    if (halts) due = (agenda){.keep = done > l->s->first_step};
    if (!status) status = do_due(l, done, l->signal ? find_last(l, done) : due, together);
    if (!status && !l->signal && due.keep) status = keep_snapshot(l, done);
    if (halts && !status) l->s->elastic->halted = 1;
    if (!status && l->signal) {
        report_end(l, done);
        tutti_interrupt_resolve(l->s->interrupt, l->signal);
        *together = 1;
        status = TUTTI_ERR_INTERRUPTED;
    }
    tutti_stopwatch_start(&l->watch);
    return status;
}

static tutti_status run_steps(loop *l, int *together)
{
    tutti_trainer *s = l->s;
    tutti_status status = TUTTI_OK;
    int stop = 0;
    tutti_stopwatch_start(&l->watch);
    if (s->owes_evaluation) s->owes_evaluation = find_due(l, s->first_step).evaluate;
    if (s->owes_evaluation || s->first_step >= s->last_step)
        status = pause_here(l, s->first_step, 0, together);
    for (int64_t step = s->first_step; step < s->last_step && !status && !stop; step++) {
        *together = 0;
        status = train_step(l, step, &stop);
        if (!status) status = pause_here(l, stop ? step : step + 1, stop, together);
    }
    return status;
}

static tutti_status open_tracer(loop *l, int *together)
{
    tutti_status status = tutti_tracer_open(l->s, &l->tracer);
    *together = status != TUTTI_ERR_COMM && status != TUTTI_ERR_TIMEOUT;
    return status;
}

/* Between the second step and the last one; nothing where the transport does not count. */
static tutti_report_received count_received(const loop *l)
{
    const tutti_transport_counts *from = &l->early.received, *to = &l->late.received;
    if (!l->early_step || !(to->placed | to->copied | to->small)) return (tutti_report_received){0};
    return (tutti_report_received){.after = l->early_step,
        .placed = to->placed - from->placed,
        .placed_bytes = to->placed_bytes - from->placed_bytes,
        .copied = to->copied - from->copied,
        .copied_bytes = to->copied_bytes - from->copied_bytes,
        .small = to->small - from->small,
        .small_bytes = to->small_bytes - from->small_bytes,
        .sent_written = to->written - from->written,
        .sent_placed = to->moved - from->moved,
        .allocations = l->late.work.allocations - l->early.work.allocations};
}

static void summarise(loop *l, tutti_report_summary *summary)
{
    const tutti_trainer *s = l->s;
    const tutti_stopwatch *w = &l->watch;
    double steps = w->steps > 0 ? (double)w->steps : 1;
    *summary = (tutti_report_summary){.design = tutti_exchange_design(s->session.exchange)->name,
        .design_auto = s->options->exchange.design_auto,
        .model = s->options->model->name,
        .ranks = tutti_trainer_ranks(s),
        .steps = s->first_step > s->last_step ? s->first_step : s->last_step,
        .batch = s->options->batch,
        .trained = s->last_step > s->first_step ? s->last_step - s->first_step : 0,
        .step_ms_median = 1e3 * tutti_stopwatch_median_s(w),
        .step_ms_mean = 1e3 * w->seconds / steps,
        .images_per_s = w->seconds > 0 ? (double)w->steps * images_per_step(s) / w->seconds : 0,
        .compute_ms = 1e3 * w->compute_s / steps,
        .comm_ms = 1e3 * w->comm_s / steps,
        .hidden_pct = tutti_stopwatch_hidden_pct(w),
        .train_loss = l->found.train_loss,
        .test_accuracy = l->found.test_accuracy,
        .one_view_accuracy = l->found.one_view_accuracy,
        .best_accuracy = l->found.best_accuracy,
        .macro_f1 = l->found.macro_f1,
        .averaged = s->session.step->eval_average >= 0,
        .average_accuracy = l->found.average_accuracy,
        .views = s->options->evaluation.views,
        .counts = s->session.runner->count(s->session.run, s->session.step->train),
        .received = count_received(l),
        .replica_checks = l->replica_checks};
}

/* A change of ranks does not put off the next checkpoint. */
static void continue_clock(tutti_train_elastic *e, tutti_timetable *timetable)
{
    if (e->saved_s > 0)
        timetable->saved_s = e->saved_s;
    else
        e->saved_s = timetable->saved_s;
}

tutti_status tutti_loop_run(
    tutti_trainer *trainer, tutti_report *report, tutti_report_summary *summary, int *together)
{
    loop l = {.s = trainer, .report = report, .epoch = -1};
    int64_t steps =
        trainer->last_step > trainer->first_step ? trainer->last_step - trainer->first_step : 0;
    *together = 0;
    begin_sums(&l);
    l.evaluated = trainer->owes_evaluation ? -1 : trainer->first_step;
    if (trainer->elastic) l.saved = trainer->elastic->saved;
    if (!trainer->options->checkpoint.minutes.word) {
        l.timetable.every_s = 60 * trainer->options->checkpoint.minutes.value;
        tutti_timetable_saved(&l.timetable, trainer->first_step, tutti_clock_s());
        if (trainer->elastic) continue_clock(trainer->elastic, &l.timetable);
        l.look = trainer->first_step + TUTTI_TIMETABLE_FIRST;
    }
    tutti_status status = tutti_flights_open(l.flight, trainer->session.step->micro_batches);
    if (!status) status = tutti_stopwatch_open(trainer->session.meter, steps, &l.watch);
    if (!status) status = tutti_flight_batches(trainer, 1, &l.batches);
    if (!status) status = open_tracer(&l, together);
    if (!status) status = save_lost_best(&l, together);
    if (!status) status = run_steps(&l, together);
    if (!status) {
        status = l.tracer.status;
        *together = status != TUTTI_OK;
    }
    if (status && !*together && !trainer->elastic)
        return status; /* what is in flight may still use all of this */
    if (status && !*together)
        tutti_exchange_abort(
            trainer->session.exchange, TUTTI_ERR_COMM, "this rank cannot continue");
    if (status && trainer->elastic) tutti_flights_abandon(trainer, l.flight, status);
    if (!status) summarise(&l, summary);
    tutti_prefetch_close(l.batches);
    tutti_stopwatch_close(&l.watch);
    tutti_flights_close(l.flight);
    return status;
}
