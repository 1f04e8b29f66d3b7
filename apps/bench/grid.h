/* tutti-bench step --grid: steps of several models on boxes of several sizes and rates, one run after
 * the other, and a verdict on each number. Not started by mpirun: tutti-box starts the ranks. [M] */
#ifndef TUTTI_BENCH_GRID_H
#define TUTTI_BENCH_GRID_H

#include "dag/base/status.h"

/* argv[0] is "--grid". Runs the cells that --json has no results of, and appends theirs. */
tutti_status tutti_grid_run(int argc, char **argv);

#endif
