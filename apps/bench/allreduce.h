/* tutti-bench allreduce: sums of many sizes over all ranks, with Tutti's algorithms and the MPI
 * library's own, in turns. */
#ifndef TUTTI_BENCH_ALLREDUCE_H
#define TUTTI_BENCH_ALLREDUCE_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_allreduce;

#endif
