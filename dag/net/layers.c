/* A net as a list of layers. */
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
            return tutti_fail(TUTTI_ERR_INVAL,
                "net: %s layer %s: input %d is not a value of this net", layer->kind->name,
                layer->name, layer->in[i]);
        layer->from[i] = net->layer[layer->in[i]].out;
        layer->from_dtype[i] = net->layer[layer->in[i]].dtype;
    }
    if (layer->inputs) layer->dtype = layer->from_dtype[0];
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

static tutti_status keep_settings(tutti_layer *layer, const void *settings, size_t bytes)
{
    if (bytes > sizeof layer->settings)
        return tutti_fail(TUTTI_ERR_INTERNAL,
            "net: the settings of a %s layer have %zu bytes, more than %zu (TUTTI_LAYER_SETTINGS)",
            layer->kind->name, bytes, sizeof layer->settings);
    if (bytes) memcpy(layer->settings, settings, bytes);
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

tutti_value tutti_net_append(
    tutti_net *net, const char *name, tutti_layer layer, const void *settings, size_t bytes)
{
    if (net->status == TUTTI_OK) net->status = keep_settings(&layer, settings, bytes);
    if (net->status == TUTTI_OK) net->status = try_append(net, name, &layer);
    return net->status == TUTTI_OK ? net->layers - 1 : -1;
}

static tutti_status declare_output(tutti_net *net, tutti_value logits)
{
    if (logits < 0 || logits >= net->layers)
        return tutti_fail(
            TUTTI_ERR_INVAL, "net: the output, %d, is not a value of this net", logits);
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
