/* The fewest trees that carry a share of what all do, as an integer program: GLPK solves it, where a build has it. */
#ifndef TUTTI_FEWEST_H
#define TUTTI_FEWEST_H

#include "collectives/trees/network.h"
#include "collectives/trees/weigh.h"

/* What is missing for the integer program; NULL: nothing. Without it, tutti_weigh_fewest takes its place. */
const char *tutti_fewest_lacks(void);
/* Of the trees of a forest, with new weights. After 3 s, the best that was found. NOMEM. */
tutti_status tutti_fewest(const tutti_tree_network *network, double share, tutti_forest *forest);

#endif
