/* Residual sum. Its gradient is one tensor, shared by both inputs: dy itself, or dy where the
 * following ReLU passed its input. With site->norm it computes the batch normalisation that it adds, too: then the
 * norm's value has no tensor, and the gradient is only that of the other input. */
#include "dag/base/log.h"
#include "dag/kernels/act.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/norm.h"
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

int tutti_net_added_norm(const tutti_net *net, int layer)
{
    const tutti_layer *add = &net->layer[layer];
    if (add->kind != &tutti_layer_add || !*(const int *)tutti_layer_settings(add)) return -1;
    for (int i = 0; i < add->inputs; i++) {
        const tutti_layer *norm = &net->layer[net->source[add->in[i]].layer];
        if (norm->kind != &tutti_layer_norm) continue;
        if (((const tutti_norm_layer *)tutti_layer_settings(norm))->relu) continue;
        if (tutti_net_readers(net, add->in[i]) == 1) return i;
    }
    return -1;
}

/* Which input is the norm's value. */
static int added_input(const tutti_site *site)
{
    return site->layer->in[0] == site->norm->layer->value ? 0 : 1;
}

static tutti_norm_desc describe_norm(const tutti_site *site)
{
    const tutti_norm_layer *norm = tutti_layer_settings(site->norm->layer);
    const tutti_extent x = site->layer->out[0];
    return (tutti_norm_desc){.N = site->N, .H = x.H, .W = x.W, .C = x.C, .eps = norm->eps};
}

static tutti_status forward_with_norm(tutti_site *site)
{
    const tutti_site *norm = site->norm;
    const tutti_norm_desc desc = describe_norm(site);
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(norm->x[0]), tutti_reads(norm->parameter[0]),
        tutti_reads(site->x[!added_input(site)]), tutti_writes(site->y[0]),
        tutti_writes(norm->stats)};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_norm_add, &desc, sizeof desc, 5, access);
}

/* The norm's layer passes on norm->dx. */
static tutti_status backward_with_norm(tutti_site *site)
{
    tutti_site *norm = site->norm;
    const tutti_norm_desc desc = describe_norm(site);
    const int added = added_input(site), other = !added;
    tutti_status status = tutti_site_gradient(site, other);
    if (status == TUTTI_OK) status = tutti_site_gradient(norm, 0);
    if (status != TUTTI_OK) return status;
    site->wanted[added] = 0;
    site->dx[added] = -1;
    tutti_access access[] = {tutti_reads(norm->x[0]), tutti_reads(site->y[0]),
        tutti_reads(site->dy[0]), tutti_reads(norm->parameter[0]), tutti_reads(norm->stats),
        tutti_writes(norm->dx[0]), tutti_writes(site->dx[other]),
        tutti_writes(norm->dparameter[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_norm_add_bwd, &desc, sizeof desc, 8, access);
}

static tutti_status sum(tutti_site *site)
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

/* The norm's value takes the place of the sum first. */
static tutti_status evaluate_with_norm(tutti_site *site)
{
    const tutti_site *norm = site->norm;
    const tutti_norm_desc desc = describe_norm(site);
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    const tutti_access infer[] = {tutti_reads(norm->x[0]), tutti_reads(norm->parameter[0]),
        tutti_reads(norm->running), tutti_writes(site->y[0])};
    status = tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_norm_infer, &desc, sizeof desc, 4, infer);
    if (status != TUTTI_OK) return status;
    const tutti_sum_desc sum = {.count = site->N * tutti_extent_count(site->layer->out[0]),
        .inputs = 1,
        .relu = 1,
        .into = 1};
    const tutti_access add[] = {
        tutti_reads(site->x[!added_input(site)]), tutti_updates(site->y[0])};
    return tutti_site_kernel(site, TUTTI_PHASE_FORWARD, &tutti_op_sum, &sum, sizeof sum, 2, add);
}

static tutti_status forward(tutti_site *site)
{
    return site->norm ? forward_with_norm(site) : sum(site);
}

static tutti_status evaluate(tutti_site *site)
{
    return site->norm ? evaluate_with_norm(site) : sum(site);
}

static tutti_status backward(tutti_site *site)
{
    if (site->norm) return backward_with_norm(site);
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

const tutti_layer_kind tutti_layer_add = {
    .name = "add", .infer = infer, .forward = forward, .evaluate = evaluate, .backward = backward};

tutti_value tutti_net_add(tutti_net *net, const char *name, tutti_value a, tutti_value b, int relu)
{
    int fused = relu != 0;
    return tutti_net_append(net, name,
        (tutti_layer){.kind = &tutti_layer_add, .inputs = 2, .in = {a, b}}, &fused, sizeof fused);
}
