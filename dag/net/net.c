#include "dag/net/net.h"

#include "dag/base/log.h"
#include "dag/net/layer.h"

#include <stdlib.h>
#include <string.h>

tutti_status tutti_net_new(tutti_net **net)
{
    tutti_net *made = calloc(1, sizeof *made);
    if (!made) return tutti_fail(TUTTI_ERR_NOMEM, "net: no memory");
    made->output = -1;
    *net = made;
    return TUTTI_OK;
}

void tutti_net_free(tutti_net *net)
{
    if (!net) return;
    free(net->layer);
    free(net);
}

tutti_status tutti_net_status(const tutti_net *net)
{
    return net->status;
}

static tutti_status check_name(const tutti_net *net, const char *name)
{
    if (!name || !*name || strlen(name) >= TUTTI_LAYER_NAME)
        return tutti_fail(TUTTI_ERR_INVAL, "net: layer %d: a name has 1 to %d characters",
            net->layers, TUTTI_LAYER_NAME - 1);
    for (int i = 0; i < net->layers; i++)
        if (!strcmp(net->layer[i].name, name))
            return tutti_fail(TUTTI_ERR_INVAL, "net: two layers are named %s", name);
    return TUTTI_OK;
}

static tutti_status check_inputs(const tutti_net *net, tutti_layer *layer)
{
    for (int i = 0; i < layer->inputs; i++) {
        if (layer->in[i] < 0 || layer->in[i] >= net->layers)
            return tutti_fail(TUTTI_ERR_INVAL, "net: %s layer %s: input %d is no value of this net",
                layer->kind->name, layer->name, layer->in[i]);
        layer->from[i] = net->layer[layer->in[i]].out;
    }
    return TUTTI_OK;
}

static tutti_status check_size(const tutti_layer *layer)
{
    char text[TUTTI_EXTENT_TEXT];
    if (tutti_extent_count(layer->out) < 0)
        return tutti_fail(TUTTI_ERR_INVAL, "net: %s layer %s: its value, %s, has too many elements",
            layer->kind->name, layer->name, tutti_extent_print(layer->out, text));
    return TUTTI_OK;
}

static tutti_status make_room(tutti_net *net)
{
    if (net->layers < net->capacity) return TUTTI_OK;
    int capacity = net->capacity ? 2 * net->capacity : 32;
    tutti_layer *more = realloc(net->layer, (size_t)capacity * sizeof *more);
    if (!more) return tutti_fail(TUTTI_ERR_NOMEM, "net: no memory for %d layers", capacity);
    net->layer = more;
    net->capacity = capacity;
    return TUTTI_OK;
}

static tutti_status try_append(tutti_net *net, const char *name, tutti_layer *layer)
{
    tutti_status status = check_name(net, name);
    if (status != TUTTI_OK) return status;
    strcpy(layer->name, name);
    status = check_inputs(net, layer);
    if (status == TUTTI_OK) status = layer->kind->infer(layer);
    if (status == TUTTI_OK) status = check_size(layer);
    if (status == TUTTI_OK) status = make_room(net);
    if (status == TUTTI_OK) net->layer[net->layers++] = *layer;
    return status;
}

/* Returns the new value, or -1 when this or an earlier call failed. */
static tutti_value append(tutti_net *net, const char *name, tutti_layer layer)
{
    if (net->status == TUTTI_OK) net->status = try_append(net, name, &layer);
    return net->status == TUTTI_OK ? net->layers - 1 : -1;
}

tutti_value tutti_net_input(tutti_net *net, int64_t H, int64_t W, int64_t C)
{
    if (net->status == TUTTI_OK && net->layers > 0)
        net->status = tutti_fail(TUTTI_ERR_INVAL, "net: the input comes first, and once");
    return append(net, "images", (tutti_layer){.kind = &tutti_layer_input, .as.input = {H, W, C}});
}

tutti_value tutti_net_conv(
    tutti_net *net, const char *name, tutti_value x, const tutti_conv_layer *layer)
{
    return append(net, name,
        (tutti_layer){.kind = &tutti_layer_conv, .inputs = 1, .in = {x}, .as.conv = *layer});
}

tutti_value tutti_net_dense(
    tutti_net *net, const char *name, tutti_value x, int64_t K, tutti_init init)
{
    return append(net, name,
        (tutti_layer){.kind = &tutti_layer_dense, .inputs = 1, .in = {x}, .as.dense = {K, init}});
}

tutti_value tutti_net_norm(tutti_net *net, const char *name, tutti_value x, int relu)
{
    return append(net, name,
        (tutti_layer){.kind = &tutti_layer_norm, .inputs = 1, .in = {x}, .as.relu = relu != 0});
}

tutti_value tutti_net_relu(tutti_net *net, const char *name, tutti_value x)
{
    return append(net, name, (tutti_layer){.kind = &tutti_layer_relu, .inputs = 1, .in = {x}});
}

tutti_value tutti_net_add(tutti_net *net, const char *name, tutti_value a, tutti_value b, int relu)
{
    return append(net, name,
        (tutti_layer){.kind = &tutti_layer_add, .inputs = 2, .in = {a, b}, .as.relu = relu != 0});
}

static tutti_value append_pool(tutti_net *net, const tutti_layer_kind *kind, const char *name,
    tutti_value x, tutti_window window)
{
    return append(
        net, name, (tutti_layer){.kind = kind, .inputs = 1, .in = {x}, .as.pool = window});
}

tutti_value tutti_net_max_pool(
    tutti_net *net, const char *name, tutti_value x, int64_t R, int64_t stride, int64_t pad)
{
    return append_pool(net, &tutti_layer_max_pool, name, x, (tutti_window){R, stride, pad});
}

tutti_value tutti_net_avg_pool(
    tutti_net *net, const char *name, tutti_value x, int64_t R, int64_t stride, int64_t pad)
{
    return append_pool(net, &tutti_layer_avg_pool, name, x, (tutti_window){R, stride, pad});
}

tutti_value tutti_net_global_avg_pool(tutti_net *net, const char *name, tutti_value x)
{
    return append_pool(net, &tutti_layer_global_avg_pool, name, x, (tutti_window){0, 0, 0});
}

tutti_value tutti_net_dropout(tutti_net *net, const char *name, tutti_value x, float rate)
{
    return append(net, name,
        (tutti_layer){.kind = &tutti_layer_dropout, .inputs = 1, .in = {x}, .as.rate = rate});
}

tutti_value tutti_net_shortcut(
    tutti_net *net, const char *name, tutti_value x, int64_t K, int64_t stride)
{
    return append(net, name,
        (tutti_layer){
            .kind = &tutti_layer_shortcut, .inputs = 1, .in = {x}, .as.shortcut = {K, stride}});
}

static tutti_status declare_output(tutti_net *net, tutti_value logits)
{
    if (logits < 0 || logits >= net->layers)
        return tutti_fail(TUTTI_ERR_INVAL, "net: the output, %d, is no value of this net", logits);
    char text[TUTTI_EXTENT_TEXT];
    const tutti_layer *layer = &net->layer[logits];
    if (layer->out.H != 1 || layer->out.W != 1)
        return tutti_fail(TUTTI_ERR_INVAL, "net: the output, %s, is %s; it must be 1x1xclasses",
            layer->name, tutti_extent_print(layer->out, text));
    if (net->output >= 0) return tutti_fail(TUTTI_ERR_INVAL, "net: the output is declared twice");
    net->output = logits;
    return TUTTI_OK;
}

tutti_value tutti_net_output(tutti_net *net, tutti_value logits)
{
    if (net->status == TUTTI_OK) net->status = declare_output(net, logits);
    return net->status == TUTTI_OK ? logits : -1;
}

void tutti_net_shape(const tutti_net *net, tutti_value x, int64_t *H, int64_t *W, int64_t *C)
{
    tutti_extent out = x >= 0 && x < net->layers ? net->layer[x].out : (tutti_extent){0, 0, 0};
    *H = out.H;
    *W = out.W;
    *C = out.C;
}

int64_t tutti_net_parameters(const tutti_net *net)
{
    int64_t total = 0;
    for (int l = 0; l < net->layers; l++) {
        tutti_parameter p[TUTTI_LAYER_PARAMETERS];
        int n = tutti_layer_parameters(&net->layer[l], p);
        for (int i = 0; i < n; i++) total += tutti_shape_count(&p[i].shape);
    }
    return total;
}
