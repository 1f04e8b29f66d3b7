/* How a node of ONNX becomes a layer of a network in JSON (onnx.h). [A] */
#ifndef TUTTI_ARCHITECTURE_ONNX_LAYER_H
#define TUTTI_ARCHITECTURE_ONNX_LAYER_H

#include "apps/architecture/onnx_graph.h"

enum { TUTTI_ONNX_LAYER_NAME = 64 };

/* The length of what is before ".weight" (or another suffix); 0: the name has another end. [P] */
size_t tutti_onnx_stem(const char *name, const char *suffix);

/* A layer of a kind, "conv", named as the node's weights are called, or as the node. Refuses names that are not
 * UTF-8: NULL, which the functions below take, too. */
json_t *tutti_onnx_begin_layer(tutti_onnx_graph *g, const char *is, const char *weights);
/* A number of the layer, unless it is the fallback; the same for both axes, if they have the same. */
void tutti_onnx_put(json_t *layer, const char *key, int64_t number, int64_t fallback);
void tutti_onnx_put_real(json_t *layer, const char *key, double number, double fallback);
void tutti_onnx_put_pair(json_t *layer, const char *key, const int64_t pair[2], int64_t fallback);
/* The layer's weights are what the node reads as this input. */
void tutti_onnx_note_weight(
    tutti_onnx_graph *g, const json_t *layer, const char *suffix, size_t input, int transposed);

/* Appends the layer, which it takes, and which reads `values` values; gives the value `to` its name. */
void tutti_onnx_append_layer(tutti_onnx_graph *g, json_t *layer, const tutti_onnx_value from[],
    int values, tutti_onnx_value *to);
/* Then: the value is what the node makes. A ReLU that follows is part of the layer. */
void tutti_onnx_end_value(tutti_onnx_graph *g, const tutti_onnx_value *to);
void tutti_onnx_end_with_relu(tutti_onnx_graph *g, json_t *layer, const tutti_onnx_value *to);
/* All of this for a layer that has nothing but a name. */
void tutti_onnx_append_plain(
    tutti_onnx_graph *g, const char *is, const tutti_onnx_value *x, tutti_onnx_value to);

#endif
