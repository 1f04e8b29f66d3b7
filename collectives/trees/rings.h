/* The best rings of a network, to compare trees with: how much fits into it if every message goes round rings. [P] */
#ifndef TUTTI_TREES_RINGS_H
#define TUTTI_TREES_RINGS_H

#include "collectives/sched/forest.h"
#include "collectives/trees/network.h"

enum { TUTTI_RINGS_MOST = 9 /* ranks whose rings are all tried: 8! */ };

/* Rings through all ranks, with the best weights of all that there are; beyond TUTTI_RINGS_MOST ranks, the ring in
 * the order of ranks alone. Each as a chain from the root, with its weight in bytes a second; no tree: there is no
 * ring. NOMEM. */
tutti_status tutti_best_rings(const tutti_tree_network *network, int root, tutti_forest **chains);
/* Those of the cables between ranks, if there are any; else those of routes. USAGE (logged): as in network.h. */
tutti_status tutti_best_rings_of(const tutti_topology *t, int root, tutti_forest **chains);

#endif
