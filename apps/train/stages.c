#include "config.h" /* first: it makes libc declare asprintf */

#include "apps/train/trainer.h"

#include "apps/data/prefetch.h"
#include "apps/train/hash.h"
#include "apps/train/state.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPANS_TRACED = 1 << 16 /* per worker, with --trace */ };

/* Before the first step; only rank 0 logs it. */
static tutti_status note_interrupt(const tutti_trainer *s, tutti_status status)
{
    int signal = tutti_interrupt_asked(s->interrupt);
    if (status == TUTTI_ERR_INTERRUPTED && s->rank == 0)
        tutti_log(TUTTI_LOG_WARN, "interrupted by %s before the first step: nothing has changed",
            tutti_interrupt_name(signal));
    return status;
}

/* Ends a stage. */
static tutti_status agree(tutti_trainer *s, tutti_status mine)
{
    if (!mine && tutti_interrupt_asked(s->interrupt)) mine = TUTTI_ERR_INTERRUPTED;
    return note_interrupt(s, tutti_exchange_agree(s->exchange, mine, NULL));
}

static tutti_status broadcast(
    tutti_trainer *s, const char *name, tutti_dtype dtype, int64_t count, void *data)
{
    return tutti_exchange_call(s->exchange, name,
        &(tutti_coll_args){.kind = TUTTI_BROADCAST, .dtype = dtype, .count = count, .recv = data});
}

/* ---- joining ---- */

/* The settings that ranks must share. A rank whose options were refused differs from those that go on. */
static char *common_text(const tutti_train_options *options, tutti_status parsed)
{
    char *text = NULL,
         *settings = parsed ? strdup("") : tutti_conf_text(&tutti_train_conf, options);
    if (settings &&
        asprintf(&text, "options=%s\n%s", parsed ? "refused" : "accepted", settings) < 0)
        text = NULL;
    free(settings);
    return text;
}

/* For a rank that should have ended and has not: its main thread is stuck. */
static void give_up(void)
{
    tutti_boot_abort(1);
}

/* The exchange's options. */
static tutti_exchange_options exchange_options(const tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    return (tutti_exchange_options){.design = o->design,
        .lanes = (int)tutti_conf_int_or(o->lanes, 0),
        .algorithm = o->algorithm,
        .chunk_bytes = tutti_conf_bytes(o->chunk_mb),
        .order = {.on = o->priority},
        .bucket_bytes = tutti_conf_bytes(o->bucket_mb),
        .comm_core = o->comm_core,
        .workers = (int)o->workers,
        .unsafe = o->unsafe,
        .verify = o->verify,
        .timeout_s = o->timeout_s,
        .setup_timeout_s = fmin(o->setup_timeout_s, o->timeout_s),
        .meter = s->meter,
        .trace = s->trace,
        .watch = {.on = 1,
            .warn_s = o->stall_warn_s,
            .dump_s = o->stall_dump_s,
            .abort_s = o->stall_abort_s,
            .folder = o->stall_dir,
            .give_up = give_up},
        .reopens = o->design_auto};
}

tutti_status tutti_trainer_join(const tutti_train_options *options, tutti_interrupt *interrupt,
    tutti_status parsed, tutti_trainer *trainer)
{
    *trainer = (tutti_trainer){.options = options, .interrupt = interrupt};
    tutti_status status = tutti_meter_new(&trainer->meter);
    if (!status && options->trace)
        status = tutti_trace_open((int)options->workers, SPANS_TRACED, &trainer->trace);
    if (status) return status;
    char *settings = common_text(options, parsed);
    if (!settings) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the options' text");
    tutti_exchange_options exchange = exchange_options(trainer);
    exchange.settings = settings;
    status = tutti_exchange_open(&exchange, &trainer->exchange);
    free(settings);
    if (status) return status;
    trainer->rank = tutti_exchange_rank(trainer->exchange);
    trainer->ranks = tutti_exchange_size(trainer->exchange);
    if (trainer->rank != 0) tutti_interrupt_hush(interrupt);
    return agree(trainer, parsed);
}

void tutti_trainer_end_all(tutti_status status)
{
    static const double time_to_tell_s = 0.3; /* the others have learned of it, and log it too */
    tutti_log(
        TUTTI_LOG_ERROR, "this rank cannot go on: %s; all ranks end", tutti_status_text(status));
    if (status == TUTTI_ERR_MISMATCH) tutti_clock_sleep(time_to_tell_s);
    tutti_boot_abort(1);
}

/* ---- files ---- */

static tutti_status claim_outputs(tutti_trainer *s)
{
    return s->rank == 0 ? tutti_outputs_claim(s->options, &s->outputs) : TUTTI_OK;
}

/* ---- data ---- */

/* --data; synthetic images without a given size get the model's. */
static const char *data_path(const tutti_train_options *o, char *text, size_t size)
{
    const tutti_model_input *in = &o->model->input;
    if (strcmp(o->data, "synthetic") != 0) return o->data;
    snprintf(text, size, "synthetic:%dx%dx%d:%d", in->H, in->W, in->C, in->classes);
    return text;
}

static tutti_status open_data(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    char text[64];
    const char *path = data_path(o, text, sizeof text);
    tutti_status status = tutti_dataset_open(path, o->format, TUTTI_TRAIN, &s->train);
    if (!status) status = tutti_dataset_open(path, o->format, TUTTI_TEST, &s->test);
    if (status) return status;
    const tutti_dataset *a = &s->train, *b = &s->test;
    if (a->height != b->height || a->width != b->width || a->channels != b->channels ||
        a->classes != b->classes)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: training images of %dx%dx%d in %d classes, but test images of %dx%dx%d in %d",
            o->data, a->height, a->width, a->channels, a->classes, b->height, b->width, b->channels,
            b->classes);
    s->mean = calloc((size_t)a->channels, sizeof *s->mean);
    s->deviation = calloc((size_t)a->channels, sizeof *s->deviation);
    if (!s->mean || !s->deviation)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the channels' means");
    return s->rank == 0 ? tutti_dataset_moments(a, s->mean, s->deviation) : TUTTI_OK;
}

/* Every rank must see the data set that rank 0 sees. */
static tutti_status compare_data(tutti_trainer *s)
{
    enum { NUMBERS = 6 };
    const tutti_dataset *d = &s->train;
    const int64_t mine[NUMBERS] = {
        d->count, s->test.count, d->height, d->width, d->channels, d->classes};
    int64_t first[NUMBERS];
    memcpy(first, mine, sizeof first);
    tutti_status status = broadcast(s, "the data's numbers", TUTTI_I64, NUMBERS, first);
    if (status) return status;
    if (memcmp(first, mine, sizeof first) != 0)
        status = tutti_fail(TUTTI_ERR_MISMATCH,
            "%s differs between ranks: rank 0 has %" PRId64 " training images of %" PRId64
            "x%" PRId64 "x%" PRId64 ", rank %d has %" PRId64 " of %dx%dx%d",
            s->options->data, first[0], first[2], first[3], first[4], s->rank, d->count, d->height,
            d->width, d->channels);
    status = agree(s, status);
    if (!status) status = broadcast(s, "the channels' means", TUTTI_F32, d->channels, s->mean);
    if (!status)
        status = broadcast(s, "the channels' deviations", TUTTI_F32, d->channels, s->deviation);
    return status;
}

/* Epochs with cropped images: all but the last ones (options.c, --uncropped). */
static int64_t epochs_with_crops(const tutti_trainer *s)
{
    int64_t epochs = (s->steps + s->steps_per_epoch - 1) / s->steps_per_epoch;
    int64_t without = tutti_conf_int_or(s->options->uncropped, epochs / 5);
    return epochs > without ? epochs - without : 0;
}

static tutti_status plan_steps(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    s->steps_per_epoch = tutti_prefetch_steps(&s->train, 1, s->ranks, o->batch);
    if (s->steps_per_epoch < 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s has %" PRId64 " training images, too few for one step of %d x --batch %" PRId64,
            o->data, s->train.count, s->ranks, o->batch);
    s->steps = tutti_conf_int_or(o->steps, o->epochs * s->steps_per_epoch);
    int64_t stop = tutti_conf_int_or(o->stop_after, s->steps);
    s->last_step = stop < s->steps ? stop : s->steps;
    s->crop_epochs = epochs_with_crops(s);
    double images = (double)o->batch * s->ranks;
    double rate = tutti_conf_real_or(o->rate, o->model->recipe.rate * images / 128);
    int64_t warmup =
        tutti_conf_int_or(o->warmup, tutti_rate_schedule_warmup(o->rate_schedule, s->steps));
    s->rate_schedule = (tutti_rate_schedule){o->rate_schedule, rate, s->steps, warmup};
    return TUTTI_OK;
}

/* ---- the design ---- */

static int is_interrupted(void *interrupt)
{
    return tutti_interrupt_asked(interrupt) != 0;
}

static tutti_status choose_design(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    int together;
    tutti_configuration known;
    int knows = s->outputs.resumed && tutti_state_choice(s, s->outputs.resumed, &known);
    const tutti_model_input input = {
        s->train.height, s->train.width, s->train.channels, s->train.classes};
    const tutti_tune_options options = {.exchange = exchange_options(s),
        .design_free = 1,
        .priority_free = o->priority_free,
        .workload = {.model = o->model,
            .input = &input,
            .batch = o->batch,
            .micro_batches = (int)o->workers,
            .seed = (uint64_t)o->seed,
            .timeout_s = o->timeout_s},
        .steps = s->last_step,
        .most_s = o->tuning_time_s.value,
        .time_auto = o->tuning_time_s.word == TUTTI_CONF_AUTO,
        .known = knows ? &known : NULL,
        .file = o->tuning,
        .interrupted = is_interrupted,
        .ctx = s->interrupt};
    tutti_status status = tutti_tune(&options, &s->exchange, &s->tuning, &together);
    if (status && !together) tutti_trainer_end_all(status);
    return note_interrupt(s, status);
}

/* ---- net and runner ---- */

static tutti_status build(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    tutti_status status = tutti_net_new(&s->net);
    if (status) return status;
    o->model->build(s->net, s->train.height, s->train.width, s->train.channels, s->train.classes);
    status = tutti_net_status(s->net);
    if (status) return status;
    const tutti_model_recipe *recipe = &o->model->recipe;
    s->recipe = (tutti_step_options){.batch = o->batch,
        .micro_batches = (int)o->workers,
        .ranks = s->ranks,
        .rank = s->rank,
        .momentum = (float)o->momentum,
        .weight_decay = (float)tutti_conf_real_or(o->weight_decay, recipe->weight_decay),
        .nesterov = !o->no_nesterov && o->momentum > 0,
        .label_smoothing = (float)tutti_conf_real_or(o->label_smoothing, recipe->label_smoothing),
        .seed = (uint64_t)o->seed};
    return tutti_step_build(s->net, &s->recipe, &s->step);
}

static tutti_status start_runner(tutti_trainer *s)
{
    s->runner = tutti_runner_find("starpu");
    tutti_run_options options = {.workers = (int)s->options->workers,
        .hooks = tutti_exchange_hooks(s->exchange),
        .meter = s->meter,
        .trace = s->trace};
    return s->runner->open(s->step->graph, &options, &s->run);
}

static tutti_status begin_weights(tutti_trainer *s)
{
    if (!s->options->resume)
        return tutti_step_init(s->step, s->net, s->runner, s->run, (uint64_t)s->options->seed);
    if (s->rank != 0) return TUTTI_OK;
    tutti_status status = tutti_state_load(s, s->outputs.resumed, &s->first_step);
    return status ? status : tutti_outputs_resumed(&s->outputs);
}

static tutti_status broadcast_tensors(tutti_trainer *s, int tensors, const int tensor[])
{
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < tensors && !status; i++) {
        const tutti_tensor *t = tutti_graph_get_tensor(s->step->graph, tensor[i]);
        void *data;
        status = s->runner->acquire(s->run, tensor[i], TUTTI_READWRITE, t->bytes, &data);
        if (status) break;
        status = broadcast(s, t->name, t->dtype, tutti_shape_count(&t->shape), data);
        s->runner->release(s->run, tensor[i]);
    }
    return status;
}

static tutti_status share_weights(tutti_trainer *s)
{
    enum { NUMBERS = 2 };
    int64_t first[NUMBERS] = {s->first_step, s->outputs.resumed_here};
    tutti_status status = broadcast(s, "the first step", TUTTI_I64, NUMBERS, first);
    s->first_step = first[0];
    s->resumed_here = first[1] != 0;
    if (!status) status = broadcast_tensors(s, s->step->parameters, s->step->parameter);
    if (!status) status = broadcast_tensors(s, s->step->states, s->step->state);
    return status;
}

tutti_status tutti_trainer_prepare(tutti_trainer *s)
{
    tutti_exchange_note(s->exchange, "opens its files", 1);
    tutti_status status = agree(s, claim_outputs(s));
    tutti_exchange_note(s->exchange, "opens the data set", 1);
    if (!status) status = agree(s, open_data(s));
    if (!status) status = compare_data(s);
    if (!status) status = agree(s, plan_steps(s));
    if (!status && s->options->design_auto) status = choose_design(s);
    tutti_exchange_note(s->exchange, "builds the model and starts StarPU", 1);
    if (!status) status = agree(s, build(s));
    if (!status) status = agree(s, tutti_exchange_apply(s->exchange, s->step->graph));
    if (!status) status = agree(s, start_runner(s));
    if (!status) status = agree(s, begin_weights(s));
    tutti_exchange_note(s->exchange, NULL, 0);
    if (!status) status = share_weights(s);
    return status;
}

int tutti_trainer_collectives(const tutti_trainer *s)
{
    int count = 0;
    for (int n = 0; n < tutti_graph_nodes(s->step->graph); n++) {
        const tutti_node *node = tutti_graph_get_node(s->step->graph, n);
        count += node->kind == TUTTI_NODE_COLLECTIVE && node->section == s->step->train;
    }
    return count;
}

void tutti_trainer_describe(const tutti_trainer *s, tutti_report_start *start)
{
    *start = (tutti_report_start){.design = tutti_exchange_design(s->exchange)->name,
        .design_auto = s->options->design_auto,
        .algorithm = s->options->algorithm,
        .thread_level = tutti_thread_level_name(tutti_exchange_granted(s->exchange)),
        .runner = tutti_run_starpu_version(),
        .library = tutti_kernel_library(),
        .model = s->options->model->name,
        .data = s->train.reader->name,
        .ranks = s->ranks,
        .lanes = tutti_exchange_lanes(s->exchange),
        .workers = (int)s->options->workers,
        .comm_core = tutti_exchange_comm_core(s->exchange),
        .collectives = tutti_trainer_collectives(s),
        .parameters = tutti_net_parameters(s->net),
        .train_images = s->train.count,
        .test_images = s->test.count,
        .height = s->train.height,
        .width = s->train.width,
        .channels = s->train.channels,
        .classes = s->train.classes,
        .batch = s->options->batch,
        .steps = s->steps,
        .steps_per_epoch = s->steps_per_epoch,
        .first_step = s->first_step,
        .last_step = s->last_step,
        .seed = s->options->seed};
}

/* ---- leaving ---- */

tutti_status tutti_trainer_hash(const tutti_trainer *s, char *text)
{
    tutti_hash *hash;
    tutti_status status = tutti_hash_new(&hash);
    if (status) return status;
    for (int i = 0; i < s->step->parameters && !status; i++) {
        int tensor = s->step->parameter[i];
        size_t bytes = tutti_graph_get_tensor(s->step->graph, tensor)->bytes;
        void *data;
        status = s->runner->acquire(s->run, tensor, TUTTI_READ, bytes, &data);
        if (status) break;
        tutti_hash_add(hash, data, bytes);
        s->runner->release(s->run, tensor);
    }
    if (!status) tutti_hash_text(hash, text);
    tutti_hash_free(hash);
    return status;
}

tutti_status tutti_trainer_leave(tutti_trainer *s)
{
    if (s->run) s->runner->close(s->run);
    tutti_status status = tutti_exchange_close(s->exchange); /* before the owner of the names */
    tutti_step_free(s->step);
    tutti_net_free(s->net);
    if (s->train.reader) tutti_dataset_close(&s->train);
    if (s->test.reader) tutti_dataset_close(&s->test);
    free(s->mean);
    free(s->deviation);
    tutti_meter_free(s->meter);
    tutti_trace_close(s->trace);
    tutti_outputs_release(&s->outputs);
    *s = (tutti_trainer){0};
    return status;
}
