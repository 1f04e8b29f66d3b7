/* How long the CPU's kernels of a graph take, alone on this thread: the shortest of several runs, after one that warms
 * up, on tensors of zeros that are allocated for it. [M] */
#ifndef TUTTI_TIMES_H
#define TUTTI_TIMES_H

#include "dag/base/status.h"
#include "dag/graph/graph.h"

/* seconds[n]: of the section's kernel node n; 0: another section, no kernel. Nodes with equal descriptors are timed
 * once. NOMEM (logged); errors of the kernels. */
tutti_status tutti_graph_times(const tutti_graph *graph, int section, double seconds[]);
/* The same of one kernel node. */
tutti_status tutti_graph_time(const tutti_graph *graph, int node, double *seconds);
/* A hash of what a kernel node computes, the same for nodes of any graphs with equal ops, descriptors and types. [P] */
uint64_t tutti_graph_kernel_hash(const tutti_graph *graph, int node);

#endif
