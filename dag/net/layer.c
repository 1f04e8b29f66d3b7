#include "dag/net/layer.h"

#include "dag/base/log.h"

#include <math.h>
#include <stdio.h>

int tutti_layer_parameters(
    const tutti_layer *layer, tutti_parameter parameter[TUTTI_LAYER_PARAMETERS])
{
    return layer->kind->parameters ? layer->kind->parameters(layer, parameter) : 0;
}

int64_t tutti_extent_count(tutti_extent extent)
{
    tutti_shape shape = tutti_shape_of(extent.H, extent.W, extent.C);
    return tutti_shape_count(&shape);
}

char *tutti_extent_print(tutti_extent extent, char text[TUTTI_EXTENT_TEXT])
{
    snprintf(text, TUTTI_EXTENT_TEXT, "%lldx%lldx%lld", (long long)extent.H, (long long)extent.W,
        (long long)extent.C);
    return text;
}

tutti_status tutti_layer_check_window(const tutti_layer *layer, tutti_window window)
{
    const char *kind = layer->kind->name;
    const long long R = window.R, S = window.S, size[] = {R, S};
    const long long stride[] = {window.stride[0], window.stride[1]};
    const long long pad[] = {window.pad[0], window.pad[1]};
    const int64_t image[] = {layer->from[0].H, layer->from[0].W};
    char text[TUTTI_EXTENT_TEXT];
    for (int way = 0; way < 2; way++) {
        if (size[way] < 1 || stride[way] < 1 || pad[way] < 0 || pad[way] >= size[way])
            return tutti_fail(TUTTI_ERR_INVAL,
                "net: %s layer %s: window %lldx%lld, stride %lldx%lld, padding %lldx%lld are not "
                "valid (at least 1, at least 1, and 0 to window - 1)",
                kind, layer->name, R, S, stride[0], stride[1], pad[0], pad[1]);
        if (size[way] - pad[way] > image[way] + pad[way])
            return tutti_fail(TUTTI_ERR_INVAL,
                "net: %s layer %s: a %lldx%lld window with padding %lldx%lld does not fit %s: the "
                "image is too small",
                kind, layer->name, R, S, pad[0], pad[1], tutti_extent_print(layer->from[0], text));
    }
    return TUTTI_OK;
}

void tutti_parameter_init(
    tutti_parameter *parameter, tutti_init init, int64_t fan_in, int64_t fan_out)
{
    parameter->start = init == TUTTI_INIT_UNIFORM_FAN_IN ? TUTTI_START_UNIFORM : TUTTI_START_NORMAL;
    if (init == TUTTI_INIT_UNIFORM_FAN_IN)
        parameter->spread = sqrt(1.0 / (double)fan_in);
    else
        parameter->spread = sqrt(2.0 / (double)(init == TUTTI_INIT_HE_FAN_IN ? fan_in : fan_out));
}
