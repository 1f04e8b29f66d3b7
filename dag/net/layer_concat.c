/* Values side by side in their channels. One kernel computes all gradients, so each dx has a buffer
 * even if nothing reads it. */
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/net/site.h"

static tutti_status check_input(const tutti_layer *layer, int i)
{
    tutti_extent first = layer->from[0], x = layer->from[i];
    char left[TUTTI_EXTENT_TEXT], right[TUTTI_EXTENT_TEXT];
    if (x.H != first.H || x.W != first.W)
        return tutti_fail(TUTTI_ERR_INVAL, "net: concat layer %s: sizes differ: %s and %s",
            layer->name, tutti_extent_print(first, left), tutti_extent_print(x, right));
    if (layer->from_dtype[i] != layer->from_dtype[0])
        return tutti_fail(TUTTI_ERR_INVAL, "net: concat layer %s: types differ: %s and %s",
            layer->name, tutti_dtype_name(layer->from_dtype[0]),
            tutti_dtype_name(layer->from_dtype[i]));
    for (int k = 0; k < i; k++)
        if (layer->in[k] == layer->in[i])
            return tutti_fail(TUTTI_ERR_INVAL, "net: concat layer %s: has one value (%s) twice",
                layer->name, tutti_extent_print(x, left));
    return TUTTI_OK;
}

static tutti_status infer(tutti_layer *layer)
{
    tutti_extent y = {layer->from[0].H, layer->from[0].W, 0};
    if (layer->inputs < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "net: concat layer %s: no value", layer->name);
    for (int i = 0; i < layer->inputs; i++) {
        tutti_status status = check_input(layer, i);
        if (status != TUTTI_OK) return status;
        if (__builtin_add_overflow(y.C, layer->from[i].C, &y.C))
            return tutti_fail(
                TUTTI_ERR_INVAL, "net: concat layer %s: too many channels", layer->name);
    }
    layer->out[0] = y;
    return TUTTI_OK;
}

static tutti_concat_desc describe(const tutti_site *site)
{
    const tutti_layer *layer = site->layer;
    tutti_concat_desc desc = {
        .pixels = site->N * layer->out[0].H * layer->out[0].W, .parts = layer->inputs};
    for (int i = 0; i < layer->inputs; i++) desc.C[i] = layer->from[i].C;
    return desc;
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_concat_desc desc = describe(site);
    tutti_access access[TUTTI_CONCAT_PARTS + 1];
    for (int i = 0; i < desc.parts; i++) access[i] = tutti_reads(site->x[i]);
    access[desc.parts] = tutti_writes(site->y[0]);
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_concat, &desc, sizeof desc, desc.parts + 1, access);
}

static tutti_status backward(tutti_site *site)
{
    tutti_concat_desc desc = describe(site);
    tutti_access access[TUTTI_CONCAT_PARTS + 1] = {tutti_reads(site->dy[0])};
    for (int i = 0; i < desc.parts; i++) {
        tutti_status status = tutti_site_gradient(site, i);
        if (status != TUTTI_OK) return status;
        access[1 + i] = tutti_writes(site->dx[i]);
    }
    return tutti_site_kernel(site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_concat_bwd, &desc,
        sizeof desc, desc.parts + 1, access);
}

static const tutti_layer_kind kind = {
    .name = "concat", .infer = infer, .forward = forward, .backward = backward};

tutti_value tutti_net_concat(tutti_net *net, const char *name, int count, const tutti_value x[])
{
    tutti_layer layer = {.kind = &kind, .inputs = count};
    for (int i = 0; i < count && i < TUTTI_LAYER_INPUTS; i++) layer.in[i] = x[i];
    return tutti_net_append(net, name, layer, NULL, 0);
}
