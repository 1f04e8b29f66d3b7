#include "apps/train/tracer.h"

#include "apps/train/stages_choose.h"
#include "designs/trace/write.h"
#include "dag/base/log.h"
#include "dag/step/strategy.h"

#include <inttypes.h>

enum { BEYOND = 2, WARM = 3 };

/* Skips the first steps of a longer run, which are slower. */
static int64_t first_step(const tutti_trainer *s)
{
    int64_t begin = s->first_step + 1, steps = s->last_step - s->first_step;
    tutti_conf_int wanted = s->options->outputs.trace_first;
    if (wanted.word) return begin + (steps > 2 * WARM ? WARM : 0);
    return wanted.value > begin ? wanted.value : begin;
}

static tutti_status find_steps(tutti_tracer *t)
{
    const tutti_trainer *s = t->trainer;
    int64_t steps = s->options->outputs.trace_steps;
    t->first = first_step(s);
    t->last = t->first + steps - 1 < s->last_step ? t->first + steps - 1 : s->last_step;
    t->due = t->last + BEYOND < s->last_step ? t->last + BEYOND : s->last_step;
    if (t->first <= s->last_step) return TUTTI_OK;
    if (tutti_conf_int_or(s->options->outputs.trace_first, 1) <=
        s->last_step) { /* resumed at its end */
        t->due = -1;
        return TUTTI_OK;
    }
    return tutti_fail(TUTTI_ERR_USAGE,
        "--trace %s: the run ends with step %" PRId64 ", before step %" PRId64
        ", the first to be traced (--trace-first)",
        s->options->outputs.trace, s->last_step, t->first);
}

tutti_status tutti_tracer_open(tutti_trainer *trainer, tutti_tracer *tracer)
{
    *tracer = (tutti_tracer){.trainer = trainer, .due = -1};
    if (!trainer->options->outputs.trace) return TUTTI_OK;
    tutti_status status = find_steps(tracer);
    status = tutti_exchange_agree(trainer->session.exchange, status, NULL);
    return status ? status : tutti_exchange_clock(trainer->session.exchange, &tracer->before);
}

int tutti_tracer_cut(tutti_tracer *t, int64_t done)
{
    if (t->due < 0 || done > t->due || done < t->first) return 0;
    if (t->last > done) t->last = done;
    return 1;
}

void tutti_tracer_step(tutti_tracer *tracer, int64_t step)
{
    tutti_trace *trace = tracer->trainer->session.trace;
    if (!trace) return;
    if (step && step == tracer->first) tutti_trace_switch(trace, 1);
    tutti_trace_set_step(trace, step);
}

static void report_trace(const tutti_tracer *t)
{
    const tutti_trainer *s = t->trainer;
    int64_t lost_step, dropped = tutti_trace_dropped(s->session.trace, &lost_step);
    if (dropped)
        tutti_log(TUTTI_LOG_WARN,
            "--trace: %" PRId64 " spans did not fit and were dropped, from step %" PRId64
            " on (--trace-steps %" PRId64 ")",
            dropped, lost_step, s->options->outputs.trace_steps);
    if (s->session.placement.rank == 0 && !t->status)
        tutti_log(TUTTI_LOG_INFO, "steps %" PRId64 " to %" PRId64 " are traced in %s", t->first,
            t->last, s->options->outputs.trace);
}

tutti_status tutti_tracer_write(tutti_tracer *t)
{
    tutti_trainer *s = t->trainer;
    const tutti_model_input input = tutti_trainer_input(s);
    const tutti_strategy *strategy = s->session.step->strategy;
    const tutti_run_counts counts =
        s->session.runner->count(s->session.run, s->session.step->train);
    const tutti_trace_about about = {.design = tutti_exchange_design(s->session.exchange)->name,
        .model = s->options->model->name,
        .algorithm = s->options->exchange.algorithm,
        .lanes = tutti_exchange_lanes(s->session.exchange),
        .stages = s->session.placement.stages,
        .micro_batches = s->session.recipe.micro_batches,
        .servers = s->session.placement.servers,
        .images = s->session.step->micro_batch[0].count,
        .blocks = s->session.placement.blocks > 1 ? s->session.placement.blocks : 1,
        .height = input.H,
        .width = input.W,
        .channels = input.C,
        .classes = input.classes,
        .shards = strategy && strategy->shards,
        .first_step = t->first,
        .last_step = t->last,
        .kernels = counts.kernels,
        .tasks = counts.tasks,
        .launches = counts.launches,
        .graphs = counts.graphs,
        .graph_bytes = counts.graph_bytes};
    const tutti_file_options file = {.what = "trace",
        .path = s->options->outputs.trace,
        .keep = (int)s->options->checkpoint.keep};
    tutti_trace_rank rank = {.rank = s->session.placement.rank, .before = t->before};
    tutti_trace_switch(s->session.trace, 0);
    tutti_exchange_set_activity(s->session.exchange, "writes a trace", 1);
    tutti_status status = tutti_exchange_clock(s->session.exchange, &rank.after);
    if (!status)
        t->status = tutti_trace_save(s->session.exchange, s->session.trace, &about, &rank, &file);
    tutti_exchange_set_activity(s->session.exchange, NULL, 0);
    if (t->status == TUTTI_ERR_COMM || t->status == TUTTI_ERR_TIMEOUT) status = t->status;
    if (!status) report_trace(t);
    t->due = -1;
    return status;
}
