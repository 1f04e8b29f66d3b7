/* The network that spanning trees are packed in: which rank can send to which, and what each such edge loads.
 *
 * An edge loads one capacity or several, each once for every byte that it carries. A network of cables has an edge
 * where a cable leads from one rank's point straight to another's; a network of routes has one for each pair of
 * ranks, which loads all that their route crosses. A bus is one capacity, whichever way a message crosses it.
 * In a network for both ways, an edge also loads what the way back loads: an allreduce sends sums up a tree and
 * results down. [P] */
#ifndef TUTTI_TREES_NETWORK_H
#define TUTTI_TREES_NETWORK_H

#include "collectives/links/topology.h"

typedef struct tutti_tree_network {
    int ranks, edges, uses, capacities;
    int *
        edge_of; /* [ranks * ranks] the edge from u to v is edge_of[u * ranks + v]; -1: there is none */
    int *from, *to;   /* [edges] */
    int *first, *use; /* edge e loads the capacities use[first[e]] ... use[first[e + 1] - 1] */
    double *capacity; /* [capacities] bytes a second */
    int edge_room, use_room; /* allocated */
} tutti_tree_network;

enum { TUTTI_TREE_NETWORK_MOST = 256 /* ranks that trees are packed for */ };

/* A network without edges. NOMEM. */
tutti_status tutti_tree_network_new(int ranks, int capacities, tutti_tree_network **network);
void tutti_tree_network_free(tutti_tree_network *network); /* accepts NULL */
/* Adds the edge from u to v, which loads these capacities; there is none yet. NOMEM. */
tutti_status tutti_tree_network_add(
    tutti_tree_network *network, int from, int to, const int use[], int uses);

/* NOMEM; routes: USAGE (logged) for more than TUTTI_TREE_NETWORK_MOST ranks. */
tutti_status tutti_tree_network_of_cables(const tutti_topology *t, tutti_tree_network **network);
tutti_status tutti_tree_network_of_routes(const tutti_topology *t, tutti_tree_network **network);
/* The same network for both ways. Edges without a way back are left out. NOMEM. */
tutti_status tutti_tree_network_both_ways(
    const tutti_tree_network *network, tutti_tree_network **both);

/* Whether every rank can be reached from one. */
int tutti_tree_network_reaches_all(const tutti_tree_network *network, int from);
/* Adds a tree's load with this weight: parent[] of each rank, -1 the root's. Returns 0 if an edge is not there. */
int tutti_tree_network_add_load(
    const tutti_tree_network *network, const int parent[], double weight, double load[]);

#endif
