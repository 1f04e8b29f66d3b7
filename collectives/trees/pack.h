/* Packings of spanning trees whose edges fit into a network of cables with whole capacities, without loss.
 *
 * Edmonds: as many trees from a root fit into a network, edge by edge, as the least cut between the root and any
 * rank has edges. Lovasz' proof finds them. A tree grows by an edge whose removal leaves, for each tree that is
 * still to come, a path to every rank; there always is one. Of several, the one nearest to the root is taken, so
 * that trees are shallow. A tree is taken as often as the cut allows, and equal trees are one with their sum.
 *
 *   dgx-1v, 8 GPUs, 6 links each       k = 6 trees, each of one link's 25 GB/s: 150 GB/s from any root
 *
 * Cost: for each tree and each of its edges, some flows of k augmenting paths: milliseconds for 16 ranks.
 *
 * Sources: Edmonds, "Edge-disjoint branchings", 1973; Lovasz, "On two minimax theorems in graph", JCTB 21, 1976;
 * Wang, Venkataraman, Phanishayee, Thelin, Devanur, Stoica, "Blink", MLSys 2020 (arXiv:1910.04940). [P] */
#ifndef TUTTI_TREES_PACK_H
#define TUTTI_TREES_PACK_H

#include "collectives/sched/forest.h"
#include "collectives/trees/network.h"

/* Whether all edges have a capacity each of their own, and all are multiples of a unit, up to 64 times of which is
 * the least. */
int tutti_pack_is_exact(const tutti_tree_network *network, double *unit);
/* Bytes a second that the least cut between the root and any rank lets through: no forest has more. For networks in
 * which each edge has its own capacity. NOMEM. */
tutti_status tutti_pack_cut(const tutti_tree_network *network, int root, double *rate);
/* Packs trees from a root; weights are bytes a second, and sum up to the cut. For networks that are exact, and
 * where all ranks can be reached. INTERNAL (logged): no edge was found, and the cut. NOMEM. */
tutti_status tutti_pack_trees(const tutti_tree_network *network, int root, tutti_forest **forest);
/* Trees for ranks that a switch connects, each by a link of this rate, so that all links are full. Without a root
 * (-1), for allreduces: each rank is the root of one, and sends to all others. With a root, for broadcasts: it sends a
 * part to each other rank, which sends that to the rest. NOMEM. */
tutti_status tutti_pack_one_hop(int P, int root, double link_rate, tutti_forest **forest);

#endif
