/* A tensor from one rank of a host to another: over shared memory, TCP, MPI, an RPC with copies, and gRPC. */
#ifndef TUTTI_BENCH_CHANNEL_H
#define TUTTI_BENCH_CHANNEL_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_channel;

#endif
