#include "config.h" /* first: it makes libc declare asprintf */

#include "apps/train/trainer.h"

#include "apps/data/bytes.h"
#include "apps/data/class_names.h"
#include "apps/data/prefetch.h"
#include "apps/session/device.h"
#include "apps/session/precision.h"
#include "apps/session/weights.h"
#include "apps/train/hash.h"
#include "apps/train/initial.h"
#include "apps/train/shards.h"
#include "apps/train/state.h"
#include "dag/base/clock.h"
#include "dag/base/log.h"
#include "dag/kernels/kernel.h"
#include "dag/kernels/loss.h"
#include "dag/net/layer.h"
#include "dag/net/strategy.h"
#include "dag/net/update_rule.h"

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
    if (status == TUTTI_ERR_INTERRUPTED && s->session.rank == 0)
        tutti_log(TUTTI_LOG_WARN, "interrupted by %s before the first step: nothing has changed",
            tutti_interrupt_name(signal));
    return status;
}

/* Ends a stage. */
static tutti_status agree(tutti_trainer *s, tutti_status mine)
{
    if (!mine && tutti_interrupt_asked(s->interrupt)) mine = TUTTI_ERR_INTERRUPTED;
    return note_interrupt(s, tutti_exchange_agree(s->session.exchange, mine, NULL));
}

static tutti_status broadcast(
    tutti_trainer *s, const char *name, tutti_dtype dtype, int64_t count, void *data)
{
    return tutti_exchange_call(s->session.exchange, name,
        &(tutti_coll_args){.kind = TUTTI_BROADCAST, .dtype = dtype, .count = count, .recv = data});
}

/* ---- joining ---- */

/* The settings that ranks must share. A rank whose options were refused differs from those that go on. */
static char *common_text(const tutti_train_options *options, tutti_status parsed)
{
    char *text = NULL, *settings = parsed ? strdup("") : tutti_conf_text(&options->conf, options);
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

/* Of ranks that divide the work sums do not depend on what else is in a bucket. */
static const char *algorithm_of(const tutti_train_options *o)
{
    int divides = o->layout_text || o->strategy;
    return divides && strcmp(o->algorithm, "auto") == 0 ? "direct" : o->algorithm;
}

static tutti_exchange_options exchange_options(const tutti_train_options *o, const char *settings)
{
    return (tutti_exchange_options){.design = o->design,
        .lanes = (int)tutti_conf_int_or(o->lanes, 0),
        .algorithm = algorithm_of(o),
        .messages = tutti_layout_has_groups(&o->layout) || (o->strategy && o->strategy->meetings),
        .chunk_bytes = tutti_conf_bytes(o->chunk_mb),
        .order = {.on = o->priority},
        .bucket_bytes = tutti_conf_bytes(o->bucket_mb),
        .comm_core = o->comm_core,
        .unsafe = o->unsafe,
        .verify = o->verify,
        .timeout_s = o->timeout_s,
        .setup_timeout_s = fmin(o->setup_timeout_s, o->timeout_s),
        .watch = {.on = 1,
            .warn_s = o->stall_warn_s,
            .dump_s = o->stall_dump_s,
            .abort_s = o->stall_abort_s,
            .folder = o->stall_dir,
            .give_up = give_up},
        .reopens = o->design_auto,
        .settings = settings};
}

tutti_status tutti_trainer_join(const tutti_train_options *options, tutti_interrupt *interrupt,
    tutti_status parsed, tutti_trainer *trainer)
{
    *trainer = (tutti_trainer){.options = options,
        .interrupt = interrupt,
        .readers = tutti_data_threads(options->images.threads, (int)options->workers)};
    char *settings = common_text(options, parsed);
    if (!settings) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the options' text");
    const tutti_training_session_options session = {.workers = (int)options->workers,
        .device = options->device,
        .transport = options->transport,
        .place = {.tf32 = options->tf32},
        .layout = options->layout,
        .metered = 1,
        .eval_size = (int)tutti_conf_int_or(options->images.eval_size, 0),
        .spans = options->trace ? SPANS_TRACED : 0,
        .readers = trainer->readers,
        .exchange = exchange_options(options, settings)};
    tutti_status status = tutti_training_session_open(&session, &trainer->session);
    if (status == TUTTI_ERR_TIMEOUT) return status; /* the settings may still be read */
    free(settings);
    if (status) return status;
    if (trainer->session.rank != 0) tutti_interrupt_hush(interrupt);
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
    return s->session.rank == 0 ? tutti_outputs_claim(s->options, &s->outputs) : TUTTI_OK;
}

/* ---- data ---- */

/* --data; synthetic images without a given size get the model's. */
static const char *data_path(const tutti_train_options *o, char *text, size_t size)
{
    const tutti_model_input *in = &o->model->input;
    if (strcmp(o->data, "synthetic") != 0) return o->data;
    int height = (int)tutti_conf_int_or(o->images.size, in->H);
    int width = (int)tutti_conf_int_or(o->images.size, in->W);
    snprintf(text, size, "synthetic:%dx%dx%d:%d", height, width, in->C, in->classes);
    return text;
}

/* Whether --jitter is for such images. */
static tutti_status check_colours(const tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const int *most = o->jitter.most;
    if (s->train.channels == TUTTI_JITTER_CHANNELS || !(most[0] || most[1] || most[2]))
        return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--jitter %s: %s has images of %d channel%s, which are no colours: use --jitter none",
        o->images.jitter, o->data, s->train.channels, s->train.channels == 1 ? "" : "s");
}

/* A data set that is recognised by content may be of a format that this program does not read. */
static tutti_status check_format(const tutti_trainer *s)
{
    const char *has = s->train.source->name, *known;
    for (int i = 0; (known = s->options->program->format(i)); i++)
        if (strcmp(known, has) == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE, "%s: holds %s, which %s does not read: use tutti-cifar",
        s->options->data, has, s->options->program->name);
}

/* For tutti_dataset_share. An interruption is noted at the end of the stage. */
static tutti_status share_list(void *trainer, tutti_status mine, tutti_bytes *bytes)
{
    tutti_trainer *s = trainer;
    int64_t count = (int64_t)bytes->count;
    tutti_status status = tutti_exchange_agree(s->session.exchange, mine, NULL);
    if (!status) status = broadcast(s, "the size of the list of images", TUTTI_I64, 1, &count);
    if (status) return status;
    if (s->session.rank != 0) mine = tutti_bytes_append(bytes, NULL, (size_t)count);
    status = tutti_exchange_agree(s->session.exchange, mine, NULL);
    return status ? status : broadcast(s, "the list of images", TUTTI_U8, count, bytes->bytes);
}

static tutti_status open_training_images(tutti_trainer *s, const tutti_dataset_options *how)
{
    tutti_status status = tutti_dataset_open_as(how, TUTTI_TRAIN, &s->train);
    if (!status) status = check_format(s);
    return status ? status : check_colours(s);
}

static tutti_status open_data(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    char text[64];
    const char *path = data_path(o, text, sizeof text);
    const int eval_size = s->session.options.eval_size;
    const int resize = (int)tutti_conf_int_or(o->images.resize, 0);
    tutti_dataset_options how = {.path = path,
        .format = o->format,
        .size = path == text ? 0 : (int)tutti_conf_int_or(o->images.size, 0),
        .usual = o->model->input.H,
        .resize = eval_size ? 0 : resize,
        .share = {s->session.rank, share_list, s}};
    s->local = tutti_shards_local(o->images.shards);
    if (s->local) how.deal = (tutti_dataset_deal){tutti_shards_deal, s};
    s->bad_train.limit = s->bad_test.limit = o->images.bad_limit;
    /* The ranks open the test images together, so they have to agree that they will. */
    tutti_status status =
        tutti_exchange_agree(s->session.exchange, open_training_images(s, &how), NULL);
    if (eval_size) {
        how.size = eval_size;
        how.resize = resize;
    }
    if (!status) status = tutti_dataset_open_as(&how, TUTTI_TEST, &s->test);
    if (!status && eval_size)
        status = tutti_prefetch_fits(&s->test, o->batch, tutti_data_memory(&o->images));
    if (status) return status;
    const tutti_dataset *a = &s->train, *b = &s->test;
    int other_size = a->height != b->height || a->width != b->width;
    if ((other_size && !eval_size) || a->channels != b->channels ||
        (a->classes != b->classes && !s->local))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "%s: training images of %dx%dx%d in %d classes, but test images of %dx%dx%d in %d",
            o->data, a->height, a->width, a->channels, a->classes, b->height, b->width, b->channels,
            b->classes);
    s->mean = calloc((size_t)a->channels, sizeof *s->mean);
    s->deviation = calloc((size_t)a->channels, sizeof *s->deviation);
    if (!s->mean || !s->deviation)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the channels' means");
    return s->session.rank == 0 ? tutti_dataset_moments(a, s->mean, s->deviation) : TUTTI_OK;
}

/* What the sets of all ranks have together. */
static tutti_status add_up_data(tutti_trainer *s)
{
    char text[64];
    s->train_images = s->least_images = s->train.count;
    s->test_images = s->test.count;
    tutti_status status = s->local ? tutti_shards_add_up(s) : TUTTI_OK;
    if (!status && s->session.rank == 0)
        s->class_names = tutti_class_names_read(
            data_path(s->options, text, sizeof text), s->train.source->name, s->train.classes);
    return status;
}

/* Every rank must see the data set that rank 0 sees. */
static tutti_status compare_data(tutti_trainer *s)
{
    enum { NUMBERS = 6 };
    const tutti_dataset *d = &s->train;
    const int64_t mine[NUMBERS] = {
        s->train_images, s->test_images, d->height, d->width, d->channels, d->classes};
    int64_t first[NUMBERS];
    memcpy(first, mine, sizeof first);
    tutti_status status = broadcast(s, "the data's numbers", TUTTI_I64, NUMBERS, first);
    if (status) return status;
    if (memcmp(first, mine, sizeof first) != 0)
        status = tutti_fail(TUTTI_ERR_MISMATCH,
            "%s differs between ranks: rank 0 has %" PRId64 " training images of %" PRId64
            "x%" PRId64 "x%" PRId64 ", rank %d has %" PRId64 " of %dx%dx%d",
            s->options->data, first[0], first[2], first[3], first[4], s->session.rank, mine[0],
            d->height, d->width, d->channels);
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

int tutti_trainer_ends_round(const tutti_trainer *s, int64_t step)
{
    return step % s->period == 0 || step % s->steps_per_epoch == 0 || step >= s->steps;
}

/* Where --warmup is auto. */
static int64_t own_warmup(const tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    if (o->warmup_epochs.word) return tutti_rate_schedule_warmup(o->rate_schedule, s->steps);
    return (int64_t)llround(o->warmup_epochs.value * (double)s->steps_per_epoch);
}

static tutti_status plan_steps(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const tutti_dataset least = {.count = s->least_images};
    const int ranks = s->local ? 1 : s->session.replicas; /* that share these images */
    s->steps_per_epoch =
        tutti_prefetch_steps(&least, 1, ranks, o->batch, o->accumulate) / o->accumulate;
    if (s->steps_per_epoch < 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s has %" PRId64 " training images%s, too few for one step of %d x --batch %" PRId64
            " x --accumulate %" PRId64,
            o->data, s->least_images, s->local ? " for some rank" : "", ranks, o->batch,
            o->accumulate);
    s->steps = tutti_conf_int_or(o->steps, o->epochs * s->steps_per_epoch);
    int64_t stop = tutti_conf_int_or(o->stop_after, s->steps);
    s->period = o->strategy && o->strategy->period ? o->strategy->period(&o->strategy_settings) : 1;
    s->last_step = stop < s->steps ? stop : s->steps;
    while (!tutti_trainer_ends_round(s, s->last_step)) s->last_step++;
    s->crop_epochs = epochs_with_crops(s);
    double images = (double)o->batch * s->session.replicas * (double)o->accumulate;
    double own = o->optimizer->rate > 0 ? o->optimizer->rate : o->model->recipe.rate * images / 128;
    double part = o->lr_images.word ? 1 : images / (double)o->lr_images.value;
    s->rate_schedule = (tutti_rate_schedule){.kind = o->rate_schedule,
        .rate = o->rate.word ? own : o->rate.value * part,
        .total = s->steps,
        .warmup = tutti_conf_int_or(o->warmup, own_warmup(s)),
        .from_given = !o->warmup_from.word,
        .from = o->warmup_from.value,
        .power = o->poly_power,
        .milestones = o->milestones,
        .factor = o->milestone_factor};
    for (int i = 0; i < o->milestones; i++)
        s->rate_schedule.milestone[i] = o->milestone[i] * s->steps_per_epoch;
    return TUTTI_OK;
}

/* ---- the model ---- */

static tutti_model_input model_input(const tutti_trainer *s)
{
    return (tutti_model_input){
        s->train.height, s->train.width, s->train.channels, s->train.classes};
}

static tutti_step_options make_recipe(const tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const tutti_model_recipe *recipe = &o->model->recipe;
    tutti_step_options step = {.batch = o->batch,
        .accumulate = (int)o->accumulate,
        .rule = o->optimizer,
        .strategy = o->strategy,
        .settings = o->strategy_settings,
        .wire = o->wire,
        .codec = o->codec,
        .codec_value = o->codec_value,
        .precision = s->precision,
        .momentum = (float)o->momentum,
        .weight_decay = (float)tutti_conf_real_or(o->weight_decay, recipe->weight_decay),
        .nesterov = !o->no_nesterov && o->momentum > 0,
        .beta1 = o->beta1,
        .beta2 = o->beta2,
        .epsilon = (float)o->epsilon,
        .trust = (float)o->trust,
        .weights_only = o->weights_only,
        .zero_last_scale = o->zero_last_scale,
        .clip_norm = tutti_conf_real_or(o->clip_norm, 0),
        .average_decay = tutti_conf_real_or(o->ema, 0),
        .label_smoothing = (float)tutti_conf_real_or(o->label_smoothing, recipe->label_smoothing),
        .mixup = tutti_conf_real_or(o->mixup, 0),
        .seed = (uint64_t)o->seed};
    for (int c = 0; c < s->train.channels && c < TUTTI_PIXEL_CHANNELS; c++) {
        step.mean[c] = s->mean[c];
        step.deviation[c] = s->deviation[c];
    }
    return step;
}

/* ---- the type of values ---- */

/* Whether every rank can compute in what --precision names. */
static tutti_status check_precision(tutti_trainer *s)
{
    int rank = s->session.rank, ranks = s->session.ranks;
    double mine = tutti_precision_lack(&s->session.place, rank, ranks), lack = mine;
    tutti_status status = tutti_exchange_call(s->session.exchange, "what processors can",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_MAX,
            .count = 1,
            .send = &mine,
            .recv = &lack});
    s->can_bf16 = !(lack > 0);
    if (status) return status;
    return tutti_precision_check(&s->session.place, s->options->precision_name, lack, rank, ranks);
}

/* On rank 0: what the interrupted run chose, or else what is faster. */
static tutti_status find_precision(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const tutti_model_input input = model_input(s);
    const tutti_step_options recipe = make_recipe(s);
    if (!s->can_bf16) {
        tutti_log(TUTTI_LOG_INFO,
            "auto: --precision f32, because not every rank's processor has instructions for bf16");
        return TUTTI_OK;
    }
    if (s->session.place.device != TUTTI_CPU && !s->outputs.resumed) {
        tutti_log(TUTTI_LOG_INFO, "auto: --precision f32, because kernels of GPUs are not timed");
        return TUTTI_OK;
    }
    if (s->outputs.resumed) {
        s->precision = tutti_state_precision(s->outputs.resumed);
        tutti_log(TUTTI_LOG_INFO, "auto: --precision %s, as before the run was interrupted",
            tutti_precision_word(s->precision));
        return TUTTI_OK;
    }
    return tutti_precision_race((int)o->workers, o->model, &input, &recipe, &s->precision);
}

/* The others follow rank 0. */
static tutti_status choose_precision(tutti_trainer *s)
{
    if (tutti_precision_find(s->options->precision_name, &s->precision)) return TUTTI_OK;
    s->precision = TUTTI_F32;
    tutti_status status = agree(s, s->session.rank == 0 ? find_precision(s) : TUTTI_OK);
    int64_t chosen = s->precision;
    if (!status) status = broadcast(s, "the type of values", TUTTI_I64, 1, &chosen);
    s->precision = (tutti_dtype)chosen;
    return status;
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
    const tutti_model_input input = model_input(s);
    const tutti_tune_options options = {.design_free = 1,
        .priority_free = o->priority_free,
        .workload = {.model = o->model,
            .input = &input,
            .recipe = make_recipe(s),
            .timeout_s = o->timeout_s},
        .steps = s->last_step,
        .most_s = o->tuning_time_s.value,
        .time_auto = o->tuning_time_s.word == TUTTI_CONF_AUTO,
        .known = knows ? &known : NULL,
        .file = o->tuning,
        .interrupted = is_interrupted,
        .ctx = s->interrupt};
    tutti_status status = tutti_tune(&options, &s->session, &s->tuning, &together);
    if (status && !together) tutti_trainer_end_all(status);
    return note_interrupt(s, status);
}

/* ---- the session ---- */

static tutti_status build(tutti_trainer *s)
{
    const tutti_model_input input = model_input(s);
    const tutti_step_options recipe = make_recipe(s);
    return tutti_training_session_build(&s->session, s->options->model, &input, &recipe);
}

static tutti_status begin_weights(tutti_trainer *s)
{
    if (!s->options->resume) {
        tutti_status status = tutti_training_session_init(&s->session);
        return status;
    }
    if (s->session.rank != 0) return TUTTI_OK;
    return tutti_state_load(s, s->outputs.resumed, &s->first_step);
}

/* What rank 0 reads from a file: in a pipeline each tensor goes to the ranks that have it. */
static tutti_status load_weights(tutti_trainer *s)
{
    tutti_status status = TUTTI_OK;
    if (s->options->resume) {
        if (s->session.whole) status = tutti_weights_spread(&s->session, tutti_state_fill, s);
        if (!status && s->session.rank == 0) status = tutti_outputs_resumed(&s->outputs);
        return agree(s, status);
    }
    return s->options->init_from ? tutti_initial_load(s) : TUTTI_OK;
}

static tutti_status share_tensor(void *trainer, const tutti_tensor *t, void *data)
{
    return broadcast(trainer, t->name, t->dtype, tutti_shape_count(&t->shape), data);
}

/* The sums of the epoch in which the checkpoint is. */
static tutti_status share_sums(tutti_trainer *s)
{
    int64_t replicas = s->sums.replicas;
    tutti_status status =
        broadcast(s, "how many replicas' sums there are", TUTTI_I64, 1, &replicas);
    if (status || !replicas) return status;
    if (!s->sums.value) s->sums.value = calloc((size_t)replicas * TUTTI_METRICS, sizeof(double));
    status = agree(s,
        s->sums.value ? TUTTI_OK : tutti_fail(TUTTI_ERR_NOMEM, "no memory for the epoch's sums"));
    if (status) return status;
    s->sums.replicas = (int)replicas;
    return broadcast(
        s, "the epoch's sums so far", TUTTI_F64, replicas * TUTTI_METRICS, s->sums.value);
}

static tutti_status share_weights(tutti_trainer *s)
{
    enum { NUMBERS = 5 };
    int64_t first[NUMBERS] = {
        s->first_step, s->outputs.resumed_here, s->best.step, s->best.since, 0};
    memcpy(&first[4], &s->best.accuracy, sizeof s->best.accuracy);
    tutti_status status = broadcast(s, "the first step", TUTTI_I64, NUMBERS, first);
    s->first_step = first[0];
    s->resumed_here = first[1] != 0;
    s->best.step = first[2];
    s->best.since = first[3];
    memcpy(&s->best.accuracy, &first[4], sizeof s->best.accuracy);
    const tutti_conf_int *patience = &s->options->patience;
    if (s->options->evaluate || (!patience->word && s->best.since >= patience->value))
        s->last_step = s->first_step;
    if (!status) status = share_sums(s);
    if (status || s->session.whole) return status; /* each has those of its stage */
    return tutti_weights_walk(
        &s->session, tutti_weights_count(&s->session), TUTTI_READWRITE, share_tensor, s);
}

tutti_status tutti_trainer_prepare(tutti_trainer *s)
{
    tutti_status status = check_precision(s);
    tutti_exchange_note(s->session.exchange, "opens its files", 1);
    if (!status) status = agree(s, claim_outputs(s));
    tutti_exchange_note(s->session.exchange, "opens the data set", 1);
    if (!status) status = agree(s, open_data(s));
    if (!status) status = add_up_data(s);
    if (!status) status = compare_data(s);
    if (!status) status = agree(s, plan_steps(s));
    tutti_exchange_note(s->session.exchange, "times its kernels", 1);
    if (!status) status = choose_precision(s);
    if (!status && s->options->design_auto) status = choose_design(s);
    tutti_exchange_note(s->session.exchange, "builds the model and starts StarPU", 1);
    if (!status) status = agree(s, build(s));
    if (!status) status = agree(s, tutti_training_session_apply(&s->session));
    if (!status) status = agree(s, tutti_training_session_start(&s->session));
    if (!status) status = agree(s, begin_weights(s));
    if (!status) status = load_weights(s);
    tutti_exchange_note(s->session.exchange, NULL, 0);
    if (!status) status = share_weights(s);
    return status;
}

static void name_divided(const tutti_training_session *s, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int l = 0; l < s->net->layers && used < size; l++)
        if (tutti_layer_is_divided(&s->net->layer[l], &s->recipe.division))
            used += (size_t)snprintf(
                text + used, size - used, "%s%s", used ? ", " : "", s->net->layer[l].name);
}

void tutti_trainer_describe(const tutti_trainer *s, tutti_report_start *start)
{
    const tutti_step_options *recipe = &s->session.recipe;
    *start = (tutti_report_start){.design = tutti_exchange_design(s->session.exchange)->name,
        .design_auto = s->options->design_auto,
        .algorithm = s->options->algorithm,
        .wire = s->options->wire_name,
        .compress = s->options->compress_text,
        .sent_bytes = s->session.step->sent_bytes,
        .plain_bytes = s->session.step->plain_bytes,
        .precision = tutti_precision_word(s->precision),
        .transport = s->session.transport->chosen,
        .thread_level = tutti_thread_level_name(tutti_exchange_granted(s->session.exchange)),
        .runner = tutti_run_starpu_version(),
        .library = s->session.place.device == TUTTI_CPU ? tutti_kernel_library() : "CUDA",
        .model = s->options->model->name,
        .data = s->train.source->name,
        .ranks = s->session.ranks,
        .replicas = s->session.replicas,
        .layout = s->options->layout_text ? &s->session.options.layout : NULL,
        .micro_batches = s->session.step->micro_batches,
        .lanes = tutti_exchange_lanes(s->session.exchange),
        .workers = (int)s->options->workers,
        .comm_core = tutti_exchange_comm_core(s->session.exchange),
        .collectives = tutti_training_session_collectives(&s->session),
        .parameters = tutti_net_parameters(s->session.net),
        .train_images = s->train_images,
        .test_images = s->test_images,
        .height = s->train.height,
        .width = s->train.width,
        .channels = s->train.channels,
        .classes = s->train.classes,
        .eval_size = s->test.height != s->train.height ? s->test.height : 0,
        .batch = s->options->batch,
        .accumulate = s->options->accumulate,
        .steps = s->steps,
        .steps_per_epoch = s->steps_per_epoch,
        .first_step = s->first_step,
        .last_step = s->last_step,
        .seed = s->options->seed,
        .program = s->options->program->name,
        .recipe = s->options->recipe->name,
        .optimizer = s->session.step->rule->name,
        .strategy = s->options->strategy_text,
        .rate = s->rate_schedule.rate,
        .momentum = (double)recipe->momentum,
        .nesterov = recipe->nesterov,
        .weight_decay = (double)recipe->weight_decay,
        .weights_only = recipe->weights_only,
        .zero_last_scale = recipe->zero_last_scale,
        .label_smoothing = (double)recipe->label_smoothing,
        .mixup = recipe->mixup,
        .class_names = s->class_names,
        .evaluates = s->options->evaluate};
    tutti_rate_schedule_print(&s->rate_schedule, start->rate_schedule);
    name_divided(&s->session, start->divided, sizeof start->divided);
    tutti_device_text(&s->session.place, start->device, sizeof start->device);
}

/* ---- leaving ---- */

static tutti_status add_tensor(void *hash, const tutti_tensor *tensor, void *data)
{
    tutti_hash_add(hash, data, tensor->bytes);
    return TUTTI_OK;
}

tutti_status tutti_trainer_hash(const tutti_trainer *s, char *text)
{
    tutti_hash *hash;
    tutti_status status = tutti_hash_new(&hash);
    if (status) return status;
    status =
        tutti_weights_collect(&s->session, tutti_weights_parameters(&s->session), add_tensor, hash);
    tutti_hash_text(hash, text);
    tutti_hash_free(hash);
    return status;
}

tutti_status tutti_trainer_leave(tutti_trainer *s)
{
    tutti_status status = tutti_training_session_close(&s->session);
    if (s->train.source) tutti_dataset_close(&s->train);
    if (s->test.source) tutti_dataset_close(&s->test);
    tutti_class_names_free(s->class_names);
    free(s->sums.value);
    free(s->mean);
    free(s->deviation);
    tutti_bad_images_free(&s->bad_train);
    tutti_bad_images_free(&s->bad_test);
    tutti_outputs_release(&s->outputs);
    *s = (tutti_trainer){0};
    return status;
}
