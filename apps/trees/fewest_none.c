/* A build without GLPK. */
#include "apps/trees/fewest.h"

const char *tutti_fewest_lacks(void)
{
    return "this build has no GLPK (libglpk-dev)";
}

tutti_status tutti_fewest(const tutti_tree_network *network, double share, tutti_forest *forest)
{
    return tutti_weigh_fewest(network, share, forest);
}
