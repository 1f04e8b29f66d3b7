/* Local response normalisation across channels. */
#include "dag/base/log.h"
#include "dag/kernels/lrn.h"
#include "dag/net/site.h"

#include <math.h>

static tutti_status infer(tutti_layer *layer)
{
    const tutti_lrn_layer *lrn = tutti_layer_settings(layer);
    if (lrn->size < 1 || lrn->size % 2 == 0)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: lrn layer %s: a window of %lld channels; must be an odd number", layer->name,
            (long long)lrn->size);
    if (!(lrn->alpha >= 0 && isfinite(lrn->alpha) && isfinite(lrn->beta) && lrn->k > 0 &&
            isfinite(lrn->k)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: lrn layer %s: alpha %g must be at least 0, k %g above 0, and these and beta %g "
            "finite",
            layer->name, (double)lrn->alpha, (double)lrn->k, (double)lrn->beta);
    layer->out[0] = layer->from[0];
    return TUTTI_OK;
}

static tutti_lrn_desc describe(const tutti_site *site)
{
    const tutti_lrn_layer *lrn = tutti_layer_settings(site->layer);
    tutti_extent x = site->layer->from[0];
    return (tutti_lrn_desc){.N = site->N,
        .H = x.H,
        .W = x.W,
        .C = x.C,
        .size = lrn->size,
        .alpha = lrn->alpha,
        .beta = lrn->beta,
        .k = lrn->k};
}

static tutti_status forward(tutti_site *site)
{
    tutti_lrn_desc desc = describe(site);
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_lrn, &desc, sizeof desc, 2, access);
}

static tutti_status backward(tutti_site *site)
{
    tutti_lrn_desc desc = describe(site);
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {
        tutti_reads(site->x[0]), tutti_reads(site->dy[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_lrn_bwd, &desc, sizeof desc, 3, access);
}

static const tutti_layer_kind kind = {
    .name = "lrn", .infer = infer, .forward = forward, .backward = backward};

tutti_value tutti_net_lrn(
    tutti_net *net, const char *name, tutti_value x, const tutti_lrn_layer *layer)
{
    return tutti_net_append(
        net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}}, layer, sizeof *layer);
}
