/* tutti-bench strategies: seconds, bytes and accuracy of every strategy and codec on one data set. */
#ifndef TUTTI_BENCH_STRATEGIES_H
#define TUTTI_BENCH_STRATEGIES_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_strategies;

#endif
