/* From accesses to edges: the rule that StarPU applies (sequential data consistency).
 *
 * Nodes are added in program order. A reader follows the last writer of the tensor; a writer follows the
 * last writer and every reader since. A link of a chain follows as a writer does; after another link it
 * waits for that one's start only, where others wait for the end. The tracker is incremental, so that it
 * serves one section, or many submissions after each other. [M] */
#ifndef TUTTI_EDGES_H
#define TUTTI_EDGES_H

#include "dag/graph/graph.h"

typedef struct tutti_edges tutti_edges;

/* What of `from` comes before the start of `to`. */
typedef enum tutti_edge {
    TUTTI_EDGE_END,
    TUTTI_EDGE_START /* both are links of a chain */
} tutti_edge;

/* Receives one edge: `to` may start only after `from` has ended, or started. The same pair may come
 * more than once. */
typedef void tutti_edges_fn(void *ctx, int64_t from, int64_t to, tutti_edge edge);

tutti_status tutti_edges_new(int tensors, tutti_edges **edges);
void tutti_edges_free(tutti_edges *edges); /* accepts NULL */

/* Adds a node instance with this id and reports its predecessors through fn. NOMEM (nothing
 * reported then). */
tutti_status tutti_edges_add(tutti_edges *edges, int64_t id, int accesses,
    const tutti_access access[], tutti_edges_fn *fn, void *ctx);

/* Which of certain nodes come before each node: those that must have ended before it can start.
 *
 * Nodes are submitted in program order, as to edges. One that counts bears a number, or several that follow each
 * other; a node has the numbers before it that are nearest: what those have before them is before it, too.
 * A link of a chain counts as if it waited for the end of the one before it. For a chain of collectives that is
 * so: a collective ends only when every rank has started it, and with it all before it on the chain, so that
 * whatever waits for the end of a link waits for the ends of those, too. [M] */
typedef struct tutti_reach tutti_reach;

tutti_status tutti_reach_new(int tensors, tutti_reach **reach);
void tutti_reach_free(tutti_reach *reach); /* accepts NULL */

/* Submits a node that bears the numbers first ... first + numbers - 1 (0: none). *before: the nearest numbers
 * before it, sorted; *befores: how many. Valid until the next call. NOMEM. */
tutti_status tutti_reach_add(tutti_reach *reach, const tutti_node *node, int first, int numbers,
    const int **before, int *befores);

/* A section runs again and again, a step each time: the first node of the next step that reads what `node`
 * writes, or what is computed from it in either step; INT_MAX: none does. Tokens are no data. *needed is set on
 * success. NOMEM. [P] */
tutti_status tutti_reach_next_step(const tutti_graph *graph, int node, int *needed);

/* Writes a section as a Graphviz digraph: boxes are kernels, ellipses collectives, marks dashed;
 * dashed edges lead to a start from a start. */
tutti_status tutti_edges_dot(const tutti_graph *graph, int section, FILE *out);

#endif
