/* What each operator of ONNX becomes (onnx.h). [A] */
#ifndef TUTTI_ARCHITECTURE_ONNX_OPERATORS_H
#define TUTTI_ARCHITECTURE_ONNX_OPERATORS_H

#include "apps/architecture/onnx_graph.h"

/* The node becomes layers, values or tensors of the graph, or is refused: with the known operators, where it has
 * another. */
void tutti_onnx_translate(tutti_onnx_graph *g);

#endif
