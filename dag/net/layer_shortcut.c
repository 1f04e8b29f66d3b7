#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/net/site.h"

static tutti_status infer(tutti_layer *layer)
{
    const tutti_shortcut_layer *shortcut = tutti_layer_settings(layer);
    int64_t K = shortcut->K, stride = shortcut->stride;
    tutti_extent x = layer->from[0];
    char text[TUTTI_EXTENT_TEXT];
    if (K < x.C)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: shortcut layer %s: %lld channels from %s: must not be fewer", layer->name,
            (long long)K, tutti_extent_print(x, text));
    if (stride < 1 || stride > x.H || stride > x.W)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: shortcut layer %s: stride %lld over %s: must be at least 1, and the image not "
            "smaller",
            layer->name, (long long)stride, tutti_extent_print(x, text));
    layer->out[0] = (tutti_extent){(x.H + stride - 1) / stride, (x.W + stride - 1) / stride, K};
    return TUTTI_OK;
}

static tutti_shortcut_desc describe(const tutti_site *site)
{
    const tutti_shortcut_layer *shortcut = tutti_layer_settings(site->layer);
    tutti_extent x = site->layer->from[0];
    return (tutti_shortcut_desc){
        .N = site->N, .H = x.H, .W = x.W, .C = x.C, .K = shortcut->K, .stride = shortcut->stride};
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_shortcut_desc desc = describe(site);
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_shortcut, &desc, sizeof desc, 2, access);
}

static tutti_status backward(tutti_site *site)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_shortcut_desc desc = describe(site);
    tutti_access access[] = {tutti_reads(site->dy[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_shortcut_bwd, &desc, sizeof desc, 2, access);
}

static const tutti_layer_kind kind = {
    .name = "shortcut", .infer = infer, .forward = forward, .backward = backward};

tutti_value tutti_net_shortcut(
    tutti_net *net, const char *name, tutti_value x, int64_t K, int64_t stride)
{
    const tutti_shortcut_layer settings = {K, stride};
    return tutti_net_append(net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}},
        &settings, sizeof settings);
}
