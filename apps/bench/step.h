/* tutti-bench step: training steps over all ranks with every design, against computation alone,
 * communication alone and PyTorch's DistributedDataParallel, in turns. */
#ifndef TUTTI_BENCH_STEP_H
#define TUTTI_BENCH_STEP_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_step;

#endif
