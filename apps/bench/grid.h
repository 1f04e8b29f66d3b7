/* tutti-bench step --grid: steps of several models on boxes of several sizes and link rates, one
 * run after another, and a verdict on each number. Run without mpirun: tutti-box starts the ranks.
 * [M] */
#ifndef TUTTI_BENCH_GRID_H
#define TUTTI_BENCH_GRID_H

#include "dag/base/status.h"

/* argv[0] is "--grid". Runs the cells whose results --json lacks, and appends them. */
tutti_status tutti_grid_run(int argc, char **argv);

#endif
