/* Residual sum. Its gradient is one tensor, shared by both inputs: dy itself, or dy where the
 * following ReLU passed its input. */
#include "dag/base/log.h"
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/net/site.h"

static tutti_status infer(tutti_layer *layer)
{
    tutti_extent a = layer->from[0], b = layer->from[1];
    char left[TUTTI_EXTENT_TEXT], right[TUTTI_EXTENT_TEXT];
    if (a.H != b.H || a.W != b.W || a.C != b.C)
        return tutti_fail(TUTTI_ERR_INVAL, "net: add layer %s: shapes differ: %s and %s",
            layer->name, tutti_extent_print(a, left), tutti_extent_print(b, right));
    if (layer->from_dtype[0] != layer->from_dtype[1])
        return tutti_fail(TUTTI_ERR_INVAL, "net: add layer %s: types differ: %s and %s",
            layer->name, tutti_dtype_name(layer->from_dtype[0]),
            tutti_dtype_name(layer->from_dtype[1]));
    if (layer->in[0] == layer->in[1])
        return tutti_fail(TUTTI_ERR_INVAL, "net: add layer %s: adds a value (%s) to itself",
            layer->name, tutti_extent_print(a, left));
    layer->out[0] = a;
    return TUTTI_OK;
}

static int fused_relu(const tutti_site *site)
{
    return *(const int *)tutti_layer_settings(site->layer);
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_sum_desc desc = {.count = site->N * tutti_extent_count(site->layer->out[0]),
        .inputs = 2,
        .relu = fused_relu(site)};
    tutti_access access[] = {
        tutti_reads(site->x[0]), tutti_reads(site->x[1]), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_sum, &desc, sizeof desc, 3, access);
}

static tutti_status backward(tutti_site *site)
{
    if (!fused_relu(site)) {
        site->dx[0] = site->dx[1] = site->dy[0];
        return TUTTI_OK;
    }
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    site->dx[1] = site->dx[0];
    tutti_relu_desc desc = {.count = site->N * tutti_extent_count(site->layer->out[0])};
    tutti_access access[] = {
        tutti_reads(site->y[0]), tutti_reads(site->dy[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_relu_bwd, &desc, sizeof desc, 3, access);
}

static const tutti_layer_kind kind = {
    .name = "add", .infer = infer, .forward = forward, .backward = backward};

tutti_value tutti_net_add(tutti_net *net, const char *name, tutti_value a, tutti_value b, int relu)
{
    int fused = relu != 0;
    return tutti_net_append(
        net, name, (tutti_layer){.kind = &kind, .inputs = 2, .in = {a, b}}, &fused, sizeof fused);
}
