/* tutti-bench pipeline: training steps of a net cut into stages, against the whole net on one rank, data
 * parallelism on as many ranks, and PyTorch's pipelining, in turns. */
#ifndef TUTTI_BENCH_PIPELINE_H
#define TUTTI_BENCH_PIPELINE_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_pipeline;

#endif
