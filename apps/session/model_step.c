#include "apps/session/model_step.h"

#include "apps/session/device.h"
#include "apps/session/rank_step.h"
#include "dag/base/log.h"
#include "dag/net/layer.h"
#include "dag/step/codec.h"
#include "dag/step/strategy.h"

static tutti_status build_net(
    const tutti_model *model, const tutti_model_input *input, int zero_last_scale, tutti_net **net)
{
    tutti_status status = tutti_model_net(model, input, net);
    if (status) return status;
    if (zero_last_scale) tutti_net_start_blocks_at_zero(*net);
    return tutti_net_status(*net);
}

static tutti_status scale_rates(const tutti_layer_rates *rates, tutti_net *net)
{
    tutti_layer_rates_fault fault;
    if (tutti_layer_rates_apply(rates, net, &fault)) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE, "--%s %s: %s", fault.option, fault.value, fault.reason);
}

/* Bytes of which each value is as frequent as the others have mean 1/2 and variance 1/12, nearly. */
static void complete_pixels(tutti_step_options *recipe)
{
    recipe->bytes = 1;
    if (recipe->deviation[0] > 0) return;
    for (int c = 0; c < TUTTI_PIXEL_CHANNELS; c++) {
        recipe->mean[c] = 0.5f;
        recipe->deviation[c] = 0.288675f;
    }
}

/* The net for images that evaluations see, or NULL. */
static tutti_status build_evaluated(const tutti_model *model, const tutti_model_input *input,
    int eval_size, const tutti_net *trained, tutti_net **net)
{
    tutti_model_input other = {eval_size, eval_size, input->C, input->classes};
    const char *layer;
    if (!eval_size || (input->H == eval_size && input->W == eval_size)) return TUTTI_OK;
    tutti_status status = build_net(model, &other, 0, net);
    if (!status) status = tutti_net_compare(trained, *net, &layer);
    if (status || !layer) return status;
    return tutti_fail(TUTTI_ERR_USAGE,
        "--eval-size %d: layer %s of %s has other weights for images of %dx%d than for %dx%d; only "
        "models that take the mean over all pixels before their last layer can evaluate another "
        "size: leave the option out",
        eval_size, layer, model->name, eval_size, eval_size, input->H, input->W);
}

/* Whether no rank has all that the model has. */
static int is_sharded(const tutti_model_step_options *o, const tutti_step_options *recipe)
{
    const int shards = (recipe->strategy && recipe->strategy->shards) ||
                       (recipe->codec && recipe->codec->compresses);
    return tutti_placement_is_divided(&recipe->placement) ||
           (shards && o->summed && recipe->placement.global_replicas > 1);
}

/* What the model has in all, where no rank has that. */
static tutti_status build_whole(
    const tutti_net *net, const tutti_step_options *recipe, tutti_step **step)
{
    const tutti_placement *p = &recipe->placement;
    tutti_step_options whole = *recipe;
    whole.emission = TUTTI_EMISSION_LAYERS;
    whole.slots = 0;
    whole.placement = (tutti_placement){.rank = p->own.replica,
        .replicas = p->replicas,
        .stored = p->stored,
        .first_replica = p->first_replica,
        .global_replicas = p->global_replicas};
    return tutti_step_build(net, &whole, step);
}

/* This rank's part of the step, and all of it. */
static tutti_status build_steps(const tutti_model_step_options *o, const char *model,
    tutti_placement *placement, tutti_model_step *built)
{
    tutti_step_options *recipe = &built->recipe;
    tutti_status status =
        tutti_rank_step_complete(o->layout, model, built->net, o->workers, placement, recipe);
    if (!status && is_sharded(o, recipe)) status = build_whole(built->net, recipe, &built->whole);
    if (!status) status = tutti_step_build(built->net, recipe, &built->step);
    return status ? status : tutti_device_check(o->place, built->step->graph);
}

tutti_status tutti_model_step_build(const tutti_model_step_options *o, const tutti_model *model,
    const tutti_model_input *input, const tutti_step_options *recipe, tutti_placement *placement,
    tutti_model_step *built)
{
    tutti_net *evaluated = NULL;
    const int gpu = o->place->device != TUTTI_CPU;
    tutti_model_step b = {.recipe = *recipe};
    b.recipe.placement = *placement;
    b.recipe.adds_norms = 1;
    if (!o->summed || gpu) b.recipe.sums = TUTTI_SUMS_GRAPH;
    b.recipe.rectifies = gpu;
    complete_pixels(&b.recipe);
    tutti_status status = build_net(model, input, recipe->zero_last_scale, &b.net);
    if (!status) status = scale_rates(o->rates, b.net);
    if (!status) status = build_evaluated(model, input, o->eval_size, b.net, &evaluated);
    b.recipe.evaluated = evaluated;
    if (!status) status = build_steps(o, model->name, placement, &b);
    b.recipe.evaluated = NULL;
    const int64_t side = evaluated ? o->eval_size : 0;
    tutti_net_free(evaluated);
    if (status) {
        tutti_step_free(b.step);
        tutti_step_free(b.whole);
        tutti_net_free(b.net);
        return status;
    }
    b.image_bytes = (int64_t)input->H * input->W * input->C;
    b.evaluated_bytes = side ? side * side * input->C : b.image_bytes;
    *built = b;
    return TUTTI_OK;
}
