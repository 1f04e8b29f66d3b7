/* The attributes of an ONNX graph's node, and numbers in its tensors. [A] */
#ifndef TUTTI_ARCHITECTURE_ONNX_ATTRIBUTES_H
#define TUTTI_ARCHITECTURE_ONNX_ATTRIBUTES_H

#include "apps/architecture/onnx_graph.h"

/* NULL: the node has none of this name. */
const TuttiOnnx__Attribute *tutti_onnx_attribute(const tutti_onnx_graph *g, const char *name);
int64_t tutti_onnx_int(const tutti_onnx_graph *g, const char *name, int64_t fallback);
double tutti_onnx_float(const tutti_onnx_graph *g, const char *name, double fallback);
/* Sizes of at least `low`, as many as there have to be. */
void tutti_onnx_ints(tutti_onnx_graph *g, const char *name, size_t count, int64_t low,
    int64_t fallback, int64_t size[]);

/* Refuses an attribute that has not its default, which is all that layers have. */
void tutti_onnx_must_be(tutti_onnx_graph *g, const char *name, int64_t wanted);
void tutti_onnx_must_be_one(tutti_onnx_graph *g, const char *name);
void tutti_onnx_check_pads(tutti_onnx_graph *g);
void tutti_onnx_check_dilations(tutti_onnx_graph *g);

/* The numbers of a tensor of int64; returns how many, -1: it is another tensor, or has more. */
int tutti_onnx_integers(const TuttiOnnx__Tensor *t, int64_t number[], size_t most);
/* The first number of a tensor of float32. */
double tutti_onnx_real(const TuttiOnnx__Tensor *t, double fallback);

#endif
