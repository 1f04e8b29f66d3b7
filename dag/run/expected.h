/* How long a kernel is expected to take, from its operations and bytes alone, so that all ranks and runs expect the
 * same. Right to a factor of a few: for what only needs the order of magnitude (regions). */
#ifndef TUTTI_EXPECTED_H
#define TUTTI_EXPECTED_H

#include "dag/graph/graph.h"
#include "dag/kernels/kernel.h"

/* Seconds; 0 for a node that is no kernel. [P] */
double tutti_expected_s(const tutti_graph *graph, int node, tutti_device device);

#endif
