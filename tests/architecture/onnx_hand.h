/* ONNX models that tests write by hand. */
#ifndef TUTTI_TEST_ONNX_HAND_H
#define TUTTI_TEST_ONNX_HAND_H

#include "apps/protobuf/protobuf.h"

#include <stdint.h>

/* Field numbers of apps/architecture/onnx.proto. */
enum {
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    MODEL_GRAPH = 7
};
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INTS = 7,
    TENSOR_NAME = 8,
    FLOAT = 1,
    INT64 = 7
};

typedef struct onnx_hand_node {
    const char *op, *in[20], *out;
    const char *attribute;
    int values; /* of int64; 0: one, as "i" */
    int64_t value[8];
    float real; /* as "f", if it is not 0 */
} onnx_hand_node;

/* A convolution that most of them begin with. */
#define CONV                                                                                       \
    {                                                                                              \
        "Conv", {"x", "c.weight", "c.bias"}, "conv", "strides", 2,                                 \
        {                                                                                          \
            2, 2                                                                                   \
        }                                                                                          \
    }

/* An input or output of the graph (field). A size of 0 is left open. */
void onnx_hand_add_value(
    tutti_protobuf *graph, int field, const char *name, int sizes, const int64_t size[]);
void onnx_hand_add_node(tutti_protobuf *graph, const onnx_hand_node *node);

#endif
