/* Fully connected layer. Images need no flattening node: (N,H,W,C) and (N,H*W*C) are the same in
 * memory. */
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/dense.h"
#include "dag/net/site.h"

typedef struct dense_layer {
    int64_t K;
    tutti_init init;
} dense_layer;

static tutti_status infer(tutti_layer *layer)
{
    const dense_layer *dense = tutti_layer_settings(layer);
    if (dense->K < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "net: dense layer %s: %lld outputs; must be at least 1",
            layer->name, (long long)dense->K);
    layer->out[0] = (tutti_extent){1, 1, dense->K};
    return TUTTI_OK;
}

static int parameters(const tutti_layer *layer, tutti_parameter p[])
{
    const dense_layer *dense = tutti_layer_settings(layer);
    int64_t C = tutti_extent_count(layer->from[0]), K = dense->K;
    p[0] = (tutti_parameter){
        .suffix = "weight", .dtype = TUTTI_F32, .multiplied = 1, .shape = tutti_shape_of(K, C)};
    tutti_parameter_init(&p[0], dense->init, C, K);
    p[1] = (tutti_parameter){.suffix = "bias",
        .dtype = TUTTI_F32,
        .shape = tutti_shape_of(K),
        .start = TUTTI_START_ZERO,
        .per_channel = 1};
    return 2;
}

static tutti_dense_desc describe(const tutti_site *site)
{
    const dense_layer *dense = tutti_layer_settings(site->layer);
    return (tutti_dense_desc){
        .N = site->N, .C = tutti_extent_count(site->layer->from[0]), .K = dense->K, .bias = 1};
}

/* Whether its value has a wider type than its input. */
static int widens(const tutti_layer *layer)
{
    return layer->dtype[0] != layer->from_dtype[0];
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_dense_desc desc = describe(site);
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_reads(site->parameter[0]),
        tutti_reads(site->parameter[1]), tutti_writes(site->y[0])};
    const tutti_op *op = widens(site->layer) ? &tutti_op_dense_wide : &tutti_op_dense;
    return tutti_site_kernel(site, TUTTI_PHASE_FORWARD, op, &desc, sizeof desc, 4, access);
}

/* Rounds the gradient of a value of another type than the input's to that type: the kernels of the
 * backward pass take one type. */
static tutti_status round_gradient(tutti_site *site, int *dy)
{
    const tutti_layer *layer = site->layer;
    const tutti_sum_desc desc = {.count = site->N * tutti_extent_count(layer->out[0]), .inputs = 1};
    tutti_status status = tutti_gradients_take(
        site->gradients, layer->from_dtype[0], tutti_extent_count(layer->out[0]), dy);
    if (status != TUTTI_OK) return status;
    const tutti_access access[] = {tutti_reads(site->dy[0]), tutti_writes(*dy)};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_sum_narrow, &desc, sizeof desc, 2, access);
}

static tutti_status backward_data(tutti_site *site, const tutti_dense_desc *desc, int dy)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {
        tutti_reads(dy), tutti_reads(site->parameter[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_dense_bwd_data, desc, sizeof *desc, 3, access);
}

static tutti_status backward_from(tutti_site *site, int dy)
{
    tutti_dense_desc desc = describe(site);
    tutti_status status = site->wanted[0] ? backward_data(site, &desc, dy) : TUTTI_OK;
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_reads(dy),
        tutti_writes(site->dparameter[0]), tutti_writes(site->dparameter[1])};
    return tutti_site_kernel(site, TUTTI_PHASE_BACKWARD_WEIGHTS, &tutti_op_dense_bwd_weights, &desc,
        sizeof desc, 4, access);
}

static tutti_status backward(tutti_site *site)
{
    int dy;
    if (!widens(site->layer)) return backward_from(site, site->dy[0]);
    tutti_status status = round_gradient(site, &dy);
    if (status == TUTTI_OK) status = backward_from(site, dy);
    if (status == TUTTI_OK) tutti_gradients_drop(site->gradients, dy);
    return status;
}

static const tutti_layer_kind kind = {.name = "dense",
    .infer = infer,
    .parameters = parameters,
    .widens = 1,
    .forward = forward,
    .backward = backward};

tutti_value tutti_net_dense(
    tutti_net *net, const char *name, tutti_value x, int64_t K, tutti_init init)
{
    const dense_layer settings = {K, init};
    return tutti_net_append(net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}},
        &settings, sizeof settings);
}
