#include "apps/architecture/onnx_layer.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef tutti_onnx_graph graph;
typedef tutti_onnx_value value;
typedef TuttiOnnx__Node node;

size_t tutti_onnx_stem(const char *name, const char *suffix)
{
    const size_t n = strlen(name), s = strlen(suffix);
    return n > s && strcmp(name + n - s, suffix) == 0 ? n - s : 0;
}

/* As the node's weights are called, or as the node. */
static void name_layer(const graph *g, const char *weights, char name[TUTTI_ONNX_LAYER_NAME])
{
    size_t length = tutti_onnx_stem(weights, ".weight");
    const char *text = length ? weights : g->node->name ? g->node->name : "";
    if (!length) length = strlen(text);
    if (length < 1 || length >= TUTTI_ONNX_LAYER_NAME || strcmp(text, "input") == 0)
        snprintf(name, TUTTI_ONNX_LAYER_NAME, "%.40s_%zu", g->node->op_type, g->number + 1);
    else
        snprintf(name, TUTTI_ONNX_LAYER_NAME, "%.*s", (int)length, text);
}

json_t *tutti_onnx_begin_layer(graph *g, const char *is, const char *weights)
{
    char name[TUTTI_ONNX_LAYER_NAME];
    name_layer(g, weights, name);
    json_t *layer = json_pack("{s:s, s:s}", "is", is, "name", name);
    if (!layer) tutti_onnx_refuse(g, "its name is not UTF-8");
    return layer;
}

void tutti_onnx_put(json_t *layer, const char *key, int64_t number, int64_t fallback)
{
    if (number != fallback) json_object_set_new(layer, key, json_integer((json_int_t)number));
}

void tutti_onnx_put_real(json_t *layer, const char *key, double number, double fallback)
{
    char text[32];
    if (!((float)number > (float)fallback || (float)number < (float)fallback)) return;
    snprintf(text, sizeof text, "%.*g", FLT_DIG, number); /* 0.001, not 0.00100000004749745 */
    if ((float)atof(text) > (float)number || (float)atof(text) < (float)number)
        snprintf(text, sizeof text, "%.9g", number);
    json_object_set_new(layer, key, json_real(atof(text)));
}

void tutti_onnx_put_pair(json_t *layer, const char *key, const int64_t pair[2], int64_t fallback)
{
    if (pair[0] == pair[1])
        tutti_onnx_put(layer, key, pair[0], fallback);
    else
        json_object_set_new(
            layer, key, json_pack("[I, I]", (json_int_t)pair[0], (json_int_t)pair[1]));
}

void tutti_onnx_append_layer(graph *g, json_t *layer, const value from[], int values, value *to)
{
    const int number = (int)json_array_size(g->layers);
    if (values > 1) {
        json_t *of = json_array();
        for (int i = 0; i < values; i++) json_array_append_new(of, json_string(from[i].name));
        json_object_set_new(layer, "of", of);
    } else if (from[0].layer != number - 1)
        json_object_set_new(layer, "of", json_string(from[0].name));
    to->layer = number;
    to->stride = 0;
    snprintf(to->name, sizeof to->name, "%s",
        layer ? json_string_value(json_object_get(layer, "name")) : "");
    json_array_append_new(g->layers, layer);
}

void tutti_onnx_note_weight(
    graph *g, const json_t *layer, const char *suffix, size_t input, int transposed)
{
    tutti_onnx_add_weight(g, json_string_value(json_object_get(layer, "name")), suffix,
        tutti_onnx_tensor(g, input), transposed);
}

void tutti_onnx_end_value(graph *g, const value *to)
{
    tutti_onnx_add_value(g, tutti_onnx_output(g), to);
}

void tutti_onnx_end_with_relu(graph *g, json_t *layer, const value *to)
{
    const node *relu = tutti_onnx_follower(g, "Relu");
    if (!relu) return tutti_onnx_end_value(g, to);
    json_object_set_new(layer, "relu", json_true());
    tutti_onnx_add_value(g, relu->output[0], to);
    tutti_onnx_join(g, relu);
}

void tutti_onnx_append_plain(graph *g, const char *is, const value *x, value to)
{
    tutti_onnx_append_layer(g, tutti_onnx_begin_layer(g, is, ""), x, 1, &to);
    tutti_onnx_end_value(g, &to);
}
