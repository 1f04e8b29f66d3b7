/* tutti-bench compute: training steps of a model on one worker, without communication: a plain loop
 * over the kernels, the StarPU task graph and, if available, a peer program, in turns on the same
 * machine. */
#ifndef TUTTI_BENCH_COMPUTE_H
#define TUTTI_BENCH_COMPUTE_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_compute;

#endif
