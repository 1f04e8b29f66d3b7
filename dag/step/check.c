/* Which nets and options a step can be built from. */
#include "dag/base/log.h"
#include "dag/step/builder.h"
#include "dag/step/codec.h"

#include <math.h>

static tutti_status check_options(const tutti_step_options *o)
{
    if (o->batch < 1 || o->micro_batches < 1 || o->micro_batches > o->batch)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld in %d micro-batches: each needs at least 1 image",
            (long long)o->batch, o->micro_batches);
    if (!(o->mixup >= 0 && isfinite(o->mixup)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: images mixed with weights of Beta(%g); it must be finite and not negative",
            o->mixup);
    if (o->mixup > 0 && (o->batch % 2 || o->micro_batches > o->batch / 2))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld in %d micro-batches: images that are mixed come in pairs",
            (long long)o->batch, o->micro_batches);
    if (o->slots < 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %d slots for activations; must be at least 1, or 0 for one per micro-batch",
            o->slots);
    if (tutti_step_batches(o) < 1)
        return tutti_fail(
            TUTTI_ERR_INVAL, "step: %d batches per step; must be at least 1", o->accumulate);
    const tutti_placement *p = &o->placement;
    if (p->stages > 1 && !tutti_step_cut_is_even(o))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld%s in %d micro-batches: in a pipeline all must be of one size",
            (long long)o->batch, o->mixup > 0 ? ", in pairs," : "", o->micro_batches);
    if (o->wire != TUTTI_F32 && o->wire != TUTTI_BF16)
        return tutti_fail(TUTTI_ERR_INVAL, "step: gradients cannot be summed as %s: only %s and %s",
            tutti_dtype_name(o->wire), tutti_dtype_name(TUTTI_F32), tutti_dtype_name(TUTTI_BF16));
    if (!(o->average_decay >= 0 && o->average_decay < 1))
        return tutti_fail(TUTTI_ERR_INVAL, "step: averages that decay by %g; must be in [0, 1)",
            o->average_decay);
    if (!(o->clip_norm >= 0 && isfinite(o->clip_norm)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: gradients clipped to a length of %g; it must be finite and not negative",
            o->clip_norm);
    if (o->precision != TUTTI_F32 && o->precision != TUTTI_BF16)
        return tutti_fail(TUTTI_ERR_INVAL, "step: values cannot be %s: only %s and %s",
            tutti_dtype_name(o->precision), tutti_dtype_name(TUTTI_F32),
            tutti_dtype_name(TUTTI_BF16));
    if (p->blocks > 1 && (!tutti_step_rule(o)->cut || o->clip_norm > 0))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: %s whole gradients, but each rank has only a block of a divided layer's: do not "
            "divide layers",
            o->clip_norm > 0 ? "clipping needs the length of" : "this update rule needs");
    if (p->blocks > 1 && !tutti_step_strategy(o)->divides)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy %s needs whole layers on every replica: do not divide them",
            tutti_step_strategy(o)->name);
    if (p->blocks > 1 && o->slots && o->slots < o->micro_batches && !tutti_step_cut_is_even(o))
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: a batch of %lld%s in %d micro-batches: with divided layers, those of one slot "
            "must be of one size",
            (long long)o->batch, o->mixup > 0 ? ", in pairs," : "", o->micro_batches);
    if (p->servers && !tutti_step_strategy(o)->serves)
        return tutti_fail(TUTTI_ERR_INVAL, "step: the strategy %s has no part for servers",
            tutti_step_strategy(o)->name);
    if (p->everywhere && !tutti_step_strategy(o)->everywhere)
        return tutti_fail(TUTTI_ERR_INVAL,
            "step: the strategy %s needs servers that are not workers, too",
            tutti_step_strategy(o)->name);
    tutti_status status = tutti_codec_check(o, tutti_step_strategy(o));
    if (status == TUTTI_OK) status = tutti_step_rule(o)->check(o);
    return status == TUTTI_OK ? tutti_step_strategy(o)->check(tutti_step_rule(o), o) : status;
}

/* Images that come as bytes have a mean and a deviation for each channel. */
static tutti_status check_channels(const tutti_net *net, const tutti_step_options *o)
{
    int64_t C = net->layer[0].out[0].C;
    if (!o->bytes || C <= TUTTI_PIXEL_CHANNELS) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "step: images of %lld channels come as bytes: at most %d channels can be normalised",
        (long long)C, TUTTI_PIXEL_CHANNELS);
}

static int is_used(const tutti_net *net, tutti_value value)
{
    int used = value == net->output;
    for (int a = 0; a < net->auxiliaries; a++) used |= value == net->auxiliary[a].logits;
    for (int l = net->source[value].layer + 1; l < net->layers && !used; l++)
        for (int i = 0; i < net->layer[l].inputs; i++) used |= net->layer[l].in[i] == value;
    return used;
}

static tutti_status check_net(const tutti_net *net)
{
    if (net->status != TUTTI_OK) return net->status;
    if (net->output < 0) return tutti_fail(TUTTI_ERR_INVAL, "step: the net has no output");
    const int64_t classes = tutti_net_extent(net, net->output).C;
    for (int a = 0; a < net->auxiliaries; a++)
        if (net->auxiliary[a].logits == net->output ||
            tutti_net_extent(net, net->auxiliary[a].logits).C != classes)
            return tutti_fail(TUTTI_ERR_INVAL,
                "step: the auxiliary output %s must be another value than the output, of as many "
                "classes (%lld)",
                net->layer[net->source[net->auxiliary[a].logits].layer].name, (long long)classes);
    if (tutti_net_parameters(net) == 0)
        return tutti_fail(TUTTI_ERR_INVAL, "step: the net has no parameters");
    for (tutti_value v = 0; v < net->values; v++)
        if (!is_used(net, v))
            return tutti_fail(TUTTI_ERR_INVAL, "step: nothing uses value %d of layer %s",
                net->source[v].output, net->layer[net->source[v].layer].name);
    return TUTTI_OK;
}

tutti_status tutti_step_check(const tutti_net *net, const tutti_step_options *options)
{
    tutti_status status = check_options(options);
    if (status == TUTTI_OK) status = check_net(net);
    if (status == TUTTI_OK) status = check_channels(net, options);
    return status == TUTTI_OK ? tutti_division_check(net, &options->placement) : status;
}
