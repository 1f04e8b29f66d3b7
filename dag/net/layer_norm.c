/* Batch normalisation over one micro-batch: each has separate statistics, as each rank has. Where the addition after it
 * computes it (tutti_site.added), its passes only make the tensor of its statistics. */
#include "dag/base/log.h"
#include "dag/kernels/norm.h"
#include "dag/net/site.h"

#include <math.h>

static const float NORM_EPS = 1e-5f;

typedef struct norm_layer {
    tutti_norm_layer set;
    int zero; /* whether its scale starts at 0 */
} norm_layer;

static tutti_status infer(tutti_layer *layer)
{
    const norm_layer *norm = tutti_layer_settings(layer);
    if (!(norm->set.eps > 0 && isfinite(norm->set.eps)))
        return tutti_fail(TUTTI_ERR_INVAL, "net: norm layer %s: eps %g; must be finite and above 0",
            layer->name, (double)norm->set.eps);
    if (norm->set.limit > 0 && !norm->set.relu)
        return tutti_fail(TUTTI_ERR_INVAL, "net: norm layer %s: a limit of %g, but no ReLU",
            layer->name, (double)norm->set.limit);
    layer->out[0] = layer->from[0];
    return TUTTI_OK;
}

static int parameters(const tutti_layer *layer, tutti_parameter p[])
{
    const norm_layer *norm = tutti_layer_settings(layer);
    p[0] = (tutti_parameter){.suffix = "scaleshift",
        .dtype = TUTTI_F32,
        .shape = tutti_shape_of(2, layer->out[0].C),
        .start = norm->zero ? TUTTI_START_ZERO : TUTTI_START_ONE_ZERO,
        .per_channel = 1};
    return 1;
}

static tutti_norm_desc describe(const tutti_site *site)
{
    tutti_extent x = site->layer->out[0];
    const norm_layer *norm = tutti_layer_settings(site->layer);
    return (tutti_norm_desc){.N = site->N,
        .H = x.H,
        .W = x.W,
        .C = x.C,
        .eps = norm->set.eps,
        .relu = norm->set.relu,
        .limit = norm->set.limit};
}

static tutti_status forward(tutti_site *site)
{
    tutti_norm_desc desc = describe(site);
    if (site->added) return tutti_site_stats(site);
    tutti_status status = tutti_site_output(site);
    if (status == TUTTI_OK) status = tutti_site_stats(site);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_reads(site->parameter[0]),
        tutti_writes(site->y[0]), tutti_writes(site->stats)};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_norm, &desc, sizeof desc, 4, access);
}

static tutti_status evaluate(tutti_site *site)
{
    tutti_norm_desc desc = describe(site);
    if (site->added) return TUTTI_OK;
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_reads(site->parameter[0]),
        tutti_reads(site->running), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_norm_infer, &desc, sizeof desc, 4, access);
}

/* One kernel computes both gradients, so dx has a buffer even if nothing reads it. */
static tutti_status backward(tutti_site *site)
{
    tutti_norm_desc desc = describe(site);
    if (site->added) return TUTTI_OK;
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_reads(site->dy[0]),
        tutti_reads(site->parameter[0]), tutti_reads(site->stats), tutti_writes(site->dx[0]),
        tutti_writes(site->dparameter[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_norm_bwd, &desc, sizeof desc, 6, access);
}

const tutti_layer_kind tutti_layer_norm = {.name = "norm",
    .infer = infer,
    .parameters = parameters,
    .statistics = 1,
    .forward = forward,
    .evaluate = evaluate,
    .backward = backward};

tutti_value tutti_net_batch_norm(
    tutti_net *net, const char *name, tutti_value x, const tutti_norm_layer *layer)
{
    norm_layer norm = {.set = *layer};
    norm.set.relu = layer->relu != 0;
    if (layer->eps == 0) norm.set.eps = NORM_EPS;
    return tutti_net_append(net, name,
        (tutti_layer){.kind = &tutti_layer_norm, .inputs = 1, .in = {x}}, &norm, sizeof norm);
}

tutti_value tutti_net_norm(tutti_net *net, const char *name, tutti_value x, int relu)
{
    return tutti_net_batch_norm(net, name, x, &(tutti_norm_layer){.relu = relu});
}

void tutti_net_start_blocks_at_zero(tutti_net *net)
{
    for (int l = 0; l < net->layers; l++) {
        norm_layer *norm = (void *)net->layer[l].settings;
        if (net->layer[l].kind == &tutti_layer_norm) norm->zero = norm->set.last;
    }
}
