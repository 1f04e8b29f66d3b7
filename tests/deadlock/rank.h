/* One rank of a case (tests/deadlock/case.h) as a program: its placed graph, its hooks, its inputs,
 * and the expected results.
 *
 *   tick a -> tick b -> ...     computed one after another, in the rank's `ready` order
 *     |         |
 *    [a]       [b]              the collectives, submitted in program order
 *
 * Inputs differ by rank, tensor and element, so that no two buffers can be confused. A collective
 * has a higher priority than a tick: a free worker starts it at once, as in programs whose tasks
 * call MPI when their gradient is ready. No tick runs before everything has been submitted.
 *
 *   open -> connect -> runner->open(graph, hooks) -> fill -> submit -> runner->wait -> wrong
 *     -> close
 *
 * Threads: [M]; the hooks' start is [A]. */
#ifndef TUTTI_DEADLOCK_RANK_H
#define TUTTI_DEADLOCK_RANK_H

#include "dag/run/run.h"
#include "designs/check/check.h"
#include "designs/exchange/exchange.h"
#include "tests/deadlock/case.h"

typedef struct deadlock_rank deadlock_rank;

/* Builds and places the graph of this rank. Borrows the case. */
tutti_status deadlock_rank_open(const deadlock_case *c, int rank, deadlock_rank **opened);
void deadlock_rank_close(deadlock_rank *rank); /* accepts NULL */

/* The placed graph. */
const tutti_graph *deadlock_rank_graph(const deadlock_rank *rank);
/* The part of the graph that runs over one group, placed in the same way (for
 * tutti_exchange_check). NULL if the rank is not in the group. */
const tutti_graph *deadlock_rank_part(const deadlock_rank *rank, int group);

/* This rank's end, and its number of each of the case's groups that it is in. Borrowed: the
 * hooks use it until the next call. */
void deadlock_rank_connect(deadlock_rank *rank, tutti_exchange *exchange, const int slot[]);
tutti_run_hooks deadlock_rank_hooks(deadlock_rank *rank);

/* Writes the inputs into the memory of a run, before the first submission. */
void deadlock_rank_fill(const deadlock_rank *rank, const tutti_runner *runner, tutti_run *run);
/* Submits all steps of the rank. */
tutti_status deadlock_rank_submit(deadlock_rank *rank, const tutti_runner *runner, tutti_run *run);
/* After everything has ended: the number of wrong tensors. `what` gets a sentence about the first
 * ("rank 1's 'b' [3] is 12, not 10"). */
int deadlock_rank_wrong(
    const deadlock_rank *rank, const tutti_runner *runner, tutti_run *run, char *what, size_t size);

/* The whole case, for the static checker. The caller frees *check. */
tutti_status deadlock_check_new(const deadlock_case *c, tutti_check **check);

#endif
