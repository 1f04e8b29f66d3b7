/* A training of tutti-svm that one rank has recorded, on more ranks of a topology: how long it would take. */
#ifndef TUTTI_BENCH_SVM_RANKS_H
#define TUTTI_BENCH_SVM_RANKS_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_svm_ranks;

#endif
