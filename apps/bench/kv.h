/* tutti-bench kv: a store of keys (tutti/kv.h) by size, type and numbers of servers and clients, and MXNet's
 * kvstore, in turns. */
#ifndef TUTTI_BENCH_KV_H
#define TUTTI_BENCH_KV_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_kv;

#endif
