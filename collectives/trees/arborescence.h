/* The spanning tree of least cost from a root, where edges lead one way.
 *
 * Each rank takes its cheapest edge in. A circle of these becomes one rank, which an edge enters at the cost of
 * what it replaces, and so on, until there is none. Cost: P^2 for each circle, P^3 in all.
 *
 * Sources: Chu, Liu, "On the shortest arborescence of a directed graph", Scientia Sinica 14, 1965; Edmonds,
 * "Optimum branchings", 1967. [P] */
#ifndef TUTTI_TREES_ARBORESCENCE_H
#define TUTTI_TREES_ARBORESCENCE_H

#include "dag/base/status.h"

/* cost[u * P + v]: of the edge from u to v; HUGE_VAL: there is none. parent[P]: the tree's, -1 the root's. Every
 * rank must be reached. NOMEM. */
tutti_status tutti_trees_cheapest(int P, int root, const double cost[], int parent[]);

#endif
