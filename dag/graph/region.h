/* Regions: several kernels that one task of a runner runs, one after the other.
 *
 * A region is a set of kernel nodes of one section. It takes the place of its first node: all that any of its nodes
 * follows, beside its own nodes, comes before that place in program order, and all that follows its nodes comes after
 * it. So a graph with regions is one whose kernels are larger, in the same program order. Its nodes all wait for the
 * same from outside: the same collectives of this step and the last one, the same tensors of a store of keys to which
 * gradients go, what is fed or not. So with regions each collective waits for the same others as without, and whatever
 * order of collectives the graph allowed, it allows still. And no other rank is made to wait: a region also
 *
 *   - ends with the node whose end lets a collective start, so that it starts no later than without regions;
 *   - is a chain where there are several workers, which could run its nodes at the same time: each node follows the one
 *     before it, and nothing else that its first node does not follow; and each of them comes before every collective
 *     that an earlier one comes before.
 *
 * With a store to which the parameters themselves go (the strategy elastic, between jobs) a region may wait for more of
 * them than one of its nodes does, but in no circle: a mixing waits for tasks of the steps before it alone.
 *
 * One worker runs what is ready in program order, as far as priorities do not differ. doc/designs.md,
 * "Regions", has the argument. A runner may ignore regions. Threads: [P]. */
#ifndef TUTTI_REGION_H
#define TUTTI_REGION_H

#include "dag/graph/graph.h"

typedef struct tutti_region {
    const char *name; /* "conv1..norm1": its first node and its last */
    int section;
    int nodes;       /* at least 2 */
    const int *node; /* in program order */
    /* What it does to tensors from outside: READ if it reads what was there before, WRITE if it writes. */
    int accesses;
    const tutti_access *access;
    int priority; /* the largest of its nodes */
    double expected_s;
} tutti_region;

typedef struct tutti_regions {
    int regions;
    tutti_region *region; /* by first node */
    int nodes, *of;       /* of each node of the graph: its region, or -1 */
} tutti_regions;

typedef struct tutti_region_rule {
    double longest_s; /* expected of all its nodes; 0: no regions */
    int workers;      /* that run kernels */
} tutti_region_rule;

/* The regions of all sections. node_s: how long each node is expected to take. NOMEM. */
tutti_status tutti_regions_find(const tutti_graph *graph, const double node_s[],
    const tutti_region_rule *rule, tutti_regions *regions);
/* Accepts zeroes. */
void tutti_regions_free(tutti_regions *regions);

/* Whether these regions are as said above. INTERNAL (logged, with the two nodes); NOMEM. */
tutti_status tutti_regions_check(
    const tutti_graph *graph, const tutti_regions *regions, int workers);

#endif
