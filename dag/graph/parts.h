/* What a graph is made of, for the files of this room. */
#ifndef TUTTI_GRAPH_PARTS_H
#define TUTTI_GRAPH_PARTS_H

#include "dag/graph/graph.h"

struct tutti_graph {
    tutti_tensor *tensor;
    tutti_node *node;
    char **section;
    int tensors, nodes, sections;
    int tensor_room, node_room, section_room;
    int *named,
        named_room; /* open addressing by the hash of a name: 1 + a tensor, 0: empty; at most half full */
};

/* INVAL (logged): there is no such node. */
tutti_status tutti_graph_check_node(const tutti_graph *graph, int node);

/* Whether a node names a tensor. [P] */
static inline int tutti_node_names(const tutti_node *node, int tensor)
{
    for (int a = 0; a < node->accesses; a++)
        if (node->access[a].tensor == tensor) return 1;
    return 0;
}

#endif
