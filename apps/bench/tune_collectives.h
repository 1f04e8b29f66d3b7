/* tutti-bench tune-collectives: measures which algorithm, segment and chunk is the fastest, by kind, ranks and size,
 * and writes a file of rules. */
#ifndef TUTTI_BENCH_TUNE_COLLECTIVES_H
#define TUTTI_BENCH_TUNE_COLLECTIVES_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_tune_collectives;

#endif
