/* From accesses to edges: the rule that StarPU applies (sequential data consistency).
 *
 * Nodes are added in program order. A reader follows the last writer of the tensor; a writer
 * follows the last writer and every reader since. A link of a chain follows as a writer does,
 * except that after another link it waits only for the start of that link, not for its end. The
 * tracker is incremental: it serves one section or many successive submissions. [M] */
#ifndef TUTTI_EDGES_H
#define TUTTI_EDGES_H

#include "dag/graph/graph.h"

typedef struct tutti_edges tutti_edges;

/* Which event of `from` precedes the start of `to`. */
typedef enum tutti_edge {
    TUTTI_EDGE_END,
    TUTTI_EDGE_START /* both are links of a chain */
} tutti_edge;

/* Receives one edge: `to` may start only after `from` has ended, or started. The same pair may be
 * reported more than once. */
typedef void tutti_edges_fn(void *ctx, int64_t from, int64_t to, tutti_edge edge);

tutti_status tutti_edges_new(int tensors, tutti_edges **edges);
void tutti_edges_free(tutti_edges *edges); /* accepts NULL */

/* Adds a node instance with this id and reports its predecessors through fn. NOMEM: none is
 * reported. */
tutti_status tutti_edges_add(tutti_edges *edges, int64_t id, int accesses,
    const tutti_access access[], tutti_edges_fn *fn, void *ctx);

/* Which of certain nodes come before each node: those that must have ended before it can start.
 *
 * Nodes are submitted in program order, as to edges. A node of interest carries one number or
 * several consecutive ones. Each node gets the nearest numbers before it; whatever precedes those
 * precedes the node as well. A link of a chain is treated as if it waited for the end of the link
 * before it. That is true of collectives: a collective ends only when every rank has started it and
 * all the links before it, so whatever waits for the end of a link also waits for the ends of
 * those. [M] */
typedef struct tutti_reach tutti_reach;

tutti_status tutti_reach_new(int tensors, tutti_reach **reach);
void tutti_reach_free(tutti_reach *reach); /* accepts NULL */

/* Submits a node that carries the numbers first ... first + numbers - 1 (none if numbers is 0).
 * *before: the nearest numbers before it, sorted; *befores: how many. Valid until the next call.
 * NOMEM. */
tutti_status tutti_reach_add(tutti_reach *reach, const tutti_node *node, int first, int numbers,
    const int **before, int *befores);

/* A section runs once per step. Finds the first node of the next step that reads what `node`
 * writes, or anything computed from it in either step; INT_MAX if there is none. Tokens do not
 * count as data. *needed is set on success. NOMEM. [P] */
tutti_status tutti_reach_next_step(const tutti_graph *graph, int node, int *needed);

#endif
