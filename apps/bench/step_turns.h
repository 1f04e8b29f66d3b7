/* How tutti-bench step times its rows: it verifies that all designs compute the same; then the rows
 * take turns, block by block. Errors as of the calls these functions make. Threads: [M]. */
#ifndef TUTTI_BENCH_STEP_TURNS_H
#define TUTTI_BENCH_STEP_TURNS_H

#include "apps/bench/step_rows.h"
#include "apps/tune/workload.h"

/* The steps that are timed. [P] */
tutti_workload tutti_step_workload(const tutti_step_bench *bench, const tutti_strategy *strategy);
/* With the row's strategy and place of sums. */
tutti_workload tutti_step_row_workload(const tutti_step_bench *bench, const tutti_step_row *row);
/* How sums are added: the same with all strategies that are compared. [P] */
const char *tutti_step_algorithm(const tutti_step_bench *bench);
/* Opens a session over the bench's MPI with the configuration; without a design, for computation
 * alone. All ranks call it. */
tutti_status tutti_step_session_open(const tutti_step_bench *bench,
    const tutti_configuration *configuration, tutti_training_session *session);

/* Compares the weights after a few steps with every design, on all ranks; MISMATCH (logged) if any
 * differ. Settles how many steps a block has. */
tutti_status tutti_step_turns_verify(tutti_step_bench *bench);
/* Times all rows in all blocks. */
tutti_status tutti_step_turns_run(tutti_step_bench *bench);

#endif
