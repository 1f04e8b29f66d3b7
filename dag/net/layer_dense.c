/* Fully connected layer. Images need no flattening node: (N,H,W,C) and (N,H*W*C) are the same in
 * memory. */
#include "dag/base/log.h"
#include "dag/kernels/arith.h"
#include "dag/kernels/dense.h"
#include "dag/net/divided.h"

static tutti_status infer(tutti_layer *layer)
{
    const tutti_dense_layer *dense = tutti_layer_settings(layer);
    if (dense->K < 1)
        return tutti_fail(TUTTI_ERR_INVAL, "net: dense layer %s: %lld outputs; must be at least 1",
            layer->name, (long long)dense->K);
    layer->out[0] = (tutti_extent){1, 1, dense->K};
    return TUTTI_OK;
}

static int parameters(const tutti_layer *layer, tutti_parameter p[])
{
    const tutti_dense_layer *dense = tutti_layer_settings(layer);
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

/* What this rank computes: of a divided layer, its outputs for the images of all ranks. */
static tutti_dense_desc describe(const tutti_site *site)
{
    const tutti_dense_layer *dense = tutti_layer_settings(site->layer);
    const int64_t ranks = site->divided ? site->divided->blocks : 1;
    return (tutti_dense_desc){.N = site->N * ranks,
        .C = tutti_extent_count(site->layer->from[0]),
        .K = dense->K / ranks,
        .bias = 1};
}

/* Whether its value has a wider type than its input. */
static int widens(const tutti_layer *layer)
{
    return layer->dtype[0] != layer->from_dtype[0];
}

static tutti_status append_forward(tutti_site *site, int x, int y)
{
    tutti_dense_desc desc = describe(site);
    tutti_access access[] = {tutti_reads(x), tutti_reads(site->parameter[0]),
        tutti_reads(site->parameter[1]), tutti_writes(y)};
    desc.relu = site->rectified;
    const tutti_op *op = widens(site->layer) ? &tutti_op_dense_wide : &tutti_op_dense;
    return tutti_site_kernel(site, TUTTI_PHASE_FORWARD, op, &desc, sizeof desc, 4, access);
}

/* The inputs of all ranks are kept for the backward pass; what is between them and the value is not. */
static tutti_status forward_divided(tutti_site *site)
{
    const tutti_layer *layer = site->layer;
    const int ranks = site->divided->blocks;
    const int64_t C = tutti_extent_count(layer->from[0]), K = layer->out[0].C;
    int block, blocks;
    tutti_status status = tutti_site_kept(
        site, "inputs", layer->from_dtype[0], tutti_shape_of(ranks * site->room, C), &site->saved);
    if (status == TUTTI_OK)
        status = tutti_divided_gather(site, site->x[0], site->N * C, site->saved);
    if (status == TUTTI_OK)
        status = tutti_gradients_take(site->gradients, layer->dtype[0], K, &block);
    if (status == TUTTI_OK)
        status = tutti_gradients_take(site->gradients, layer->dtype[0], ranks * K, &blocks);
    if (status == TUTTI_OK) status = append_forward(site, site->saved, block);
    if (status == TUTTI_OK) status = tutti_divided_gather(site, block, site->N * K, blocks);
    if (status == TUTTI_OK) status = tutti_divided_join(site, blocks, site->y[0]);
    if (status != TUTTI_OK) return status;
    tutti_gradients_drop(site->gradients, block);
    tutti_gradients_drop(site->gradients, blocks);
    return TUTTI_OK;
}

static tutti_status forward(tutti_site *site)
{
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    return site->divided ? forward_divided(site) : append_forward(site, site->x[0], site->y[0]);
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

static tutti_status append_data(tutti_site *site, const tutti_dense_desc *desc, int dy, int dx)
{
    tutti_access access[] = {tutti_reads(dy), tutti_reads(site->parameter[0]), tutti_writes(dx)};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_dense_bwd_data, desc, sizeof *desc, 3, access);
}

/* What this rank's outputs add to the gradients of all ranks' inputs; then the sum for its own. */
static tutti_status scatter_data(tutti_site *site, const tutti_dense_desc *desc, int dy)
{
    int all;
    tutti_status status = tutti_gradients_take(
        site->gradients, site->layer->from_dtype[0], site->divided->blocks * desc->C, &all);
    if (status == TUTTI_OK) status = append_data(site, desc, dy, all);
    if (status == TUTTI_OK)
        status = tutti_divided_scatter(site, all, site->N * desc->C, site->dx[0]);
    if (status == TUTTI_OK) tutti_gradients_drop(site->gradients, all);
    return status;
}

static tutti_status backward_data(tutti_site *site, const tutti_dense_desc *desc, int dy)
{
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    return site->divided ? scatter_data(site, desc, dy) : append_data(site, desc, dy, site->dx[0]);
}

static tutti_status backward_of(tutti_site *site, int x, int dy)
{
    tutti_dense_desc desc = describe(site);
    tutti_status status = site->wanted[0] ? backward_data(site, &desc, dy) : TUTTI_OK;
    if (status != TUTTI_OK || !site->trains) return status;
    tutti_access access[] = {tutti_reads(x), tutti_reads(dy), tutti_writes(site->dparameter[0]),
        tutti_writes(site->dparameter[1])};
    return tutti_site_kernel(site, TUTTI_PHASE_BACKWARD_WEIGHTS, &tutti_op_dense_bwd_weights, &desc,
        sizeof desc, 4, access);
}

static tutti_status backward_divided(tutti_site *site, int dy)
{
    const tutti_layer *layer = site->layer;
    const int64_t K = layer->out[0].C;
    int all, columns;
    tutti_status status = tutti_gradients_take(
        site->gradients, layer->from_dtype[0], site->divided->blocks * K, &all);
    if (status == TUTTI_OK) status = tutti_divided_gather(site, dy, site->N * K, all);
    if (status == TUTTI_OK)
        status = tutti_gradients_take(site->gradients, layer->from_dtype[0], K, &columns);
    if (status == TUTTI_OK) status = tutti_divided_columns(site, all, columns);
    if (status != TUTTI_OK) return status;
    tutti_gradients_drop(site->gradients, all);
    status = backward_of(site, site->saved, columns);
    tutti_gradients_drop(site->gradients, columns);
    return status;
}

static tutti_status backward_from(tutti_site *site, int dy)
{
    return site->divided ? backward_divided(site, dy) : backward_of(site, site->x[0], dy);
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
    .divides = 1,
    .rectifies = 1,
    .forward = forward,
    .backward = backward};

tutti_value tutti_net_dense(
    tutti_net *net, const char *name, tutti_value x, int64_t K, tutti_init init)
{
    const tutti_dense_layer settings = {K, init};
    return tutti_net_append(net, name, (tutti_layer){.kind = &kind, .inputs = 1, .in = {x}},
        &settings, sizeof settings);
}
