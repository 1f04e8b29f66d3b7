/* Where a training step spends its time: runs every kernel of a session's step by itself, summed by
 * op. Threads: [M]. */
#ifndef TUTTI_BENCH_OPS_H
#define TUTTI_BENCH_OPS_H

#include "apps/bench/result.h"
#include "apps/session/session.h"

enum { TUTTI_OPS_REPEATS = 5 };

/* Runs each kernel of the "train" section of a started session, in program order, a few times in
 * succession, and prints a table: op, nodes, ms per step, GFLOP/s, GB/s, part of the step, which
 * bound it has and what share of it it reaches (bounds.h); then the nodes that lose most time.
 * Times are medians over the repeats; bounds are measured in `trials` (bounds.h). Changes the
 * weights. */
tutti_status tutti_ops_measure(tutti_training_session *session, int trials, tutti_result *result);

#endif
