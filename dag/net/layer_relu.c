#include "dag/kernels/act.h"
#include "dag/net/site.h"

static tutti_status infer(tutti_layer *layer)
{
    layer->out[0] = layer->from[0];
    return TUTTI_OK;
}

/* The settings of a ReLU without a limit are 0. */
static tutti_relu_desc describe(const tutti_site *site)
{
    const float *limit = tutti_layer_settings(site->layer);
    return (tutti_relu_desc){
        .count = site->N * tutti_extent_count(site->layer->out[0]), .limit = *limit};
}

/* What is rectified already is its value, too. */
static tutti_status forward(tutti_site *site)
{
    if (site->rectified) {
        site->y[0] = site->x[0];
        return TUTTI_OK;
    }
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_relu_desc desc = describe(site);
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_relu, &desc, sizeof desc, 2, access);
}

static tutti_status backward(tutti_site *site)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_relu_desc desc = describe(site);
    tutti_access access[] = {
        tutti_reads(site->y[0]), tutti_reads(site->dy[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_relu_bwd, &desc, sizeof desc, 3, access);
}

static const tutti_layer_kind kind = {
    .name = "relu", .infer = infer, .is_relu = 1, .forward = forward, .backward = backward};

tutti_value tutti_net_relu(tutti_net *net, const char *name, tutti_value x)
{
    return tutti_net_append(
        net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}}, NULL, 0);
}

/* Of a kind of its own: what computes a ReLU together with the layer before it knows no limit. */
static const tutti_layer_kind clipped_kind = {
    .name = "clipped relu", .infer = infer, .forward = forward, .backward = backward};

tutti_value tutti_net_clipped_relu(tutti_net *net, const char *name, tutti_value x, float limit)
{
    return tutti_net_append(net, name, (tutti_layer){.kind = &clipped_kind, .inputs = 1, .in = {x}},
        &limit, sizeof limit);
}
