/* Convolution; the first one of a net computes no data gradient. */
#include "dag/base/log.h"
#include "dag/kernels/conv.h"
#include "dag/net/site.h"

static tutti_status infer(tutti_layer *layer)
{
    const tutti_conv_layer *conv = tutti_layer_settings(layer);
    tutti_status status =
        tutti_layer_check_window(layer, (tutti_window){conv->R, conv->stride, conv->pad});
    if (status != TUTTI_OK) return status;
    if (conv->K < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "net: conv layer %s: %lld filters; must be at least 1",
            layer->name, (long long)conv->K);
    layer->out[0] = (tutti_extent){
        .H = tutti_conv_out(layer->from[0].H, conv->R, conv->stride, conv->pad),
        .W = tutti_conv_out(layer->from[0].W, conv->R, conv->stride, conv->pad),
        .C = conv->K,
    };
    return TUTTI_OK;
}

static int parameters(const tutti_layer *layer, tutti_parameter p[])
{
    const tutti_conv_layer *conv = tutti_layer_settings(layer);
    int64_t C = layer->from[0].C, area = conv->R * conv->R;
    p[0] = (tutti_parameter){.suffix = "weight",
        .dtype = TUTTI_F32,
        .multiplied = 1,
        .shape = tutti_shape_of(conv->K, conv->R, conv->R, C)};
    tutti_parameter_init(&p[0], conv->init, C * area, conv->K * area);
    if (!conv->bias) return 1;
    p[1] = (tutti_parameter){.suffix = "bias",
        .dtype = TUTTI_F32,
        .shape = tutti_shape_of(conv->K),
        .start = TUTTI_START_ZERO,
        .per_channel = 1};
    return 2;
}

static tutti_conv_desc describe(const tutti_site *site)
{
    const tutti_conv_layer *conv = tutti_layer_settings(site->layer);
    tutti_extent x = site->layer->from[0];
    return (tutti_conv_desc){.N = site->N,
        .H = x.H,
        .W = x.W,
        .C = x.C,
        .K = conv->K,
        .R = conv->R,
        .S = conv->R,
        .stride = conv->stride,
        .pad = conv->pad,
        .bias = conv->bias != 0};
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_conv_desc desc = describe(site);
    tutti_access access[4];
    int n = 0;
    access[n++] = tutti_reads(site->x[0]);
    access[n++] = tutti_reads(site->parameter[0]);
    if (desc.bias) access[n++] = tutti_reads(site->parameter[1]);
    access[n++] = tutti_writes(site->y[0]);
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_conv, &desc, sizeof desc, n, access);
}

static tutti_status backward_data(tutti_site *site, const tutti_conv_desc *desc)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {
        tutti_reads(site->dy[0]), tutti_reads(site->parameter[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_conv_bwd_data, desc, sizeof *desc, 3, access);
}

static tutti_status backward(tutti_site *site)
{
    tutti_conv_desc desc = describe(site);
    tutti_status status = site->wanted[0] ? backward_data(site, &desc) : TUTTI_OK;
    if (status != TUTTI_OK) return status;
    tutti_access access[4];
    int n = 0;
    access[n++] = tutti_reads(site->x[0]);
    access[n++] = tutti_reads(site->dy[0]);
    access[n++] = tutti_writes(site->dparameter[0]);
    if (desc.bias) access[n++] = tutti_writes(site->dparameter[1]);
    return tutti_site_kernel(site, TUTTI_PHASE_BACKWARD_WEIGHTS, &tutti_op_conv_bwd_weights, &desc,
        sizeof desc, n, access);
}

static const tutti_layer_kind kind = {.name = "conv",
    .infer = infer,
    .parameters = parameters,
    .forward = forward,
    .backward = backward};

tutti_value tutti_net_conv(
    tutti_net *net, const char *name, tutti_value x, const tutti_conv_layer *layer)
{
    tutti_conv_layer settings = *layer;
    if (settings.stride == 0) settings.stride = 1;
    return tutti_net_append(net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}},
        &settings, sizeof settings);
}
