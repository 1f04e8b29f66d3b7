/* A net as a list of layers. */
#include "dag/base/log.h"
#include "dag/net/layer.h"

#include <math.h>
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
    free(net->source);
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

static tutti_status check_counts(const tutti_layer *layer)
{
    if (layer->inputs >= 0 && layer->inputs <= TUTTI_LAYER_INPUTS && layer->outputs >= 1 &&
        layer->outputs <= TUTTI_LAYER_OUTPUTS)
        return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_INVAL,
        "net: %s layer %s: %d inputs and %d values: at most %d and %d are possible",
        layer->kind->name, layer->name, layer->inputs, layer->outputs, TUTTI_LAYER_INPUTS,
        TUTTI_LAYER_OUTPUTS);
}

static tutti_status check_inputs(const tutti_net *net, tutti_layer *layer)
{
    for (int i = 0; i < layer->inputs; i++) {
        if (layer->in[i] < 0 || layer->in[i] >= net->values)
            return tutti_fail(TUTTI_ERR_INVAL,
                "net: %s layer %s: input %d is not a value of this net", layer->kind->name,
                layer->name, layer->in[i]);
        layer->from[i] = tutti_net_extent(net, layer->in[i]);
        layer->from_dtype[i] = tutti_net_dtype(net, layer->in[i]);
    }
    for (int o = 0; layer->inputs && o < layer->outputs; o++)
        layer->dtype[o] = layer->from_dtype[0];
    return TUTTI_OK;
}

static tutti_status check_size(const tutti_layer *layer)
{
    char text[TUTTI_EXTENT_TEXT];
    for (int o = 0; o < layer->outputs; o++)
        if (tutti_extent_count(layer->out[o]) < 0)
            return tutti_fail(TUTTI_ERR_INVAL,
                "net: %s layer %s: its value, %s, has too many elements", layer->kind->name,
                layer->name, tutti_extent_print(layer->out[o], text));
    return TUTTI_OK;
}

static tutti_status make_room(tutti_net *net, int outputs)
{
    tutti_source *source = realloc(net->source, (size_t)(net->values + outputs) * sizeof *source);
    if (!source)
        return tutti_fail(TUTTI_ERR_NOMEM, "net: no memory for %d values", net->values + outputs);
    net->source = source;
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
    for (int p = 0; p < TUTTI_LAYER_PARAMETERS; p++) layer->factors[p] = (tutti_factors){1, 1};
    status = check_counts(layer);
    if (status == TUTTI_OK) status = check_inputs(net, layer);
    if (status == TUTTI_OK) status = layer->kind->infer(layer);
    if (status == TUTTI_OK) status = check_size(layer);
    if (status == TUTTI_OK) status = make_room(net, layer->outputs);
    if (status != TUTTI_OK) return status;
    layer->value = net->values;
    for (int o = 0; o < layer->outputs; o++)
        net->source[net->values++] = (tutti_source){net->layers, o};
    net->layer[net->layers++] = *layer;
    return TUTTI_OK;
}

tutti_value tutti_net_append(
    tutti_net *net, const char *name, tutti_layer layer, const void *settings, size_t bytes)
{
    if (layer.outputs == 0) layer.outputs = 1;
    if (net->status == TUTTI_OK) net->status = keep_settings(&layer, settings, bytes);
    if (net->status == TUTTI_OK) net->status = try_append(net, name, &layer);
    return net->status == TUTTI_OK ? layer.value : -1;
}

static tutti_status scale(tutti_net *net, tutti_value x, const char *suffix, tutti_factors factors)
{
    tutti_parameter parameter[TUTTI_LAYER_PARAMETERS];
    if (x < 0 || x >= net->values)
        return tutti_fail(TUTTI_ERR_INVAL, "net: %d is not a value of this net", x);
    tutti_layer *layer = &net->layer[net->source[x].layer];
    if (!(factors.rate >= 0 && isfinite(factors.rate) && factors.weight_decay >= 0 &&
            isfinite(factors.weight_decay)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: %s layer %s: factors %g of the rate and %g of the weight decay must be finite "
            "and not negative",
            layer->kind->name, layer->name, factors.rate, factors.weight_decay);
    for (int p = tutti_layer_parameters(layer, parameter) - 1; p >= 0; p--) {
        if (strcmp(parameter[p].suffix, suffix)) continue;
        layer->factors[p] = factors;
        return TUTTI_OK;
    }
    return tutti_fail(TUTTI_ERR_INVAL, "net: %s layer %s has no parameter %s", layer->kind->name,
        layer->name, suffix);
}

void tutti_net_scale(
    tutti_net *net, tutti_value x, const char *parameter, double rate, double weight_decay)
{
    if (net->status == TUTTI_OK)
        net->status = scale(net, x, parameter, (tutti_factors){rate, weight_decay});
}

static tutti_status declare_output(tutti_net *net, tutti_value logits)
{
    if (logits < 0 || logits >= net->values)
        return tutti_fail(
            TUTTI_ERR_INVAL, "net: the output, %d, is not a value of this net", logits);
    char text[TUTTI_EXTENT_TEXT];
    tutti_extent out = tutti_net_extent(net, logits);
    if (out.H != 1 || out.W != 1)
        return tutti_fail(TUTTI_ERR_INVAL, "net: the output, %s, is %s; it must be 1x1xclasses",
            net->layer[net->source[logits].layer].name, tutti_extent_print(out, text));
    if (net->output >= 0) return tutti_fail(TUTTI_ERR_INVAL, "net: the output is declared twice");
    net->output = logits;
    return TUTTI_OK;
}

static tutti_status declare_auxiliary(tutti_net *net, tutti_value logits, double weight)
{
    char text[TUTTI_EXTENT_TEXT];
    if (logits < 0 || logits >= net->values)
        return tutti_fail(
            TUTTI_ERR_INVAL, "net: an auxiliary output, %d, is not a value of this net", logits);
    const char *name = net->layer[net->source[logits].layer].name;
    tutti_extent out = tutti_net_extent(net, logits);
    if (out.H != 1 || out.W != 1)
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: the auxiliary output %s is %s; it must be 1x1xclasses", name,
            tutti_extent_print(out, text));
    if (!(weight > 0 && isfinite(weight)))
        return tutti_fail(TUTTI_ERR_INVAL,
            "net: the auxiliary output %s has weight %g; must be finite and above 0", name, weight);
    for (int a = 0; a < net->auxiliaries; a++)
        if (net->auxiliary[a].logits == logits)
            return tutti_fail(
                TUTTI_ERR_INVAL, "net: the auxiliary output %s is declared twice", name);
    if (net->auxiliaries == TUTTI_NET_AUXILIARIES)
        return tutti_fail(TUTTI_ERR_INVAL, "net: %s is one auxiliary output too many: at most %d",
            name, TUTTI_NET_AUXILIARIES);
    net->auxiliary[net->auxiliaries++] = (tutti_auxiliary){logits, weight};
    return TUTTI_OK;
}

void tutti_net_auxiliary(tutti_net *net, tutti_value logits, double weight)
{
    if (net->status == TUTTI_OK) net->status = declare_auxiliary(net, logits, weight);
}

tutti_value tutti_net_output(tutti_net *net, tutti_value logits)
{
    if (net->status == TUTTI_OK) net->status = declare_output(net, logits);
    return net->status == TUTTI_OK ? logits : -1;
}

int tutti_net_readers(const tutti_net *net, tutti_value value)
{
    int readers = net->output == value;
    for (int a = 0; a < net->auxiliaries; a++) readers += net->auxiliary[a].logits == value;
    for (int l = 0; l < net->layers; l++)
        for (int i = 0; i < net->layer[l].inputs; i++) readers += net->layer[l].in[i] == value;
    return readers;
}

int tutti_net_rectifies(const tutti_net *net, int layer)
{
    const tutti_layer *of = &net->layer[layer];
    int relus = 0;
    for (int l = layer + 1; l < net->layers; l++)
        relus += net->layer[l].kind->is_relu && net->layer[l].in[0] == of->value;
    return of->kind->rectifies && relus == 1 && tutti_net_readers(net, of->value) == 1;
}

void tutti_net_shape(const tutti_net *net, tutti_value x, int64_t *H, int64_t *W, int64_t *C)
{
    tutti_extent out = {0, 0, 0};
    if (x >= 0 && x < net->values) out = tutti_net_extent(net, x);
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
