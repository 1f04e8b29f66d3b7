/* tutti-bench interference: how Tutti behaves on cores that it shares. See tutti-bench(1). */
#ifndef TUTTI_BENCH_INTERFERENCE_H
#define TUTTI_BENCH_INTERFERENCE_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_interference;

#endif
