/* The channels of a value, distributed over several values. */
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/net/site.h"

/* The channels of the values are set already. */
static tutti_status infer(tutti_layer *layer)
{
    tutti_extent x = layer->from[0];
    int64_t left = x.C;
    char text[TUTTI_EXTENT_TEXT];
    for (int o = 0; o < layer->outputs; o++) {
        int64_t C = layer->out[o].C;
        if (C < 1 || C > left)
            return tutti_fail(TUTTI_ERR_INVAL,
                "net: split layer %s: value %d gets %lld channels, but %lld of %s are left",
                layer->name, o, (long long)C, (long long)left, tutti_extent_print(x, text));
        left -= C;
        layer->out[o] = (tutti_extent){x.H, x.W, C};
    }
    if (left > 0)
        return tutti_fail(TUTTI_ERR_INVAL, "net: split layer %s: %lld channels of %s are left over",
            layer->name, (long long)left, tutti_extent_print(x, text));
    return TUTTI_OK;
}

static tutti_concat_desc describe(const tutti_site *site)
{
    const tutti_layer *layer = site->layer;
    tutti_concat_desc desc = {
        .pixels = site->N * layer->from[0].H * layer->from[0].W, .parts = layer->outputs};
    for (int o = 0; o < layer->outputs; o++) desc.C[o] = layer->out[o].C;
    return desc;
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_concat_desc desc = describe(site);
    tutti_access access[TUTTI_CONCAT_PARTS + 1] = {tutti_reads(site->x[0])};
    for (int o = 0; o < desc.parts; o++) access[1 + o] = tutti_writes(site->y[o]);
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_split, &desc, sizeof desc, desc.parts + 1, access);
}

static tutti_status backward(tutti_site *site)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_concat_desc desc = describe(site);
    tutti_access access[TUTTI_CONCAT_PARTS + 1];
    for (int o = 0; o < desc.parts; o++) access[o] = tutti_reads(site->dy[o]);
    access[desc.parts] = tutti_writes(site->dx[0]);
    return tutti_site_kernel(site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_split_bwd, &desc,
        sizeof desc, desc.parts + 1, access);
}

static const tutti_layer_kind kind = {
    .name = "split", .infer = infer, .forward = forward, .backward = backward};

void tutti_net_split(tutti_net *net, const char *name, tutti_value x, int parts, const int64_t C[],
    tutti_value value[])
{
    tutti_layer layer = {.kind = &kind, .inputs = 1, .in = {x}, .outputs = parts};
    for (int i = 0; i < parts && i < TUTTI_LAYER_OUTPUTS; i++) layer.out[i].C = C[i];
    tutti_value first = tutti_net_append(net, name, layer, NULL, 0);
    for (int i = 0; i < parts; i++) value[i] = first < 0 ? -1 : first + i;
}
