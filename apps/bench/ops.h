/* Where a training step spends its time: every kernel of a workload's graph run on its own, summed by
 * op. Threads: [M]. */
#ifndef TUTTI_BENCH_OPS_H
#define TUTTI_BENCH_OPS_H

#include "apps/bench/result.h"
#include "apps/tune/workload.h"

/* Runs the "train" section of a started workload `repeats` times in program order and prints a table:
 * op, nodes, ms a step, GFLOP/s, part of the step. The workload's weights move on. */
tutti_status tutti_ops_measure(tutti_workload *workload, int repeats, tutti_result *result);

#endif
