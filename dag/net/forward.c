/* The forward pass of training and evaluation. */
#include "dag/net/builder.h"

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

/* Makes the net read images that are mixed. */
static tutti_status mix(tutti_builder *b, int s)
{
    tutti_site *site = tutti_builder_site(b, 0, s);
    const tutti_mixture *m = &b->mixture[s];
    tutti_mixup_draw_desc draw = {.N = site->N,
        .offset = site->first,
        .seed = site->seed,
        .stream = tutti_rng_stream("mixup"),
        .alpha = b->options->mixup};
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

tutti_status tutti_builder_forward(tutti_builder *b, int evaluation)
{
    const int micro_batches = b->options->micro_batches;
    const int mixes = b->options->mixup > 0 && !evaluation;
    tutti_status status = TUTTI_OK;
    for (int s = 0; b->options->bytes && s < micro_batches && !status; s++)
        status = normalise(b, s, evaluation);
    for (int s = 0; mixes && s < micro_batches && !status; s++) status = mix(b, s);
    for (int l = 1; l < b->net->layers && status == TUTTI_OK; l++) {
        const tutti_layer *layer = &b->net->layer[l];
        if (evaluation && !b->judged[l]) continue;
        for (int s = 0; s < micro_batches && status == TUTTI_OK; s++) {
            tutti_site *site = tutti_builder_site(b, l, s);
            for (int i = 0; i < layer->inputs; i++)
                site->x[i] = tutti_builder_value(b, layer->in[i], s);
            status = (evaluation && layer->kind->evaluate ? layer->kind->evaluate
                                                          : layer->kind->forward)(site);
        }
        if (status == TUTTI_OK && layer->kind->statistics && !evaluation)
            status = tutti_builder_mark_statistics(b, l);
    }
    for (int s = 0; mixes && s < micro_batches; s++) /* what is next reads them as they are */
        tutti_builder_site(b, 0, s)->y[0] = b->mixture[s].plain;
    return status;
}
