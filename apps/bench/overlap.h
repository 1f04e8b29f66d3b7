/* tutti-bench overlap: one allreduce and computation of equal length, alone and together. */
#ifndef TUTTI_BENCH_OVERLAP_H
#define TUTTI_BENCH_OVERLAP_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_overlap;

#endif
