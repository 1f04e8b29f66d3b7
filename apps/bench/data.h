/* tutti-bench data: from the bytes of photographs to the pixels that a network sees, beside decoding
 * alone and, if available, other libraries, in turns on the same machine. */
#ifndef TUTTI_BENCH_DATA_H
#define TUTTI_BENCH_DATA_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_data;

#endif
