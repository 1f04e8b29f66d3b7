#include "apps/train/state.h"

#include "apps/session/precision.h"
#include "apps/session/weights.h"
#include "apps/train/description.h"
#include "apps/train/weights_file.h"
#include "dag/kernels/loss.h"
#include "config.h"
#include "dag/base/log.h"
#include "dag/base/number.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"
#include "dag/step/update_rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* store_word: what the optimizer keeps is on servers, and not in the checkpoint. */
static const char precision_key[] = "precision", sync_word[] = "sync",
                  store_word[] = "on a store of keys";

/* The words of a checkpoint. The first ones are in every checkpoint; later versions added the others. */
/* EQUAL_OR_SYNC: replicas that train alone do so in the same way, or begin or end with sums in every step; what is on a
 * store stays there. */
typedef enum word_rule { KEPT, MUST_BE_EQUAL, EQUAL_OR_SYNC, BETTER_EQUAL } word_rule;
enum { WORD_SIZE = TUTTI_RATE_TEXT };
static const struct {
    const char *key;
    word_rule rule;
    int since_0_1;      /* it is in every checkpoint */
    const char *before; /* what it was in runs before checkpoints had it; NULL: that is unknown */
} words[] = {{"program", KEPT, 1, NULL}, {"version", KEPT, 1, NULL}, {"step", KEPT, 1, NULL},
    {"seed", BETTER_EQUAL, 1, NULL}, {"batch", BETTER_EQUAL, 1, NULL},
    {"ranks", BETTER_EQUAL, 1, NULL}, {"images", BETTER_EQUAL, 0, NULL},
    {"steps", BETTER_EQUAL, 0, NULL}, {"lr", BETTER_EQUAL, 0, NULL},
    {"rate-schedule", BETTER_EQUAL, 0, NULL}, {"momentum", BETTER_EQUAL, 0, NULL},
    {"weight-decay", BETTER_EQUAL, 0, NULL}, {"label-smoothing", BETTER_EQUAL, 0, NULL},
    {"augment", BETTER_EQUAL, 0, NULL}, {"rand-augment", BETTER_EQUAL, 0, "none"},
    {"jitter", BETTER_EQUAL, 0, "none"}, {"erase", BETTER_EQUAL, 0, "none"},
    {"mixup", BETTER_EQUAL, 0, "none"}, {"shuffle", BETTER_EQUAL, 0, "full"},
    {"shards", BETTER_EQUAL, 0, "shared"}, {"wire", BETTER_EQUAL, 0, "f32"},
    {"optimizer", MUST_BE_EQUAL, 0, "sgd"}, {"beta1", BETTER_EQUAL, 0, NULL},
    {"beta2", BETTER_EQUAL, 0, NULL}, {"epsilon", BETTER_EQUAL, 0, NULL},
    {"trust", BETTER_EQUAL, 0, NULL}, {"decay", BETTER_EQUAL, 0, "of all parameters"},
    {"zero-last-scale", BETTER_EQUAL, 0, "no"}, {"clip-norm", BETTER_EQUAL, 0, "none"},
    {"accumulate", BETTER_EQUAL, 0, "1"}, {"ema", BETTER_EQUAL, 0, "none"},
    {precision_key, BETTER_EQUAL, 0, "f32"}, {"strategy", EQUAL_OR_SYNC, 0, sync_word},
    {"compress", MUST_BE_EQUAL, 0, "none"}, {"freeze", BETTER_EQUAL, 0, "none"},
    {"lr-scale", BETTER_EQUAL, 0, "none"}, {"cutmix", BETTER_EQUAL, 0, "none"},
    {"micro-batches", BETTER_EQUAL, 0, NULL}, {"split", BETTER_EQUAL, 0, NULL}};
static const char choice_key[] = "choice", best_key[] = "best", sums_key[] = "epoch-sums",
                  plateau_key[] = "plateau", engines_key[] = "engines", owed_key[] = "evaluation",
                  owed_word[] = "to be made";
static const char best_format[] = "%.17g after step %" PRId64 ", %" PRId64 " evaluations ago",
                  best_scan[] = "%lf after step %" SCNd64 ", %" SCNd64 " evaluations ago";
static const char plateau_format[] =
    "%.17g, %" PRId64 " evaluations ago, lowered %" PRId64 " times",
                  plateau_scan[] = "%lf, %" SCNd64 " evaluations ago, lowered %" SCNd64 " times";
enum { WORDS = sizeof words / sizeof *words };
typedef char word_text[WORDS][WORD_SIZE];

static void write_augmentation(const tutti_trainer *s, char text[WORD_SIZE])
{
    if (s->options->data.augment)
        snprintf(text, WORD_SIZE, "%s, cropped for %" PRId64 " epochs",
            s->train.resize ? s->options->images.augment : "on", s->crop_epochs);
    else
        snprintf(text, WORD_SIZE, "off");
}

static void write_jitter(const tutti_trainer *s, char text[WORD_SIZE])
{
    const int *most = s->options->data.jitter.most;
    const double one = TUTTI_JITTER_ONE;
    if (most[0] || most[1] || most[2])
        snprintf(text, WORD_SIZE, "%.4g,%.4g,%.4g", most[0] / one, most[1] / one, most[2] / one);
    else
        snprintf(text, WORD_SIZE, "none");
}

static void write_order(const tutti_trainer *s, char text[WORD_SIZE])
{
    if (s->options->data.window)
        snprintf(text, WORD_SIZE, "window:%" PRId64, s->options->data.window);
    else
        snprintf(text, WORD_SIZE, "full");
}

/* 0 stands for none. */
static void write_or_none(double number, char text[WORD_SIZE])
{
    if (number > 0)
        snprintf(text, WORD_SIZE, "%.9g", number);
    else
        snprintf(text, WORD_SIZE, "none");
}

/* Each replica keeps what it has not sent. */
static void write_compress(const tutti_trainer *s, char text[WORD_SIZE])
{
    if (s->session.recipe.codec && s->session.recipe.codec->compresses)
        snprintf(text, WORD_SIZE, "%s of %d replicas", s->options->travel.text,
            s->session.placement.global_replicas);
    else
        snprintf(text, WORD_SIZE, "none");
}

/* Of images in folders without train/ and val/. */
static void write_split(const tutti_trainer *s, char text[WORD_SIZE])
{
    const tutti_train_data *data = &s->options->data;
    if (data->held_out > 0)
        snprintf(text, WORD_SIZE, "%.9g,%" PRIu64, data->held_out, data->held_out_seed);
    else
        snprintf(text, WORD_SIZE, "none");
}

static void write_words(const tutti_trainer *s, int64_t step, word_text text)
{
    const tutti_step_options *r = &s->session.recipe;
    int i = 0;
    snprintf(text[i++], WORD_SIZE, "%s", s->options->program->name);
    snprintf(text[i++], WORD_SIZE, "%s", PACKAGE_VERSION);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, step);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, s->options->seed);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, s->options->batch);
    snprintf(text[i++], WORD_SIZE, "%d", s->session.placement.global_replicas);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, s->train_images);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, s->steps);
    snprintf(text[i++], WORD_SIZE, "%.9g", s->rate_schedule.rate);
    tutti_rate_schedule_print(&s->rate_schedule, text[i++]);
    snprintf(text[i++], WORD_SIZE, "%.6g%s", (double)r->momentum, r->nesterov ? " nesterov" : "");
    snprintf(text[i++], WORD_SIZE, "%.6g", (double)r->weight_decay);
    snprintf(text[i++], WORD_SIZE, "%.6g", (double)r->label_smoothing);
    write_augmentation(s, text[i++]);
    snprintf(text[i++], WORD_SIZE, "%s", s->options->images.rand_augment);
    write_jitter(s, text[i++]);
    write_or_none(tutti_conf_real_or(s->options->images.erase, 0), text[i++]);
    write_or_none(r->cutmix ? 0 : r->mixup, text[i++]);
    write_order(s, text[i++]);
    snprintf(text[i++], WORD_SIZE, "%s", s->options->images.shards);
    snprintf(text[i++], WORD_SIZE, "%s", s->options->travel.wire_name);
    snprintf(text[i++], WORD_SIZE, "%s", s->session.step->rule->name);
    snprintf(text[i++], WORD_SIZE, "%.9g", r->beta1);
    snprintf(text[i++], WORD_SIZE, "%.9g", r->beta2);
    snprintf(text[i++], WORD_SIZE, "%.6g", (double)r->epsilon);
    snprintf(text[i++], WORD_SIZE, "%.6g", (double)r->trust);
    snprintf(text[i++], WORD_SIZE, "of %s", r->weights_only ? "weights only" : "all parameters");
    snprintf(text[i++], WORD_SIZE, "%s", r->zero_last_scale ? "yes" : "no");
    write_or_none(r->clip_norm, text[i++]);
    snprintf(text[i++], WORD_SIZE, "%" PRId64, s->options->accumulate);
    write_or_none(r->average_decay, text[i++]);
    snprintf(text[i++], WORD_SIZE, "%s", tutti_precision_word(s->precision));
    /* Those that sum over ranks in every step leave the same weights. */
    const tutti_strategy *strategy = s->session.step->strategy;
    snprintf(text[i++], WORD_SIZE, "%s",
        strategy->pushes  ? store_word
        : strategy->alone ? s->options->strategy.text
                          : sync_word);
    write_compress(s, text[i++]);
    const tutti_layer_rates *rates = &s->options->rate.layers;
    snprintf(text[i++], WORD_SIZE, "%s", rates->freeze ? rates->freeze : "none");
    snprintf(text[i++], WORD_SIZE, "%s", rates->scale ? rates->scale : "none");
    write_or_none(r->cutmix ? r->mixup : 0, text[i++]);
    snprintf(text[i++], WORD_SIZE, "%d", s->session.step->micro_batches);
    write_split(s, text[i++]);
}

/* Releases `had` tensors, and frees the list. */
static void release_tensors(
    const tutti_training_session *on, int had, tutti_checkpoint_tensor *list)
{
    while (had-- > 0) {
        int tensor = tutti_weights_tensor(on, had);
        if (tensor >= 0) on->runner->release(on->run, tensor);
    }
    free(list);
}

/* Acquires all tensors of a checkpoint, until release_tensors. */
static tutti_status acquire_tensors(
    const tutti_trainer *s, tutti_mode mode, int *tensors, tutti_checkpoint_tensor **made)
{
    const tutti_training_session *on = &s->session;
    *tensors = tutti_weights_count(on);
    tutti_checkpoint_tensor *list = calloc((size_t)*tensors, sizeof *list);
    if (!list) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for a list of %d tensors", *tensors);
    for (int i = 0; i < *tensors; i++) {
        int tensor = tutti_weights_tensor(on, i);
        const tutti_tensor *t = tutti_weights_get(on, i);
        void *data = tensor < 0 ? s->elsewhere[i] : NULL;
        tutti_status status =
            tensor < 0 ? TUTTI_OK : on->runner->acquire(on->run, tensor, mode, t->bytes, &data);
        if (status) {
            release_tensors(on, i, list);
            return status;
        }
        list[i] = (tutti_checkpoint_tensor){t->name, t->dtype, t->shape, data};
    }
    *made = list;
    return TUTTI_OK;
}

/* What the network's images are; freed by tutti_description_free. */
static tutti_status describe_run(const tutti_trainer *s, tutti_description_text *text)
{
    tutti_description run = {.model = s->options->model,
        .height = s->train.height,
        .width = s->train.width,
        .channels = s->train.channels,
        .classes = s->train.classes,
        .normalised = 1,
        .resize = s->test.resize,
        .eval_size = s->test.height != s->train.height ? s->test.height : 0,
        .epsilon = tutti_description_epsilon(s->session.net),
        .class_names = s->class_names};
    memcpy(run.mean, s->session.recipe.mean, sizeof run.mean);
    memcpy(run.deviation, s->session.recipe.deviation, sizeof run.deviation);
    return tutti_description_print(&run, text);
}

/* "steps per epoch, replicas: numbers", exactly; NULL: no memory. The caller frees it. */
static char *write_sums(const tutti_trainer *s)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "%" PRId64 " %d", s->steps_per_epoch, s->sums.replicas);
    for (int i = 0; i < s->sums.replicas * TUTTI_METRICS; i++)
        fprintf(out, " %a", s->sums.value[i]);
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

/* A checkpoint of an epoch with other steps has no sums that this run could continue with. */
static tutti_status read_sums(tutti_trainer *s, const tutti_checkpoint *checkpoint)
{
    const char *text = tutti_checkpoint_value(checkpoint, sums_key);
    char *end;
    if (!text || strtoll(text, &end, 10) != s->steps_per_epoch) return TUTTI_OK;
    long replicas = strtol(end, &end, 10);
    if (replicas < 1 || (size_t)replicas > strlen(end)) return TUTTI_OK;
    double *value = calloc((size_t)replicas * TUTTI_METRICS, sizeof *value);
    if (!value) return tutti_fail(TUTTI_ERR_NOMEM, "no memory for the epoch's sums");
    int good = 1;
    for (long i = 0; i < replicas * TUTTI_METRICS; i++) {
        const char *begin = end;
        value[i] = strtod(begin, &end);
        good &= end != begin && isfinite(value[i]) && value[i] >= 0;
    }
    if (!good) {
        free(value);
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: its %s has a number that is not a sum: continue from an earlier "
            "checkpoint",
            tutti_checkpoint_path(checkpoint), sums_key);
    }
    s->sums = (tutti_epoch_sums){(int)replicas, value};
    return TUTTI_OK;
}

tutti_status tutti_state_save(tutti_trainer *s, int64_t step, int best)
{
    const tutti_checkpoint_place place = tutti_outputs_place(&s->outputs, best);
    word_text text;
    char choice[TUTTI_CONFIGURATION_TEXT], best_text[WORD_SIZE], plateau_text[WORD_SIZE];
    const tutti_rate_plateau *plateau = &s->rate_schedule.plateau;
    char *sums = NULL, *engines = NULL;
    tutti_description_text about = {.names = NULL};
    tutti_checkpoint_pair pair[WORDS + TUTTI_DESCRIPTION_KEYS + 7];
    int tensors, pairs = WORDS;
    tutti_checkpoint_tensor *list;
    tutti_status status = acquire_tensors(s, TUTTI_READ, &tensors, &list);
    if (status) return status;
    write_words(s, step, text);
    for (int i = 0; i < WORDS; i++) pair[i] = (tutti_checkpoint_pair){words[i].key, text[i]};
    if (s->options->exchange.design_auto)
        pair[pairs++] = (tutti_checkpoint_pair){
            choice_key, tutti_configuration_store(&s->tuning.configuration, choice)};
    if (s->best.step > 0) {
        snprintf(best_text, sizeof best_text, best_format, s->best.accuracy, s->best.step,
            s->best.since);
        pair[pairs++] = (tutti_checkpoint_pair){best_key, best_text};
    }
    if (tutti_rate_schedule_waits(s->rate_schedule.kind) && plateau->since >= 0) {
        snprintf(plateau_text, sizeof plateau_text, plateau_format, plateau->best, plateau->since,
            plateau->drops);
        pair[pairs++] = (tutti_checkpoint_pair){plateau_key, plateau_text};
    }
    if (s->owes_evaluation) pair[pairs++] = (tutti_checkpoint_pair){owed_key, owed_word};
    if (s->sums.replicas) {
        sums = write_sums(s);
        if (!sums) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for the epoch's sums");
        pair[pairs++] = (tutti_checkpoint_pair){sums_key, sums};
    }
    if (s->session.place.engines) {
        engines = tutti_engines_print(s->session.place.engines);
        if (!engines) status = tutti_fail(TUTTI_ERR_NOMEM, "no memory for a table of engines");
        pair[pairs++] = (tutti_checkpoint_pair){engines_key, engines};
    }
    pair[pairs++] = (tutti_checkpoint_pair){"axes", tutti_axes_checkpoint};
    if (!status) status = describe_run(s, &about);
    pairs = tutti_description_append(&about, pairs, pair);
    if (!status) status = tutti_checkpoint_save(&place, pairs, pair, tensors, list);
    free(sums);
    free(engines);
    tutti_description_free(&about);
    release_tensors(&s->session, tensors, list);
    if (!status && !best) s->outputs.continues = 1;
    return status;
}

static int says(const tutti_checkpoint *checkpoint, const char *key, int64_t number)
{
    const char *has = tutti_checkpoint_value(checkpoint, key);
    return has && strtoll(has, NULL, 10) == number;
}

int tutti_state_choice(
    const tutti_trainer *s, const tutti_checkpoint *checkpoint, tutti_configuration *configuration)
{
    const char *choice = tutti_checkpoint_value(checkpoint, choice_key);
    return choice && says(checkpoint, "ranks", s->session.placement.global_replicas) &&
           says(checkpoint, "batch", s->options->batch) &&
           tutti_configuration_restore(choice, configuration);
}

tutti_status tutti_state_engines(tutti_trainer *s, const tutti_checkpoint *checkpoint)
{
    const char *text = tutti_checkpoint_value(checkpoint, engines_key);
    const char *path = tutti_checkpoint_path(checkpoint);
    char from[512];
    if (!text || s->session.place.device == TUTTI_CPU) return TUTTI_OK;
    snprintf(from, sizeof from, "checkpoint %s", path);
    if (s->session.place.engines) return tutti_session_engines_read(&s->session.place, text, from);
    tutti_log(TUTTI_LOG_WARN,
        "%s: its engines were chosen by timing, and this run takes others, which add in another "
        "order: use --engines timed to continue with the same",
        from);
    return TUTTI_OK;
}

tutti_dtype tutti_state_precision(const tutti_checkpoint *checkpoint)
{
    tutti_dtype dtype = TUTTI_F32;
    const char *word = tutti_checkpoint_value(checkpoint, precision_key);
    if (word) tutti_precision_find(word, &dtype);
    return dtype;
}

/* Adds "lr was 0.1 and is 0.05" to a list. */
static void note_difference(
    char list[], size_t size, const char *key, const char *was, const char *is)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s was %s and is %s", used ? "; " : "", key, was, is);
}

/* Of words that differ. */
static int must_be_equal(word_rule rule, const char *was, const char *is)
{
    const int stored = !strcmp(was, store_word) || !strcmp(is, store_word);
    const int sync = !strcmp(was, sync_word) || !strcmp(is, sync_word);
    return rule == MUST_BE_EQUAL || (rule == EQUAL_OR_SYNC && (stored || !sync));
}

enum { OTHERS = 2 * sizeof(word_text) + 2 * TUTTI_DESCRIPTION_KEYS * TUTTI_DESCRIPTION_TEXT };

static tutti_status not_ours(const char *path, const char *key)
{
    return tutti_fail(TUTTI_ERR_FORMAT,
        "checkpoint %s: not written by a program of Tutti: it has no %s: begin a run with its "
        "weights by --init-from",
        path, key);
}

static tutti_status is_other(const char *path, const char *key, const char *has, const char *is)
{
    return tutti_fail(
        TUTTI_ERR_FORMAT, "checkpoint %s: its %s is %s, but this run's is %s", path, key, has, is);
}

/* Model, sizes and classes must be those of the run, or the numbers mean something else. Earlier versions
 * left out what comes after. */
static tutti_status check_description(const tutti_trainer *s, const tutti_checkpoint *checkpoint,
    const char *path, char others[OTHERS])
{
    static const char *const must[] = {"model", "shape", "classes"};
    enum { MUST = sizeof must / sizeof *must };
    tutti_description_text has, is;
    tutti_description numbers;
    tutti_status status = describe_run(s, &is);
    tutti_description_of(checkpoint, &has);
    for (int k = 0; k < TUTTI_DESCRIPTION_KEYS && !status; k++) {
        const char *key = tutti_description_keys[k];
        int equal = 0;
        while (equal < MUST && strcmp(must[equal], key) != 0) equal++;
        if (!has.value[k] && equal < MUST) status = not_ours(path, key);
        if (!has.value[k] || !is.value[k] || !strcmp(has.value[k], is.value[k])) continue;
        if (equal < MUST)
            status = is_other(path, key, has.value[k], is.value[k]);
        else if (is.value[k] == is.names)
            note_difference(others, OTHERS, key, "another list", "that of the images");
        else
            note_difference(others, OTHERS, key, has.value[k], is.value[k]);
    }
    tutti_description_free(&is);
    return status ? status : tutti_description_read(checkpoint, &numbers);
}

static tutti_status check_words(
    const tutti_trainer *s, const tutti_checkpoint *checkpoint, const char *path, word_text text)
{
    char others[OTHERS] = "";
    int torch;
    tutti_status status = tutti_weights_axes(checkpoint, &torch);
    if (!status && torch && tutti_checkpoint_value(checkpoint, "step"))
        status = tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: its tensors have PyTorch's axes: begin a run with them by --init-from",
            path);
    if (status) return status;
    for (int i = 0; i < WORDS; i++) {
        const char *has = tutti_checkpoint_value(checkpoint, words[i].key);
        if (!has && words[i].since_0_1) return not_ours(path, words[i].key);
        if (!has) has = words[i].before;
        if (!has || words[i].rule == KEPT || strcmp(has, text[i]) == 0) continue;
        if (must_be_equal(words[i].rule, has, text[i]))
            return is_other(path, words[i].key, has, text[i]);
        note_difference(others, sizeof others, words[i].key, has, text[i]);
    }
    status = check_description(s, checkpoint, path, others);
    if (status) return status;
    if (*others)
        tutti_log(TUTTI_LOG_WARN, "checkpoint %s: this is not the run that was interrupted: %s",
            path, others);
    return TUTTI_OK;
}

static tutti_status read_step(const tutti_checkpoint *checkpoint, const char *path, int64_t *step)
{
    const char *text = tutti_checkpoint_value(checkpoint, "step");
    int64_t number;
    if (!tutti_number_int(text, &number) || number < 0)
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: its step is \"%s\": it must be a whole number from 0 on", path, text);
    *step = number;
    return TUTTI_OK;
}

/* A checkpoint without it is of a run that did not need it. */
static tutti_status read_best(
    const tutti_checkpoint *checkpoint, const char *path, tutti_train_best *best)
{
    tutti_train_best read;
    const char *text = tutti_checkpoint_value(checkpoint, best_key);
    if (!text) return TUTTI_OK;
    if (sscanf(text, best_scan, &read.accuracy, &read.step, &read.since) != 3 || read.step < 1 ||
        read.since < 0 || !(read.accuracy >= 0 && read.accuracy <= 1))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: its best is \"%s\": it must be an accuracy from 0 to 1 with its step: "
            "continue from an earlier checkpoint",
            path, text);
    *best = read;
    return TUTTI_OK;
}

/* The same. A run with another schedule does not read it. */
static tutti_status read_plateau(
    const tutti_checkpoint *checkpoint, const char *path, tutti_rate_schedule *schedule)
{
    tutti_rate_plateau read;
    const char *text = tutti_checkpoint_value(checkpoint, plateau_key);
    if (!text || !tutti_rate_schedule_waits(schedule->kind)) return TUTTI_OK;
    if (sscanf(text, plateau_scan, &read.best, &read.since, &read.drops) != 3 || read.since < 0 ||
        read.drops < 0 || !(read.best >= 0 && isfinite(read.best)))
        return tutti_fail(TUTTI_ERR_FORMAT,
            "checkpoint %s: its plateau is \"%s\": it must be a test loss with numbers from 0 on: "
            "continue from an earlier checkpoint",
            path, text);
    schedule->plateau = read;
    return TUTTI_OK;
}

tutti_status tutti_state_load(tutti_trainer *s, tutti_checkpoint *checkpoint, int64_t *step)
{
    const char *path = tutti_checkpoint_path(checkpoint);
    word_text text;
    int tensors;
    int64_t done = 0;
    tutti_train_best best = s->best;
    tutti_checkpoint_tensor *list = NULL;
    write_words(s, 0, text);
    tutti_status status = check_words(s, checkpoint, path, text);
    if (!status) status = read_step(checkpoint, path, &done);
    if (!status && !s->session.whole) status = acquire_tensors(s, TUTTI_READWRITE, &tensors, &list);
    if (!status && list) status = tutti_checkpoint_load(checkpoint, tensors, list);
    if (!status) status = read_sums(s, checkpoint);
    if (!status) *step = done;
    s->owes_evaluation = !status && tutti_checkpoint_value(checkpoint, owed_key);
    if (!status) status = read_best(checkpoint, path, &best);
    if (!status && (s->options->checkpoint.keep_best || !s->options->evaluation.patience.word))
        s->best = best;
    if (!status) status = read_plateau(checkpoint, path, &s->rate_schedule);
    if (list) release_tensors(&s->session, tensors, list);
    return status;
}

tutti_status tutti_state_fill(void *trainer, const tutti_tensor *tensor, void *data, int *filled)
{
    const tutti_trainer *s = trainer;
    const tutti_checkpoint_tensor wanted = {tensor->name, tensor->dtype, tensor->shape, data};
    *filled = 1;
    return tutti_checkpoint_read(s->outputs.resumed, &wanted);
}
