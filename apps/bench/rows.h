/* Each bench, for the table. Its source's conf says what it measures. */
#ifndef TUTTI_BENCH_ROWS_H
#define TUTTI_BENCH_ROWS_H

#include "apps/bench/bench.h"

extern const tutti_bench tutti_bench_allreduce, tutti_bench_channel, tutti_bench_compute,
    tutti_bench_data, tutti_bench_interference, tutti_bench_kv, tutti_bench_overlap,
    tutti_bench_peers, tutti_bench_pipeline, tutti_bench_plot, tutti_bench_step,
    tutti_bench_strategies, tutti_bench_svm, tutti_bench_svm_ranks, tutti_bench_tune_collectives;

#endif
