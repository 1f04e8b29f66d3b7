#include "tests/architecture/onnx_hand.h"

void onnx_hand_add_value(
    tutti_protobuf *graph, int field, const char *name, int sizes, const int64_t size[])
{
    tutti_protobuf shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (int i = 0; i < sizes; i++) {
        tutti_protobuf dim = {0};
        if (size[i])
            tutti_protobuf_number(&dim, 1, size[i]);
        else
            tutti_protobuf_text(&dim, 2, "N");
        tutti_protobuf_message(&shape, 1, &dim);
    }
    tutti_protobuf_number(&tensor, 1, FLOAT);
    tutti_protobuf_message(&tensor, 2, &shape);
    tutti_protobuf_message(&type, 1, &tensor);
    tutti_protobuf_text(&value, 1, name);
    tutti_protobuf_message(&value, 2, &type);
    tutti_protobuf_message(graph, field, &value);
}

void onnx_hand_add_node(tutti_protobuf *graph, const onnx_hand_node *node)
{
    tutti_protobuf message = {0}, attribute = {0};
    for (int i = 0; i < 20 && node->in[i]; i++) tutti_protobuf_text(&message, 1, node->in[i]);
    tutti_protobuf_text(&message, 2, node->out);
    tutti_protobuf_text(&message, 3, node->out);
    tutti_protobuf_text(&message, 4, node->op);
    if (node->attribute) {
        tutti_protobuf_text(&attribute, 1, node->attribute);
        if (node->real > 0) tutti_protobuf_float(&attribute, 2, node->real);
        if (!node->values) tutti_protobuf_number(&attribute, 3, node->value[0]);
        for (int v = 0; v < node->values; v++) tutti_protobuf_number(&attribute, 8, node->value[v]);
        tutti_protobuf_message(&message, 5, &attribute);
    }
    tutti_protobuf_message(graph, GRAPH_NODE, &message);
}
