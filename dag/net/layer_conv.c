/* Convolution; the first one of a net computes no data gradient. */
#include "dag/base/log.h"
#include "dag/kernels/conv.h"
#include "dag/net/site.h"

static tutti_conv_desc describe_at(const tutti_layer *layer, int64_t N)
{
    const tutti_conv_layer *conv = tutti_layer_settings(layer);
    tutti_extent x = layer->from[0];
    return (tutti_conv_desc){.N = N,
        .H = x.H,
        .W = x.W,
        .C = x.C,
        .K = conv->K,
        .R = conv->R,
        .S = conv->S,
        .stride = {conv->stride, conv->stride_s},
        .pad = {conv->pad, conv->pad_s},
        .groups = conv->groups,
        .bias = conv->bias != 0};
}

static tutti_status infer(tutti_layer *layer)
{
    const tutti_conv_layer *conv = tutti_layer_settings(layer);
    const tutti_conv_desc desc = describe_at(layer, 1);
    tutti_status status = tutti_layer_check_window(layer,
        (tutti_window){conv->R, conv->S, {conv->stride, conv->stride_s}, {conv->pad, conv->pad_s}});
    if (status != TUTTI_OK) return status;
    if (conv->K < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "net: conv layer %s: %lld filters; must be at least 1",
            layer->name, (long long)conv->K);
    if (conv->groups < 1 || desc.C % conv->groups || conv->K % conv->groups)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: conv layer %s: %lld groups of %lld channels and %lld filters; must divide both",
            layer->name, (long long)conv->groups, (long long)desc.C, (long long)conv->K);
    layer->out[0] = (tutti_extent){
        .H = tutti_conv_out(desc.H, desc.R, desc.stride[0], desc.pad[0]),
        .W = tutti_conv_out(desc.W, desc.S, desc.stride[1], desc.pad[1]),
        .C = desc.K,
    };
    return TUTTI_OK;
}

static int parameters(const tutti_layer *layer, tutti_parameter p[])
{
    const tutti_conv_layer *conv = tutti_layer_settings(layer);
    int64_t C = layer->from[0].C / conv->groups, area = conv->R * conv->S;
    p[0] = (tutti_parameter){.suffix = "weight",
        .dtype = TUTTI_F32,
        .multiplied = 1,
        .shape = tutti_shape_of(conv->K, conv->R, conv->S, C)};
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
    return describe_at(site->layer, site->N);
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_conv_desc desc = describe(site);
    tutti_access access[4];
    int n = 0;
    desc.relu = site->rectified;
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
    if (status != TUTTI_OK || !site->trains) return status;
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
    .rectifies = 1,
    .forward = forward,
    .backward = backward};

tutti_value tutti_net_conv(
    tutti_net *net, const char *name, tutti_value x, const tutti_conv_layer *layer)
{
    tutti_conv_layer settings = *layer;
    if (settings.stride == 0) settings.stride = 1;
    if (settings.groups == 0) settings.groups = 1;
    if (settings.S == 0) {
        settings.S = settings.R;
        settings.stride_s = settings.stride;
        settings.pad_s = settings.pad;
    }
    if (settings.stride_s == 0) settings.stride_s = settings.stride;
    return tutti_net_append(net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}},
        &settings, sizeof settings);
}
