/* Linear programs max sum of x, A x <= b, x >= 0, with A >= 0 and b > 0: how much of each thing, where all share
 * resources. By the simplex method in a table, from x = 0, with Bland's rule where it stands still. Few of the x are
 * more than 0 in the end: at most as many as there are resources. Cost: rows times columns for each step. [P] */
#ifndef TUTTI_TREES_PROGRAM_H
#define TUTTI_TREES_PROGRAM_H

#include "dag/base/status.h"

/* a[r * columns + c]: what a unit of thing c takes of resource r, of which there is limit[r]. x[columns]; price[rows]:
 * what a unit more of a resource is worth (the dual). NOMEM. */
tutti_status tutti_trees_share(
    int rows, int columns, const double a[], const double limit[], double x[], double price[]);

#endif
