/* Maximum and average pooling; global average pooling uses a window as large as the image. */
#include "dag/base/log.h"
#include "dag/kernels/pool.h"
#include "dag/net/site.h"

static tutti_pool_desc describe_at(const tutti_layer *layer, int64_t N)
{
    const tutti_pool_layer *pool = tutti_layer_settings(layer);
    tutti_extent x = layer->from[0];
    int whole = !pool->R;
    return (tutti_pool_desc){.N = N,
        .H = x.H,
        .W = x.W,
        .C = x.C,
        .R = whole ? x.H : pool->R,
        .S = whole ? x.W : pool->R,
        .stride = {pool->stride, pool->stride},
        .pad = {pool->pad, pool->pad},
        .ceiling = pool->ceiling != 0,
        .counts_padding = pool->counts_padding != 0};
}

static tutti_status infer_whole(tutti_layer *layer)
{
    tutti_pool_desc desc = describe_at(layer, 1);
    layer->out[0] = (tutti_extent){
        .H = tutti_pool_height(&desc),
        .W = tutti_pool_width(&desc),
        .C = desc.C,
    };
    return TUTTI_OK;
}

static tutti_status infer(tutti_layer *layer)
{
    const tutti_pool_layer *pool = tutti_layer_settings(layer);
    tutti_extent x = layer->from[0];
    tutti_status status = tutti_layer_check_window(layer,
        (tutti_window){pool->R, pool->R, {pool->stride, pool->stride}, {pool->pad, pool->pad}});
    if (status != TUTTI_OK) return status;
    char text[TUTTI_EXTENT_TEXT];
    if (pool->R > x.H + pool->pad || pool->R > x.W + pool->pad)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: %s layer %s: a %lldx%lld window with padding %lld sticks out on both sides of "
            "%s: the image is too small",
            layer->kind->name, layer->name, (long long)pool->R, (long long)pool->R,
            (long long)pool->pad, tutti_extent_print(x, text));
    status = infer_whole(layer);
    if (pool->counts_padding &&
        (tutti_pool_sticks_out(x.H, pool->R, pool->stride, pool->pad, layer->out[0].H) ||
            tutti_pool_sticks_out(x.W, pool->R, pool->stride, pool->pad, layer->out[0].W)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: %s layer %s: with a size of %s rounded up, its last window sticks out behind the "
            "padding, which cannot be counted then: leave out one of both",
            layer->kind->name, layer->name, tutti_extent_print(x, text));
    return status;
}

static tutti_status max_forward(tutti_site *site)
{
    tutti_pool_desc desc = describe_at(site->layer, site->N);
    tutti_pool_desc largest = describe_at(site->layer, site->room);
    tutti_status status = tutti_site_output(site);
    if (status == TUTTI_OK)
        status = tutti_site_saved(
            site, "argmax", tutti_pool_argmax_bytes(&largest, site->layer->dtype[0]), &site->saved);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {
        tutti_reads(site->x[0]), tutti_writes(site->y[0]), tutti_writes(site->saved)};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_pool_max, &desc, sizeof desc, 3, access);
}

static tutti_status max_backward(tutti_site *site)
{
    tutti_pool_desc desc = describe_at(site->layer, site->N);
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {
        tutti_reads(site->dy[0]), tutti_reads(site->saved), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_pool_max_bwd, &desc, sizeof desc, 3, access);
}

static tutti_status avg_forward(tutti_site *site)
{
    tutti_pool_desc desc = describe_at(site->layer, site->N);
    tutti_status status = tutti_site_output(site);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(site->x[0]), tutti_writes(site->y[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_FORWARD, &tutti_op_pool_avg, &desc, sizeof desc, 2, access);
}

static tutti_status avg_backward(tutti_site *site)
{
    tutti_pool_desc desc = describe_at(site->layer, site->N);
    tutti_status status = tutti_site_gradient(site, 0);
    if (status != TUTTI_OK) return status;
    tutti_access access[] = {tutti_reads(site->dy[0]), tutti_writes(site->dx[0])};
    return tutti_site_kernel(
        site, TUTTI_PHASE_BACKWARD_DATA, &tutti_op_pool_avg_bwd, &desc, sizeof desc, 2, access);
}

static const tutti_layer_kind max_pool = {
    .name = "max pool", .infer = infer, .forward = max_forward, .backward = max_backward};
static const tutti_layer_kind avg_pool = {
    .name = "average pool", .infer = infer, .forward = avg_forward, .backward = avg_backward};
static const tutti_layer_kind global_avg_pool = {.name = "global average pool",
    .infer = infer_whole,
    .forward = avg_forward,
    .backward = avg_backward};

static tutti_value append_pool(tutti_net *net, const tutti_layer_kind *kind, const char *name,
    tutti_value x, tutti_pool_layer pool)
{
    if (pool.stride == 0) pool.stride = 1;
    return tutti_net_append(
        net, name, (tutti_layer){.kind = kind, .inputs = 1, .in = {x}}, &pool, sizeof pool);
}

tutti_value tutti_net_max_pool(
    tutti_net *net, const char *name, tutti_value x, int64_t R, int64_t stride, int64_t pad)
{
    return append_pool(
        net, &max_pool, name, x, (tutti_pool_layer){.R = R, .stride = stride, .pad = pad});
}

tutti_value tutti_net_avg_pool(
    tutti_net *net, const char *name, tutti_value x, int64_t R, int64_t stride, int64_t pad)
{
    return append_pool(
        net, &avg_pool, name, x, (tutti_pool_layer){.R = R, .stride = stride, .pad = pad});
}

tutti_value tutti_net_pool(
    tutti_net *net, const char *name, tutti_value x, const tutti_pool_layer *layer)
{
    return append_pool(net, layer->average ? &avg_pool : &max_pool, name, x, *layer);
}

tutti_value tutti_net_global_avg_pool(tutti_net *net, const char *name, tutti_value x)
{
    return append_pool(net, &global_avg_pool, name, x, (tutti_pool_layer){0});
}
