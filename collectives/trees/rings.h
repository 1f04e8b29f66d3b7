/* The best rings of a network, to compare trees with: how much fits into it if every message goes round rings. [P] */
#ifndef TUTTI_TREES_RINGS_H
#define TUTTI_TREES_RINGS_H

#include "collectives/trees/network.h"

enum { TUTTI_RINGS_MOST = 9 /* ranks whose rings are all tried: 8! */ };

/* The rate of the best rings together, each through all ranks: of all rings that there are, with the best weights;
 * beyond TUTTI_RINGS_MOST ranks, of the ring in the order of ranks alone. 0: there is none. ring[ranks]: the heaviest.
 * NOMEM. */
tutti_status tutti_best_rings(const tutti_tree_network *network, double *rate, int ring[]);

#endif
