#include "apps/train/stages_choose.h"

#include "apps/session/precision.h"
#include "apps/train/agree.h"
#include "apps/train/elastic_run.h"
#include "apps/train/state.h"
#include "dag/base/log.h"

#include <stdlib.h>

tutti_model_input tutti_trainer_input(const tutti_trainer *s)
{
    return (tutti_model_input){
        s->train.height, s->train.width, s->train.channels, s->train.classes};
}

tutti_step_options tutti_trainer_recipe(const tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const tutti_model_recipe *recipe = &o->model->recipe;
    tutti_step_options step = {.batch = o->batch,
        .accumulate = (int)o->accumulate,
        .sums = TUTTI_SUMS_COLLECTIVE,
        .rule = o->update.rule,
        .strategy = o->strategy.kind,
        .settings = o->strategy.settings,
        .wire = o->travel.wire,
        .codec = o->travel.codec,
        .codec_value = o->travel.codec_value,
        .precision = s->precision,
        .momentum = (float)o->update.momentum,
        .weight_decay = (float)tutti_conf_real_or(o->update.decay, recipe->weight_decay),
        .nesterov = !o->update.no_nesterov && o->update.momentum > 0,
        .beta1 = o->update.beta1,
        .beta2 = o->update.beta2,
        .epsilon = (float)o->update.epsilon,
        .trust = (float)o->update.trust,
        .weights_only = o->update.weights_only,
        .zero_last_scale = o->zero_last_scale,
        .clip_norm = tutti_conf_real_or(o->update.clip_norm, 0),
        .average_decay = tutti_conf_real_or(o->update.ema, 0),
        .label_smoothing = (float)tutti_conf_real_or(o->labels.smoothing, recipe->label_smoothing),
        .mixup = tutti_conf_real_or(o->labels.cutmix.word ? o->labels.mixup : o->labels.cutmix, 0),
        .cutmix = !o->labels.cutmix.word,
        .seed = (uint64_t)o->seed};
    for (int c = 0; c < s->train.channels && c < TUTTI_PIXEL_CHANNELS; c++) {
        step.mean[c] = s->mean[c];
        step.deviation[c] = s->deviation[c];
    }
    return step;
}

/* ---- the type of values ---- */

/* Whether every rank can compute in what --precision names. */
tutti_status tutti_trainer_check_precision(tutti_trainer *s)
{
    int rank = s->session.placement.rank, ranks = s->session.placement.ranks;
    double mine = tutti_precision_lack(&s->session.place, rank, ranks), lack = mine;
    tutti_status status = tutti_exchange_call(s->session.exchange, "what processors can",
        &(tutti_coll_args){.kind = TUTTI_ALLREDUCE,
            .dtype = TUTTI_F64,
            .op = TUTTI_MAX,
            .count = 1,
            .out_of_place = 1,
            .send = &mine,
            .recv = &lack});
    s->can_bf16 = !(lack > 0);
    if (status) return status;
    return tutti_precision_check(
        &s->session.place, s->options->machine.precision_name, lack, rank, ranks);
}

/* On rank 0: what the interrupted run chose, or else what is faster. */
static tutti_status find_precision(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    const tutti_model_input input = tutti_trainer_input(s);
    tutti_step_options recipe = tutti_trainer_recipe(s);
    recipe.strategy = NULL; /* kernels are timed on one rank, where all are sync */
    if (!s->can_bf16) {
        tutti_log(TUTTI_LOG_INFO,
            "auto: --precision f32, because not every rank's processor has instructions for bf16");
        return TUTTI_OK;
    }
    if (s->session.place.device != TUTTI_CPU && !s->outputs.resumed) {
        tutti_log(TUTTI_LOG_INFO, "auto: --precision f32, because kernels of GPUs are not timed");
        return TUTTI_OK;
    }
    const tutti_snapshot *snapshot = s->elastic ? tutti_train_elastic_restores(s->elastic) : NULL;
    if (snapshot) {
        s->precision = snapshot->precision;
        return TUTTI_OK;
    }
    if (s->outputs.resumed) {
        s->precision = tutti_state_precision(s->outputs.resumed);
        tutti_log(TUTTI_LOG_INFO, "auto: --precision %s, as before the run was interrupted",
            tutti_precision_word(s->precision));
        return TUTTI_OK;
    }
    return tutti_precision_race((int)o->machine.workers, o->model, &input, &recipe, &s->precision);
}

/* The others follow rank 0. */
tutti_status tutti_trainer_choose_precision(tutti_trainer *s)
{
    if (tutti_precision_find(s->options->machine.precision_name, &s->precision)) return TUTTI_OK;
    s->precision = TUTTI_F32;
    tutti_status status =
        tutti_trainer_agree(s, s->session.placement.rank == 0 ? find_precision(s) : TUTTI_OK);
    int64_t chosen = s->precision;
    if (!status) status = tutti_trainer_broadcast(s, "the type of values", TUTTI_I64, 1, &chosen);
    s->precision = (tutti_dtype)chosen;
    return status;
}

/* ---- the cut into stages ---- */

/* On rank 0, in micro-batches as they will be. */
static tutti_status time_layers(tutti_trainer *s, int *layers)
{
    const tutti_train_options *o = s->options;
    if (s->session.place.device != TUTTI_CPU)
        return tutti_fail(TUTTI_ERR_USAGE,
            "--stage-layers timed: --device auto has found GPUs, whose kernels are not timed: use "
            "--stage-layers auto, or the number of layers of each stage");
    const tutti_model_input input = tutti_trainer_input(s);
    const int64_t images = o->batch / tutti_layout_micro_batches(&s->session.options.layout,
                                          tutti_train_options_parts(o), (int)o->machine.workers);
    return tutti_layout_time(o->model, &input, s->precision, images, layers, &s->layer_seconds);
}

tutti_status tutti_trainer_time_layers(tutti_trainer *s)
{
    tutti_layout *layout = &s->session.options.layout;
    int layers = 0;
    if (!layout->timed) return TUTTI_OK;
    tutti_status status =
        tutti_trainer_agree(s, s->session.placement.rank == 0 ? time_layers(s, &layers) : TUTTI_OK);
    int64_t count = layers;
    if (!status) status = tutti_trainer_broadcast(s, "the number of layers", TUTTI_I64, 1, &count);
    if (status) return status;
    if (s->session.placement.rank)
        s->layer_seconds = calloc((size_t)count, sizeof *s->layer_seconds);
    status = tutti_trainer_agree(s, s->layer_seconds ? TUTTI_OK : TUTTI_ERR_NOMEM);
    if (!status)
        status =
            tutti_trainer_broadcast(s, "the time of layers", TUTTI_F64, count, s->layer_seconds);
    layout->layer_seconds = s->layer_seconds;
    return status;
}

/* ---- the design ---- */

static int is_interrupted(void *interrupt)
{
    return tutti_interrupt_asked(interrupt) != 0;
}

tutti_status tutti_trainer_choose_design(tutti_trainer *s)
{
    const tutti_train_options *o = s->options;
    int together;
    tutti_configuration known;
    int knows = s->outputs.resumed && tutti_state_choice(s, s->outputs.resumed, &known);
    const tutti_model_input input = tutti_trainer_input(s);
    const tutti_tune_options options = {.design_free = 1,
        .priority_free = o->exchange.priority_free,
        .workload = {.model = o->model,
            .input = &input,
            .recipe = tutti_trainer_recipe(s),
            .timeout_s = o->exchange.timeout_s},
        .steps = s->last_step,
        .most_s = o->exchange.tuning_time_s.value,
        .time_auto = o->exchange.tuning_time_s.word == TUTTI_CONF_AUTO,
        .known = knows ? &known : NULL,
        .file = o->exchange.tuning,
        .interrupted = is_interrupted,
        .ctx = s->interrupt};
    tutti_status status = tutti_tune(&options, &s->session, &s->tuning, &together);
    if (status && !together) tutti_trainer_end_all(status);
    return tutti_trainer_record_interrupt(s, status);
}
