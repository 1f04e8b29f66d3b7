/* What a step leaves to a store of keys, whose servers update (tutti/kv.h). */
#include "dag/step/builder.h"

#include "dag/base/log.h"

tutti_status tutti_step_check_stored(
    const tutti_update_rule *rule, const tutti_step_options *options)
{
    const char *why =
        !rule->stored ? "have sgd, adam and adamw alone: take one of these"
        : options->clip_norm > 0
            ? "have a part of the gradients each, which are clipped by the length of "
              "all: leave out clipping"
        : options->wire != TUTTI_F32 ? "add gradients in float32: leave the wire float32"
        : options->average_decay > 0
            ? "keep no averages over steps: leave out the decay of averages"
        : options->placement.blocks > 1 ? "have clients of whole layers: do not divide them"
                                        : NULL;
    if (!why) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL, "step: the servers of a store of keys %s", why);
}

/* All keys have one rate and one weight decay. */
static tutti_status check_factors(const tutti_builder *b, int l, int p, const char *suffix)
{
    const tutti_trained *t = tutti_builder_trained(b, l, p);
    if (t->rate_factor == 1 && t->weight_decay == b->options->weight_decay) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "the strategy %s: the servers of a store of keys update all parameters alike, but %s.%s "
        "has a %s of its own: %s",
        b->step->strategy->name, b->net->layer[l].name, suffix,
        t->rate_factor == 1 ? "weight decay" : "learning rate",
        t->rate_factor == 1 ? "use no weight decay, or one for all tensors"
                            : "use another model, or the strategy sync in one mpirun");
}

tutti_status tutti_builder_leave_to_store(tutti_builder *b)
{
    tutti_parameter_walk at = {0};
    tutti_status status = TUTTI_OK;
    while (status == TUTTI_OK && tutti_builder_next_parameter(b, &at))
        status = check_factors(b, at.l, at.p, at.suffix);
    for (int l = b->first; l < b->end && status == TUTTI_OK; l++)
        if (b->net->layer[l].kind->statistics) status = tutti_builder_update_running(b, l);
    return status;
}
