#include "apps/train/stages_data.h"

#include "apps/data/bytes.h"
#include "apps/data/class_names.h"
#include "apps/data/prefetch.h"
#include "apps/train/agree.h"
#include "apps/train/find_rate.h"
#include "apps/train/shards.h"
#include "dag/base/log.h"
#include "dag/step/strategy.h"
#include "dag/strategies/strategies.h"
#include "dag/step/update_rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --data; synthetic images without a given size get the model's. */
static const char *data_path(const tutti_train_options *o, char *text, size_t size)
{
    const tutti_model_input *in = &o->model->input;
    if (strcmp(o->data.folder, "synthetic") != 0) return o->data.folder;
    int height = (int)tutti_conf_int_or(o->images.size, in->H);
    int width = (int)tutti_conf_int_or(o->images.size, in->W);
    snprintf(text, size, "synthetic:%dx%dx%d:%d", height, width, in->C, in->classes);
    return text;
}

/* Whether --rand-augment and --jitter are for such images. */
static tutti_status check_colours(const tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const int *most = o->data.jitter.most, jitters = most[0] || most[1] || most[2];
    if (s->train.channels == TUTTI_JITTER_CHANNELS || !(jitters || o->data.rand_augment.operations))
        return TUTTI_OK;
    const char *option = jitters ? "jitter" : "rand-augment";
    return tutti_fail(TUTTI_ERR_USAGE,
        "--%s %s: %s has images of %d channel%s, which are no colours: use --%s none", option,
        jitters ? o->images.jitter : o->images.rand_augment, o->data.folder, s->train.channels,
        s->train.channels == 1 ? "" : "s", option);
}

/* A data set that is recognised by content may be of a format that this program does not read. */
static tutti_status check_format(const tutti_trainer *s)
{
    const char *has = s->train.source->name, *known;
    for (int i = 0; (known = s->options->program->format(i)); i++)
        if (strcmp(known, has) == 0) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE, "%s: holds %s, which %s does not read: use tutti-cifar",
        s->options->data.folder, has, s->options->program->name);
}

/* For tutti_dataset_share. An interruption is noted at the end of the stage. */
static tutti_status share_list(void *trainer, tutti_status mine, tutti_bytes *bytes)
{
    tutti_trainer *s = trainer;
    int64_t count = (int64_t)bytes->count;
    tutti_status status = tutti_exchange_agree(s->session.exchange, mine, NULL);
    if (!status)
        status = tutti_trainer_broadcast(s, "the size of the list of images", TUTTI_I64, 1, &count);
    if (status) return status;
    if (s->session.placement.rank != 0) mine = tutti_bytes_append(bytes, NULL, (size_t)count);
    status = tutti_exchange_agree(s->session.exchange, mine, NULL);
    return status ? status
                  : tutti_trainer_broadcast(s, "the list of images", TUTTI_U8, count, bytes->bytes);
}

static tutti_status open_training_images(tutti_trainer *s, const tutti_dataset_options *how)
{
    tutti_status status = tutti_dataset_open_as(how, TUTTI_TRAIN, &s->train);
    if (!status) status = check_format(s);
    return status ? status : check_colours(s);
}

static tutti_status open_images(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    char text[64];
    const char *path = data_path(o, text, sizeof text);
    const int eval_size = s->session.options.eval_size;
    const int resize = (int)tutti_conf_int_or(o->images.resize, 0);
    tutti_dataset_options how = {.path = path,
        .format = o->data.format,
        .size = path == text ? 0 : (int)tutti_conf_int_or(o->images.size, 0),
        .usual = o->model->input.H,
        .held_out = o->data.held_out,
        .held_out_seed = o->data.held_out_seed,
        .resize = eval_size ? 0 : resize,
        .share = {s->session.placement.rank, share_list, s}};
    s->local = tutti_shards_local(o->images.shards);
    if (s->local) how.assign = (tutti_dataset_assign){tutti_shards_assign, s};
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
            o->data.folder, a->height, a->width, a->channels, a->classes, b->height, b->width,
            b->channels, b->classes);
    s->mean = calloc((size_t)a->channels, sizeof *s->mean);
    s->deviation = calloc((size_t)a->channels, sizeof *s->deviation);
    if (!s->mean || !s->deviation)
        return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the channels' means");
    if (s->session.placement.rank != 0) return TUTTI_OK;
    return tutti_dataset_moments(
        a, tutti_bad_images_skipped(o->images.bad_images), s->mean, s->deviation);
}

/* What the sets of all ranks have together. */
static tutti_status add_up_data(tutti_trainer *s)
{
    char text[64];
    s->train_images = s->least_images = s->train.count;
    s->test_images = s->test.count;
    tutti_status status = s->local ? tutti_shards_add_up(s) : TUTTI_OK;
    if (!status && s->session.placement.rank == 0)
        status = tutti_class_names_read(data_path(s->options, text, sizeof text),
            s->train.source->name, s->train.classes, &s->class_names);
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
    tutti_status status =
        tutti_trainer_broadcast(s, "the data's numbers", TUTTI_I64, NUMBERS, first);
    if (status) return status;
    if (memcmp(first, mine, sizeof first) != 0)
        status = tutti_fail(TUTTI_ERR_MISMATCH,
            "%s differs between ranks: rank 0 has %" PRId64 " training images of %" PRId64
            "x%" PRId64 "x%" PRId64 ", rank %d has %" PRId64 " of %dx%dx%d",
            s->options->data.folder, first[0], first[2], first[3], first[4],
            s->session.placement.rank, mine[0], d->height, d->width, d->channels);
    status = tutti_trainer_agree(s, status);
    if (!status)
        status = tutti_trainer_broadcast(s, "the channels' means", TUTTI_F32, d->channels, s->mean);
    if (!status)
        status = tutti_trainer_broadcast(
            s, "the channels' deviations", TUTTI_F32, d->channels, s->deviation);
    return status;
}

tutti_status tutti_trainer_open_data(tutti_trainer *s)
{
    tutti_status status = tutti_trainer_agree(s, open_images(s));
    if (!status) status = tutti_trainer_agree(s, add_up_data(s));
    return status ? status : compare_data(s);
}

/* ---- how many steps it makes ---- */

/* Epochs with cropped images: all but the last ones (options_table.c, --uncropped). */
static int64_t epochs_with_crops(const tutti_trainer *s)
{
    if (s->options->find_rate.picture) return INT64_MAX; /* as a run begins */
    int64_t epochs = (s->steps + s->steps_per_epoch - 1) / s->steps_per_epoch;
    int64_t without = tutti_conf_int_or(s->options->data.uncropped, epochs / 5);
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
    if (o->rate.warmup_epochs.word) return tutti_rate_schedule_warmup(o->rate.schedule, s->steps);
    return (int64_t)llround(o->rate.warmup_epochs.value * (double)s->steps_per_epoch);
}

tutti_status tutti_trainer_plan(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const tutti_dataset least = {.count = s->least_images};
    const int replicas = s->session.placement.global_replicas;
    const int ranks = s->local ? 1 : replicas; /* that share these images */
    s->steps_per_epoch =
        tutti_prefetch_steps(&least, 1, ranks, o->batch, o->accumulate) / o->accumulate;
    if (s->steps_per_epoch < 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "%s has %" PRId64 " training images%s, too few for one step of %d x --batch %" PRId64
            " x --accumulate %" PRId64,
            o->data.folder, s->least_images, s->local ? " for some rank" : "", ranks, o->batch,
            o->accumulate);
    s->steps = o->find_rate.picture ? o->find_rate.steps
                                    : tutti_conf_int_or(o->steps, o->epochs * s->steps_per_epoch);
    int64_t stop = tutti_conf_int_or(o->stop_after, s->steps);
    const tutti_strategy *strategy = o->strategy.kind;
    if (strategy && o->strategy.jobs) strategy = tutti_strategy_with_store(strategy);
    s->period =
        strategy ? tutti_strategy_steps(strategy, strategy->period, &o->strategy.settings) : 1;
    s->last_step = stop < s->steps ? stop : s->steps;
    while (!tutti_trainer_ends_round(s, s->last_step)) s->last_step++;
    s->crop_epochs = epochs_with_crops(s);
    double images = (double)o->batch * replicas * (double)o->accumulate;
    double own =
        o->update.rule->rate > 0 ? o->update.rule->rate : o->model->recipe.rate * images / 128;
    s->rate_part = o->rate.images.word ? 1 : images / (double)o->rate.images.value;
    s->rate_schedule = (tutti_rate_schedule){.kind = o->rate.schedule,
        .rate = o->rate.highest.word ? own : o->rate.highest.value * s->rate_part,
        .total = s->steps,
        .warmup = tutti_conf_int_or(o->rate.warmup, own_warmup(s)),
        .from_given = !o->rate.warmup_from.word,
        .from = o->rate.warmup_from.value,
        .power = o->rate.poly_power,
        .milestones = o->rate.milestones,
        .factor = tutti_rate_schedule_waits(o->rate.schedule) ? o->rate.plateau_factor
                                                              : o->rate.milestone_factor,
        .patience = o->rate.plateau_patience,
        .plateau.since = -1};
    for (int i = 0; i < o->rate.milestones; i++)
        s->rate_schedule.milestone[i] = o->rate.milestone[i] * s->steps_per_epoch;
    if (!o->find_rate.picture) return TUTTI_OK;
    s->rate_schedule = (tutti_rate_schedule){.kind = &tutti_rate_sweep,
        .rate = o->find_rate.to * s->rate_part,
        .from = o->find_rate.from * s->rate_part,
        .total = s->steps,
        .plateau.since = -1};
    return tutti_find_rate_new(s->steps, &s->find_rate);
}
