/* Packings of spanning trees whose weights fit into any network: cables, buses, switches, routes that share them.
 *
 * Garg and Koenemann's multiplicative weights: every capacity has a length, which grows with what it carries; the
 * tree of least length takes what its fullest capacity lets through, again and again. In the end all weights are
 * scaled so that the fullest capacity is full. The lengths prove how good that is: sum of capacity times length,
 * over the length of the shortest tree, is a bound for every packing (the dual of the linear program). It stops
 * when the weights reach 1 - eps of the best bound so far.
 *
 * Then the weights of these trees, and of any that would still be worth adding, are the solution of the linear
 * program: at most as many trees as there are full capacities. "Fewest" leaves out trees, the lightest first, while
 * the others still carry 95 %.
 *
 * Sources: Garg, Koenemann, "Faster and simpler algorithms for multicommodity flow and other fractional packing
 * problems", SIAM J. Comput. 37(2), 2007; Wang et al., "Blink", MLSys 2020 (fewest trees). [P] */
#ifndef TUTTI_TREES_WEIGH_H
#define TUTTI_TREES_WEIGH_H

#include "collectives/sched/forest.h"
#include "collectives/trees/network.h"

/* Multiplicative weights alone: trees from a root, weights in bytes a second. 0 < eps < 1. *bound: of every packing.
 * All ranks can be reached, and every edge loads a capacity. NOMEM. */
tutti_status tutti_weigh_trees(
    const tutti_tree_network *network, int root, double eps, tutti_forest **forest, double *bound);
/* Gives the trees of a forest their best weights, and adds trees until these reach 1 - eps of the bound. Some trees
 * have a weight of 0. *bound becomes less where a better one is proved. NOMEM. */
tutti_status tutti_weigh_again(
    const tutti_tree_network *network, int root, double eps, tutti_forest *forest, double *bound);
/* Gives the trees of a forest their best weights. NOMEM. */
tutti_status tutti_weigh_best(const tutti_tree_network *network, tutti_forest *forest);
/* Drops trees without a weight; what rounding has made too much is scaled down. NOMEM. */
tutti_status tutti_weigh_drop(const tutti_tree_network *network, tutti_forest *forest);
/* The same, and leaves out trees while the others carry at least this share. NOMEM. */
tutti_status tutti_weigh_fewest(
    const tutti_tree_network *network, double share, tutti_forest *forest);

/* The sum of weights, and the largest load of a capacity as a share of it; load is 0 if an edge is not there. NOMEM. */
double tutti_forest_rate(const tutti_forest *forest);
tutti_status tutti_weigh_load(
    const tutti_tree_network *network, const tutti_forest *forest, double *share);

#endif
