/* Graphs as text and as pictures, for the golden files of tests. */
#ifndef TUTTI_GRAPH_PRINT_H
#define TUTTI_GRAPH_PRINT_H

#include "dag/graph/graph.h"

#include <stdio.h>

/* One line per node: "12 conv1.backward_weights: x r, dy r -> dw w". */
void tutti_graph_print(const tutti_graph *graph, int section, FILE *out);

/* Writes a section as a Graphviz digraph: boxes are kernels, ellipses are collectives, marks are
 * dashed; a dashed edge leads from a start to a start. */
tutti_status tutti_edges_dot(const tutti_graph *graph, int section, FILE *out);

#endif
