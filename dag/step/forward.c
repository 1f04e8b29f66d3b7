/* The forward pass of a layer, in training and evaluation. */
#include "dag/step/builder.h"

#include "dag/base/rng.h"
#include "dag/kernels/mixup.h"
#include "dag/kernels/pixel.h"

#include <string.h>

/* The input layer's value, of images that come as bytes. */
static tutti_status normalise(tutti_builder *b, int s, int evaluation)
{
    const tutti_micro_batch *micro_batch = &b->step->micro_batch[s];
    const tutti_step_options *o = b->options;
    tutti_site *site = tutti_builder_site(b, 0, s);
    tutti_extent x = site->layer->out[0];
    tutti_normalise_desc desc = {.pixels = site->N * x.H * x.W, .C = x.C};
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    memcpy(desc.mean, o->mean, sizeof desc.mean);
    memcpy(desc.deviation, o->deviation, sizeof desc.deviation);
    tutti_access access[] = {tutti_reads(evaluation ? micro_batch->evaluated : micro_batch->images),
        tutti_writes(site->y[0])};
    const tutti_op *op =
        o->precision == TUTTI_F32 ? &tutti_op_normalise : &tutti_op_normalise_narrow;
    return tutti_site_kernel(site, TUTTI_PHASE_FORWARD, op, &desc, sizeof desc, 2, access);
}

static tutti_mixup_draw_desc describe_draw(
    const tutti_builder *b, const tutti_site *site, const char *stream)
{
    return (tutti_mixup_draw_desc){.N = site->N,
        .offset = site->first,
        .seed = site->seed,
        .stream = tutti_rng_stream(stream),
        .alpha = b->options->mixup};
}

static tutti_status cut_and_mix(tutti_builder *b, int s)
{
    tutti_site *site = tutti_builder_site(b, 0, s);
    const tutti_mixture *m = &b->mixture[s];
    const tutti_extent x = site->layer->out[0];
    tutti_cutmix_draw_desc draw = {.draw = describe_draw(b, site, "cutmix"), .H = x.H, .W = x.W};
    tutti_access drawn[] = {tutti_reads(b->step->micro_batch[s].labels), tutti_reads(site->counter),
        tutti_writes(m->part), tutti_writes(m->box)};
    tutti_cutmix_desc desc = {.N = site->N, .H = x.H, .W = x.W, .C = x.C};
    tutti_access mixed[] = {tutti_reads(m->plain), tutti_reads(m->box), tutti_writes(m->mixed)};
    tutti_status status = tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_cutmix_draw, &draw, sizeof draw, 4, drawn);
    if (status != TUTTI_OK) return status;
    site->y[0] = m->mixed;
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_cutmix, &desc, sizeof desc, 3, mixed);
}

/* Makes the net read images that are mixed. */
static tutti_status mix(tutti_builder *b, int s)
{
    if (b->options->cutmix) return cut_and_mix(b, s);
    tutti_site *site = tutti_builder_site(b, 0, s);
    const tutti_mixture *m = &b->mixture[s];
    tutti_mixup_draw_desc draw = describe_draw(b, site, "mixup");
    tutti_access drawn[] = {tutti_reads(b->step->micro_batch[s].labels), tutti_reads(site->counter),
        tutti_writes(m->part)};
    tutti_mixup_desc desc = {.N = site->N, .each = tutti_extent_count(site->layer->out[0])};
    tutti_access mixed[] = {tutti_reads(m->plain), tutti_reads(m->part), tutti_writes(m->mixed)};
    tutti_status status = tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_mixup_draw, &draw, sizeof draw, 3, drawn);
    if (status != TUTTI_OK) return status;
    site->y[0] = m->mixed;
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_mixup, &desc, sizeof desc, 3, mixed);
}

/* The images, as the net sees them. */
static tutti_status look(tutti_builder *b, int s, int evaluation)
{
    tutti_status status = b->options->bytes ? normalise(b, s, evaluation) : TUTTI_OK;
    if (status == TUTTI_OK && b->options->mixup > 0 && !evaluation) status = mix(b, s);
    return status == TUTTI_OK ? tutti_builder_send_labels(b, s, evaluation) : status;
}

tutti_status tutti_builder_forward(tutti_builder *b, int l, int s, int evaluation)
{
    const tutti_layer *layer = &b->net->layer[l];
    tutti_site *site = tutti_builder_site(b, l, s), *owner = tutti_builder_site(b, l, site->slot);
    if (evaluation && !b->evaluated[l]) return TUTTI_OK;
    tutti_site_share(owner, site);
    for (int i = 0; i < layer->inputs; i++) site->x[i] = tutti_builder_value(b, layer->in[i], s);
    tutti_status status = l == 0                                ? look(b, s, evaluation)
                          : evaluation && layer->kind->evaluate ? layer->kind->evaluate(site)
                                                                : layer->kind->forward(site);
    if (status == TUTTI_OK) tutti_site_share(site, owner);
    return status;
}
