/* The spanning trees for a topology.
 *
 *   ranks that cables connect directly     packed in these; with whole capacities, by pack.h
 *   ranks at one switch, a cable each      trees of one hop (pack.h)
 *   any others                             packed along routes (weigh.h)
 *
 * [P] */
#ifndef TUTTI_TREES_H
#define TUTTI_TREES_H

#include "collectives/links/topology.h"
#include "collectives/sched/forest.h"
#include "collectives/trees/network.h"

typedef struct tutti_trees_options {
    int root; /* -1: where trees are shallowest; of an allreduce, each from a root of its own */
    int allreduce; /* trees that carry sums up and results down; else broadcasts from the root */
    int routes; /* along routes, over all networks at once, even where cables connect the ranks */
    double eps; /* how far from the bound; 0: no more than rounding */
    /* leaves out trees while the others carry this share, here 95 %: tutti_weigh_fewest, or one like it; NULL: none */
    tutti_status (*fewest)(const tutti_tree_network *network, double share, tutti_forest *forest);
} tutti_trees_options;

typedef struct tutti_trees_report {
    const char *way;    /* how the trees were found */
    double bound, rate; /* bytes a second: of every forest in these links, and of this one */
    int weighted;       /* by weights: `fewest` and `eps` were used */
    int rootless;       /* each rank is the root of a tree, whatever root was asked for */
} tutti_trees_report;

/* Whether anything limits what the ranks exchange: not if all are at one point without a rate of memory. */
int tutti_trees_are_limited(const tutti_topology *t);
/* USAGE (logged): a root that is not a rank, nothing that limits the ranks, or more ranks than trees are found for.
 * NOMEM. */
tutti_status tutti_trees_of(const tutti_topology *t, const tutti_trees_options *options,
    tutti_forest **forest, tutti_trees_report *report);
/* Hops from the root of a tree to its farthest rank. */
int tutti_tree_depth(const tutti_forest *forest, int tree);
/* Turns each tree to the root from which it is shallowest; of equal ones, to one where few other trees have theirs. For
 * allreduces, whose load is the same from any root. NOMEM. */
tutti_status tutti_trees_centre(tutti_forest *forest);

#endif
