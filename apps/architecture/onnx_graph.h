/* An ONNX graph while it becomes layers (onnx.h): its values and tensors by their names. [A] */
#ifndef TUTTI_ARCHITECTURE_ONNX_GRAPH_H
#define TUTTI_ARCHITECTURE_ONNX_GRAPH_H

#include "apps/architecture/onnx.pb-c.h"
#include "dag/base/status.h"

#include <jansson.h>

enum {
    TUTTI_ONNX_NAME = 80,
    TUTTI_ONNX_NUMBERS = 16,
    TUTTI_ONNX_SIDE = 1 << 16, /* of images */
    TUTTI_ONNX_MOST = 1 << 24, /* of any size */
};
enum { TUTTI_ONNX_FLOAT = 1, TUTTI_ONNX_INT64 = 7 }; /* types of tensors */

/* A value of the graph. */
typedef struct tutti_onnx_value {
    char name[TUTTI_ONNX_NAME]; /* that of the layer: "conv1", or "split.1" */
    int layer;                  /* its number in the list; -1: it is the images; -2: of a split */
    int flat;                   /* (N, C*H*W) */
    int64_t H, W, C;
    int64_t
        stride; /* above 0: every stride-th pixel of the named value, the first half of a shortcut */
} tutti_onnx_value;

/* Numbers that are in no tensor of the file. */
typedef struct tutti_onnx_numbers {
    TuttiOnnx__Tensor tensor;
    float real;
    int64_t number[TUTTI_ONNX_NUMBERS];
    struct tutti_onnx_numbers *next;
} tutti_onnx_numbers;

/* Weights of a layer, as PyTorch calls them. */
typedef struct tutti_onnx_weight {
    char name[TUTTI_ONNX_NAME + 16]; /* "conv1.weight" */
    const TuttiOnnx__Tensor *tensor; /* NULL: what the node reads there is no tensor of the file */
    int transposed;                  /* (in,out), where PyTorch has (out,in) */
} tutti_onnx_weight;

typedef struct tutti_onnx_graph {
    const char *file;
    TuttiOnnx__Model *model;
    const TuttiOnnx__Graph *graph;
    json_t *layers;
    const TuttiOnnx__Tensor **tensor; /* initializers and constants */
    tutti_onnx_numbers *made;
    tutti_onnx_value *value;
    tutti_onnx_weight *weight; /* of all layers */
    int tensors, values, weights;
    json_t *tensor_of, *value_of; /* numbers, by name */
    json_t *reader_of;            /* the number of the node that reads a name; -1: several do */
    char *skip;                   /* of each node: it is not needed, or part of one before it */
    size_t number;                /* of the node that is read */
    const TuttiOnnx__Node *node;
    tutti_status status; /* the first failure */
} tutti_onnx_graph;

/* Reads a model: its layers become a network (architecture.h), which the caller frees. The graph is zeroed before, and
 * closed in any case. The errors of tutti_architecture_from_onnx. */
tutti_status tutti_onnx_open(
    const char *file, const void *data, size_t bytes, tutti_onnx_graph *g, json_t **network);
void tutti_onnx_close(tutti_onnx_graph *g);

/* Logs "FILE: node NAME (Conv): " and the sentence; the first failure counts. */
void tutti_onnx_refuse(tutti_onnx_graph *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The name of an input of the node; "" if it has fewer. */
const char *tutti_onnx_input(const tutti_onnx_graph *g, size_t input);
/* The name of the first output; "" without outputs. */
const char *tutti_onnx_output(const tutti_onnx_graph *g);
/* The constant tensor that an input reads; NULL if it reads something else. */
const TuttiOnnx__Tensor *tutti_onnx_tensor(const tutti_onnx_graph *g, size_t input);
/* The value that an input reads; refuses constants and unknown names. */
tutti_onnx_value tutti_onnx_read(tutti_onnx_graph *g, size_t input);
/* The node that reads the result of this one, if no other does and its operator is `op`; else NULL. */
const TuttiOnnx__Node *tutti_onnx_follower(const tutti_onnx_graph *g, const char *op);
/* Makes that node part of this one. */
void tutti_onnx_join(tutti_onnx_graph *g, const TuttiOnnx__Node *follower);
void tutti_onnx_add_value(tutti_onnx_graph *g, const char *output, const tutti_onnx_value *value);
void tutti_onnx_add_tensor(
    tutti_onnx_graph *g, const char *output, const TuttiOnnx__Tensor *tensor);

/* Notes what becomes LAYER.SUFFIX. */
void tutti_onnx_add_weight(tutti_onnx_graph *g, const char *layer, const char *suffix,
    const TuttiOnnx__Tensor *tensor, int transposed);
/* A tensor of int64; of no numbers, where there are more than TUTTI_ONNX_NUMBERS. */
void tutti_onnx_add_numbers(
    tutti_onnx_graph *g, const char *output, int count, const int64_t number[]);

/* A tensor of one float32. */
void tutti_onnx_add_real(tutti_onnx_graph *g, const char *output, float number);

/* What protobuf-c has for a missing text, NULL, as "". [P] */
static inline const char *tutti_onnx_text(const char *text)
{
    return text ? text : "";
}
/* The number of a name; the fallback: it has none. [P] */
int tutti_onnx_number(const json_t *numbers, const char *name, int fallback);
/* Nothing for the name "". */
void tutti_onnx_set_number(tutti_onnx_graph *g, json_t *numbers, const char *name, int number);

#endif
