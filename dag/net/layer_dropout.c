/* Dropout. An element's random number depends on its place in the global batch, so P ranks with b
 * images drop what one rank with P*b images drops, however the batch is cut. In evaluation the
 * value is its input: no node, no copy. */
#include "dag/base/log.h"
#include "dag/base/rng.h"
#include "dag/kernels/act.h"
#include "dag/net/site.h"

static float rate_of(const tutti_layer *layer)
{
    return *(const float *)tutti_layer_settings(layer);
}

static tutti_status infer(tutti_layer *layer)
{
    float rate = rate_of(layer);
    if (!(rate >= 0 && rate < 1))
        return tutti_fail(TUTTI_ERR_INVAL, "net: dropout layer %s: rate %g is not in [0, 1)",
            layer->name, (double)rate);
    layer->out[0] = layer->from[0];
    return TUTTI_OK;
}

static tutti_dropout_desc describe(const tutti_site *site)
{
    int64_t each = tutti_extent_count(site->layer->out[0]);
    return (tutti_dropout_desc){.count = site->N * each,
        .offset = site->first * each,
        .seed = site->seed,
        .stream = tutti_rng_stream(site->layer->name),
        .rate = rate_of(site->layer)};
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_dropout_desc desc = describe(site);
    tutti_access access[] = {
        tutti_reads(site->x[0]), tutti_reads(site->counter), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_dropout, &desc, sizeof desc, 3, access);
}

static tutti_status evaluate(tutti_site *site)
{
    site->y[0] = site->x[0];
    return TUTTI_OK;
}

static tutti_status backward(tutti_site *site)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_dropout_desc desc = describe(site);
    tutti_access access[] = {
        tutti_reads(site->dy[0]), tutti_reads(site->counter), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_dropout_bwd, &desc, sizeof desc, 3, access);
}

static const tutti_layer_kind kind = {.name = "dropout",
    .infer = infer,
    .forward = forward,
    .evaluate = evaluate,
    .backward = backward};

tutti_value tutti_net_dropout(tutti_net *net, const char *name, tutti_value x, float rate)
{
    return tutti_net_append(
        net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}}, &rate, sizeof rate);
}
