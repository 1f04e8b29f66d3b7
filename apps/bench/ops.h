/* Where a training step spends its time: runs every kernel of a session's step by itself, summed by
 * op. Threads: [M]. */
#ifndef TUTTI_BENCH_OPS_H
#define TUTTI_BENCH_OPS_H

#include "apps/bench/result.h"
#include "apps/session/session.h"

/* Runs the "train" section of a started session `repeats` times in program order and prints a
 * table: op, nodes, ms per step, GFLOP/s, GB/s, share of the step. Changes the weights. */
tutti_status tutti_ops_measure(tutti_training_session *session, int repeats, tutti_result *result);

#endif
