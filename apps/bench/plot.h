/* tutti-bench plot: a picture of the results of tutti-bench step --grid, or of trainings. */
#ifndef TUTTI_BENCH_PLOT_H
#define TUTTI_BENCH_PLOT_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_plot;

#endif
